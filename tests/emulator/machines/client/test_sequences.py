"""Sequence numbers of an idempotent producer, era by era (KIP-98, KIP-360)."""

import pytest

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import SequenceRecovery
from emulator.machines.client.producer_batch import ProducerBatch
from emulator.machines.client.producer_sequences import Sequences
from protocol.ids import NO_OFFSET, Offset
from protocol.machine import Now
from protocol.outbox import Outbox

OUT_OF_ORDER = 45
UNKNOWN_PRODUCER = 59
NOT_LEADER = 6


def batch(*values: bytes, partition: int = 0) -> ProducerBatch:
    log, out = OperationLog("client-0", 1), Outbox()
    made = ProducerBatch(("t", partition), Now(0, 0), 2, 100, 1000.0)
    for value in values:
        operation = log.invoke(out, kind="produce", topic="t", partition=partition)
        made.add(value, operation, lambda *_: None)
    return made


def sequences(recovery: SequenceRecovery, count: int = 3) -> tuple[Sequences, list[ProducerBatch]]:
    """`count` batches of two records, numbered and sent."""
    made = Sequences(recovery)
    made.take_identity(7, 0)
    batches = [batch(b"x", b"y") for _ in range(count)]
    for each in batches:
        assert made.may_leave(each)
        made.number(each)
        each.seal("none")
    return made, batches


def numbers(batches: list[ProducerBatch]) -> list[tuple[int, int, int]]:
    return [(each.producer_id, each.producer_epoch, each.base_sequence) for each in batches]


def test_nothing_leaves_before_there_is_an_id() -> None:
    made = Sequences("bump")
    assert not made.may_leave(batch(b"a"))
    made.take_identity(7, 0)
    assert made.may_leave(batch(b"a"))


def test_batches_are_numbered_by_their_records() -> None:
    _, batches = sequences("bump")
    assert numbers(batches) == [(7, 0, 0), (7, 0, 2), (7, 0, 4)]


def test_a_retry_leaves_when_it_is_first_in_line() -> None:
    made, (first, second, _) = sequences("bump")
    assert made.may_leave(first)
    assert not made.may_leave(second)
    made.completed(first, Offset(0))
    assert made.may_leave(second)


@pytest.mark.parametrize("recovery", ["retry", "bump"])
def test_out_of_order_behind_a_failed_batch_is_retried_as_it_is(recovery: SequenceRecovery) -> None:
    made, batches = sequences(recovery)
    assert made.can_retry(batches[1], OUT_OF_ORDER, Offset(0))
    made.resolve()
    assert numbers(batches) == [(7, 0, 0), (7, 0, 2), (7, 0, 4)]


@pytest.mark.parametrize("recovery", ["reset", "retry"])
def test_out_of_order_of_the_next_in_line_means_loss_and_another_id(recovery: SequenceRecovery) -> None:
    made, (first, *_) = sequences(recovery)
    assert not made.can_retry(first, OUT_OF_ORDER, Offset(0))
    made.failed(first, OUT_OF_ORDER, may_reuse=True)
    made.resolve()
    assert made.producer_id == -1
    made.take_identity(8, 0)
    fresh = batch(b"z")
    assert made.may_leave(fresh)
    made.number(fresh)
    assert numbers([fresh]) == [(8, 0, 0)]


def test_from_2_5_out_of_order_of_the_next_in_line_bumps_the_epoch() -> None:
    made, batches = sequences("bump")
    assert made.can_retry(batches[0], OUT_OF_ORDER, Offset(0))
    made.resolve()
    assert numbers(batches) == [(7, 1, 0), (7, 1, 2), (7, 1, 4)], "numbered anew, and retried"
    assert all(each.reset for each in batches)
    assert made.can_retry(batches[1], OUT_OF_ORDER, Offset(0)), "the answer to what it was before"
    made.resolve()
    assert made.producer_epoch == 1


