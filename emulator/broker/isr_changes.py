"""ISR changes: how a leader's wish becomes the partition's recorded state. Semantics 1.3, 1.4, 1.6.

Two ways, by `inter.broker.protocol.version`:

* straight to the session service: a conditional write with the cached zkVersion, *holding the partition's lock*. Out of
  reach, it waits, and with it everybody who needs the partition; other partitions' checks wait too, as
  there is one checking task.
* through the controller (`alter_isr`).

A leader never bumps the leader epoch."""

from collections import deque
from collections.abc import Callable

from emulator.broker.alter_isr import AlterIsr, IsrCounts
from emulator.broker.context import BrokerContext
from emulator.broker.controller_channel import ControllerChannel
from emulator.broker.isr_notifications import IsrNotifications
from emulator.broker.partition import Partition, PendingIsr
from protocol.events import IsrChangeAsked, IsrChangeEnded, ids_text
from protocol.ids import TopicPartition
from protocol.messages.session import GetData, SessionError, SessionRequest, SessionResponse, SetData
from protocol.znodes import Leadership, decode_state, encode_state, state_path

SHRINK = ("isr-shrink",)


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
        self._advanced = advanced
        self._shrink_due_ms = 0.0
        self._to_check: deque[Partition] = deque()
        self._checking = False
        self._walking = False
        self._released: list[Partition] = []
        self.counts = IsrCounts()
        self.alter_isr = AlterIsr(context, channel, self.counts)
        self.notifications = IsrNotifications(context)

    def start(self) -> None:
        """Begin the periodic tasks."""
        context = self._context
        self._shrink_due_ms = context.now.mono_ms + self._shrink_period_ms
        context.out.set_timer(SHRINK, self._shrink_period_ms)
        if not context.gates.alter_isr:
            self.notifications.start()

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
            if partition.offline:
                continue
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
            self.alter_isr.ask(partition)
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
                self.counts.done(expands=expands)
                self.notifications.note(partition)
                if partition.leads and partition.advance_high_watermark():
                    self._advanced(partition)
            elif outcome == "session-expired":
                partition.pending = None
            else:
                self.counts.failed += 1
            if self._walking:  # answered at once, as all are that are asked in a session that is over
                partition.release()
                self._released.append(partition)
            else:
                partition.unlock(then)

        context.ask_session(SessionRequest([SetData(path, encode_state(state), partition.zk_version)]), written)
