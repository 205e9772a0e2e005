"""A run as a whole: reasons for unknown, how verdicts compose, and lines that are no events."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest

from audit.audited_run import audit_runs
from audit.checks.check import Check
from audit.checks.check_registry import CHECKS, check_named
from audit.event_lines import EVENT_SCHEMA
from audit.expected import Expected
from emulator.judging.audited_measures import first_fault_ms, leader_terms
from emulator.judging.completeness import lost_events, reports_by_life
from emulator.judging.findings import EventCount, Note
from emulator.judging.health import (
    Lateness,
    exits,
    late_timers,
    unexpected_deaths,
    why_late,
)
from emulator.judging.link_fault_effects import fault_verdicts
from emulator.judging.measures import time_to_new_leader_ms
from emulator.runs.verdict_file import CheckVerdict, ExpectationVerdict, Valid, compose, exit_code
from protocol.events import FIELDS, FaultHealed, FaultInForce, FaultRequested, FaultTraffic, TimerLateness
from tests.audit.trace import Trace, dual_leader, healthy

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# --- pure parts ---


def note(event: str, at_ms: float = 0.0, node: str = "injector", incarnation: int = 1, **fields: object) -> Note:
    return Note(event=event, node=node, incarnation=incarnation, seq=1, at_ms=at_ms, **fields)  # type: ignore[arg-type]


def rule(
    *, stopped: int = 3, healed: bool = True, tried: bool = True, proved: bool = True, expects: bool = True
) -> list[Note]:
    """cut az-0, in force at two nodes."""
    notes = [note("fault_asked", 10, rule="r", what="cut az-0", expects_traffic=expects)]
    notes += [note("fault_in_force", 11 + n, f"broker-{n}", rule="r", what="cut az-0") for n in range(2)]
    if healed:
        notes += [note("fault_healed", 21 + n, f"broker-{n}", rule="r", what="cut az-0", frames_stopped=stopped * n)
                  for n in range(2)]  # fmt: skip
    if tried:
        notes.append(note("fault_tried", 29, "broker-1", rule="r", peer="broker-0"))
    if proved:
        notes.append(note("fault_traffic", 30, "broker-0", rule="r", peer="broker-1"))
    return notes


def test_a_cut_that_stopped_frames_and_healed_is_trusted() -> None:
    [fault], reasons = fault_verdicts(rule())
    assert reasons == []
    assert (fault.rule, fault.requested_ms, fault.in_force_ms, fault.healed_ms) == ("cut az-0", 10, 12, 22)
    assert (fault.frames_stopped, fault.took_effect, fault.healed) == (3, True, True)


def test_a_cut_that_stopped_nothing_makes_the_run_unknown() -> None:
    [fault], reasons = fault_verdicts(rule(stopped=0))
    assert fault.took_effect is False
    assert reasons == ["fault 'cut az-0' stopped nothing: no traffic met it"]


@pytest.mark.parametrize(
    ("stopped", "reported", "took_effect"), [(0, 2, False), (3, 2, True), (0, 1, True), (0, 0, True)]
)
def test_a_lasting_cut_reports_its_stopped_frames_when_its_nodes_end(
    stopped: int, reported: int, took_effect: bool
) -> None:
    """An unreported one is believed, because the process that would report it was killed."""
    notes = rule(healed=False, tried=False, proved=False)
    notes += [
        note("fault_lasted", 40, f"broker-{n}", rule="r", what="cut az-0", frames_stopped=stopped * n)
        for n in range(reported)
    ]
    [fault], reasons = fault_verdicts(notes)
    assert (fault.frames_stopped, fault.took_effect, fault.healed) == (stopped, took_effect, None)
    assert reasons == ([] if took_effect else ["fault 'cut az-0' stopped nothing: no traffic met it"])


def test_a_cut_of_idle_links_may_stop_nothing() -> None:
    [fault], reasons = fault_verdicts(rule(stopped=0, proved=False, expects=False))
    assert (fault.took_effect, fault.healed, reasons) == (True, True, [])


def test_a_heal_after_which_nothing_that_is_sent_arrives_is_unknown() -> None:
    [fault], reasons = fault_verdicts(rule(proved=False))
    assert fault.healed == "unknown"
    assert reasons == ["fault 'cut az-0' was healed, but nothing that was sent since has arrived"]


def test_a_heal_of_links_without_any_frame_since_is_one() -> None:
    [fault], reasons = fault_verdicts(rule(tried=False, proved=False))
    assert (fault.healed, reasons) == (True, [])


def test_a_heal_that_did_not_reach_one_end_is_no_heal() -> None:
    notes = [n for n in rule() if not (n.event == "fault_healed" and n.node == "broker-1")]
    [fault], reasons = fault_verdicts(notes)
    assert fault.healed is False
    assert "still in force at broker-1" in reasons[-1]


def test_the_end_of_the_run_does_not_heal() -> None:
    """Every node stops in the end, the one that never healed too."""
    notes = [n for n in rule() if not (n.event == "fault_healed" and n.node == "broker-1")]
    [fault], reasons = fault_verdicts([*notes, *(note("node_stopped", 99, f"broker-{n}", code=0) for n in range(2))])
    assert fault.healed is False
    assert "still in force at broker-1" in reasons[-1]


@pytest.mark.parametrize(
    "requested", [note("fault_asked", 20, rule="r", what="heal cut az-0"), note("scenario_step", 20, text="heal")]
)
def test_a_requested_heal_that_reached_no_node_is_no_heal(requested: Note) -> None:
    [fault], reasons = fault_verdicts([*rule(healed=False, proved=False), requested])
    assert fault.healed is False
    assert reasons == ["fault 'cut az-0' did not heal: still in force at broker-0, broker-1"]


def test_a_node_that_was_killed_needs_no_heal() -> None:
    notes = [n for n in rule() if not (n.event == "fault_healed" and n.node == "broker-0")]
    killed = [note("node_started", 1, "broker-0"), note("machine_fault", 15, what="kill", target="broker-0")]
    [fault], reasons = fault_verdicts(sorted(notes + killed, key=lambda n: n.at_ms))
    assert (fault.healed, reasons) == (True, [])


def test_a_cut_that_lasts_to_the_end_needs_no_heal() -> None:
    [fault], reasons = fault_verdicts(rule(healed=False, proved=False))
    assert (fault.healed, fault.healed_ms, reasons) == (None, None, [])


def test_a_rule_in_force_nowhere_makes_the_run_unknown() -> None:
    _, reasons = fault_verdicts([note("fault_asked", 10, rule="r", what="cut az-9", expects_traffic=True)])
    assert reasons == ["fault 'cut az-9' was requested but was in force nowhere"]


def test_a_node_that_stops_with_a_code_died_by_itself() -> None:
    notes = [note("node_started", 1, "broker-0"), note("node_stopped", 9, "broker-0", code=1, reason="NODEEXISTS")]
    assert unexpected_deaths(notes) == ["broker-0 died by itself at 9 ms with code 1: NODEEXISTS"]


def test_a_node_that_was_stopped_killed_or_requested_to_start_did_not() -> None:
    notes = [
        note("node_started", 1, "broker-0"),
        note("node_stopped", 2, "broker-0", code=0),
        note("node_started", 3, "broker-0", 2),
        note("machine_fault", 4, what="kill", target="broker-0"),
        note("node_started", 5, "broker-0", 3),
    ]
    assert unexpected_deaths(notes) == []


def test_a_node_that_is_expected_to_exit_may_as_kafkas_would() -> None:
    """Code 1: another code is a bug of ours, whatever a scenario expects."""
    lives = [note("node_started", 1, "broker-0"), note("node_stopped", 5, "broker-0", code=1)]
    lives += [note("machine_fault", 5, what="died", target="broker-0"), note("node_started", 6, "broker-0", 2)]
    assert unexpected_deaths(lives, {"broker-1"}) != []
    assert unexpected_deaths(lives, {"broker-0"}) == []
    assert exits(lives) == {"broker-0": 1}
    crash = note("node_stopped", 9, "broker-0", 2, code=70)
    assert unexpected_deaths([*lives, crash], {"broker-0"}) == ["broker-0 died by itself at 9 ms with code 70"]
    assert exits([*lives, crash]) == {"broker-0": 2}


def test_an_end_reported_to_the_starts_requester_is_no_surprise() -> None:
    """Of that life alone, and only as Kafka's broker ends."""
    lives = [
        note("node_started", 1, "broker-0"),
        note("machine_fault", 2, what="kill", target="broker-0"),
        note("machine_fault", 3, what="start", target="broker-0"),
        note("node_started", 4, "broker-0", 2),
        note("node_stopped", 5, "broker-0", 2, code=1, reason="registered"),
        note("machine_fault", 6, what="died", target="broker-0"),
    ]
    reported = note("machine_fault", 7, what="start-refused", target="broker-0")
    assert unexpected_deaths(lives) == ["broker-0 died by itself at 5 ms with code 1: registered"]
    assert unexpected_deaths([*lives, reported]) == []
    assert exits([*lives, reported]) == {"broker-0": 1}
    again = [note("node_started", 8, "broker-0", 3), note("node_stopped", 9, "broker-0", 3, code=1)]
    assert unexpected_deaths([*lives, reported, *again]) == ["broker-0 died by itself at 9 ms with code 1"]
    crash = [msgspec.structs.replace(one, code=70) if one.code else one for one in lives]
    assert unexpected_deaths([*crash, reported]) == ["broker-0 died by itself at 5 ms with code 70: registered"]


