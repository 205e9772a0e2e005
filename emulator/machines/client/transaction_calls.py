"""Calls of an application about its transactions: one at a time, bounded by `max.block.ms`.

A call ends by its callback, with "" or the name of Java's exception. After a timeout its requests go on: only the same
call may follow, and has their result (TransactionManager.handleCachedTransactionRequestResult).
"""

from collections.abc import Callable, Sequence
from typing import Final, Literal

from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.transaction_errors import TIMED_OUT
from protocol.machine import Now
from protocol.outbox import Outbox

CallKind = Literal["init", "offsets", "commit", "abort"]
ALL_KINDS: Final[tuple[CallKind, ...]] = ("init", "offsets", "commit", "abort")
CallEnded = Callable[[Now, Outbox, str], None]

_BOUNDED_FROM: Final[dict[CallKind, int]] = {"init": 1, "commit": 2, "abort": 2, "offsets": 3}


class _Call:
    __slots__ = ("deadline_ms", "ended", "kind")

    def __init__(self, kind: CallKind, ended: CallEnded, deadline_ms: float) -> None:
        self.kind = kind
        self.ended = ended
        self.deadline_ms = deadline_ms


class TransactionCalls:
    """The call of one producer. `bounded`: see `client_bounded_transaction_calls`."""

    def __init__(self, max_block_ms: float, bounded: int) -> None:
        self._max_block_ms = max_block_ms
        self._bounded = bounded
        self._call: _Call | None = None
        self._timed_out: CallKind | None = None
        self._late: str | None = None
        """Result of the requests of a call that timed out, since they have ended."""

    @property
    def kind(self) -> CallKind | None:
        """The call that has not ended."""
        return None if self._call is None else self._call.kind

    @property
    def deadline_ms(self) -> float:
        return NEVER if self._call is None else self._call.deadline_ms

    def begin(self, now: Now, kind: CallKind, ended: CallEnded) -> None:
        """Begin a call; there is none."""
        bounded = self._bounded >= _BOUNDED_FROM[kind]
        self._timed_out = self._late = None
        self._call = _Call(kind, ended, now.mono_ms + self._max_block_ms if bounded else NEVER)

    def end(self, now: Now, out: Outbox, exception: str, kinds: Sequence[CallKind] = ALL_KINDS) -> None:
        """End the call, if it is of these kinds, with the result of its requests.

        Repeated, a call that timed out has it as well.
        """
        if self._call is not None and self._call.kind in kinds:
            call, self._call = self._call, None
            call.ended(now, out, exception)
        elif self._call is None and self._timed_out in kinds and self._late is None:
            self._late = exception

    def is_over(self, now: Now) -> bool:
        """Whether the call's time is over."""
        return self._call is not None and is_due(now, self._call.deadline_ms)

    def time_out(self, now: Now, out: Outbox) -> None:
        """End the call; its requests go on."""
        assert self._call is not None, "no call"
        call, self._call = self._call, None
        self._timed_out, self._late = call.kind, None
        call.ended(now, out, TIMED_OUT)

    def repeat(self, now: Now, out: Outbox, kind: CallKind, ended: CallEnded) -> bool:
        """Wait again for the requests of a call that timed out; whether it is that one."""
        if self._timed_out != kind or self._call is not None:
            return False
        if self._late is None:
            self.begin(now, kind, ended)
            return True
        result, self._timed_out, self._late = self._late, None, None
        ended(now, out, result)
        return True
