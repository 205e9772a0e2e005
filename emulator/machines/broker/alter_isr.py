"""ISR changes through the controller (AlterIsr, from 3.2 AlterPartition; semantics 1.6).

They are queued, with one request in flight, and retried for ever. 2.7 checks the queue every 50 ms, 2.8 at once.
Meanwhile the maximal ISR counts (`PendingIsr`). KRaft: kraft-semantics 5.1 and 5.3.
"""

from typing import NamedTuple

import msgspec

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.controller_channel import ControllerChannel
from emulator.machines.broker.partition import Partition, PendingIsr
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange, IsrChanged
from protocol.messages.message_base import Message

ALTER_RETRY = ("alter-isr-retry",)
ALTER_RETRY_MS = 50.0
PERIOD_MS = 50.0

GIVE_UP = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.UNKNOWN_TOPIC_ID,
)
"""Expected partition errors of AlterIsr.

After any of them, the change stays pending until a LeaderAndIsr comes.
"""
GIVE_UP_IN_KRAFT = (ErrorCode.INVALID_REQUEST, ErrorCode.NEW_LEADER_ELECTED)
"""Further ones of KRaft's controller."""
NOT_MADE = (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.INELIGIBLE_REPLICA)
"""Partition errors after which the last confirmed ISR counts again.

Only controllers from 3.3 on send them.
"""


class IsrCounts(msgspec.Struct):
    """Counts of confirmed and of refused ISR changes in a broker's life."""

    shrinks: int = 0
    expands: int = 0
    failed: int = 0

    def done(self, *, expands: bool) -> None:
        """Count a confirmed change."""
        if expands:
            self.expands += 1
        else:
            self.shrinks += 1


class _Queued(NamedTuple):
    """A change as it was requested; the partition may have another state by the response."""

    partition: Partition
    pending: PendingIsr
    change: IsrChange