def test_a_node_that_is_killed_or_stopped_did_not_exit() -> None:
    killed = [note("node_started", 1, "broker-0"), note("machine_fault", 2, what="kill", target="broker-0")]
    assert exits([*killed, note("node_started", 3, "broker-1"), note("node_stopped", 4, "broker-1", code=0)]) == {}


def test_a_node_that_starts_again_by_itself_is_reported() -> None:
    notes = [note("node_started", 1, "broker-0"), note("node_started", 5, "broker-0", 2)]
    assert unexpected_deaths(notes) == ["broker-0 started again at 5 ms without an earlier stop"]


@pytest.mark.parametrize(("limit_ms", "late"), [(None, False), (60.0, False), (40.0, True)])
def test_timers_later_than_the_limit_make_the_run_unknown(limit_ms: float | None, late: bool) -> None:
    notes = [note("timer_lateness", buckets=f"1:9 {value:g}:1", max_ms=50.0) for value in (10.0, 53.8, 20.0)]
    lateness = late_timers(notes, limit_ms)
    assert lateness.worst_ms == 50.0, "a bound above the maximum is the maximum"
    assert lateness.late is late


def test_lateness_is_that_of_a_whole_life_not_of_its_worst_seconds() -> None:
    """A process that stood still for longer than a timeout has missed one.

    However long it lived.
    """
    of_2 = [note("timer_lateness", buckets="1:1499", max_ms=1.0), note("timer_lateness", buckets="90.51:1", max_ms=90)]
    assert late_timers(of_2, 40.0) == Lateness(1.0, 40.0, late=False)
    [*_, short] = of_2
    late = late_timers([of_2[0], note("timer_lateness", 0, "broker-1", buckets="90.51:1", max_ms=90)], 40.0)
    assert late == Lateness(90.0, 40.0, late=True, of_whom=((90.0, "broker-1"),))
    assert "a tenth of the shortest time-out: broker-1 90 ms;" in why_late(late, "", None)
    assert late_timers([short], None) == Lateness(90.0, None, late=False)
    still = [of_2[0], note("timer_lateness", buckets="512:1", max_ms=401.0)]
    assert late_timers(still, None) == Lateness(1.0, None, late=False)
    once = late_timers(still, 40.0)
    assert once == Lateness(1.0, 40.0, late=True, once=((401.0, "injector"),))
    output = why_late(once, "", 5.0)
    assert output.startswith("timers were later, once, than the shortest time-out, 400 ms: injector 401 ms; that could")
    assert output.endswith("Play it again with --speed 2")


