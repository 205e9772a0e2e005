"""ISR changes: how a leader's wish becomes the partition's recorded state. Semantics 1.3, 1.4, 1.6.

Two ways, by `inter.broker.protocol.version`:

* straight to the session service: a conditional write with the cached zkVersion, *holding the partition's lock*. Out of
  reach, it waits, and with it everybody who needs the partition; other partitions' checks wait too, as
  there is one checking task.
* AlterIsr through the controller: queued, one request in flight, retried for ever; meanwhile the maximal ISR counts.

A leader never bumps the leader epoch."""

from collections import deque
from collections.abc import Callable

from emulator.broker.context import BrokerContext
from emulator.broker.controller_channel import ControllerChannel
from emulator.broker.partition import Partition, PendingIsr
from protocol.errors import ErrorCode
from protocol.events import IsrChangeAsked, IsrChangeEnded, ids_text
from protocol.ids import TopicPartition
from protocol.messages.leadership import AlterIsrRequest, AlterIsrResponse, IsrChange, IsrChanged
from protocol.messages.session import (
    Create,
    GetData,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
)
from protocol.znodes import (
    ISR_CHANGE_NOTIFICATION,
    ISR_CHANGE_PREFIX,
    Leadership,
    decode_state,
    encode_partitions,
    encode_state,
    state_path,
)

SHRINK = ("isr-shrink",)
PROPAGATE = ("isr-propagate",)
ALTER_RETRY = ("alter-isr-retry",)
PROPAGATE_EVERY_MS = 2_500.0
PROPAGATE_QUIET_MS = 5_000.0
PROPAGATE_AT_LATEST_MS = 60_000.0
ALTER_RETRY_MS = 50.0
QUEUE_MAX = 100_000

GIVE_UP = (
    ErrorCode.FENCED_LEADER_EPOCH,
    ErrorCode.INVALID_UPDATE_VERSION,
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
)
"""Partition errors of AlterIsr after which the change stays pending until a LeaderAndIsr comes."""