def test_an_unknown_producer_whose_records_were_deleted_begins_again() -> None:
    """1.0 to 2.4: the log starts beyond the last acknowledged offset.
    So retention took the state, not a loss.
    """
    made, batches = sequences("retry")
    made.completed(batches[0], Offset(10))
    assert made.can_retry(batches[1], UNKNOWN_PRODUCER, Offset(50))
    assert numbers(batches[1:]) == [(7, 0, 0), (7, 0, 2)]
    assert made.can_retry(batches[2], UNKNOWN_PRODUCER, Offset(50)), "it was numbered anew meanwhile"


def test_an_unknown_producer_whose_records_should_be_there_is_a_loss() -> None:
    made, batches = sequences("retry")
    made.completed(batches[0], Offset(10))
    assert made.can_retry(batches[1], UNKNOWN_PRODUCER, NO_OFFSET), "the broker did not say where its log starts"
    assert not made.can_retry(batches[1], UNKNOWN_PRODUCER, Offset(0))
    made.failed(batches[1], UNKNOWN_PRODUCER, may_reuse=True)
    assert made.producer_id == -1, "its exception is one of those for 45 (Sender.failBatch)"


def test_from_2_5_an_unknown_producer_bumps_its_epoch() -> None:
    made, batches = sequences("bump")
    made.completed(batches[0], Offset(10))
    assert made.can_retry(batches[1], UNKNOWN_PRODUCER, Offset(0))
    made.resolve()
    assert numbers(batches[1:]) == [(7, 1, 0), (7, 1, 2)]


def test_before_2_5_those_behind_take_the_numbers_of_a_refused_batch() -> None:
    made, batches = sequences("retry")
    made.failed(batches[0], 10, may_reuse=True)
    assert numbers(batches[1:]) == [(7, 0, 0), (7, 0, 2)]


def test_numbers_of_a_batch_given_up_by_time_are_in_doubt() -> None:
    made, batches = sequences("bump", count=1)
    made.failed(batches[0], "TimeoutException", may_reuse=False)
    made.left_unresolved(batches[0])
    assert not made.may_leave(batch(b"z")), "until it is settled"
    made.resolve()
    fresh = batch(b"z")
    assert made.may_leave(fresh)
    made.number(fresh)
    assert numbers([fresh]) == [(7, 1, 0)], "unknown whether 0 and 1 are taken: a new epoch"


def test_a_late_success_settles_the_doubt() -> None:
    made, batches = sequences("bump", count=1)
    made.failed(batches[0], "TimeoutException", may_reuse=False)
    made.left_unresolved(batches[0])
    made.completed(batches[0], Offset(0))
    made.resolve()
    fresh = batch(b"z")
    made.number(fresh)
    assert numbers([fresh]) == [(7, 0, 2)]


def test_before_2_5_doubt_costs_the_id() -> None:
    made, batches = sequences("retry", count=1)
    made.failed(batches[0], "TimeoutException", may_reuse=False)
    made.left_unresolved(batches[0])
    made.resolve()
    assert made.producer_id == -1


def test_in_0_11_a_batch_given_up_by_time_costs_the_id_at_once() -> None:
    """Semantics 6; Sender.sendProducerData: `expiredBatch.inRetry()`."""
    made, batches = sequences("reset", count=1)
    made.failed(batches[0], "TimeoutException", may_reuse=False)
    made.left_unresolved(batches[0])
    assert made.producer_id == -1
    assert not made.may_leave(batch(b"z"))
    made.take_identity(8, 0)
    fresh = batch(b"z")
    made.number(fresh)
    assert numbers([fresh]) == [(8, 0, 0)]


@pytest.mark.parametrize("recovery", ["reset", "retry", "bump"])
def test_only_from_2_5_on_a_batch_of_an_old_id_is_tried_again(recovery: SequenceRecovery) -> None:
    made, batches = sequences(recovery)
    assert not made.outlived(batches[1])
    made.take_identity(8, 0)
    assert made.can_retry(batches[1], NOT_LEADER, NO_OFFSET) == (recovery == "bump")
    assert made.outlived(batches[1]) == (recovery != "bump")


