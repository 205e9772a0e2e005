"""Facts of an incident from an imported run: dead, cut off, paused and stalled nodes. Pure."""

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final

import msgspec

from emulator.runs.importing.import_record import ImportRecord, Noticed
from emulator.runs.importing.incident_facts import WINDOWS_MAX, IncidentFacts, Line, Window
from emulator.runs.importing.log_facts import cuts_of, dual_leaders_of, forgotten_of, unclean_of

SYMPTOMS: Final = frozenset(("session-slow", "session-lost", "session-expired", "heartbeat-late", "fetch-failed"))
"""Notices of a node that cannot reach others."""
NEAR_MS: Final = 60_000.0
"""Symptoms this long before a session's end belong to it."""
APART_MS: Final = 1_000.0
QUIET_MS: Final = 12_000.0
"""Longer than the time between a cut-off broker's symptoms."""
PAUSE_MS: Final = 4_000.0
"""A broker that lost its session in a pause wrote no line for most of the session's timeout."""
SESSION_TIMEOUTS_MS: Final = {"broker.session.timeout.ms": 9_000.0, "zookeeper.session.timeout.ms": 6_000.0}
"""Defaults; ZooKeeper's is 18,000 from 2.5 on, and the shorter one errs to the later time."""
_CAUGHT_UP: Final = re.compile(r"lastCaughtUpTimeMs: (\d{1,16})")


def facts_of(record: ImportRecord, events: Sequence[Line]) -> IncidentFacts:
    """The facts of a run. `events`: of `EVENTS_READ`, by time."""
    by_name: defaultdict[str, list[Line]] = defaultdict(list)
    for event in events:
        by_name[event["event"]].append(event)
    notices = sorted(record.notices, key=lambda one: one.wall_ms)
    at = {one.name: record.began_ms for one in record.nodes}
    for clock in record.clocks:
        at[clock.node] = record.began_ms + clock.ahead_ms
    facts = IncidentFacts(began_ms=min((one["at_ms"] for one in by_name["role_changed"]), default=0.0))
    ended = _ended_sessions(by_name, notices, at)
    facts.dead = [_sharpened(window, ended, record) for window in _dead(by_name)]
    _isolations(facts, record, by_name, notices, at, ended)
    facts.full_disks = [
        Window(file.node, full - at[file.node], None) for file in record.files for full in file.full_disk_at[:1]
    ] + [Window(one["node"], one["at_ms"], None) for one in by_name["log_dir_failed"]]
    facts.quorum_lost = _quorum_lost(record, facts.dead)
    facts.cuts = cuts_of(by_name)
    facts.dual_leaders = dual_leaders_of(by_name, facts)
    facts.unclean = unclean_of(by_name, notices, at)
    facts.forgotten = forgotten_of(by_name, facts.cuts)
    return facts


def _dead(by_name: Mapping[str, list[Line]]) -> list[Window]:
    starts = {(one["node"], one["incarnation"]): one["at_ms"] for one in by_name["node_started"]}
    return [
        Window(one["target"], one["at_ms"], starts.get((one["target"], one["life"] + 1)))
        for one in by_name["machine_fault"]
        if one["what"] == "kill"
    ]


def _sharpened(window: Window, ended: Sequence[tuple[str, float]], record: ImportRecord) -> Window:
    """A dead process's time: of its last line, or of its last sign of life for the cluster."""
    until = window.until_ms if window.until_ms is not None else float("inf")
    noticed = [when for node, when in ended if node == window.node and window.since_ms <= when <= until + APART_MS]
    if not noticed:
        return window
    properties = next((node.properties for node in record.nodes if node.name == window.node), {})
    alive_ms = noticed[0] - _session_timeout_ms(properties)
    return msgspec.structs.replace(window, since_ms=max(window.since_ms, alive_ms))


def _session_timeout_ms(properties: Mapping[str, str]) -> float:
    name = "broker.session.timeout.ms" if properties.get("process.roles") else "zookeeper.session.timeout.ms"
    value = properties.get(name, "")
    return float(value) if value.isdigit() else SESSION_TIMEOUTS_MS[name]