class IsrChanges:
    """`advanced` is called when a partition's high watermark moved because of a change."""

    def __init__(
        self,
        context: BrokerContext,
        partitions: dict[TopicPartition, Partition],
        channel: ControllerChannel,
        advanced: Callable[[Partition], None],
    ) -> None:
        self._context = context
        self._partitions = partitions
        self._channel = channel
        self._advanced = advanced
        self._shrink_due_ms = 0.0
        self._to_check: deque[Partition] = deque()
        self._checking = False
        self._walking = False
        self._released: list[Partition] = []
        self._unsent: dict[TopicPartition, Partition] = {}
        self._in_flight = False
        self._changed: list[TopicPartition] = []
        self._last_change_ms = 0.0
        self._last_propagation_ms = 0.0
        self.shrinks = 0
        self.expands = 0
        self.failed_updates = 0
        """Changes of this life that were confirmed, and those that were refused."""

    def start(self) -> None:
        """Begin the periodic tasks."""
        context = self._context
        self._last_propagation_ms = context.now.mono_ms
        self._shrink_due_ms = context.now.mono_ms + self._shrink_period_ms
        context.out.set_timer(SHRINK, self._shrink_period_ms)
        if not context.gates.alter_isr:
            context.out.set_timer(PROPAGATE, PROPAGATE_EVERY_MS)

    @property
    def _shrink_period_ms(self) -> float:
        lag_max_ms = float(self._context.settings.replica_lag_time_max_ms)
        return lag_max_ms if self._context.gates.shrink_check_full_period else lag_max_ms / 2

    # --- the periodic check (1.3) ---

    def shrink_timer(self) -> None:
        """One run over all partitions; the next is due a period after this one was due.

        A run that was held up leaves others overdue. They follow at once, some before those who wait for the lock that
        has just been released: a follower that waits there still counts as silent, is removed, joins, is removed.
        """
        if self._checking:
            return
        self._begin_run()
        self._check_next()

    def _begin_run(self) -> None:
        self._checking = True
        self._to_check = deque(p for p in self._partitions.values() if p.leads)

    def _check_next(self) -> None:
        """Go on with the run, as far as it goes without waiting; then those who waited for what it had locked, the last
        first."""
        self._walking = True
        self._walk()
        self._walking = False
        while self._released:
            self._released.pop().serve_waiting()

    def _walk(self) -> None:
        while self._to_check or self._overdue():
            if not self._to_check:
                self._shrink_due_ms += self._shrink_period_ms
                self._begin_run()
                continue
            partition = self._to_check.popleft()
            if partition.locked:
                partition.when_unlocked(lambda p=partition: self._check_again(p))  # type: ignore[misc]
                return
            gone = partition.out_of_sync()
            if gone:
                isr = [broker for broker in partition.isr if broker not in gone]
                released = len(self._released)
                self._change(partition, isr, expands=False, then=self._check_next)
                if not self._context.gates.alter_isr and len(self._released) == released:
                    return
        if self._checking:
            self._checking = False
            self._shrink_due_ms += self._shrink_period_ms
            wait_ms = max(0.0, self._shrink_due_ms - self._context.now.mono_ms)
            self._context.out.set_timer(SHRINK, wait_ms)

    def _overdue(self) -> bool:
        """The run under way is over, the next should have begun before, and gets the lock before those who wait."""
        if not self._checking or self._shrink_due_ms + self._shrink_period_ms >= self._context.now.mono_ms:
            return False
        return self._context.chance.below(2) == 0

    def _check_again(self, partition: Partition) -> None:
        self._to_check.appendleft(partition)
        self._check_next()

    # --- a change (1.6) ---

    def expand(self, partition: Partition, broker: int, then: Callable[[], None]) -> None:
        """A follower caught up. `then` goes on when the change is through (direct writes) or under way (AlterIsr)."""
        self._change(partition, [*partition.isr, broker], expands=True, then=then)

    def _change(self, partition: Partition, isr: list[int], *, expands: bool, then: Callable[[], None]) -> None:
        context = self._context
        through = "controller" if context.gates.alter_isr else "session"
        change = "expand" if expands else "shrink"
        was, now = ids_text(partition.isr), ids_text(isr)
        gone = [partition.remotes[broker] for broker in partition.isr if broker not in isr]
        context.emit(
            IsrChangeAsked(
                partition.topic,
                partition.partition,
                change,
                was,
                now,
                partition.leader_epoch,
                partition.zk_version,
                through,
                partition.the_log.high_watermark,
                partition.the_log.log_end,
                " ".join(f"{replica.broker}:{replica.log_end}" for replica in gone),
            )
        )
        if context.gates.alter_isr:
            partition.pending = PendingIsr(isr, isr if expands else partition.isr, expands=expands)
            self._unsent[partition.topic, partition.partition] = partition
            self._send_alter_isr()
            if expands:
                then()
            return
        self._write(partition, isr, expands=expands, then=then)

    def _write(self, partition: Partition, isr: list[int], *, expands: bool, then: Callable[[], None]) -> None:
        context = self._context
        state = Leadership(context.broker, partition.leader_epoch, tuple(isr), partition.controller_epoch)
        path = state_path(partition.topic, partition.partition)
        partition.lock()
        if context.gates.stuck_zk_version_pends:
            partition.pending = PendingIsr(isr, isr if expands else partition.isr, expands=expands)

        def written(response: SessionResponse) -> None:
            result = response.results[0] if response.results else None
            if response.error == SessionError.OK and result is not None:
                finish("done", result.version)
            elif result is not None and result.error == SessionError.BAD_VERSION:
                context.ask_session(SessionRequest([GetData(path)]), reread)
            else:
                finish("session-expired", -1)

        def reread(response: SessionResponse) -> None:
            # The lost answer of an earlier try of ours may be why the version differs.
            result = response.results[0] if response.results else None
            place = (partition.topic, partition.partition)
            if (
                response.error == SessionError.OK
                and result is not None
                and decode_state(*place, result.data, state.zk_version) == state
            ):
                finish("done", result.version)
            else:
                finish("bad-version", -1)

        def finish(outcome: str, version: int) -> None:
            context.emit(IsrChangeEnded(partition.topic, partition.partition, ids_text(isr), outcome, version))
            if outcome == "done":
                partition.isr = isr
                partition.zk_version = version
                partition.pending = None
                self._count(expands=expands)
                self._note_change(partition)
                if partition.leads and partition.advance_high_watermark():
                    self._advanced(partition)
            elif outcome == "session-expired":
                partition.pending = None
            else:
                self.failed_updates += 1
            if self._walking:  # answered at once, as all are that are asked in a session that is over
                partition.release()
                self._released.append(partition)
            else:
                partition.unlock(then)

        context.ask_session(SessionRequest([SetData(path, encode_state(state), partition.zk_version)]), written)

    def _count(self, *, expands: bool) -> None:
        if expands:
            self.expands += 1
        else:
            self.shrinks += 1

    # --- telling the controller of direct writes ---

    def _note_change(self, partition: Partition) -> None:
        place = (partition.topic, partition.partition)
        if place not in self._changed:
            self._changed.append(place)
        self._last_change_ms = self._context.now.mono_ms

    def propagate_timer(self) -> None:
        """A notification znode, when changes have been quiet for 5 s or untold for 60 s."""
        context = self._context
        now_ms = context.now.mono_ms
        context.out.set_timer(PROPAGATE, PROPAGATE_EVERY_MS)
        quiet = self._last_change_ms + PROPAGATE_QUIET_MS < now_ms
        overdue = self._last_propagation_ms + PROPAGATE_AT_LATEST_MS < now_ms
        if not self._changed or not (quiet or overdue):
            return
        told, self._changed = self._changed, []
        self._last_propagation_ms = now_ms
        create = Create(f"{ISR_CHANGE_NOTIFICATION}/{ISR_CHANGE_PREFIX}", encode_partitions(told), sequential=True)

        def created(response: SessionResponse) -> None:
            if response.error != SessionError.OK:
                self._changed = told + [place for place in self._changed if place not in told]

        context.ask_session(SessionRequest([create]), created)

    # --- AlterIsr ---

    def discard(self, partition: Partition) -> None:
        """A LeaderAndIsr with a higher epoch: what is pending counts no more (semantics 11.5)."""
        partition.pending = None
        self._unsent.pop((partition.topic, partition.partition), None)

    def given_up(self, partition: Partition) -> bool:
        """A change of its ISR is pending that nobody asks for any more: only a LeaderAndIsr ends that (1.6)."""
        return partition.pending is not None and (partition.topic, partition.partition) not in self._unsent

    def _send_alter_isr(self) -> None:
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
            self._alter_isr_answered(message, {(p.topic, p.partition): (p, pending) for p, pending in sent})

        self._channel.send(request, answered)

    def _alter_isr_answered(
        self, response: AlterIsrResponse, sent: dict[TopicPartition, tuple[Partition, PendingIsr]]
    ) -> None:
        """An answer takes the partition out of the queue, whatever it was the answer to. One that comes after a
        LeaderAndIsr (asked of a controller out of reach, mostly) so drops the change that waits there by then: that
        stays pending, and the maximal ISR counts, until the next LeaderAndIsr (Kafka 2.7, 2.8)."""
        self._in_flight = False
        if response.error != ErrorCode.NONE:
            self._context.out.set_timer(ALTER_RETRY, ALTER_RETRY_MS)
            return
        for changed in response.partitions:
            place = (changed.topic, changed.partition)
            if place not in sent:
                continue
            partition, pending = sent[place]
            self._unsent.pop(place, None)
            if partition.pending is pending:
                self._apply(partition, changed)
        self._send_alter_isr()

    def _apply(self, partition: Partition, changed: IsrChanged) -> None:
        context = self._context
        place = (partition.topic, partition.partition)
        isr = ids_text(partition.pending.isr) if partition.pending is not None else ""
        if changed.error != ErrorCode.NONE:
            self.failed_updates += 1
            context.emit(IsrChangeEnded(*place, isr, f"refused: {ErrorCode(changed.error).name}", -1))
            if changed.error not in GIVE_UP and partition.pending is not None:
                self._unsent[place] = partition
                context.out.set_timer(ALTER_RETRY, ALTER_RETRY_MS)
            return
        if changed.leader_epoch != partition.leader_epoch or changed.zk_version <= partition.zk_version:
            self.failed_updates += 1
            return
        if partition.pending is not None:
            self._count(expands=partition.pending.expands)
        partition.isr = list(changed.isr)
        partition.zk_version = changed.zk_version
        partition.pending = None
        # The high watermark is not looked at: after a shrink it waits for the next append or follower that moves
        # (KAFKA-13091, mended in 3.0).
        context.emit(IsrChangeEnded(*place, ids_text(partition.isr), "done", changed.zk_version))

    def alter_retry_timer(self) -> None:
        self._send_alter_isr()
