"""Facts of an incident equal their definitions, whatever the number and order of the events."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from emulator.runs.importing.fact_finding import _quorum_lost
from emulator.runs.importing.forgotten_logs import forgotten_of
from emulator.runs.importing.import_record import ImportRecord, NodeRecord
from emulator.runs.importing.incident_facts import APART_MS, NEAR_MS, Absences, Cut, Forgotten, Line, Window
from emulator.runs.importing.log_facts import cuts_of

NODES = st.sampled_from(["broker-0", "broker-1", "broker-2"])
TIMES = st.integers(0, 6).map(float)
ENDS = st.integers(0, 4)


def _roles() -> st.SearchStrategy[list[Line]]:
    one = st.fixed_dictionaries(
        {
            "node": NODES, "topic": st.just("t"), "partition": st.just(0), "at_ms": TIMES, "log_end": ENDS,
            "role": st.sampled_from(["leader", "follower"]), "incarnation": st.integers(1, 3),
        }
    )  # fmt: skip
    return st.lists(one, max_size=8).map(_by_time)


def _cuts() -> st.SearchStrategy[list[Line]]:
    one = st.fixed_dictionaries(
        {
            "node": NODES, "topic": st.just("t"), "partition": st.just(0), "at_ms": TIMES, "to": ENDS,
            "log_end": ENDS, "effective": st.just(True), "reason": st.just("epoch"), "cause": st.just(""),
        }
    )  # fmt: skip
    return st.lists(one, max_size=6).map(_by_time)


def _loads() -> st.SearchStrategy[list[Line]]:
    one = st.fixed_dictionaries(
        {
            "node": NODES, "topic": st.just("t"), "partition": st.just(0), "at_ms": TIMES, "log_end": ENDS,
            "incarnation": st.integers(1, 3),
        }
    )  # fmt: skip
    return st.lists(one, max_size=4).map(_by_time)


def _by_time(lines: list[Any]) -> list[Line]:
    return sorted(lines, key=lambda one: float(one["at_ms"]))


def led_by(roles: list[Line], node: str, at_ms: float) -> bool:
    """Whether the node had begun to lead by then."""
    return any(one["node"] == node and one["role"] == "leader" and one["at_ms"] <= at_ms for one in roles)


def forgotten_by_definition(by_name: dict[str, list[Line]], cuts: list[Cut]) -> list[Forgotten]:
    """Each load beside every role and every cut."""
    roles, loads = by_name["role_changed"], list(by_name["log_loaded"])
    known_loads = {(one["node"], one["incarnation"]) for one in loads}
    for role in roles:
        if role["incarnation"] > 1 and (role["node"], role["incarnation"]) not in known_loads:
            known_loads.add((role["node"], role["incarnation"]))
            loads.append(role)
    found: dict[str, Forgotten] = {}
    for load in loads:
        node, at_ms = load["node"], load["at_ms"]
        known = [
            role["log_end"]
            for role in (*roles, *by_name["isr_change_asked"])
            if role["node"] == node and role["at_ms"] < at_ms
            and not any(cut.node == node and cut.to < role["log_end"] and role["at_ms"] < cut.at_ms < at_ms
                        for cut in cuts)
        ]  # fmt: skip
        leads = [one["at_ms"] for one in roles if one["node"] == node and one["role"] == "leader"]
        if any(one < at_ms for one in leads) and any(one >= at_ms for one in leads):
            known += [cut.log_end for cut in cuts if cut.node != node and not cut.led and cut.at_ms > at_ms]
        had = max(known, default=0)
        if had > load["log_end"]:
            found.setdefault(node, Forgotten(node, "t-0", load["log_end"], had, at_ms))
    return list(found.values())


@given(roles=_roles(), isr_changes=_roles(), truncated=_cuts(), loads=_loads())
def test_forgotten_records_are_those_of_the_definition(
    roles: list[Line], isr_changes: list[Line], truncated: list[Line], loads: list[Line]
) -> None:
    by_name: defaultdict[str, list[Line]] = defaultdict(list)
    by_name |= {"role_changed": roles, "isr_change_asked": isr_changes, "log_truncated": truncated, "log_loaded": loads}
    cuts = cuts_of(by_name)
    assert [cut.led for cut in cuts] == [led_by(roles, cut.node, cut.at_ms) for cut in cuts]
    assert forgotten_of(by_name, cuts) == forgotten_by_definition(by_name, cuts)


WINDOWS = st.builds(
    Window, NODES, st.integers(0, 90).map(lambda s: s * 1_000.0),
    st.none() | st.integers(0, 90).map(lambda s: s * 1_000.0),
)  # fmt: skip


@given(windows=st.lists(WINDOWS, max_size=8), node=NODES, when_s=st.integers(0, 200))
def test_absences_cover_what_one_of_their_windows_covers(windows: list[Window], node: str, when_s: int) -> None:
    when_ms = when_s * 1_000.0
    explaining = [
        one
        for one in windows
        if one.node == node and one.since_ms - APART_MS <= when_ms <= one.end_ms + NEAR_MS / 2
    ]
    assert Absences(windows).cover(node, when_ms) == bool(explaining)


@given(windows=st.lists(WINDOWS, max_size=8))
def test_the_quorum_is_lost_when_most_controllers_do_not_run(windows: list[Window]) -> None:
    nodes = [
        NodeRecord(f"broker-{number}", number, "controller", "3.9.2", {"process.roles": "controller"}, 1, [], {})
        for number in range(3)
    ]
    lost = _quorum_lost(ImportRecord(0.0, nodes, [], [], [], [], [], []), windows)
    begins = sorted(
        one.since_ms
        for one in windows
        if len({
            other.node for other in windows
            if other.since_ms <= one.since_ms and (other.until_ms is None or other.until_ms > one.since_ms)
        }) > 1
    )  # fmt: skip
    assert (None if lost is None else lost.since_ms) == (begins[0] if begins else None)
