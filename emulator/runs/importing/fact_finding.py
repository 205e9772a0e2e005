"""Facts of an incident: dead, stopped and lost nodes, links, controllers. Pure."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Final

import msgspec

from emulator.runs.importing.forgotten_logs import forgotten_of
from emulator.runs.importing.import_record import ImportRecord
from emulator.runs.importing.incident_evidence import Evidence
from emulator.runs.importing.incident_facts import (
    APART_MS,
    NEAR_MS,
    WINDOWS_MAX,
    Absences,
    IncidentFacts,
    Line,
    Link,
    Window,
)
from emulator.runs.importing.isolation_finding import find_isolations
from emulator.runs.importing.log_facts import cuts_of, dual_leaders_of, unclean_of

END_MS: Final = 5_000.0
"""A process that ends this shortly before the last line of all ended with the collection."""
QUORUM_MS: Final = 1_500.0
"""Shorter than the time after which a controller's silence costs it the quorum."""
DISK_FORMS: Final = ("disk-full",)
_QUORUM_FORMS: Final = ("majority-away", "unreachable")


def facts_of(record: ImportRecord, events: Sequence[Line]) -> IncidentFacts:
    """The facts of a run. `events`: of `EVENTS_READ`, by time."""
    evidence = Evidence(record, events)
    by_name = evidence.by_name
    facts = IncidentFacts(began_ms=min((one["at_ms"] for one in by_name["role_changed"]), default=0.0))
    ended = evidence.ended_sessions()
    facts.stopped = _stopped(evidence)
    noticed: defaultdict[str, list[float]] = defaultdict(list)
    for node, ended_ms in ended:
        noticed[node].append(ended_ms)
    dead = (*_dead(evidence), *_gone(evidence, ended, facts))
    facts.dead = [_sharpened(window, noticed.get(window.node, ()), evidence) for window in dead]
    find_isolations(facts, evidence, ended)
    facts.full_disks = _full_disks(evidence)
    facts.quorum_lost = _quorum_lost(record, facts.dead)
    _controllers(facts, evidence)
    facts.links = _links(facts, evidence)
    collected = {name for name, last_ms in evidence.last_ms.items() if last_ms > float("-inf")}
    facts.has_members = evidence.has_members and all({one.node, one.peer} <= collected for one in facts.links)
    facts.cuts = cuts_of(by_name)
    facts.dual_leaders = dual_leaders_of(by_name, facts)
    facts.unclean = unclean_of(evidence)
    facts.forgotten = forgotten_of(by_name, facts.cuts)
    return facts


# --- processes ---


def _dead(evidence: Evidence) -> list[Window]:
    starts = {(one["node"], one["incarnation"]): one["at_ms"] for one in evidence.by_name["node_started"]}
    return [
        Window(one["target"], one["at_ms"], starts.get((one["target"], one["life"] + 1)))
        for one in evidence.by_name["machine_fault"]
        if one["what"] == "kill"
    ]


def _gone(evidence: Evidence, ended: Sequence[tuple[str, float]], facts: IncidentFacts) -> list[Window]:
    """Brokers whose lines end before the cluster lost them, and which have none afterwards."""
    last = max(evidence.last_ms.values(), default=0.0)
    stayed_down = {window.node for window in facts.stopped if window.until_ms is None}
    return [
        Window(node, evidence.last_ms[node], None)
        for node, when in ended
        if evidence.last_ms.get(node, float("inf")) < min(when, last - END_MS) and node not in stayed_down
    ]


def _stopped(evidence: Evidence) -> list[Window]:
    """Orderly shutdowns, without those with which the collection ends."""
    last = max(evidence.last_ms.values(), default=0.0)
    return [
        Window(node, since, until)
        for node, since, until in evidence.stops()
        if until is not None or since < last - END_MS
    ][:WINDOWS_MAX]


def _sharpened(window: Window, ended_ms: Sequence[float], evidence: Evidence) -> Window:
    """A dead process's time: of its last line, or of its last sign of life for the cluster.

    `ended_ms`: ends of its sessions, sorted.
    """
    first = bisect_left(ended_ms, window.since_ms)
    if first == len(ended_ms) or ended_ms[first] > window.end_ms + APART_MS:
        return window
    alive_ms = ended_ms[first] - evidence.session_ms(window.node)
    return msgspec.structs.replace(window, since_ms=max(window.since_ms, alive_ms))


def _full_disks(evidence: Evidence) -> list[Window]:
    full = [
        Window(file.node, at_ms - evidence.zero_ms[file.node], None)
        for file in evidence.record.files
        for at_ms in file.full_disk_at[:1]
    ]
    failed = [Window(one["node"], one["at_ms"], None) for one in evidence.by_name["log_dir_failed"]]
    failed += [Window(one.notice.node, one.at_ms, None) for one in evidence.notices if one.notice.what in DISK_FORMS]
    return sorted((*full, *failed), key=lambda one: one.since_ms)[:WINDOWS_MAX]


# --- controllers of KRaft ---


def _quorum_lost(record: ImportRecord, dead: Sequence[Window]) -> Window | None:
    """The time in which most controllers of a KRaft quorum did not run."""
    voters = [node.name for node in record.nodes if "controller" in node.roles and node.properties.get("process.roles")]
    down = [window for window in dead if window.node in voters]
    at_once: list[Window] = []
    for since, begun in groupby(sorted(down, key=lambda one: one.since_ms), key=lambda one: one.since_ms):
        at_once = [one for one in (*at_once, *begun) if one.until_ms is None or one.until_ms > since]
        names = sorted({one.node for one in at_once})
        if len(names) * 2 > len(voters) > 1:
            ends = [one.until_ms for one in at_once]
            until = None if None in ends else min(end for end in ends if end is not None)
            return Window(", ".join(names), since, until)
    return None


