"""The audit's verdicts of `tests/check_cases`, and of histories that no case can express."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, healthy
from tests.check_cases.case_files import Case, cases, surprises

pytestmark = pytest.mark.spark
TOGETHER = True
CASES = [pytest.param(case, id=case.name) for case in cases() if case.expected["spark"]]


@pytest.mark.parametrize("case", CASES)
def test_spark_judges_as_the_case_expects(audit: Audit, case: Case) -> None:
    assert surprises(case.expected["spark"], audit(case.trace()).checks) == []


def test_a_healthy_run_holds_every_check(audit: Audit) -> None:
    verdict = audit(healthy().group("commit", 3).group("committed", 3))
    # Nobody was started twice, and nothing lasted long.
    short = ("no-leader", "under-replicated", "unanswered-request", "too-few-copies")
    of_kraft = ("dual-quorum-leader", "metadata-divergence", "quorum-high-watermark")
    of_transactions = (
        *("lost-commit", "unrequested-commit", "torn-commit", "circular-dependency", "duplicate-commit"),
        *("output-without-offsets", "offsets-without-output", "zombie-write", "hanging-transaction"),
    )
    skipped = dict.fromkeys(("checkpoint-ahead", *short, *of_kraft, *of_transactions), "skipped")
    held = dict.fromkeys(verdict.checks, "held")
    assert {name: check.verdict for name, check in verdict.checks.items()} == held | skipped
    assert verdict.valid is True


def test_of_three_hundred_reads_the_one_past_a_lost_record_is_found(audit: Audit) -> None:
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2)).produce("a", at=0)
    trace.stored("x", at=1)
    operations = [trace.consume(1) for _ in range(300)]
    for operation in operations:
        trace.read("x", at=1, epoch=0, high_watermark=2, operation=operation)
    for broker in (1, 2, 0):
        trace.truncate(broker, 1, log_end=2)
    trace.leader(1, epoch=1, followers=(2, 0))
    for offset, value in enumerate("km", start=1):
        trace.produce(value, at=offset, epoch=1, leader=1, followers=(2, 0))
    trace.read("m", at=2, epoch=1, high_watermark=3, broker=1, operation=operations[137])
    check = audit(trace).checks["unseen"]
    assert [(one["offset"], one["reader"]) for one in check.evidence] == [(1, operations[137])]


def test_clocks_that_contradict_causes_make_the_run_unknown(audit: Audit) -> None:
    """A follower has a batch a second before the leader that it has it from."""
    trace = healthy().append(1, "d", at=3, epoch=0).later(1_000).append(0, "d", at=3, epoch=0, as_leader=True)
    verdict = audit(trace)
    assert verdict.valid == "unknown"
    assert [why for why in verdict.unknown_because if why.startswith("the clocks of broker-0 and broker-1")]


@pytest.mark.parametrize(("begun", "lasts"), [(False, False), (True, True)])
def test_two_controllers_at_once_are_a_measure(audit: Audit, begun: bool, lasts: bool) -> None:
    trace = healthy().controller("broker-1", epoch=2)
    measured = audit(trace.read("a", at=0, high_watermark=3) if begun else trace).measures["dual_controller_ms"]
    assert (measured > 0.0) == lasts


def test_unknown_outcomes_are_counted_by_records(audit: Audit) -> None:
    trace = healthy().ended("d", at=3, outcome="unknown", error=-2, records=7)
    assert audit(trace).measures["unknown_outcomes"] == {"in_log": 0, "not_in_log": 7, "open": 0}


@pytest.mark.parametrize(("records", "broken"), [(0, True), (65_536, False), (65_537, True), (-3, True)])
def test_a_number_of_records_that_cannot_be_is_no_event(audit: Audit, records: int, broken: bool) -> None:
    trace = healthy()
    invoked = e.OperationInvoked("client-0.1:99", "produce", TOPIC, 0, -1, "v", 0, -1, "", records)
    trace.emit("client-0", invoked)
    reasons = audit(trace).quarantine.reasons
    assert reasons == ({"records is out of range": 1} if broken else {})


def test_events_without_the_number_of_records_are_of_one_each(audit: Audit) -> None:
    """Runs of before there was one."""
    trace = healthy()
    for lines in trace.files.values():
        lines[:] = [line.replace(b',"records":1', b"") for line in lines]
    verdict = audit(trace)
    assert (verdict.checks["lost-acknowledged"].verdict, verdict.checks["lost-acknowledged"].judged) == ("held", 3)
    assert verdict.quarantine.lines == 0
