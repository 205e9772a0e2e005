"""Mutants of transactions: coordinators, markers, partitions, transforms."""

from typing import Any

import msgspec

from emulator.machines.broker import transaction_coordinator, transaction_ends
from emulator.machines.broker.group_coordinator import GroupCoordinator
from emulator.machines.broker.marker_writes import MarkerWrites
from emulator.machines.broker.producer_state import ProducerState
from emulator.machines.broker.replica_log import Log
from emulator.machines.client.producer import Producer
from emulator.machines.client.producer_transactions import Transactions
from protocol.errors import ErrorCode
from protocol.messages.leadership_messages import PartitionError
from protocol.records.transaction_states import TransactionState
from verification.mutants.mutant import Patches

BROKER = 1
"""The broker with wrong markers; another leads the other partition."""


def commits_are_aborts() -> Patches:
    """A coordinator prepares an abort where it acknowledges a commit."""
    return _prepares(TransactionState.PREPARE_ABORT, TransactionState.PREPARE_COMMIT)


def aborts_are_commits() -> Patches:
    """A coordinator prepares a commit where it acknowledges an abort."""
    return _prepares(TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT)


def _prepares(wrong: TransactionState, instead_of: TransactionState) -> Patches:
    right = transaction_ends.end_of

    def end_of(*of: Any) -> Any:
        state = right(*of)
        return wrong if state == instead_of else state

    return [(transaction_coordinator, "end_of", end_of)]


def one_broker_writes_the_other_marker() -> Patches:
    """A broker writes COMMIT for ABORT, and ABORT for COMMIT."""
    right = MarkerWrites._append

    def append(self: Any, markers: Any, settled: Any) -> Any:
        if self._context.broker == BROKER:
            markers = msgspec.structs.replace(markers, commits=not markers.commits)
        return right(self, markers, settled)

    return [(MarkerWrites, "_append", append)]


def one_broker_writes_no_marker() -> Patches:
    """A broker answers that it has written its markers, and writes none."""
    right = MarkerWrites._append

    def append(self: Any, markers: Any, settled: Any) -> Any:
        if self._context.broker != BROKER:
            yield from right(self, markers, settled)
            return
        settled([PartitionError(one.topic, one.partition, ErrorCode.NONE) for one in markers.partitions])

    return [(MarkerWrites, "_append", append)]


def aborted_index_is_lost() -> Patches:
    """A leader names no aborted transaction."""
    return [(ProducerState, "aborted_between", lambda self, fetch_offset, upper_bound: [])]


def stable_at_the_high_watermark() -> Patches:
    """The last stable offset ignores open transactions."""
    return [(Log, "last_stable_offset", lambda self: self.high_watermark)]


def accepts_older_epochs() -> Patches:
    """A leader compares no producer epochs."""
    right = ProducerState.check

    def check(self: Any, header: Any) -> Any:
        error, written = right(self, header)
        return (ErrorCode.NONE if error == ErrorCode.INVALID_PRODUCER_EPOCH else error), written

    return [(ProducerState, "check", check)]


def offsets_of_transactions_are_dropped() -> Patches:
    """A group's coordinator drops the offsets of committed transactions."""
    right = GroupCoordinator.transaction_ended

    def ended(self: Any, number: Any, producer_id: Any, commits: Any, visible: Any) -> Any:
        return right(self, number, producer_id, False, visible)

    return [(GroupCoordinator, "transaction_ended", ended)]


def sends_the_offsets_read() -> Patches:
    """A transform commits the offset of its last input instead of the next one."""
    right = Transactions.send_offsets

    def send_offsets(self: Any, now: Any, out: Any, offsets: Any, *more: Any) -> Any:
        before = {place: msgspec.structs.replace(one, offset=one.offset - 1) for place, one in offsets.items()}
        return right(self, now, out, before, *more)

    return [(Transactions, "send_offsets", send_offsets)]


def leaves_outputs_out() -> Patches:
    """A transform writes no output for every fifth input of a partition."""
    right = Producer.send

    def send(self: Any, now: Any, out: Any, topic: Any, partition: Any, value: Any, sent: Any, *more: Any) -> Any:
        if value.endswith((b"0", b"5")) and b"@" in value:
            return None
        return right(self, now, out, topic, partition, value, sent, *more)

    return [(Producer, "send", send)]
