"""Parts of observations that must match a recording; all others may differ.

Must match: the script, every result in order, the states of partitions and controllers, and the truncations
that cut something. May differ: times, checkpointed high watermarks, counts of stopped packets, and the lists
`live_brokers`, `views_by_broker`, `role_changes`, `isr_changes`. An attempt's base offset means something
only with errors 0, 7 and 20 (semantics 11.2: the record is in the leader's log). KRaft has rules of its own
(`kraft_reduction`).
"""

from typing import Any

import msgspec

from emulator.scenario.observations.kraft_reduction import is_compared, kraft_entry, kraft_state, registrations
from emulator.scenario.observations.observation_model import Entry, Observations, of_kraft
from emulator.scenario.observations.transaction_reduction import is_transactional, transaction_entries
from protocol.versions import UnknownVersion, ladder_name

ERRORS_WITH_OFFSET = frozenset({0, 7, 20})

MAY_DIFFER = frozenset({"t", "took_s", "clock", "dropped", "dropped_packets", "frames_stopped"})
"""Keys of any entry that are left out."""

ATTEMPTS = frozenset({"attempt", "produce-compressed"})


class Item(msgspec.Struct, frozen=True):
    """One entry, reduced to the parts that must match.

    `place`: its position in its file, `timeline[17]`. `token`: the same where the entries are.
    """

    place: str
    entry: Entry
    token: bytes
    t: object = None


class Comparable(msgspec.Struct, frozen=True):
    """Observations, reduced. `states` by partition; `truncations` by (broker, partition).

    `plane`: "", or of KRaft the kind of its nodes; its states are all there, and it has `registrations` of brokers.
    `metadata_log_read` false: a recording without an epoch of the quorum. Each leader begins one in the metadata log,
    so the recorder has not read that, and neither states nor registrations are compared.
    """

    scenario: str
    version: str
    timeline: list[Item]
    states: dict[str, list[Item]]
    controllers: list[Item]
    truncations: dict[tuple[str, str], list[Item]]
    plane: str = ""
    registrations: list[Item] = []
    metadata_log_read: bool = True


def comparable(observations: Observations) -> Comparable:
    """Reduces observations as read (entries are plain dicts)."""
    first = first_partition(observations)
    kraft = of_kraft(observations.format, observations.mode)
    transactional = is_transactional(observations)
    timeline = list(enumerate(observations.timeline))
    if kraft:
        timeline = [(index, kraft_entry(entry)) for index, entry in timeline if is_compared(entry)]
    if transactional:
        timeline = transaction_entries(timeline)
    states: dict[str, list[Item]] = {}
    for index, entry in enumerate(observations.partition_states):
        name = entry.get("partition") or first
        if transactional and name != first:
            continue  # the recordings have the first topic's states and truncations alone
        reduced = _reduced(kraft_state(entry) if kraft else entry, first)
        states.setdefault(name, []).append(_item(f"partition_states[{index}]", reduced, entry.get("t")))
    truncations: dict[tuple[str, str], list[Item]] = {}
    for index, entry in enumerate(observations.truncations):
        # Only effective truncations; 0.10.2 does not report this (null), there every target counts.
        if entry["effective"] is not False and not (transactional and entry.get("partition") not in (None, first)):
            key = (f"broker-{entry['broker']}", entry.get("partition") or first)
            kept = {"to": entry["to"], "effective": entry["effective"]}
            truncations.setdefault(key, []).append(_item(f"truncations[{index}]", kept))
    return Comparable(
        scenario=observations.scenario,
        version=version_name(observations.kafka),
        timeline=[_item(f"timeline[{index}]", _reduced(entry, first)) for index, entry in timeline],
        states=states,
        # While there is no controller the recordings' list says nothing: the next line is the next
        # controller.
        controllers=[
            _item(f"controllers[{index}]", _reduced(entry, first), entry.get("t"))
            for index, entry in enumerate(observations.controllers)
            if entry["controller"] is not None and not kraft
        ],
        truncations=truncations,
        plane=f"{observations.mode}, {observations.nodes}" if kraft else "",
        registrations=[
            _item(f"broker_registrations[{index}]", entry)
            for index, entry in (registrations(observations) if kraft else ())
        ],
        metadata_log_read=not kraft or bool(observations.controller_epochs),
    )


def timeline_token(entry: Entry, first: str, *, kraft: bool) -> bytes | None:
    """Token of one entry of a timeline; None: it is not compared.

    Not for transactions, whose ids are renamed.
    """
    if kraft and not is_compared(entry):
        return None
    return token(_reduced(kraft_entry(entry) if kraft else entry, first))


def first_partition(observations: Observations) -> str:
    """The partition of entries without `partition`: 0 of the first topic created.

    "" before any topic.
    """
    for entry in observations.timeline:
        if entry.get("do") == "create-topic":
            return f"{entry.get('topic')}-0"
    return ""


def version_name(kafka: str) -> str:
    """`2.6.3` -> `2.6`: recordings have the patch release that they were made with.

    Unknown versions stay as they are.
    """
    try:
        return ladder_name(kafka)
    except UnknownVersion:
        return kafka


def same(expected: object, seen: object) -> bool:
    """Equality of JSON values: 2 equals 2.0, but true does not equal 1."""
    match expected, seen:
        case (bool(), _) | (_, bool()):
            return expected is seen
        case dict(), dict():
            return expected.keys() == seen.keys() and all(same(v, seen[k]) for k, v in expected.items())
        case list(), list():
            return len(expected) == len(seen) and all(map(same, expected, seen))
        case _:
            return expected == seen


def token(value: object) -> bytes:
    """Stands for the value where it is paired: values with the same token are the `same`."""
    return msgspec.json.encode(value, order="sorted")


def _item(place: str, entry: Entry, t: object = None) -> Item:
    return Item(place, entry, token(entry), t)


def _reduced(entry: Entry, first: str) -> Entry:
    kept = {key: _whole(value) for key, value in entry.items() if key not in MAY_DIFFER}
    if kept.get("partition") in (first, None):
        kept.pop("partition", None)
    if kept.get("until") == "new leader (neither broker-0 nor none)":
        kept["until"] = "new leader"  # the recorder's two names for one condition
    kind = kept.get("saw")
    if kind in ATTEMPTS and not _has_offset(kept.get("error")):
        kept.pop("offset", None)
    if kind == "snapshot" and "replicas" in kept:
        kept["replicas"] = {node: _reduced_replica(replica) for node, replica in kept["replicas"].items()}
    return kept


def _whole(value: Any) -> Any:
    """A script's 5.0 and 5 are one number, and have one token."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _has_offset(error: object) -> bool:
    return not isinstance(error, bool) and isinstance(error, int) and error in ERRORS_WITH_OFFSET


def _reduced_replica(replica: Any) -> Any:
    return {key: value for key, value in replica.items() if key != "high_watermark_checkpoint"}
