"""An incident in ten lines: its fault, its effects, records at stake, settings against it.

The faults are tried in the order of `FAULTS`; the first whose facts are there is named, the others follow as facts.
"""

from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec

from emulator.runs.importing.fact_finding import facts_of, host_of
from emulator.runs.importing.import_record import ImportRecord, ReplicaRecord
from emulator.runs.importing.incident_facts import UNKNOWN_END, Cut, IncidentFacts, Line, Window

SHOWN_MAX: Final = 8
FLAPS_MIN: Final = 2
NO_FAULT: Final = "none"


class Advice(msgspec.Struct, frozen=True):
    """A setting that would have prevented it, and the reason."""

    setting: str
    reason: str


class LostRecord(msgspec.Struct, frozen=True):
    """An acknowledged send that the final leader does not have, of `--clients`."""

    partition: str
    offset: int
    value: str
    acks: int


class Recovery(msgspec.Struct, frozen=True):
    """Removed records that a collected copy still has: offsets [`first`, `last`] in the folder."""

    node: str
    partition: str
    first: int
    last: int
    folder: str


class Incident(msgspec.Struct):
    """An incident.

    `fault`: one of the names in FAULTS; `what`: it in words. `lines`: the ten lines. `others`: further faults.
    """

    fault: str
    what: str
    since_ms: float | None
    until_ms: float | None
    lines: list[str]
    facts: IncidentFacts
    recoveries: list[Recovery]
    unrecovered: list[Cut]
    advice: list[Advice]
    lost: list[LostRecord]
    others: list[str]


class _Fault(msgspec.Struct, frozen=True):
    """A fault that fits the facts."""

    name: str
    what: str
    since_ms: float | None
    until_ms: float | None


def incident_of(record: ImportRecord, events: Sequence[Line], lost: Sequence[LostRecord] = ()) -> Incident:
    """The incident of an imported run. `events`: of `incident_facts.EVENTS_READ`, by time."""
    facts = facts_of(record, events)
    faults = [found for try_ in FAULTS.values() if (found := try_(record, facts)) is not None]
    fault = faults[0] if faults else _Fault(NO_FAULT, "no fault of the cluster is in the lines", None, None)
    recoveries, unrecovered = _recoveries(record.replicas, facts.cuts)
    others = [one for one in faults[1:] if one.name != "unclean-election" or "unclean" not in fault.name]
    incident = Incident(
        fault.name, fault.what, fault.since_ms, fault.until_ms, [], facts, recoveries, unrecovered, [], list(lost),
        [f"{one.what}, from {clock(record, one.since_ms)} to {clock(record, one.until_ms)}" for one in others],
    )  # fmt: skip
    incident.advice = _advice(record, incident)
    incident.lines = _lines(record, incident)
    return incident


def clock(record: ImportRecord, at_ms: float | None) -> str:
    """`03:39:04.855`, UTC; "the end of the lines" for None."""
    if at_ms is None:
        return "the end of the lines"
    at = datetime.fromtimestamp((record.began_ms + at_ms) / 1000, UTC)
    return f"{at:%H:%M:%S}.{at.microsecond // 1000:03d}"


# --- faults ---