def _controllers(facts: IncidentFacts, evidence: Evidence) -> None:
    """Active controllers of KRaft that lost the quorum though they ran, and split quorums."""
    if not evidence.is_kraft:
        return
    down = Absences((*facts.dead, *facts.stopped))
    ends: dict[str, float] = {}
    for known in (*facts.cut_off, *facts.paused):
        ends[known.node] = max(known.end_ms, ends.get(known.node, known.end_ms))
    facts.split = _split(evidence, down)
    if facts.split is not None:
        return
    actives = [one for one in evidence.by_name["controller_changed"] if one["active"]]
    for before, after in pairwise(actives):
        node, when = before["node"], after["at_ms"]
        if node == after["node"] or down.cover(node, when):
            continue
        silent_ms, silent_since = evidence.silence(node, when)
        near = [one for one in evidence.between(when - END_MS, when + END_MS) if abs(one.at_ms - when) < END_MS]
        own = [one.at_ms for one in near if one.notice.node == node and one.notice.what in _QUORUM_FORMS]
        window = Window(node, silent_since if silent_ms else min([*own, when]), None, len(own), silent_ms)
        if any(window.since_ms < until and _together(evidence, node, other) for other, until in ends.items()):
            continue
        unheard = any(
            one.notice.what == "unreachable" and one.notice.node != node
            and _is_peer(evidence, one.notice.fields.get("peer", ""), node)
            for one in near
        )  # fmt: skip
        within = any(silent_since + APART_MS < one < silent_since + silent_ms for one in own)
        if silent_ms > QUORUM_MS and unheard and not within:
            facts.paused.append(msgspec.structs.replace(window, until_ms=silent_since + silent_ms))
        elif any(one.notice.what == "majority-away" for one in evidence.of(node, "majority-away")) or len(own) > 1:
            facts.cut_off.append(msgspec.structs.replace(window, until_ms=max([*own, when])))


def _is_peer(evidence: Evidence, number: str, node: str) -> bool:
    return any(one.name == node and str(one.number) == number for one in evidence.record.nodes)


def _together(evidence: Evidence, node: str, other: str) -> bool:
    """Whether two nodes are on one host, as far as their settings say."""
    hosts = {one.name: host_of(one.properties) for one in evidence.record.nodes}
    return node == other or (bool(hosts.get(node)) and hosts.get(node) == hosts.get(other))


def host_of(properties: dict[str, str]) -> str:
    """The host of a node's listeners; empty: its settings name none."""
    for name in ("advertised.listeners", "listeners", "advertised.host.name", "host.name"):
        first = properties.get(name, "").partition(",")[0].rpartition("/")[2]
        if first:
            return first.rpartition(":")[0] or first
    return ""


def _split(evidence: Evidence, down: Absences) -> Window | None:
    """The time in which most controllers lost most of the others at once."""
    voters = {node.number: node.name for node in evidence.record.nodes if "controller" in node.roles}
    if len(voters) < 3:
        return None
    lost: defaultdict[str, set[str]] = defaultdict(set)
    times: list[float] = []
    for one in evidence.notices:
        peer = one.notice.fields.get("peer", "")
        if one.notice.what == "unreachable" and one.notice.node in voters.values() and peer.lstrip("-").isdigit():
            other = voters.get(int(peer))
            if times and one.at_ms - times[-1] > NEAR_MS / 2:
                lost.clear()
                times.clear()
            if other is not None and other != one.notice.node and evidence.ran(peer, one.at_ms, down):
                lost[one.notice.node].add(other)
                times.append(one.at_ms)
            if sum(len(others) * 2 > len(voters) for others in lost.values()) * 2 > len(voters):
                return Window(", ".join(sorted(lost)), times[0], None, len(times))
    return None


# --- links between brokers ---


def _links(facts: IncidentFacts, evidence: Evidence) -> list[Link]:
    """Pairs of brokers that could not reach each other although the cluster had both."""
    gone = Absences(
        (*facts.cut_off, *facts.paused, *facts.session_lost, *facts.away, *facts.dead, *facts.stopped)
    )
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    last = max(evidence.last_ms.values(), default=0.0)
    for one in evidence.notices:
        peer = one.notice.fields.get("source" if one.notice.what == "fetch-failed" else "number", "")
        if one.notice.what not in ("fetch-failed", "order-unsent") or not peer.isdigit() or one.at_ms > last - END_MS:
            continue
        pair = (one.notice.node, f"broker-{peer}")
        if not any(gone.cover(name, one.at_ms) for name in pair):
            found[pair].append(one.at_ms)
    for shrink in evidence.by_name["isr_change_asked"]:
        if shrink["change"] != "shrink":
            continue
        for number in sorted({*shrink["was"].split(",")} - {*shrink["now"].split(",")}):
            pair = (f"broker-{number}", shrink["node"])
            if not any(gone.cover(name, shrink["at_ms"]) for name in pair):
                found[pair].append(shrink["at_ms"])
    links = [Link(node, peer, min(times), max(times)) for (node, peer), times in found.items()]
    return sorted(links, key=lambda one: one.since_ms)[:WINDOWS_MAX]


