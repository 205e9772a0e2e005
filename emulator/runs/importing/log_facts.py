"""Facts of an incident about logs and leaders: truncations, dual leaders, elections. Pure.

`forgotten_logs` has the logs that came back shorter.
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Mapping
from itertools import pairwise
from typing import Final, NamedTuple

from emulator.runs.importing.incident_evidence import Evidence
from emulator.runs.importing.incident_facts import (
    UNKNOWN_END,
    WINDOWS_MAX,
    Cut,
    DualLeader,
    IncidentFacts,
    Line,
    UncleanElection,
)
from protocol.ids import TopicPartition, topic_partition_text

UNKNOWN: Final = -1
STALE_MS: Final = 100.0
"""A replaced leader learns of its successor within this time, without a fault."""


def place_of(event: Line) -> str:
    return topic_partition_text(event["topic"], event["partition"])


def cuts_of(by_name: Mapping[str, list[Line]]) -> list[Cut]:
    first_led: dict[tuple[str, str], float] = {}
    for role in by_name["role_changed"]:
        if role["role"] == "leader":
            key = (role["node"], place_of(role))
            first_led[key] = min(role["at_ms"], first_led.get(key, role["at_ms"]))
    found = []
    for one in by_name["log_truncated"]:
        if not one["effective"] or one["topic"].startswith("__cluster"):
            continue
        log_end = one["log_end"] if one["log_end"] > one["to"] else UNKNOWN_END
        led = first_led.get((one["node"], place_of(one)), float("inf")) <= one["at_ms"]
        found.append(
            Cut(one["node"], place_of(one), one["at_ms"], one["to"], log_end, one["reason"], led, one["cause"])
        )
    return found


def dual_leaders_of(by_name: Mapping[str, list[Line]], facts: IncidentFacts) -> list[DualLeader]:
    """Terms of two leaders that overlap: the older one learns late of its successor."""
    found = []
    ends: defaultdict[str, list[float]] = defaultdict(list)
    for window in sorted(facts.dead, key=lambda window: window.since_ms):
        ends[window.node].append(window.since_ms)
    of_place: defaultdict[TopicPartition, list[Line]] = defaultdict(list)
    for one in by_name["role_changed"]:
        of_place[one["topic"], one["partition"]].append(one)
    for place, roles in of_place.items():
        terms: list[tuple[str, int, float, float | None]] = []
        by_node: defaultdict[str, list[Line]] = defaultdict(list)
        for one in roles:
            by_node[one["node"]].append(one)
        for node, own in by_node.items():
            for number, one in enumerate(own):
                if one["role"] != "leader":
                    continue
                until = own[number + 1]["at_ms"] if number + 1 < len(own) else None
                of_node = ends[node]
                death = bisect_left(of_node, one["at_ms"])
                known = [*of_node[death : death + 1], *([until] if until is not None else [])]
                until = min(known, default=None)
                terms.append((node, one["leader_epoch"], one["at_ms"], until))
        terms.sort(key=lambda term: term[1])
        for (node, epoch, _, until), (newer, newer_epoch, since, newer_until) in pairwise(terms):
            if node != newer and (until is None or until - since > STALE_MS):
                last = until if newer_until is None else min(newer_until, until if until is not None else newer_until)
                found.append(DualLeader(topic_partition_text(*place), node, epoch, newer, newer_epoch, since, last))
    return found[:WINDOWS_MAX]


class _State(NamedTuple):
    """A state of a partition in ZooKeeper, as a line has it. `leader` -1: none, or unknown."""

    at_ms: float
    leader: int
    leader_epoch: int
    isr: frozenset[str]
    unclean: bool = False


def _states(by_name: Mapping[str, list[Line]]) -> dict[str, list[_State]]:
    """{partition: its states, by leader epoch and time}.

    They are of the controller, of leaders and of their ISR changes.
    """
    found: defaultdict[str, list[_State]] = defaultdict(list)
    for one in (*by_name["state_decided"], *by_name["role_changed"], *by_name["isr_change_ended"]):
        if one["isr"] and (one["event"] != "role_changed" or one["role"] == "leader") and one["leader_epoch"] >= 0:
            leader = one.get("leader", UNKNOWN)
            unclean = one.get("reason") == "unclean-election"
            state = _State(one["at_ms"], leader, one["leader_epoch"], frozenset(one["isr"].split(",")), unclean)
            found[place_of(one)].append(state)
    for one in by_name["isr_change_asked"]:
        both = frozenset(one["now"].split(",")) if one["change"] == "shrink" else frozenset(
            (*one["was"].split(","), *one["now"].split(","))
        )  # fmt: skip
        if one["leader_epoch"] >= 0:
            found[place_of(one)].append(_State(one["at_ms"], UNKNOWN, one["leader_epoch"], both))
    for states in found.values():
        states.sort(key=lambda state: (state.leader_epoch, state.at_ms))
    return found


def _unclean_with_zookeeper(by_name: Mapping[str, list[Line]]) -> Iterator[UncleanElection]:
    """Leaders that the states before their election do not have in sync."""
    for place, states in _states(by_name).items():
        in_sync, leader = frozenset[str](), UNKNOWN
        for state in states:
            if state.leader >= 0 and state.leader != leader:
                if state.unclean or (in_sync and str(state.leader) not in in_sync):
                    yield UncleanElection(place, state.leader, state.leader_epoch, state.at_ms)
                leader = state.leader
            in_sync = state.isr


def unclean_of(evidence: Evidence) -> list[UncleanElection]:
    """Elections from outside the in-sync replicas."""
    found: dict[tuple[str, int], UncleanElection] = {}
    before: dict[str, Line] = {}
    by_name = evidence.by_name
    for one in by_name["partition_state_committed"]:
        place, known = place_of(one), before.get(place_of(one))
        before[place] = one
        if known is None or one["leader"] < 0 or one["leader"] == known["leader"]:
            continue
        eligible = {*known["isr"].split(","), *known["elr"].split(",")}
        if str(one["leader"]) not in eligible or one["recovering"]:
            found[place, one["leader"]] = UncleanElection(place, one["leader"], one["leader_epoch"], one["at_ms"])
    for when, notice in evidence.notices:
        if notice.what in ("unclean-election", "unclean-change") and not before:
            text = notice.fields.get("tp") or notice.fields.get("any_tp") or notice.fields.get("old_tp") or ""
            place = text.strip("[]").replace(",", "-")
            leader = int(notice.fields.get("leader", -1))
            epoch = int(notice.fields.get("leader_epoch", -1))
            found.setdefault((place, leader), UncleanElection(place, leader, epoch, when))
    if not before and not evidence.is_kraft:
        for election in _unclean_with_zookeeper(by_name):
            found.setdefault((election.partition, election.leader), election)
    return sorted(found.values(), key=lambda one: one.at_ms)