def _caught_up(notices: Sequence[Noticed], at: Mapping[str, float]) -> list[tuple[str, float, float]]:
    """(leader, its request's time, last time that a leaving replica caught up), from 3.6 on."""
    found = []
    for one in notices:
        if one.what == "shrinking-isr":
            times = [float(text) for text in _CAUGHT_UP.findall(one.fields.get("replica_ends", ""))]
            if times:
                found.append((one.node, one.wall_ms - at[one.node], max(times) - at[one.node]))
    return found


# --- nodes that were cut off, stood still, or lost their session ---


def _isolations(
    facts: IncidentFacts, record: ImportRecord, by_name: Mapping[str, list[Line]], notices: Sequence[Noticed],
    at: Mapping[str, float], ended: Sequence[tuple[str, float]],
) -> None:  # fmt: skip
    """Put each end of a live broker's session into the list that explains it."""
    symptoms: defaultdict[str, list[float]] = defaultdict(list)
    for one in notices:
        if one.what in SYMPTOMS:
            silent = float(one.fields.get("silence_ms", 0)) if one.what == "session-slow" else 0.0
            symptoms[one.node].append(one.wall_ms - at[one.node] - silent)
    shrinks = _shrinks_alone(by_name["isr_change_asked"])
    back: list[tuple[str, float]] = []
    caught_up = _caught_up(notices, at)
    for node, ended_ms in ended:
        if any(_covers(window, node, ended_ms) for window in facts.dead):
            continue
        back_ms = _back(by_name, node, ended_ms)
        since = max([ended_ms - NEAR_MS, *(until for name, until in back if name == node and until < ended_ms)])
        until = back_ms if back_ms is not None else float("inf")
        back.append((node, until))
        own = _of_this_time([one for one in symptoms[node] if since <= one <= until], ended_ms)
        alone = any(who == node and since <= when <= until for who, when in shrinks)
        others = any(
            one.what == "fetch-failed" and one.node != node and since <= one.wall_ms - at[one.node] <= until
            for one in notices
        )
        silent_ms, silent_since = _silence(record, node, ended_ms, at[node])
        began = min([*own, ended_ms]) if own else (silent_since if silent_ms else ended_ms)
        known = [when for who, shrunk, when in caught_up if who == node and since <= shrunk <= until and when >= since]
        began = min([began, *known]) if alone else began
        window = Window(node, began, back_ms, len(own), silent_ms, alone)
        if silent_ms >= PAUSE_MS and not any(one < silent_since + APART_MS for one in own):
            facts.paused.append(window)
        elif alone or others or by_name["broker_registration_committed"]:
            facts.cut_off.append(window)
        else:
            facts.session_lost.append(window)
    for windows in (facts.cut_off, facts.paused, facts.session_lost):
        windows.sort(key=lambda one: one.since_ms)
        windows[:] = _merged(windows)


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


def _ended_sessions(
    by_name: Mapping[str, list[Line]], notices: Sequence[Noticed], at: Mapping[str, float]
) -> list[tuple[str, float]]:
    """(broker, time): fenced in KRaft, gone from ZooKeeper, or expired by its own lines."""
    fenced = [
        (f"broker-{one['broker']}", one["at_ms"])
        for one in by_name["broker_registration_committed"]
        if one["change"] == "fenced"
    ]
    fenced += [
        (f"broker-{one.fields['number']}", one.wall_ms - at[one.node]) for one in notices if one.what == "fencing"
    ]
    gone = [
        (f"broker-{broker}", one["at_ms"])
        for one in by_name["brokers_seen"]
        for broker in filter(None, one["removed"].split(","))
    ]
    expired = [
        (one["node"], one["at_ms"])
        for one in by_name["session_changed"]
        if one["state"] == "expired" and one["node"].startswith("broker-")
    ]
    found: list[tuple[str, float]] = []
    for node, ended_ms in sorted([*fenced, *gone, *expired], key=lambda one: one[1]):
        if not any(name == node and ended_ms - known < NEAR_MS / 2 and not _between(by_name, node, known, ended_ms)
                   for name, known in found):  # fmt: skip
            found.append((node, ended_ms))
    return found[:WINDOWS_MAX]


