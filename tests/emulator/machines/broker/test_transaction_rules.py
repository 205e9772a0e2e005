"""Transactions: a replica's producers, and the table of ends (semantics 12.2, 12.4, 12.6)."""

from typing import Any

import pytest

from emulator.machines.broker.producer_state import Aborted, ProducerState
from emulator.machines.broker.transaction_ends import end_of
from emulator.machines.broker.transaction_log import Refusal
from emulator.machines.broker.transaction_metadata import TransactionMetadata
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import Offset
from protocol.messages.transactions import EndTxnRequest
from protocol.records.format import read_header
from protocol.records.transaction_markers import Marker
from protocol.records.transaction_states import StoredTransaction, TransactionState
from protocol.records.types import BatchHeader
from verification.broker_bench import batch

S = TransactionState
KAFKA_3_9, KAFKA_4 = gates_for("3.9", metadata="kraft"), gates_for("4.0", metadata="kraft")


def data(sequence: int, *, offset: int = 0, pid: int = 7, epoch: int = 0, transactional: bool = True) -> BatchHeader:
    numbers: dict[str, Any] = {"producer_id": pid, "producer_epoch": epoch, "base_sequence": sequence}
    return read_header(batch("v", base_offset=offset, is_transactional=transactional, **numbers))


def marker(*, offset: int, pid: int = 7, epoch: int = 0) -> BatchHeader:
    numbers: dict[str, Any] = {
        "producer_id": pid,
        "producer_epoch": epoch,
        "is_control": True,
        "is_transactional": True,
    }
    return read_header(batch("", base_offset=offset, **numbers))


def state(version: str = "2.8") -> ProducerState:
    return ProducerState(gates_for(version))


# --- the last stable offset ---


def test_an_open_transaction_holds_the_last_stable_offset() -> None:
    held = state()
    held.appended(data(0, offset=4))
    held.appended(data(1, offset=5))
    held.appended(data(0, offset=6, pid=8))
    assert held.first_unstable(Offset(7)) == 4
    held.ended(marker(offset=7), Marker(True, 0))
    assert held.first_unstable(Offset(7)) == 4, "the marker is not below the high watermark"
    assert held.first_unstable(Offset(8)) == 6
    held.ended(marker(offset=8, pid=8), Marker(True, 0))
    assert held.first_unstable(Offset(9)) is None


def test_plain_batches_of_a_producer_hold_nothing() -> None:
    held = state()
    held.appended(data(0, transactional=False))
    assert held.first_unstable(Offset(0)) is None


def test_a_copy_is_independent() -> None:
    held = state()
    held.appended(data(0, offset=4))
    other = held.copy()
    other.ended(marker(offset=5), Marker(False, 3))
    assert (held.first_unstable(Offset(9)), held.aborted) == (4, [])
    assert (other.first_unstable(Offset(9)), other.aborted) == (None, [Aborted(7, Offset(4), Offset(5), Offset(6))])


def test_aborted_transactions_of_a_range() -> None:
    """The index: by the markers' offsets, with the last stable offset of then."""
    held = state()
    held.appended(data(0, offset=0))
    held.appended(data(0, offset=1, pid=8))
    held.ended(marker(offset=2, pid=8), Marker(False, 0))
    held.ended(marker(offset=3), Marker(False, 0))
    held.appended(data(1, offset=4))
    held.ended(marker(offset=5), Marker(False, 0))
    assert [(one.producer_id, one.first_offset) for one in held.aborted] == [(8, 1), (7, 0), (7, 4)]
    assert [one.first_offset for one in held.aborted_between(Offset(0), Offset(4))] == [1, 0]
    assert [one.first_offset for one in held.aborted_between(Offset(3), Offset(9))] == [0, 4]
    assert [one.first_offset for one in held.aborted_between(Offset(4), Offset(9))] == [4]
    held.forget_aborted_below(Offset(4))
    assert [one.first_offset for one in held.aborted] == [4]


@pytest.mark.parametrize(("version", "entries"), [("2.7", 1), ("2.8", 0)])
def test_an_abort_without_a_transaction(version: str, entries: int) -> None:
    held = state(version)
    held.ended(marker(offset=0), Marker(False, 0))
    assert len(held.aborted) == entries


# --- checks ---


def test_markers_fence() -> None:
    held = state()
    held.ended(marker(offset=0, epoch=3), Marker(False, 5))
    assert held.check(data(0, epoch=2))[0] == ErrorCode.INVALID_PRODUCER_EPOCH
    assert held.check_marker(7, 2, 5) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert held.check_marker(7, 3, 4) == ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert held.check_marker(7, 3, 5) == held.check_marker(9, 0, 0) == ErrorCode.NONE