def _cut_off(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    peers = any(one.alone for one in facts.cut_off)
    what = "was cut off from the other nodes" if peers else "was cut off, from ZooKeeper or the controllers at least"
    return _of_windows(record, facts.cut_off, "cut-off", what)


def _paused(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    return _of_windows(record, facts.paused, "paused", "stood still (a pause of its process or machine)")


def _session_lost(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    return _of_windows(record, facts.session_lost, "session-lost", "lost its session, and reached its peers")


def _split(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    window = facts.split
    if window is None:
        return None
    what = f"the controllers were cut off from one another: {window.node}"
    return _Fault("cut-off", what, window.since_ms, window.until_ms)


def _away(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    return _of_windows(record, facts.away, "lost-contact", "was lost to the cluster; no collected line says why")


def _link_cut(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    if not facts.links:
        return None
    pairs = list(dict.fromkeys(f"{one.node} did not reach {one.peer}" for one in facts.links))
    until = max(one.until_ms for one in facts.links)
    if not facts.has_members:
        what = f"{'; '.join(pairs[:SHOWN_MAX])}; no collected line says whether the cluster had both"
        return _Fault("lost-contact", what, facts.links[0].since_ms, until)
    what = f"a link failed, or a broker was slow: {'; '.join(pairs[:SHOWN_MAX])}, and the cluster had both"
    return _Fault("link-cut", what, facts.links[0].since_ms, until)


def _stopped(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    if not facts.stopped:
        return None
    ends = [one.until_ms for one in facts.stopped]
    until = None if None in ends else max(end for end in ends if end is not None)
    nodes = list(dict.fromkeys(one.node for one in facts.stopped))
    return _Fault("stopped", f"{', '.join(nodes)} shut down in good order", facts.stopped[0].since_ms, until)


def _of_windows(record: ImportRecord, windows: Sequence[Window], name: str, what: str) -> _Fault | None:
    if not windows:
        return None
    node = max({one.node for one in windows}, key=lambda name: sum(one.node == name for one in windows))
    own = [one for one in windows if one.node == node]
    times = f", {len(own)} times" if len(own) >= FLAPS_MIN else ""
    hosts = {one.name: host_of(one.properties) for one in record.nodes}
    beside = [one for one, host in hosts.items() if one != node and host and host == hosts.get(node)]
    others = sorted({one.node for one in windows} - {node})
    who = node + (f" (with {', '.join(beside)} on its host)" if beside else "")
    who += f", and {', '.join(others)}," if others else ""
    named = f"{name}-repeatedly" if len(own) >= FLAPS_MIN and name == "cut-off" else name
    return _Fault(named, f"{who} {what}{times}", own[0].since_ms, own[-1].until_ms)


def _full_disk(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    if not facts.full_disks:
        return None
    first = facts.full_disks[0]
    return _Fault("disk-failed", f"a disk of {first.node} failed or was full", first.since_ms, first.until_ms)


def _quorum_lost(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    window = facts.quorum_lost
    if window is None:
        return None
    dead = sorted({one.node for one in facts.dead if one.node.startswith("broker-") and one.node not in window.node})
    more = f"; {', '.join(dead)} died, too" if dead else ""
    what = f"most controllers died at once: {window.node}{more}"
    return _Fault("quorum-lost", what, window.since_ms, window.until_ms)


def _unsynced_lost(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    if not facts.forgotten:
        return None
    one = facts.forgotten[0]
    dead = [window for window in facts.dead if window.node == one.node]
    since = dead[-1].since_ms if dead else one.at_ms
    return _Fault(
        "unsynced-lost",
        f"{one.node} came back without records that it had: its disk had {one.partition} up to {one.log_end}, others "
        f"had copied from it up to {one.had} (a power loss, or a lost disk)", since, one.at_ms,
    )  # fmt: skip


def _died(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    del record
    dead = [one for one in facts.dead if one.node.startswith("broker-")]
    if not dead:
        return None
    nodes = list(dict.fromkeys(one.node for one in sorted(dead, key=lambda one: one.since_ms)))
    ends = [one.until_ms for one in dead]
    last = None if None in ends else max(end for end in ends if end is not None)
    one_by_one = "one after the other " if len(nodes) > 1 else ""
    unclean = ", and a replica outside the in-sync replicas was elected" if facts.unclean else ""
    name = "died-and-unclean-election" if facts.unclean else "died"
    return _Fault(name, f"{', '.join(nodes)} died {one_by_one}(no line of a shutdown){unclean}",
                  min(one.since_ms for one in dead), last)  # fmt: skip


def _unclean(record: ImportRecord, facts: IncidentFacts) -> _Fault | None:
    if not facts.unclean:
        return None
    one = facts.unclean[0]
    return _Fault("unclean-election", f"broker-{one.leader} was elected for {one.partition} from outside the in-sync "
                  f"replicas at {clock(record, one.at_ms)}", one.at_ms, None)  # fmt: skip


FAULTS: Final[dict[str, Callable[[ImportRecord, IncidentFacts], _Fault | None]]] = {
    "cut-off": _cut_off,
    "disk-failed": _full_disk,
    "paused": _paused,
    "quorum-lost": _quorum_lost,
    "unsynced-lost": _unsynced_lost,
    "died": _died,
    "session-lost": _session_lost,
    "split": _split,
    "link-cut": _link_cut,
    "lost-contact": _away,
    "unclean-election": _unclean,
    "stopped": _stopped,
}
"""{fault: the function that finds it}, the most specific first."""


# --- records ---


def _recoveries(replicas: Sequence[ReplicaRecord], cuts: Sequence[Cut]) -> tuple[list[Recovery], list[Cut]]:
    """(removed records that a copy has, cuts of which none has)."""
    found: list[Recovery] = []
    rest: list[Cut] = []
    for cut in cuts:
        copies = [
            one for one in replicas
            if one.is_copy and one.partition == cut.partition and one.node == cut.node and one.log_end > cut.to
        ]  # fmt: skip
        if not copies:
            rest.append(cut)
            continue
        best = max(copies, key=lambda one: one.log_end)
        last = best.log_end if cut.log_end == UNKNOWN_END else min(best.log_end, cut.log_end)
        found.append(Recovery(cut.node, cut.partition, cut.to, last - 1, best.folder))
    return found, rest


def _advice(record: ImportRecord, incident: Incident) -> list[Advice]:
    facts = incident.facts
    versions = {node.version for node in record.nodes if node.version}
    found: list[Advice] = []
    if facts.dual_leaders:
        found.append(
            Advice("acks=all (producers), min.insync.replicas=2 (brokers or topic)",
                   "a stale leader alone then acknowledges nothing; with acks=1 it acknowledges what it truncates")
        )  # fmt: skip
    if facts.unclean:
        found.append(
            Advice("unclean.leader.election.enable=false",
                   "a partition then waits for a replica of its in-sync replicas instead of losing its records")
        )  # fmt: skip
        found.append(
            Advice("min.insync.replicas=2, three replicas", "an in-sync set of one lets the next death empty it")
        )
    if facts.forgotten:
        found.append(
            Advice("log.flush.interval.messages=1 (topic: flush.messages=1)",
                   "an acknowledged record is then on disk, and survives a loss of power")
        )  # fmt: skip
        found.append(Advice("min.insync.replicas=2, replicas in AZs with their own power", "not all lose it at once"))
    if any(version.startswith(("0.8", "0.9", "0.10")) for version in versions):
        found.append(
            Advice("Kafka 0.11 or later, inter.broker.protocol.version and log.message.format.version with it",
                   "followers then truncate by leader epochs, not to their own high watermark (KIP-101)")
        )  # fmt: skip
    if facts.quorum_lost is not None:
        found.append(Advice("controllers in three AZs, apart from brokers", "an election needs a majority of them"))
    if facts.paused or facts.session_lost:
        found.append(
            Advice("zookeeper.session.timeout.ms, broker.session.timeout.ms above the longest pause",
                   "a pause shorter than the session changes no leader")
        )  # fmt: skip
    if facts.full_disks:
        found.append(
            Advice("several log.dirs, and retention.bytes below the disk's size", "one full disk then ends no broker")
        )
    return found


# --- the lines ---


def _lines(record: ImportRecord, incident: Incident) -> list[str]:
    facts = incident.facts
    lines = [f"fault: {incident.what}"]
    if incident.since_ms is not None:
        lines.append(f"from {clock(record, incident.since_ms)} to {clock(record, incident.until_ms)} (UTC)")
    lines += [f"also: {one}" for one in incident.others]
    for one in facts.dual_leaders[:SHOWN_MAX]:
        lines.append(
            f"{one.partition}: {one.stale} (epoch {one.stale_epoch}) led on after {one.newer} (epoch {one.newer_epoch})"
            f" had begun, from {clock(record, one.since_ms)} to {clock(record, one.until_ms)}"
        )
    for election in facts.unclean[:SHOWN_MAX]:
        lines.append(
            f"{election.partition}: broker-{election.leader} became leader at {clock(record, election.at_ms)} "
            "though it was not in sync"
        )
    for cut in facts.cuts[:SHOWN_MAX]:
        lines.append(
            f"{cut.partition}: {cut.node} truncated {_offsets(cut)} at {clock(record, cut.at_ms)} ({cut.source})"
        )
    for lack in facts.forgotten[:SHOWN_MAX]:
        lines.append(f"{lack.partition}: {lack.node} had lost offsets {lack.log_end} to {lack.had - 1} with its disk")
    lines += _losses(record, incident)
    lines += [f"against it: {one.setting}: {one.reason}" for one in incident.advice]
    return lines


def _offsets(cut: Cut) -> str:
    if cut.log_end == UNKNOWN_END:
        return f"the offsets from {cut.to} on"
    return f"offsets {cut.to} to {cut.log_end - 1}"


def _losses(record: ImportRecord, incident: Incident) -> list[str]:
    lines = []
    if incident.lost:
        shown = ", ".join(f"{one.partition}@{one.offset}" for one in incident.lost[:SHOWN_MAX])
        lines.append(f"{len(incident.lost)} acknowledged records are lost: {shown}")
    elif not record.clients and (incident.facts.cuts or incident.facts.forgotten):
        lines.append("acknowledged records may be among them; --clients FILE of the import says which")
    for one in incident.recoveries[:SHOWN_MAX]:
        lines.append(
            f"{one.partition}: offsets {one.first} to {one.last} of {one.node} are in {one.folder}; "
            "`faultline incident RUN --recover FILE` writes them"
        )
    for cut in incident.unrecovered[:SHOWN_MAX]:
        lines.append(
            f"{cut.partition}: no collected copy has {_offsets(cut)} of {cut.node} any more"
        )
    return lines