@pytest.mark.parametrize("error", [OUT_OF_ORDER, UNKNOWN_PRODUCER])
@pytest.mark.parametrize("ignores", [False, True])
def test_from_2_5_a_loss_raises_the_epoch_up_to_2_6_only_if_it_is_of_this_epoch(error: int, ignores: bool) -> None:
    """`client_ignores_failures_of_old_epochs`, TransactionManager.handleFailedBatch."""
    made = Sequences("bump", ignores_failures_of_old_epochs=ignores)
    made.take_identity(7, 0)
    old, new = batch(b"x"), batch(b"y")
    made.number(old)
    made.take_identity(7, 1)
    made.failed(old, error, may_reuse=True)
    made.resolve()
    assert made.producer_epoch == (1 if ignores else 2)
    made.number(new)
    made.failed(new, error, may_reuse=False)
    made.resolve()
    assert made.producer_epoch == (2 if ignores else 3)


def test_from_2_5_what_is_acknowledged_of_an_old_epoch_counts_in_its_partition() -> None:
    """Semantics 6; handleCompletedBatch: another partition has raised the epoch meanwhile."""
    made, (first, second, _) = sequences("bump")
    made.take_identity(7, 1)
    made.completed(first, Offset(0))
    assert made.can_retry(second, OUT_OF_ORDER, Offset(0)), "it is next in line: a loss"
    made.resolve()
    assert made.producer_epoch == 2


@pytest.mark.parametrize("goes_on", [False, True])
def test_in_2_5_and_2_6_an_idle_partition_goes_on_with_its_numbers_in_a_new_epoch(goes_on: bool) -> None:
    """Semantics 6; KAFKA-12152, `client_numbers_idle_partitions_on`.
    TransactionManager.maybeUpdateProducerIdAndEpoch came with 2.7.
    """
    made = Sequences("bump", numbers_idle_partitions_on=goes_on)
    made.take_identity(7, 0)
    idle, lost = batch(b"x", b"y", partition=1), batch(b"x")
    made.number(idle)
    made.completed(idle, Offset(0))
    made.number(lost)
    assert made.can_retry(lost, OUT_OF_ORDER, Offset(0)), "it is next in line: a loss"
    made.resolve()
    fresh = batch(b"z", partition=1)
    assert made.may_leave(fresh)
    made.number(fresh)
    assert numbers([lost, fresh]) == [(7, 1, 0), (7, 1, 2 if goes_on else 0)]
    fresh.seal("none")
    assert made.can_retry(fresh, OUT_OF_ORDER, Offset(0)), "a new epoch has to begin at 0 (ProducerAppendInfo)"
    made.resolve()
    assert numbers([fresh]) == [(7, 2, 0)]


@pytest.mark.parametrize("goes_on", [False, True])
def test_a_partition_that_was_busy_begins_a_new_epoch_at_0(goes_on: bool) -> None:
    """TransactionManager.handleCompletedBatch: the last of the epoch before is acknowledged."""
    made = Sequences("bump", numbers_idle_partitions_on=goes_on)
    made.take_identity(7, 0)
    old = batch(b"x", b"y")
    made.number(old)
    made.take_identity(7, 1)
    assert not made.may_leave(batch(b"z"))
    made.completed(old, Offset(0))
    fresh = batch(b"z")
    assert made.may_leave(fresh)
    made.number(fresh)
    assert numbers([fresh]) == [(7, 1, 0)]


def test_what_never_left_leaves_no_gap() -> None:
    made, _ = sequences("reset", count=1)
    made.failed(batch(b"never"), "TimeoutException", may_reuse=False)
    fresh = batch(b"z")
    made.number(fresh)
    assert fresh.base_sequence == 2


def test_a_new_batch_waits_while_others_of_an_old_epoch_are_under_way() -> None:
    made, _ = sequences("bump")
    made.take_identity(7, 1)
    assert not made.may_leave(batch(b"z"))


def test_the_last_epoch_is_followed_by_another_id() -> None:
    made, batches = sequences("bump")
    made.take_identity(7, 32_767)
    assert made.can_retry(batches[0], UNKNOWN_PRODUCER, Offset(0))
    made.resolve()
    assert made.producer_id == -1
