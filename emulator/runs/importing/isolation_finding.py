"""Live nodes that the cluster lost: cut off, standing still, or without their session. Pure.

A live broker writes lines while it cannot reach ZooKeeper or its controllers. So a broker that stood still is known by
its silence, or by ZooKeeper's client: it had not heard from its server for longer than a live one waits.
"""

import re
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Sequence
from typing import Final

import msgspec

from emulator.runs.importing.incident_evidence import LAG, Evidence
from emulator.runs.importing.incident_facts import APART_MS, NEAR_MS, Absences, IncidentFacts, Line, Window

SYMPTOMS: Final = (
    "session-slow", "session-lost", "session-expired", "heartbeat-late", "fetch-failed", "unreachable",
)  # fmt: skip
"""Notices of a node that cannot reach others."""
SYMPTOM_SOURCES: Final = (*SYMPTOMS, "session-connected", "session-timeout", "registered", "started")
"""A node that writes none of these, ever, may be cut off without a line of it."""
QUIET_MS: Final = 12_000.0
"""Longer than the time between a cut-off broker's symptoms."""
PAUSE_MS: Final = 4_000.0
"""A broker that lost its session in a pause wrote no line for most of the session's timeout."""
BACK_MS: Final = 2_000.0
"""ZooKeeper's client connects again within this time, if it can."""
PAUSED_SHARE: Final = 0.85
"""Share of the session's timeout that only a client that stood still waits.

A live one waits two thirds.
"""
_CAUGHT_UP: Final = re.compile(r"lastCaughtUpTimeMs: (\d{1,16})")


def find_isolations(facts: IncidentFacts, evidence: Evidence, ended: Sequence[tuple[str, float]]) -> None:
    """Put each end of a live broker's session into the list that explains it."""
    shrinks = Shrinks(evidence)
    caught_up = _caught_up(evidence)
    down = Absences((*facts.dead, *facts.stopped))
    back: defaultdict[str, list[float]] = defaultdict(list)
    symptoms = {node: _symptoms(evidence, node, down) for node in {node for node, _ in ended}}
    for node, ended_ms in ended:
        if down.cover(node, ended_ms):
            continue
        back_ms = evidence.back_ms(node, ended_ms)
        until = back_ms if back_ms is not None else float("inf")
        before = bisect_left(back[node], ended_ms)
        since = max([ended_ms - NEAR_MS, *back[node][max(0, before - 1) : before]])
        back[node].append(until)
        of_node = symptoms[node]
        own = _of_this_time(of_node[bisect_left(of_node, since) : bisect_right(of_node, until)], ended_ms)
        silent_ms, silent_since = evidence.silence(node, ended_ms)
        alone = shrinks.leave_alone(node, since, until)
        began = min([*own, ended_ms]) if own else (silent_since if silent_ms else ended_ms)
        leaving = caught_up[node]
        first, last = bisect_left(leaving, (since,)), bisect_right(leaving, (until, float("inf")))
        known = [when for _, when in leaving[first:last] if when >= since]
        began = min([began, *known]) if alone else began
        window = Window(node, began, back_ms, len(own), silent_ms, alone)
        if _stood_still(evidence, node, own, (since, until), (silent_ms, silent_since), ended_ms):
            facts.paused.append(msgspec.structs.replace(window, since_ms=silent_since if silent_ms else began))
        elif not own and not _has_symptom_lines(evidence, node):
            facts.away.append(window)
        elif _reached_peers(evidence, window, ended_ms, shrinks, known):
            facts.session_lost.append(window)
        else:
            facts.cut_off.append(window)
    for windows in (facts.cut_off, facts.paused, facts.session_lost, facts.away):
        windows.sort(key=lambda one: one.since_ms)
        windows[:] = merged(windows)


def merged(windows: Sequence[Window]) -> list[Window]:
    """Windows of one node that overlap, as one. `windows`: by their begin."""
    found: list[Window] = []
    last: dict[str, int] = {}
    for one in windows:
        same = last.get(one.node)
        if same is None or not overlap(found[same], one):
            last[one.node] = len(found)
            found.append(one)
            continue
        known = found[same]
        open_end = known.until_ms is None or one.until_ms is None
        found[same] = Window(
            one.node, min(known.since_ms, one.since_ms),
            None if open_end else max(known.until_ms or 0.0, one.until_ms or 0.0),
            max(known.symptoms, one.symptoms), max(known.silent_ms, one.silent_ms), known.alone or one.alone,
        )  # fmt: skip
    return found


def overlap(one: Window, other: Window) -> bool:
    return one.since_ms < other.end_ms and other.since_ms < one.end_ms