@pytest.mark.parametrize(
    ("speed", "what_to_do"),
    [(5.0, "--speed 1"), (20.0, "--speed 7"), (2.0, "--speed 1"), (1.0, "when the machine has less to do")],
)
def test_a_late_run_has_advice(speed: float, what_to_do: str) -> None:
    late = Lateness(90.0, 40.0, late=True, of_whom=((90.0, "broker-1"),))
    output = why_late(late, "2 recordings of real Kafka and 200 simulated seeds", speed)
    assert output.endswith(
        "that could have changed the outcome, and the run equals none of 2 recordings of real Kafka and 200 simulated "
        f"seeds. Play it again {'' if speed == 1.0 else 'with '}{what_to_do}"
    )


def test_a_run_without_timer_measurements_is_unknown() -> None:
    unmeasured = late_timers([], 40.0)
    assert unmeasured == Lateness(None, 40.0, late=True)
    assert why_late(unmeasured, "", 5.0) == "no process reported the lateness of its timers"
    assert not late_timers([], None).late


def test_an_end_that_the_supervisor_did_not_request_is_reported_once() -> None:
    died = note("machine_fault", 10, what="died", target="broker-0")
    started, spoken = note("node_started", 1, "broker-0"), note("node_stopped", 9, "broker-0", code=1)
    assert unexpected_deaths([started, died]) == ["broker-0 ended by itself at 10 ms without a word"]
    assert unexpected_deaths([started, spoken, died]) == ["broker-0 died by itself at 9 ms with code 1"]


