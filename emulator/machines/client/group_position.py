"""A consumer's use of its group's committed offsets: start positions, and commits.

With `enable.auto.commit` it commits every `auto.commit.interval.ms`, after a retriable failure `retry.backoff.ms`
later, and once more before it leaves. A final refusal waits for the next interval. It commits every known position,
whether it moved or not.
"""

from collections.abc import Callable, Mapping

from emulator.machines.client.client_settings import ConsumerSettings
from emulator.machines.client.consumer_position import Position
from emulator.machines.client.consumer_positioning import Trouble
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.offset_store import CommitEnded, Committed, OffsetStore
from protocol.errors import ErrorCode, error_name
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, TopicPartition
from protocol.machine import Now
from protocol.outbox import Outbox

LEAVE_TIMEOUT_MS = 30_000.0
"""Limit of the last commit of a consumer that leaves, as Java's close()."""


class GroupPosition:
    """Committed offsets of one consumer.

    `changed`: positions have become known; the consumer's next round may use them.
    """

    def __init__(
        self,
        settings: ConsumerSettings,
        store: OffsetStore,
        positions: Mapping[TopicPartition, Position],
        trouble: Trouble,
        changed: Callable[[Now, Outbox], None],
    ) -> None:
        self._settings = settings
        self._store = store
        self._positions = positions
        self._trouble = trouble
        self._changed = changed
        self._commit_at_ms = NEVER
        self._committing = False
        self._leaving = False

    def look_up(self, now: Now, out: Outbox) -> None:
        """Look up the committed offsets of all positions without one, in one request."""
        sought = [key for key, p in self._positions.items() if p.state == "looking-up" and not p.busy]
        if not sought:
            return
        pending = {key: self._positions[key] for key in sought}
        for position in pending.values():
            position.busy = True

        def looked(now: Now, out: Outbox, found: dict[TopicPartition, Committed], error: int | str) -> None:
            for key, position in pending.items():
                if self._positions.get(key) is not position or position.state != "looking-up":
                    continue
                if error:
                    name = error_name(error) if isinstance(error, int) else error
                    self._trouble.stop(now, out, key, position, name, error=error if isinstance(error, int) else -1)
                else:
                    self._begin(key, position, found.get(key, Committed(NO_OFFSET)))
            self._changed(now, out)

        self._store.look(now, out, sought, looked)

    def _begin(self, key: TopicPartition, position: Position, committed: Committed) -> None:
        """Begin at the committed offset; the leader validates its epoch, if any (2.3 and later)."""
        if committed.offset < 0:
            position.restart()
            return
        position.committed = committed.offset
        self._trouble.note_epoch(key, committed.leader_epoch)
        position.seek(committed.offset, committed.leader_epoch if self._settings.validates_epochs else EPOCH_UNKNOWN)

    # --- committing -----------------------------------------------------------------------------------------

    def start(self, now: Now, *, anew: bool = False) -> None:
        """Start the time to the first automatic commit, or `anew` to the next."""
        if self._settings.enable_auto_commit and (anew or self._commit_at_ms == NEVER) and not self._leaving:
            self._commit_at_ms = now.mono_ms + self._settings.auto_commit_interval_ms

    def poll(self, now: Now, out: Outbox) -> None:
        """Commit if it is time to, without retries."""
        if self._committing or not is_due(now, self._commit_at_ms):
            return
        self._commit_at_ms = now.mono_ms + self._settings.auto_commit_interval_ms
        self._committing = True

        def ended(now: Now, out: Outbox, error: int | str) -> None:
            self._committing = False
            if error and self._store.may_pass(error) and not self._leaving:
                self._commit_at_ms = min(self._commit_at_ms, now.mono_ms + self._settings.retry_backoff_ms)
            self._changed(now, out)

        self.commit(now, out, ended, None)

    def next_at_ms(self) -> float:
        """Time of the next work for `poll` (mono_ms)."""
        return NEVER if self._committing else self._commit_at_ms

    def commit(self, now: Now, out: Outbox, ended: CommitEnded, timeout_ms: float | None) -> None:
        """Commit the known positions; without any it succeeds at once."""
        known = {
            key: Committed(position.offset, position.offset_epoch if self._settings.validates_epochs else EPOCH_UNKNOWN)
            for key, position in self._positions.items()
            if position.offset >= 0 and position.state == "fetching"
        }
        if known:
            self._store.commit(now, out, known, ended, timeout_ms)
        else:
            ended(now, out, ErrorCode.NONE)

    def leave(self, now: Now, out: Outbox, ended: CommitEnded) -> None:
        """Commit for the last time, if commits are automatic."""
        self._commit_at_ms = NEVER
        self._leaving = True
        if self._settings.enable_auto_commit:
            self.commit(now, out, ended, LEAVE_TIMEOUT_MS)
        else:
            ended(now, out, ErrorCode.NONE)
