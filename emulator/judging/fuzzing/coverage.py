"""What a run reached, as words: kinds of events with their errors, reasons and results, and which came after which at
one node.

It is all read from the trace that is there anyway, so a run costs no more for being measured.
"""

from collections.abc import Iterable

from emulator.judging.crash_testing.historian import Happened
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
)

FIELDS = ("error", "reason", "result", "change", "state", "role", "effective")
"""Of an event: which say what kind of it this is, if they are words or numbers of few."""
FOLLOWED: frozenset[type[Event]] = frozenset(
    {
        ControllerChanged, EpochAnswered, FetchOffsetReset, FetchOutOfRange, FetcherChanged, IsrChangeEnded,
        LeaderAndIsrIgnored, LogLoaded, LogTruncated, NodeStarted, NodeStopped, RoleChanged, SessionChanged,
        StateDecided, TopicRemoved,
    }
)  # fmt: skip
"""Events whose order at a node counts: what changes its part in things."""
THEN = " > "


def reached_by(entries: Iterable[Happened]) -> frozenset[str]:
    """`entries` in order of time."""
    found: set[str] = set()
    last: dict[str, str] = {}
    kinds: dict[tuple[object, ...], str] = {}
    for node, _, _, _, _, event in entries:
        kind = type(event)
        told = _TOLD.get(kind)
        if told is None:
            told = _TOLD[kind] = tuple(field for field in FIELDS if field in event.__struct_fields__)
        key = (kind, *[getattr(event, field) for field in told])
        word = kinds.get(key)
        if word is None:
            word = kinds[key] = _word(event, told)
            found.add(word)
        if kind in FOLLOWED:
            before = last.get(node)
            if before is not None:
                found.add(before + THEN + word)
            last[node] = word
    return frozenset(found)


_TOLD: dict[type[Event], tuple[str, ...]] = {}
"""{kind of event: which of FIELDS it has}."""


def _word(event: Event, fields: tuple[str, ...]) -> str:
    words = [event.NAME]
    for field in fields:
        value = getattr(event, field)
        if isinstance(value, int) or (isinstance(value, str) and value.replace("-", "").replace(" ", "").isalpha()):
            words.append(f"{field}={value}")
    return " ".join(words)


def kinds_in(reached: Iterable[str]) -> list[str]:
    """Without what came after what."""
    return sorted(word for word in reached if THEN not in word)


def codes_in(reached: Iterable[str]) -> tuple[list[str], list[str]]:
    """(error codes that clients were told, by name; those of Kafka's that nobody was)."""
    told = {word.partition("error=")[2].partition(" ")[0] for word in reached if "error=" in word}
    numbers = {int(number) for number in told if number.lstrip("-").isdigit()}
    return (
        [code.name for code in ErrorCode if code in numbers and code != 0],
        [code.name for code in ErrorCode if code not in numbers and code != 0],
    )