def test_a_plain_batch_inside_a_transaction() -> None:
    held = state()
    held.appended(data(0))
    assert held.check(data(1, transactional=False))[0] == ErrorCode.INVALID_TXN_STATE
    assert held.check(data(1))[0] == ErrorCode.NONE


# --- verification ---


def test_only_a_verified_batch_opens_a_transaction() -> None:
    held = ProducerState(KAFKA_3_9)
    assert held.check_verified(data(0), None, in_order=True) == ErrorCode.INVALID_TXN_STATE
    guard = held.begin_verification(7, 0, 0, adds=False)
    assert guard is not None and held.begin_verification(7, 0, 1, adds=False) is guard
    assert held.check_verified(data(1), guard, in_order=True) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert held.check_verified(data(0), object(), in_order=True) == ErrorCode.INVALID_TXN_STATE
    assert held.check_verified(data(0), guard, in_order=True) == ErrorCode.NONE
    held.appended(data(0))
    assert held.begin_verification(7, 0, 1, adds=False) is None, "open"
    assert held.check_verified(data(1), None, in_order=True) == ErrorCode.NONE


def test_a_marker_ends_a_verification() -> None:
    held = ProducerState(KAFKA_3_9)
    guard = held.begin_verification(7, 0, 0, adds=False)
    held.ended(marker(offset=0), Marker(False, 0))
    assert held.check_verified(data(0), guard, in_order=True) == ErrorCode.INVALID_TXN_STATE


def test_from_4_0_the_open_transaction_is_of_the_same_epoch() -> None:
    for gates, is_open in ((KAFKA_3_9, True), (KAFKA_4, False)):
        held = ProducerState(gates)
        held.appended(data(0))
        assert (held.begin_verification(7, 1, 0, adds=True) is None) == is_open


# --- the end of a transaction ---


def metadata(state: TransactionState, epoch: int = 3) -> TransactionMetadata:
    return TransactionMetadata.loaded("A", StoredTransaction(7, epoch, 60_000, state))


def decided(held: TransactionMetadata, *, commits: bool, epoch: int = 3, client: int) -> object:
    try:
        return end_of(held, EndTxnRequest("A", 7, epoch, commits), client, KAFKA_4)
    except Refusal as refusal:
        return refusal.error


@pytest.mark.parametrize(
    ("found", "commit", "abort"),
    [
        (S.EMPTY, ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT),
        (S.PREPARE_COMMIT, ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.INVALID_TXN_STATE),
        (S.PREPARE_ABORT, ErrorCode.INVALID_TXN_STATE, ErrorCode.CONCURRENT_TRANSACTIONS),
        (S.COMPLETE_COMMIT, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE),
    ],
)
def test_ends_of_a_client_without_version_2(found: TransactionState, commit: object, abort: object) -> None:
    assert decided(metadata(found), commits=True, client=0) == commit
    assert decided(metadata(found), commits=False, client=0) == abort
    assert decided(metadata(found), commits=True, epoch=2, client=0) == ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize(
    ("found", "commit", "abort", "repeated_commit", "repeated_abort"),
    [
        (S.EMPTY, ErrorCode.INVALID_TXN_STATE, S.PREPARE_ABORT, ErrorCode.PRODUCER_FENCED, ErrorCode.PRODUCER_FENCED),
        (S.ONGOING, S.PREPARE_COMMIT, S.PREPARE_ABORT, ErrorCode.PRODUCER_FENCED, ErrorCode.PRODUCER_FENCED),
        (
            S.PREPARE_COMMIT,
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.PRODUCER_FENCED,
            ErrorCode.CONCURRENT_TRANSACTIONS,
            ErrorCode.INVALID_TXN_STATE,
        ),
        (S.COMPLETE_COMMIT, ErrorCode.INVALID_TXN_STATE, S.PREPARE_ABORT, ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE),
        (S.COMPLETE_ABORT, ErrorCode.INVALID_TXN_STATE, S.PREPARE_ABORT, ErrorCode.INVALID_TXN_STATE, ErrorCode.NONE),
    ],
)
def test_ends_with_version_2(
    found: TransactionState, commit: object, abort: object, repeated_commit: object, repeated_abort: object
) -> None:
    """A repeated end has the epoch before."""
    held = metadata(found)
    assert decided(held, commits=True, client=2) == commit
    assert decided(held, commits=False, client=2) == abort
    assert decided(held, commits=True, epoch=2, client=2) == repeated_commit
    assert decided(held, commits=False, epoch=2, client=2) == repeated_abort