def count(*seqs: int, event: str = "x") -> EventCount:
    squares = sum(seq * seq for seq in seqs)
    return EventCount("broker-0", 1, event, None, len(seqs), min(seqs), max(seqs), 0.0, 0.0, sum(seqs), squares, 0, 0)


@pytest.mark.parametrize(
    ("counts", "expected"),
    [
        ([count(1, 2, 3)], None),
        ([count(0, 1, 2, 3)], None),
        ([count(1, 3, event="a"), count(2, event="b")], None),
        ([count(1, 3)], "1 events of broker-0, incarnation 1, are missing (its numbers go up to 3)"),
        ([count(5, 6)], "4 events of broker-0, incarnation 1, are missing (its numbers go up to 6)"),
        ([count(1, 2, 2, 3)], "1 events of broker-0, incarnation 1, are there twice"),
        (
            [count(1, 2, 2), count(4, 5)],
            "of broker-0, incarnation 1, some numbers up to 5 are there twice, and others are not",
        ),
    ],
)
def test_gaps_in_the_sequence_are_reported(counts: list[EventCount], expected: str | None) -> None:
    assert lost_events(reports_by_life(counts)) == ([expected] if expected else [])


def test_time_to_a_new_leader_counts_from_the_first_fault() -> None:
    led = [
        note("role_changed", at, f"broker-{n}", topic="t", partition=0, leader_epoch=n) for n, at in ((0, 5), (1, 90))
    ]
    notes = sorted([*led, note("fault_in_force", 20, rule="r", what="cut")], key=lambda n: n.at_ms)
    assert time_to_new_leader_ms(leader_terms(notes), first_fault_ms(notes)) == 70


HELD, VIOLATED, UNKNOWN = (CheckVerdict(v, False, 0, []) for v in ("held", "violated", "unknown"))
EXPECTED = CheckVerdict("violated", True, 1, [])
KEPT, BROKEN = ExpectationVerdict("x", True), ExpectationVerdict("x", False)


@pytest.mark.parametrize(
    ("expectations", "checks", "reasons", "valid"),
    [
        ([KEPT], [HELD, EXPECTED], [], True),
        ([KEPT], [HELD, UNKNOWN], [], "unknown"),
        ([ExpectationVerdict("x", "unknown")], [HELD], [], "unknown"),
        ([KEPT], [UNKNOWN, VIOLATED], [], False),
        ([BROKEN], [HELD], [], False),
        ([BROKEN], [VIOLATED], ["late timers"], "unknown"),
    ],
)
def test_verdicts_compose_worst_first(
    expectations: list[ExpectationVerdict], checks: list[CheckVerdict], reasons: list[str], valid: Valid
) -> None:
    assert compose(expectations, checks, reasons) == valid


