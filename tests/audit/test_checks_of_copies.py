"""As `test_checks`: copies of a batch that its produce operations account for, ended or not."""

from __future__ import annotations

import pytest

from protocol import events as e
from tests.audit.conftest import Audit
from tests.audit.trace import TOPIC, Trace, digest_of, healthy

pytestmark = pytest.mark.spark
TOGETHER = True


def test_an_operation_that_failed_for_certain_excuses_no_second_copy(audit: Audit) -> None:
    trace = healthy()
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    trace.ended("d", at=4, attempts=2).ended("d", at=-1, outcome="failed", error=87)
    [one] = audit(trace).checks["duplicate"].evidence
    assert (one["copies"], one["operations"]) == (2, 1)


def test_a_second_copy_is_reported_with_its_attempts_and_its_producers_idempotence(audit: Audit) -> None:
    trace = healthy()
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    trace.ended("d", at=4, attempts=2, idempotent=True)
    [one] = audit(trace).checks["duplicate"].evidence
    assert (one["copies"], one["operations"], one["attempts"], one["idempotent"]) == (2, 1, 2, True)


def test_an_operation_reported_to_have_ended_twice_excuses_no_second_copy(audit: Audit) -> None:
    trace = healthy()
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    trace.ended("d", at=4)
    trace.operations -= 1
    trace.ended("d", at=4)
    assert audit(trace).checks["duplicate"].verdict == "violated"


def _left_open(trace: Trace, value: str, *, attempts: int = 1, partition: int = 0) -> Trace:
    """A produce whose client never learns the result.

    Partition -1: the partitioner has not run yet.
    """
    trace.operations += 1
    operation = f"client-0.1:{trace.operations}"
    trace.emit("client-0", e.OperationInvoked(operation, "produce", TOPIC, partition, -1, value, -1, -1))
    for attempt in range(1, attempts + 1):
        trace.emit("client-0", e.AttemptSent(operation, attempt, 0, digest_of(value)))
    return trace


@pytest.mark.parametrize("partition", [0, -1])
def test_what_a_client_that_was_killed_had_sent_twice_is_a_duplicate_of_one_operation(
    audit: Audit, partition: int
) -> None:
    trace = _left_open(healthy(), "d", attempts=2, partition=partition)
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    [one] = audit(trace.kill("client-0")).checks["duplicate"].evidence
    assert (one["copies"], one["operations"], one["attempts"], one["idempotent"]) == (2, 1, 2, False)


@pytest.mark.parametrize("ended", [True, False])
def test_an_operation_that_never_ended_accounts_for_its_copy(audit: Audit, ended: bool) -> None:
    """Two operations sent equal bytes, and the client was killed."""
    trace = _left_open(healthy(), "d")
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    trace = trace.ended("d", at=4) if ended else _left_open(trace, "d")
    assert audit(trace.kill("client-0")).checks["duplicate"].verdict == "held"


def test_what_never_ended_and_was_sent_to_another_partition_accounts_for_nothing(audit: Audit) -> None:
    trace = _left_open(healthy(), "d", partition=1)
    for offset in (3, 4):
        trace.append(0, "d", at=offset, epoch=0, as_leader=True)
    assert audit(trace.ended("d", at=4)).checks["duplicate"].count == 1