def _symptoms(evidence: Evidence, node: str, down: Absences) -> list[float]:
    """Times of a node's symptoms, sorted; of ZooKeeper's client, since when it heard nothing.

    That it did not reach a node that did not run is none.
    """
    found = []
    session_ms = evidence.session_ms(node)
    for one in evidence.of(node, *SYMPTOMS):
        peer = one.notice.fields.get("peer")
        if peer and not (evidence.ran(peer, one.at_ms, down) and evidence.up_ms[node] <= one.at_ms):
            continue
        silent = float(one.notice.fields.get("silence_ms") or 0)
        found.append(one.at_ms - (silent if silent < PAUSED_SHARE * session_ms else 0.0))
    return sorted(found)


def _of_this_time(symptoms: Sequence[float], ended_ms: float) -> list[float]:
    """Symptoms without those that a quiet time parts from the session's end."""
    kept = [one for one in symptoms if one > ended_ms]
    reached = ended_ms
    for one in sorted((one for one in symptoms if one <= ended_ms), reverse=True):
        if reached - one > QUIET_MS:
            break
        kept.append(one)
        reached = one
    return sorted(kept)


def _stood_still(
    evidence: Evidence, node: str, own: Sequence[float], time: tuple[float, float], silence: tuple[float, float],
    ended_ms: float,
) -> bool:  # fmt: skip
    """Whether the node stood still: `own` symptoms and its `silence` around the session's end.

    With ZooKeeper a client that stood still learns at once that its session is over; one that was cut off tries on.
    """
    session_ms = evidence.session_ms(node)
    waited = [
        float(one.notice.fields.get("silence_ms") or 0)
        for one in evidence.of_between(node, "session-slow", time[0], time[1] + APART_MS)
    ]
    if any(one >= PAUSED_SHARE * session_ms for one in waited):
        return True
    silent_ms, silent_since = silence
    silent_until = silent_since + silent_ms
    if silent_ms < max(PAUSE_MS, session_ms / 2) or not _has_symptom_lines(evidence, node):
        return False
    if any(one < silent_until - APART_MS for one in own):
        return False
    if evidence.is_kraft:
        return silent_until >= ended_ms
    return any(
        True
        for form in ("session-expired", "session-connected")
        for _ in evidence.of_between(node, form, silent_until, silent_until + BACK_MS)
    )


def _has_symptom_lines(evidence: Evidence, node: str) -> bool:
    """Whether the collected lines of a node would have symptoms, if it had any."""
    return any(True for _ in evidence.of(node, *SYMPTOM_SOURCES)) or node in evidence.with_lifecycle


class Shrinks:
    """Requests of leaders to shrink their ISR, by time."""

    def __init__(self, evidence: Evidence) -> None:
        self._lines = [one for one in evidence.by_name["isr_change_asked"] if one["change"] == "shrink"]
        self._times = [one["at_ms"] for one in self._lines]
        self._alone: defaultdict[str, list[float]] = defaultdict(list)
        """{leader: times at which it asked to be in sync alone}"""
        for one in self._lines:
            if one["now"] == one["node"].rpartition("-")[2]:
                self._alone[one["node"]].append(one["at_ms"])

    def leave_alone(self, leader: str, since_ms: float, until_ms: float) -> bool:
        """Whether the leader asked to be in sync alone then."""
        times = self._alone.get(leader, ())
        return bisect_left(times, since_ms) < bisect_right(times, until_ms)

    def between(self, since_ms: float, until_ms: float) -> Sequence[Line]:
        return self._lines[bisect_left(self._times, since_ms) : bisect_right(self._times, until_ms)]


def _reached_peers(
    evidence: Evidence, window: Window, ended_ms: float, shrinks: Shrinks, caught_up: Sequence[float]
) -> bool:
    """Whether a broker without its session still reached other brokers, as far as the lines say."""
    node, until = window.node, window.end_ms
    number = node.rpartition("-")[2]
    if window.alone:
        return bool(caught_up) and max(caught_up) > ended_ms - 2 * APART_MS
    if any(True for _ in evidence.of_between(node, "fetch-failed", window.since_ms, until)):
        return False
    answered = evidence.of_between(node, "fenced", window.since_ms, until - APART_MS)
    if any(window.since_ms < one.at_ms < until - APART_MS for one in answered):
        return True  # a leader answered
    away = any(
        one["node"] != node and number in one["was"].split(",") and number not in one["now"].split(",")
        for one in shrinks.between(window.since_ms, until)
    ) or any(
        one.notice.what == "fetch-failed" and one.notice.fields.get("source") == number
        for one in evidence.between(window.since_ms, until)
    )  # fmt: skip
    return not away and until - window.since_ms > 1.5 * evidence.setting_ms(node, LAG) + QUIET_MS


def _caught_up(evidence: Evidence) -> defaultdict[str, list[tuple[float, float]]]:
    """{leader: (time of its request, last time that a leaving replica caught up)}, from 3.6 on."""
    found: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
    for one in evidence.notices:
        if one.notice.what == "shrinking-isr":
            times = [float(text) for text in _CAUGHT_UP.findall(one.notice.fields.get("replica_ends", ""))]
            if times:
                found[one.notice.node].append((one.at_ms, max(times) - evidence.zero_ms[one.notice.node]))
    return found