@pytest.mark.parametrize(
    ("valid", "code"), [([True], 0), ([True, "unknown"], 3), ([True, False, "unknown"], 1), ([], 0)]
)
def test_the_worst_of_several_runs_is_the_exit_code(valid: list[Valid], code: int) -> None:
    assert exit_code(valid) == code


def test_the_schema_has_every_field_of_every_event() -> None:
    assert EVENT_SCHEMA.fieldNames() == list(FIELDS)


def test_an_unknown_check_is_answered_with_the_nearest() -> None:
    with pytest.raises(KeyError, match="nearest: dual-leader"):
        check_named("dual-leaders")


# --- with Spark ---


@pytest.mark.spark
def test_a_check_that_crashes_is_unknown_and_affects_no_other(spark: SparkSession, tmp_path: Path) -> None:
    failing = (
        "SELECT run, topic, partition, 0L AS offset, raise_error('on purpose') AS text, '' AS details FROM appends"
    )
    broken = Check(
        name="broken", title="", definition="", levels=(), needs=(), subject="things", subjects=lambda _: 1,
        violations=failing,
    )  # fmt: skip
    run = dual_leader().write(tmp_path)
    checks = [CHECKS["lost-acknowledged"], broken]
    [verdict] = audit_runs(
        spark, [run], scratch=str(tmp_path), checks=checks, expected=lambda _: Expected(), evidence_max=2
    )
    assert verdict.checks["broken"].verdict == "unknown"
    assert "on purpose" in verdict.checks["broken"].reason
    lost = verdict.checks["lost-acknowledged"]
    assert (lost.count, len(lost.evidence)) == (3, 2), "counted all, told as many as were asked for"


def restarted() -> Trace:
    """Every way of log truncation, a fault, late timers and a failed produce.

    All rare fields are set.
    """
    trace = dual_leader()
    trace.run = "restarted"
    trace.emit("injector", FaultRequested("r", "cut az-0", True))
    for reported in (FaultInForce("r", "cut az-0"), FaultHealed("r", "cut az-0", 3)):
        for node in ("broker-0", "broker-1", "broker-2", "client-0", "session-0"):
            trace.emit(node, reported)
    trace.emit("broker-0", FaultTraffic("r", "broker-1"))
    trace.emit("broker-1", TimerLateness(9, 0.5, 12.5, 20.25, "1:8 13:1"))
    trace.ended("x", at=-1, outcome="failed", error=6).produce("y", at=4, epoch=1, leader=1, followers=(0, 2))
    return trace.kill("broker-2", "power-loss").start("broker-2").loaded(2, 3)


def _odd() -> Trace:
    """A run's name with characters that globbing and URLs treat specially."""
    trace = healthy()
    trace.run = "az-isolated [leader] {2.6}+x%20@"
    return trace


SEVERAL = (_odd, dual_leader, restarted)


@pytest.mark.spark
@pytest.mark.parametrize("traces", [SEVERAL, pytest.param((restarted,), marks=pytest.mark.slow)])
def test_many_runs_are_judged_apart_and_a_big_one_alike(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, traces: Sequence[Callable[[], Trace]]
) -> None:
    """The way of big runs, by files and shuffles, gives the same verdicts as that of small ones.

    All checks, whether or not tables have few rows: test_big_runs_alike.
    """
    runs = [trace().write(tmp_path / "with space, comma") for trace in traces]
    few = [CHECKS["lost-acknowledged"], CHECKS["dual-leader"]]
    small = audit_runs(spark, runs, scratch=str(tmp_path), checks=few)
    monkeypatch.setattr("audit.audit_run.SMALL_MAX_BYTES", 0)
    big = audit_runs(spark, runs, scratch=str(tmp_path / "scratch"), checks=few)
    for verdict in (*small, *big):
        verdict.measures.pop("audit_s")
    assert [verdict.run for verdict in small] == [run.name for run in runs]
    assert small == big
    assert small[-1].measures["unavailable_ms"]["az-0"] > 0, "a produce failed"
    assert [verdict.valid for verdict in big] == [True, False, False][-len(runs) :]


def test_a_trace_is_made_of_the_schema() -> None:
    line = msgspec.json.decode(next(iter(Trace().cluster().files.values()))[0])
    assert set(line) <= set(FIELDS)
