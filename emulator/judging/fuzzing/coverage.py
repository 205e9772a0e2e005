"""Coverage of a run, as words: event types with errors and results, and their order.

Everything comes from the trace, so that the measurement adds no cost to a run.
"""

from collections.abc import Iterable

from emulator.judging.explain.history_builder import TimedEvent
from protocol.errors import ErrorCode
from protocol.events import (
    ControllerChanged,
    EpochAnswered,
    Event,
    FetcherChanged,
    FetchOffsetReset,
    FetchOutOfRange,
    IsrChangeEnded,
    LeaderAndIsrIgnored,
    LogLoaded,
    LogTruncated,
    NodeStarted,
    NodeStopped,
    RoleChanged,
    SessionChanged,
    StateDecided,
    TopicRemoved,
    TransactionStateChanged,
)

FIELDS = ("error", "reason", "result", "change", "state", "role", "effective", "transaction_state", "batch_kind")
"""Fields that distinguish events of one type, if their values are words or small numbers."""
FOLLOWED: frozenset[type[Event]] = frozenset(
    {
        ControllerChanged, EpochAnswered, FetchOffsetReset, FetchOutOfRange, FetcherChanged, IsrChangeEnded,
        LeaderAndIsrIgnored, LogLoaded, LogTruncated, NodeStarted, NodeStopped, RoleChanged, SessionChanged,
        StateDecided, TopicRemoved, TransactionStateChanged,
    }
)  # fmt: skip
"""Event types whose order at a node counts: changes of a node's role."""
THEN = " > "


def reached_by(entries: Iterable[TimedEvent]) -> frozenset[str]:
    """Words that a run reached. `entries` in order of time."""
    found: set[str] = set()
    last: dict[str, str] = {}
    kinds: dict[tuple[object, ...], str] = {}
    for node, _, _, _, _, event in entries:
        kind = type(event)
        values = _FIELDS_OF.get(kind)
        if values is None:
            values = _FIELDS_OF[kind] = tuple(field for field in FIELDS if field in event.__struct_fields__)
        key = (kind, *[getattr(event, field) for field in values])
        word = kinds.get(key)
        if word is None:
            word = kinds[key] = _word(event, values)
            found.add(word)
        if kind in FOLLOWED:
            before = last.get(node)
            if before is not None:
                found.add(before + THEN + word)
            last[node] = word
    return frozenset(found)


_FIELDS_OF: dict[type[Event], tuple[str, ...]] = {}
"""{event type: its fields of FIELDS}."""


def _word(event: Event, fields: tuple[str, ...]) -> str:
    words = [event.NAME]
    for field in fields:
        value = getattr(event, field)
        if isinstance(value, int) or (isinstance(value, str) and value.replace("-", "").replace(" ", "").isalpha()):
            words.append(f"{field}={value}")
    return " ".join(words)


def kinds_in(reached: Iterable[str]) -> list[str]:
    """Words without the pairs of successive events."""
    return sorted(word for word in reached if THEN not in word)


def codes_in(reached: Iterable[str]) -> tuple[list[str], list[str]]:
    """(names of error codes that clients received, names of Kafka's other error codes)."""
    values = {word.partition("error=")[2].partition(" ")[0] for word in reached if "error=" in word}
    numbers = {int(number) for number in values if number.lstrip("-").isdigit()}
    return (
        [code.name for code in ErrorCode if code in numbers and code != 0],
        [code.name for code in ErrorCode if code not in numbers and code != 0],
    )