class AlterIsr:
    """Requests ISR changes of the controller; of each partition only the newest."""

    def __init__(self, context: BrokerContext, channel: ControllerChannel, counts: IsrCounts) -> None:
        self._context = context
        self._channel = channel
        self._counts = counts
        self._unsent: dict[TopicPartition, _Queued] = {}
        self._in_flight = False

    def ask(self, partition: Partition) -> None:
        """Request the partition's pending ISR.

        From 3.0 on it is dropped while an earlier change is queued.
        """
        assert partition.pending is not None
        topic_partition = (partition.topic, partition.partition)
        if topic_partition in self._unsent:
            self._not_made(partition, ErrorCode.OPERATION_NOT_ATTEMPTED)
        else:
            self._unsent[topic_partition] = _Queued(partition, partition.pending, self._change(partition))
        self._go_on()

    def _change(self, partition: Partition) -> IsrChange:
        assert partition.pending is not None
        return IsrChange(
            partition.topic,
            partition.partition,
            self._context.broker,
            partition.leader_epoch,
            list(partition.pending.isr),
            partition.partition_epoch,
            partition.topic_id if self._version >= 2 else "",
            self._broker_epochs(partition, partition.pending.isr),
        )

    def _broker_epochs(self, partition: Partition, isr: list[BrokerId]) -> list[int]:
        """Broker epochs of an ISR's members, -1 unknown; none where they are not checked (KIP-903).

        Source: Partition.addBrokerEpochToIsr.
        """
        context = self._context
        if not context.gates.isr_members_checked_by_broker_epoch:
            return []
        epochs: list[int] = []
        for broker in isr:
            replica = partition.remotes.get(broker)
            if broker == context.broker:
                epochs.append(context.broker_epoch)
            else:
                epochs.append(-1 if replica is None or replica.broker_epoch is None else replica.broker_epoch)
        return epochs

    @property
    def _version(self) -> int:
        """Version of the requests; one with topic ids needs them."""
        gates = self._context.gates
        return gates.alter_partition_version if gates.topics_have_ids else min(gates.alter_partition_version, 1)

    def forget(self, partition: Partition) -> None:
        """Drop the partition's queued change: LeaderAndIsr has replaced its state (semantics 11.5).

        From 3.0 it stays queued, until its response.
        """
        if self._context.gates.new_state_clears_isr_queue:
            self._unsent.pop((partition.topic, partition.partition), None)

    def given_up(self, partition: Partition) -> bool:
        """Whether a change is pending but not queued: only a LeaderAndIsr ends it (1.6)."""
        return partition.pending is not None and (partition.topic, partition.partition) not in self._unsent

    def _go_on(self, after_ms: float = 0.0) -> None:
        """Send queued changes after `after_ms`; 2.7: at the next run of its periodic task."""
        if self._context.gates.alter_isr_every_50_ms:
            after_ms = PERIOD_MS - self._context.now.mono_ms % PERIOD_MS
        if after_ms:
            self._context.set_timer(ALTER_RETRY, after_ms, self._send)
        else:
            self._send()

    def _send(self) -> None:
        context = self._context
        if self._in_flight or not self._unsent:
            return
        self._in_flight = True
        sent = dict(self._unsent)
        request = AlterIsrRequest(context.broker, context.broker_epoch, [queued.change for queued in sent.values()])

        def answered(message: Message | None) -> None:
            if not isinstance(message, AlterIsrResponse):  # given up: the queue to the controller was full
                message = AlterIsrResponse(ErrorCode.REQUEST_TIMED_OUT)
            self._answered(message, sent)

        self._channel.send(request, self._version, answered)

    def _answered(self, response: AlterIsrResponse, sent: dict[TopicPartition, _Queued]) -> None:
        """Handle a response; it removes its partitions from the queue, whatever change is queued.

        A response after a LeaderAndIsr (mostly of a controller out of reach) so drops the change that waits by
        then. That change stays pending, and the maximal ISR counts, until the next LeaderAndIsr (Kafka 2.7, 2.8).
        There an unexpected error ends in an exception. The partitions behind it in the response are sent again, in
        2.8 with the next change.
        """
        self._in_flight = False
        if response.error != ErrorCode.NONE:
            self._go_on(ALTER_RETRY_MS)
            return
        answered = {(changed.topic, changed.partition): changed for changed in response.partitions}
        for topic_partition, (partition, pending, _) in sent.items():
            changed = answered.get(topic_partition)
            if changed is None:
                continue
            self._unsent.pop(topic_partition, None)
            if partition.pending is not pending:
                continue
            if changed.error:
                if self._failed(partition, ErrorCode(changed.error)):
                    return
            else:
                self._apply(partition, changed)
        self._go_on()

    def _failed(self, partition: Partition, error: ErrorCode) -> bool:
        """Handle a partition's error; whether it ends the response, by an exception."""
        gates = self._context.gates
        rule = gates.unexpected_isr_error
        if error in NOT_MADE and rule in ("reverts", "resends"):
            self._not_made(partition, error)
            return False
        self._refused(partition, error)
        if error in GIVE_UP or (error in GIVE_UP_IN_KRAFT and gates.isr_change_may_be_invalid):
            return False
        if rule == "raises":
            # sendAlterIsrRequest finds the change that it would repeat still queued (IllegalStateException).
            if gates.alter_isr_every_50_ms:
                self._go_on()
            return True
        if rule == "reverts":
            partition.isr_change_reverted()
        elif rule == "resends" and partition.pending is not None:
            again = _Queued(partition, partition.pending, self._change(partition))
            self._unsent[partition.topic, partition.partition] = again
        return False

    def _not_made(self, partition: Partition, error: ErrorCode) -> None:
        self._refused(partition, error)
        partition.isr_change_reverted()

    def _refused(self, partition: Partition, error: ErrorCode) -> None:
        """Count a refused change, and emit its end."""
        self._counts.failed += 1
        isr = partition.pending.isr if partition.pending is not None else []
        partition.tell_isr_change_ended(isr, f"refused: {error.name}", -1)

    def _apply(self, partition: Partition, changed: IsrChanged) -> None:
        if changed.leader_epoch != partition.leader_epoch or changed.zk_version < partition.partition_epoch:
            self._counts.failed += 1
            return
        if partition.pending is not None:
            self._counts.done(expands=partition.pending.expands)
        partition.isr_confirmed(list(changed.isr), changed.zk_version)
        partition.tell_isr_change_ended(partition.isr, "done", changed.zk_version)
        # Up to 3.0 a shrunk ISR moves the high watermark at the next append, or a follower's progress (KAFKA-13091).
        gates = self._context.gates
        if gates.alter_isr_moves_high_watermark and partition.leads and partition.advance_high_watermark():
            self._context.threads.start("alter-isr", "completing", partition.check_parked())
