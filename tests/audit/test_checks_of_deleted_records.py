"""Records deleted on request (DeleteRecords).

Losses that the checks allow, and those they do not.
"""

import pytest

from tests.audit.conftest import Audit
from tests.audit.trace import Trace

TOGETHER = True


def written(records: int = 4) -> Trace:
    """By all three, with broker-0 as leader, acks=all."""
    trace = Trace().cluster().leader(0, epoch=0, followers=(1, 2))
    for offset in range(records):
        trace.produce(f"v{offset}", at=offset, followers=(1, 2))
    return trace


def started_over(trace: Trace, at: int) -> Trace:
    """broker-1 throws its log away, begins at `at`, and leads what was written since."""
    trace.truncate(1, at, log_end=4, reason="full")
    trace.produce("v4", at=4, followers=(1, 2)) if at == 4 else None
    return trace.leader(1, epoch=1, followers=(0, 2))


def test_what_was_deleted_below_is_not_lost_with_who_begins_there(audit: Audit) -> None:
    verdict = audit(started_over(written().records_deleted(0, 4), 4))
    assert {name: check.count for name, check in verdict.checks.items() if check.count} == {}
    assert verdict.checks["lost-acknowledged"].verdict == "held"


def test_what_was_deleted_stays_deleted_after_a_restart_of_the_leader(audit: Audit) -> None:
    """Found with a start within its log: its events tell all of it nevertheless."""
    trace = written().records_deleted(0, 2).records_deleted(1, 2, reason="leader")
    trace.kill("broker-0").start("broker-0").loaded(0, 4, log_start=2).leader(0, epoch=1, followers=(1, 2))
    verdict = audit(trace)
    assert verdict.checks["lost-acknowledged"].verdict == "held"
    assert verdict.checks["replica-divergence"].verdict == "held" and verdict.checks["epoch-cache"].verdict == "held"


def test_a_record_above_the_deleted_offset_is_lost(audit: Audit) -> None:
    """Deleted below 2, and broker-1 begins at 4."""
    checks = audit(started_over(written().records_deleted(0, 2), 4), violations={"lost-acknowledged": True}).checks
    assert [one["value"] for one in checks["lost-acknowledged"].evidence] == ["v2", "v3"]


def test_records_deleted_without_a_request_are_lost(audit: Audit) -> None:
    """That a follower begins later is no request."""
    trace = started_over(written().records_deleted(1, 4, reason="leader"), 4)
    assert audit(trace, violations={"lost-acknowledged": True}).checks["lost-acknowledged"].count == 4


def test_what_the_leader_had_lost_before_it_deleted_is_lost(audit: Audit) -> None:
    """Cut off, written over, and then deleted: what was deleted is the other record."""
    trace = written(2).produce("c", at=2, acks=1, followers=())
    trace.leader(1, epoch=1, followers=(0, 2)).produce("x", at=2, epoch=1, leader=1, followers=(2,))
    trace.truncate(0, 2, log_end=3).append(0, "x", at=2, epoch=1)
    trace.leader(0, epoch=2, followers=(1, 2)).records_deleted(0, 3, epoch=2)
    checks = audit(trace, violations={"lost-acknowledged": True}).checks
    assert [one["value"] for one in checks["lost-acknowledged"].evidence] == ["c"]


@pytest.mark.parametrize(("below", "count"), [(4, 0), (1, 3)])
def test_what_was_read_and_deleted_since_is_not_lost(audit: Audit, below: int, count: int) -> None:
    trace = written()
    for offset in range(4):
        trace.read(f"v{offset}", at=offset, epoch=0, high_watermark=4, operation="client-0.1:99")
    trace = started_over(trace.records_deleted(0, below), 4)
    expected = {"read-then-lost": True, "lost-acknowledged": True} if count else {}
    assert audit(trace, violations=expected).checks["read-then-lost"].count == count


def test_an_epoch_begins_where_its_log_does_since(audit: Audit) -> None:
    trace = written().leader(0, epoch=1, followers=(1, 2)).produce("b", at=4, epoch=1, followers=(1, 2))
    for broker in (0, 1, 2):
        trace.records_deleted(broker, 4, reason="leader" if broker else "requested", epoch=1)
    assert audit(trace).checks["epoch-cache"].verdict == "held"
