"""As `test_checks`: operations of several records each, which checks count record by record."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, healthy

pytestmark = pytest.mark.spark
TOGETHER = True
VALUES = "vwxyz"


def _with_batch(at: int = 3, *, acks: int = -1, followers: tuple[int, ...] = (1, 2)) -> Trace:
    """a, b and c, then one batch of VALUES."""
    last = at + len(VALUES) - 1
    trace = healthy().append(0, VALUES, at=at, last=last, epoch=0, as_leader=True)
    for follower in followers:
        trace.append(follower, VALUES, at=at, last=last, epoch=0)
    return trace.ended(VALUES, at=at if acks else -1, acks=acks, values=VALUES)


def _another_leads(trace: Trace, *, log_end: int = 8) -> Trace:
    """broker-1 cuts the batch off, and leads."""
    trace.truncate(1, 3, log_end=log_end).leader(1, epoch=1, followers=(2,))
    return trace.role(0, "follower", epoch=1, leader=1).truncate(0, 3, log_end=log_end)


def test_records_are_counted_and_not_operations(audit: Audit) -> None:
    verdict = audit(_with_batch().ended("d", at=8, outcome="unknown", error=-2, records=7))
    judged = {name: check.judged for name, check in verdict.checks.items()}
    for name in ("lost-acknowledged", "reordered", "acknowledged-below-min-insync"):
        assert judged[name] == 3 + len(VALUES), name
    assert verdict.measures["unknown_outcomes"] == {"in_log": 0, "not_in_log": 7, "open": 0}


@pytest.mark.parametrize("acks", [-1, 1, 0])
def test_each_record_of_a_lost_batch_is_lost(audit: Audit, acks: int) -> None:
    check = audit(_another_leads(_with_batch(acks=acks))).checks["lost-acknowledged"]
    assert (check.count, check.judged) == (5, 8)
    assert check.by_acks == {{-1: "all", 1: "1", 0: "0"}[acks]: 5}
    reported = [(one["value"], one["record"], one.get("offset", -1)) for one in check.evidence]
    assert reported == [(value, n, 3 + n if acks else -1) for n, value in enumerate(VALUES)]
    assert all(repr(one["value"]) in one["text"] for one in check.evidence)


def test_records_without_reported_values_are_named_by_their_number(audit: Audit) -> None:
    trace = healthy().append(0, "many", at=3, last=1_002, epoch=0, as_leader=True)
    trace.ended("many", at=3, records=1_000).leader(1, epoch=1, followers=(2,))
    check = audit(trace).checks["lost-acknowledged"]
    assert (check.count, check.judged, len(check.evidence)) == (1_000, 1_003, 20)
    assert check.evidence[4]["text"].startswith("record 4 of client-0.1:")
    assert (check.evidence[4]["offset"], "value" in check.evidence[4]) == (7, False)


def test_what_was_deleted_of_a_batch_on_request_is_not_lost_with_the_rest(audit: Audit) -> None:
    trace = _with_batch().records_deleted(0, 5)
    check = audit(_another_leads(trace)).checks["lost-acknowledged"]
    assert [one["value"] for one in check.evidence] == ["x", "y", "z"]


def test_a_reused_sequence_number_is_reported_for_each_record(audit: Audit) -> None:
    trace = healthy().append(0, "first", at=3, last=7, epoch=0, as_leader=True).ended("first", at=3, values="ABCDE")
    for follower in (1, 2):
        trace.append(follower, "first", at=3, last=7, epoch=0)
    trace.answered_as_duplicate(VALUES, "first", at=3, last=7).ended(VALUES, at=3, values=VALUES)
    check = audit(trace).checks["lost-acknowledged"]
    assert check.allowed == {"duplicate sequence": 5}
    assert "sequence number 7 for the record there" in check.evidence[2]["text"]


@pytest.mark.parametrize(("times", "verdict"), [(1, "violated"), (2, "held")])
def test_a_batch_is_accounted_for_by_its_records(audit: Audit, times: int, verdict: str) -> None:
    trace = _with_batch().append(0, VALUES, at=8, last=12, epoch=0, as_leader=True)
    for follower in (1, 2):
        trace.append(follower, VALUES, at=8, last=12, epoch=0)
    for _ in range(times - 1):
        trace.ended(VALUES, at=8, values=VALUES)
    assert audit(trace).checks["duplicate"].verdict == verdict


def test_a_batch_that_several_operations_tell_was_written_once(audit: Audit) -> None:
    """One of more records than an event names."""
    trace = healthy().append(0, VALUES, at=3, last=7, epoch=0, as_leader=True)
    trace.ended(VALUES, at=3, values="vwx").ended(VALUES, at=6, values="yz")
    verdict = audit(trace)
    assert {verdict.checks[name].verdict for name in ("duplicate", "lost-acknowledged", "reordered")} == {"held"}
    assert verdict.checks["lost-acknowledged"].judged == 8


def test_each_record_of_a_batch_that_lies_too_low_is_out_of_order(audit: Audit) -> None:
    trace = healthy().append(0, "later", at=3, epoch=0, as_leader=True)
    trace.append(0, VALUES, at=4, last=8, epoch=0, as_leader=True)
    trace.append(0, "last", at=9, epoch=0, as_leader=True)
    trace.ended("last", at=9).ended(VALUES, at=4, values=VALUES)
    check = audit(trace).checks["reordered"]
    assert [(one["value"], one["offset"]) for one in check.evidence] == [(v, 4 + n) for n, v in enumerate(VALUES)]


def test_of_a_batch_that_a_reader_begins_within_only_what_it_passed_is_unseen(audit: Audit) -> None:
    trace = _with_batch().append(0, "end", at=8, epoch=0, as_leader=True)
    reader = trace.consume()
    trace.read(VALUES, at=5, last=5, epoch=0, high_watermark=9, operation=reader)
    trace.read("end", at=8, epoch=0, high_watermark=9, operation=reader)
    check = audit(trace).checks["unseen"]
    assert [(one["value"], one["offset"]) for one in check.evidence] == [("y", 6), ("z", 7)]


def test_acknowledgements_of_a_lone_leader_are_reported_record_by_record(audit: Audit) -> None:
    """The high watermark passed two of the batch before: they were not acknowledged by too few."""
    trace = Trace().cluster().role(0, "leader", epoch=0, min_insync=2)
    trace.append(0, VALUES, at=0, last=4, epoch=0, as_leader=True)
    trace.in_sync(0, "0", high_watermark=2, min_insync=2).watermark(0, 5, previous=2, epoch=0)
    check = audit(trace.ended(VALUES, at=0, values=VALUES)).checks["acknowledged-below-min-insync"]
    assert (check.count, check.judged) == (3, 5)
    assert [one["offset"] for one in check.evidence] == [2, 3, 4]


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
