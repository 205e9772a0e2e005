"""Recording of a leader's ISR changes. Semantics 1.3, 1.4, 1.6.

Two ways, by `inter.broker.protocol.version`:

- straight to ZooKeeper: a conditional write with the cached zkVersion, *holding the partition's lock*. While
  ZooKeeper is out of reach, it waits, and with it every thread that needs the partition. Other partitions' checks
  wait too, as there is one checking task.
- through the controller (`alter_isr`).

A leader never bumps the leader epoch.
"""

from emulator.machines.broker.alter_isr import AlterIsr, IsrCounts
from emulator.machines.broker.broker_context import BrokerContext, SessionExpired
from emulator.machines.broker.controller_channel import ControllerChannel
from emulator.machines.broker.isr_notifications import IsrNotifications
from emulator.machines.broker.partition import Partition, UnassignedIsrMember
from protocol.events import IsrChangeRequested, ids_text
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.session_messages import GetData, SessionError, SessionRequest, SetData
from protocol.work import Work
from protocol.znodes import Leadership, decode_state, encode_state, state_path

SHRINK = ("isr-shrink",)


class IsrChanges:
    """ISR changes of the partitions that this broker leads."""

    def __init__(
        self, context: BrokerContext, partitions: dict[TopicPartition, Partition], channel: ControllerChannel
    ) -> None:
        self._context = context
        self._partitions = partitions
        self._shrink_due_ms = 0.0
        self.counts = IsrCounts()
        self.alter_isr = AlterIsr(context, channel, self.counts)
        self.notifications = IsrNotifications(context)

    def start(self) -> None:
        """Begin the periodic tasks."""
        context = self._context
        self._shrink_due_ms = context.now.mono_ms + self._shrink_period_ms
        context.set_timer(SHRINK, self._shrink_period_ms, self._shrink)
        if context.gates.notifies_isr_changes:
            self.notifications.start()

    @property
    def _shrink_period_ms(self) -> float:
        lag_max_ms = float(self._context.settings.replica_lag_time_max_ms)
        return lag_max_ms if self._context.gates.shrink_check_full_period else lag_max_ms / 2

    # --- the periodic check (1.3) ---

    def _shrink(self) -> None:
        """Run the check over all partitions; the next is due a period after this one was due.

        A run that was held up leaves others overdue. They follow at once, some before the threads that wait for the
        just released lock. A follower whose fetch waits there still counts as silent: it is removed, joins, and is
        removed again.
        """
        self._context.threads.start("isr-expiration", "shrink", self._check_all())

    def _check_all(self) -> Work[None]:
        yield from self._check_each()
        while self._overdue():
            self._shrink_due_ms += self._shrink_period_ms
            yield from self._check_each()
        self._shrink_due_ms += self._shrink_period_ms
        wait_ms = max(0.0, self._shrink_due_ms - self._context.now.mono_ms)
        self._context.set_timer(SHRINK, wait_ms, self._shrink)

    def _overdue(self) -> bool:
        """Whether the next run is overdue, and overtakes threads that wait for the released lock."""
        if self._shrink_due_ms + self._shrink_period_ms >= self._context.now.mono_ms:
            return False
        return self._context.chance.below(2) == 0

    def _check_each(self) -> Work[None]:
        """Check once; the run ends with the first write that outlives the session.

        It also ends with the first ISR that contains an unassigned replica (KAFKA-9672).
        """
        try:
            yield from self._shrink_each()
        except (SessionExpired, UnassignedIsrMember):
            return

    def _shrink_each(self) -> Work[None]:
        for partition in [partition for partition in self._partitions.values() if partition.leads]:
            if not partition.offline and not partition.lock.is_free():
                yield from partition.lock.writing()
            if partition.offline:
                continue
            gone = partition.out_of_sync()
            if gone:
                yield from self._change(partition, [b for b in partition.isr if b not in gone], expands=False)

    # --- a change (1.6) ---

    def expand(self, partition: Partition, broker: BrokerId) -> Work[None]:
        """Add a follower that caught up to the ISR. Raises SessionExpired.

        Ends when the change is recorded (direct writes) or under way (AlterIsr).
        """
        yield from self._change(partition, [*partition.isr, broker], expands=True)

    def _change(self, partition: Partition, isr: list[BrokerId], *, expands: bool) -> Work[None]:
        """Change the ISR, by the thread with the partition's lock."""
        context = self._context
        through = "controller" if context.gates.alter_isr else "session"
        change = "expand" if expands else "shrink"
        was, now = ids_text(partition.isr), ids_text(isr)
        gone = [replica for replica in map(partition.member, partition.isr) if replica and replica.broker not in isr]
        context.emit(
            IsrChangeRequested(
                partition.topic,
                partition.partition,
                change,
                was,
                now,
                partition.leader_epoch,
                partition.partition_epoch,
                through,
                partition.the_log.high_watermark,
                partition.the_log.log_end,
                " ".join(f"{replica.broker}:{replica.log_end}" for replica in gone),
                partition.min_isr,
            )
        )
        if context.gates.alter_isr:
            partition.isr_change_begins(isr, expands=expands)
            self.alter_isr.ask(partition)
        else:
            yield from self._write(partition, isr, expands=expands)

    def _write(self, partition: Partition, isr: list[BrokerId], *, expands: bool) -> Work[None]:
        context = self._context
        partition.lock.hold()
        partition.tell_lock()
        if context.gates.stuck_zk_version_pends:
            partition.isr_change_begins(isr, expands=expands)
        outcome, version = "session-expired", -1
        try:
            outcome, version = yield from self._written(partition, isr)
        finally:
            advanced = self._write_ended(partition, isr, outcome, version, expands=expands)
            partition.lock.release()
            partition.tell_lock()
        if advanced:
            yield from partition.check_parked()

    def _write_ended(
        self, partition: Partition, isr: list[BrokerId], outcome: str, version: int, *, expands: bool
    ) -> bool:
        """Handle the end of a write; whether the high watermark advanced."""
        partition.tell_isr_change_ended(isr, outcome, version)
        if outcome != "done":
            self.counts.failed += 1
            return False
        partition.isr_confirmed(isr, version)
        self.counts.done(expands=expands)
        self.notifications.note(partition)
        return partition.leads and partition.advance_high_watermark()

    def _written(self, partition: Partition, isr: list[BrokerId]) -> Work[tuple[str, int]]:
        """Write: (outcome, the state's version; -1 if it was not written). Raises SessionExpired."""
        state = Leadership(self._context.broker, partition.leader_epoch, tuple(isr), partition.controller_epoch)
        path = state_path(partition.topic, partition.partition)
        response = yield from self._context.await_session(
            SessionRequest([SetData(path, encode_state(state), partition.partition_epoch)])
        )
        result = response.results[0] if response.results else None
        if response.error == SessionError.OK and result is not None:
            return "done", result.version
        if response.error != SessionError.BAD_VERSION:
            return "bad-version", -1  # the topic is gone; Kafka reports the same
            # An earlier try of this broker, whose response was lost, may explain the other version.
        response = yield from self._context.await_session(SessionRequest([GetData(path)]))
        result = response.results[0] if response.results else None
        topic_partition = (partition.topic, partition.partition)
        if (
            response.error == SessionError.OK
            and result is not None
            and decode_state(*topic_partition, result.data, state.zk_version) == state
        ):
            return "done", result.version
        return "bad-version", -1