def _between(by_name: Mapping[str, list[Line]], node: str, since_ms: float, until_ms: float) -> bool:
    """Whether the node had come back between two ends of its session."""
    back = _back(by_name, node, since_ms)
    return back is not None and back < until_ms


def _back(by_name: Mapping[str, list[Line]], node: str, ended_ms: float) -> float | None:
    """Time at which the cluster had the broker again, after its session's end."""
    number = int(node.rpartition("-")[2])
    times = [
        one["at_ms"]
        for one in by_name["broker_registration_committed"]
        if one["broker"] == number and one["change"] == "unfenced" and one["at_ms"] > ended_ms
    ]
    times += [
        one["at_ms"]
        for one in by_name["brokers_seen"]
        if str(number) in one["added"].split(",") and one["at_ms"] > ended_ms
    ]
    times += [
        one["at_ms"]
        for one in by_name["session_changed"]
        if one["node"] == node and one["state"] == "connected" and one["at_ms"] > ended_ms
    ]
    return min(times, default=None)


def _covers(window: Window, node: str, when_ms: float) -> bool:
    """Whether a dead process explains the end of its session at that time."""
    until = window.until_ms if window.until_ms is not None else float("inf")
    return window.node == node and window.since_ms - APART_MS <= when_ms <= until + NEAR_MS / 2


def _shrinks_alone(requests: Iterable[Line]) -> list[tuple[str, float]]:
    """(leader, time) of each request for an ISR of the leader alone."""
    return [
        (one["node"], one["at_ms"])
        for one in requests
        if one["change"] == "shrink" and one["now"] == one["node"].rpartition("-")[2]
    ]


def _silence(record: ImportRecord, node: str, when_ms: float, zero_ms: float) -> tuple[float, float]:
    """(length, begin) of the time around `when_ms` without a line of the node; (0, 0): none."""
    common: tuple[float, float] | None = None
    for file in record.files:
        if file.node != node:
            continue
        around = [
            (since - zero_ms, since - zero_ms + length)
            for length, since in file.silences
            if since - zero_ms <= when_ms <= since - zero_ms + length
        ]
        if not around:
            if file.first_ms - zero_ms <= when_ms <= file.last_ms - zero_ms:
                return 0.0, 0.0
            continue
        low, high = around[0]
        common = (low, high) if common is None else (max(common[0], low), min(common[1], high))
    if common is None or common[1] - common[0] < 2 * APART_MS:
        return 0.0, 0.0
    return common[1] - common[0], common[0]


def _merged(windows: Sequence[Window]) -> list[Window]:
    """Windows of one node that overlap, as one."""
    found: list[Window] = []
    for one in windows:
        same = next((at for at, known in enumerate(found) if known.node == one.node and _overlap(known, one)), None)
        if same is None:
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


def _overlap(one: Window, other: Window) -> bool:
    end = one.until_ms if one.until_ms is not None else float("inf")
    other_end = other.until_ms if other.until_ms is not None else float("inf")
    return one.since_ms < other_end and other.since_ms < end


def _quorum_lost(record: ImportRecord, dead: Sequence[Window]) -> Window | None:
    """The time in which most controllers of a KRaft quorum did not run."""
    voters = [node.name for node in record.nodes if "controller" in node.roles and node.properties.get("process.roles")]
    down = [window for window in dead if window.node in voters]
    for window in down:
        at_once = {one.node for one in down if _overlap(window, one)}
        if len(at_once) * 2 > len(voters) > 1:
            ends = [one.until_ms for one in down if one.node in at_once]
            until = None if None in ends else min(end for end in ends if end is not None)
            return Window(", ".join(sorted(at_once)), max(one.since_ms for one in down if one.node in at_once), until)
    return None
