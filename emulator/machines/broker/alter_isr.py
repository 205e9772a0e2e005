"""ISR changes through the controller (AlterIsr, semantics 1.6).

They are queued, with one request in flight, and retried for ever. 2.7 checks the queue every 50 ms, 2.8 at once.
Meanwhile the maximal ISR counts (`PendingIsr`).
"""

import msgspec

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.controller_channel import ControllerChannel
from emulator.machines.broker.partition import Partition, PendingIsr
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange, IsrChanged

ALTER_RETRY = ("alter-isr-retry",)
ALTER_RETRY_MS = 50.0
PERIOD_MS = 50.0

GIVE_UP = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Expected partition errors of AlterIsr.

After any of them, the change stays pending until a LeaderAndIsr comes.
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


class AlterIsr:
    """Requests ISR changes of the controller; of each partition only the newest."""

    def __init__(self, context: BrokerContext, channel: ControllerChannel, counts: IsrCounts) -> None:
        self._context = context
        self._channel = channel
        self._counts = counts
        self._unsent: dict[TopicPartition, Partition] = {}
        self._in_flight = False

    def ask(self, partition: Partition) -> None:
        """Request the partition's pending ISR."""
        self._unsent[partition.topic, partition.partition] = partition
        self._go_on()

    def forget(self, partition: Partition) -> None:
        """Drop the partition's queued change: LeaderAndIsr has replaced its state (semantics 11.5)."""
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
        sent = []
        changes = []
        for partition in self._unsent.values():
            assert partition.pending is not None
            sent.append((partition, partition.pending))
            changes.append(
                IsrChange(
                    partition.topic,
                    partition.partition,
                    context.broker,
                    partition.leader_epoch,
                    list(partition.pending.isr),
                    partition.zk_version,
                )
            )
        request = AlterIsrRequest(context.broker, context.broker_epoch, changes)

        def answered(message: object) -> None:
            assert isinstance(message, AlterIsrResponse)
            self._answered(message, {(p.topic, p.partition): (p, pending) for p, pending in sent})

        self._channel.send(request, answered)

    def _answered(self, response: AlterIsrResponse, sent: dict[TopicPartition, tuple[Partition, PendingIsr]]) -> None:
        """Handle a response; it removes its partitions from the queue, whatever change is queued.

        A response after a LeaderAndIsr (mostly of a controller out of reach) so drops the change that waits by
        then. That change stays pending, and the maximal ISR counts, until the next LeaderAndIsr (Kafka 2.7, 2.8).
        An unexpected error ends in an exception. The partitions behind it in the response are sent again, in 2.8
        with the next change.
        """
        self._in_flight = False
        if response.error != ErrorCode.NONE:
            self._go_on(ALTER_RETRY_MS)
            return
        answered = {(changed.topic, changed.partition): changed for changed in response.partitions}
        for topic_partition, (partition, pending) in sent.items():
            changed = answered.get(topic_partition)
            if changed is None:
                continue
            self._unsent.pop(topic_partition, None)
            if partition.pending is not pending:
                continue
            self._apply(partition, changed)
            if changed.error and changed.error not in GIVE_UP:
                # sendAlterIsrRequest finds the change that it would repeat still queued (IllegalStateException).
                if self._context.gates.alter_isr_every_50_ms:
                    self._go_on()
                return
        self._go_on()

    def _apply(self, partition: Partition, changed: IsrChanged) -> None:
        if changed.error != ErrorCode.NONE:
            self._counts.failed += 1
            isr = partition.pending.isr if partition.pending is not None else []
            partition.tell_isr_change_ended(isr, f"refused: {ErrorCode(changed.error).name}", -1)
            return
        if changed.leader_epoch != partition.leader_epoch or changed.zk_version < partition.zk_version:
            self._counts.failed += 1
            return
        if partition.pending is not None:
            self._counts.done(expands=partition.pending.expands)
        partition.isr_confirmed(list(changed.isr), changed.zk_version)
        # No check of the high watermark here: after a shrink it waits for the next append, or a follower's progress
        # (KAFKA-13091, fixed in 3.0).
        partition.tell_isr_change_ended(partition.isr, "done", changed.zk_version)
