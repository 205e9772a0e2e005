"""Processes of a live cluster that others stopped: which are named, and by which limit."""

import pytest

from emulator.judging.completeness import EventNumbers
from emulator.judging.findings import Note
from emulator.judging.standstills import Ensemble, ensemble_of, shortest_ms, standstills
from emulator.machines.session.sessions import SessionLimits

SESSIONS = SessionLimits(1_000)
ENSEMBLE = Ensemble(4_000.0, SESSIONS)


def note(event: str, at_ms: float, node: str = "injector", incarnation: int = 1, **fields: object) -> Note:
    return Note(event=event, node=node, incarnation=incarnation, seq=1, at_ms=at_ms, **fields)  # type: ignore[arg-type]


def started(at_ms: float = 0.0, node: str = "broker-0", incarnation: int = 1, settings: str = "") -> Note:
    return note("node_started", at_ms, node, incarnation, kafka_version="2.6", settings=settings)


def report(at_ms: float, longest_ms: float, half_ms: float = 0.0, node: str = "broker-0", incarnation: int = 1) -> Note:
    return note("timer_lateness", at_ms, node, incarnation, report_max_ms=longest_ms, report_p50_ms=half_ms)


@pytest.mark.parametrize(("longest_ms", "named"), [(1_999.0, False), (2_001.0, True), (20_000.0, True)])
def test_half_of_the_shortest_time_out_is_the_limit(longest_ms: float, named: bool) -> None:
    reasons = standstills([started(), report(30_000.0, longest_ms)], {}, ENSEMBLE)
    assert [reason[:42] for reason in reasons] == (
        [f"broker-0, incarnation 1, stood still for {longest_ms:.0f} ms"[:42]] if named else []
    )


def test_a_run_with_a_scenario_has_no_standstill_report() -> None:
    assert standstills([started(), report(30_000.0, 20_000.0)], {}, None) == []


def test_each_incarnation_is_named_once_by_its_worst() -> None:
    notes = [report(10_000.0, 3_000.0), report(20_000.0, 4_000.0), report(20_000.0, 9_000.0, incarnation=2)]
    first, second = standstills(notes, {}, ENSEMBLE)
    assert "incarnation 1, stood still for 4000 ms" in first
    assert "incarnation 2, stood still for 9000 ms" in second


@pytest.mark.parametrize(
    ("stalled_at_ms", "named"), [(20_000.0, False), (41_000.0, True), (60_000.0, True), (90_000.0, False)]
)
def test_the_limit_is_that_of_the_incarnations_that_live_then(stalled_at_ms: float, named: bool) -> None:
    """Time-outs that a later start gives count while that incarnation lives, and no longer."""
    notes = [
        *(started(), started(node="broker-1")),
        note("machine_fault", 39_000.0, what="kill", target="broker-1", life=1),
        started(40_000.0, "broker-1", 2, settings="auto.create.topics.enable=false replica.lag.time.max.ms=1000"),
        note("machine_fault", 70_000.0, what="kill", target="broker-1", life=2),
        started(71_000.0, "broker-1", 3),
    ]
    notes = sorted([*notes, report(stalled_at_ms, 1_000.0)], key=lambda one: one.at_ms)
    assert bool(standstills(notes, {}, ENSEMBLE)) is named


def test_a_process_that_is_stopped_again_and_again_is_starved() -> None:
    """1.5 s each time, which is less than the limit."""
    [reason] = standstills([started(), report(30_000.0, 1_500.0, half_ms=700.0)], {}, ENSEMBLE)
    assert reason.startswith("broker-0, incarnation 1, was starved until 30000 ms: half of its timers were 700 ms late")
    assert not standstills([started(), report(30_000.0, 1_500.0, half_ms=390.0)], {}, ENSEMBLE)


@pytest.mark.parametrize(("last_ms", "named"), [(27_000.0, True), (29_500.0, False)])
def test_a_process_that_did_not_answer_when_it_was_killed_stood_still_since_its_last_event(
    last_ms: float, named: bool
) -> None:
    lives = {("broker-0", 1): EventNumbers(1, 9, 0.0, last_ms, (9, 45, 285))}
    notes = [
        started(),
        note("machine_fault", 30_000.0, what="kill", target="broker-0", life=1),
        note("machine_fault", 30_200.0, what="unresponsive", target="broker-0", life=1),
    ]
    assert bool(standstills(notes, lives, ENSEMBLE)) is named


def test_reasons_are_bounded() -> None:
    notes = [report(30_000.0, 9_000.0, incarnation=number) for number in range(1, 41)]
    reasons = standstills(notes, {}, ENSEMBLE)
    assert len(reasons) == 21 and reasons[-1] == "20 more incarnations stood still"


@pytest.mark.parametrize(
    ("version", "settings", "expected_ms"),
    [
        ("2.6", "", 5_000.0),
        ("2.6", "offsets.commit.timeout.ms=60000", 18_000.0),
        ("2.4", "offsets.commit.timeout.ms=60000", 6_000.0),
        ("2.6", "zookeeper.session.timeout.ms=100", 2_000.0),
        ("2.6", "a=1 replica.socket.timeout.ms=700 request.timeout.ms=900", 700.0),
        ("2.6", "x.request.timeout.ms=9 request.timeout.ms=900x", 5_000.0),
        ("no version", "request.timeout.ms=9", float("inf")),
    ],
)
def test_the_shortest_time_out_of_an_incarnation(version: str, settings: str, expected_ms: float) -> None:
    """offsets.commit.timeout.ms, 5 s, is the shortest where nothing is given."""
    assert shortest_ms(version, settings, SESSIONS) == expected_ms


def test_an_ensemble_is_read_from_the_nodes_of_a_run() -> None:
    session = {"tickTime": 1_000, "syncLimit": 4, "minSessionTimeout": 2_000, "maxSessionTimeout": 20_000}
    assert ensemble_of({"broker-0": {"request.timeout.ms": 1}, "session-0": session}) == Ensemble(
        4_000.0, SessionLimits(1_000, 2_000, 20_000)
    )
    assert ensemble_of({"broker-0": {}, "session-0": {"tickTime": "x"}}) is None
