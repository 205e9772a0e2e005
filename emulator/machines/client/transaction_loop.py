"""An application's transactions, one after another, and its reactions to errors.

It repeats a call that timed out, aborts after an abortable error, and after a fatal one closes the producer and starts
another one. A fenced producer is not replaced: another application has its transactional id.
"""

from collections.abc import Callable
from typing import Final

from emulator.machines.client.producer import Producer
from emulator.machines.client.transaction_errors import FENCED, TIMED_OUT
from protocol.machine import Now
from protocol.messages.workload_messages import WorkloadReport
from protocol.outbox import Due, Outbox

RESTART_AFTER_MS: Final = 1_000.0
"""From a fatal error to the next producer."""

OnEnded = Callable[[Now, Outbox, bool], None]
"""Callback: a transaction has ended, committed or not."""
OnOver = Callable[[Now, Outbox, str], None]
"""Callback: the loop is over, with the reason."""


class TransactionLoop:
    """Transactions of one transactional id.

    `make(name)` creates a producer, whose `handled` is to call `look`. `opened` is called when a transaction has begun,
    `ended` when it has ended, `over` after the last one.
    """

    def __init__(
        self,
        key: str,
        make: Callable[[str], Producer],
        report: WorkloadReport,
        opened: Due,
        ended: OnEnded,
        over: OnOver,
    ) -> None:
        self._key = key
        self._make = make
        self._report = report
        self._opened = opened
        self._on_ended = ended
        self._on_over = over
        self._producers = 0
        self._producer = make(f"{key}-0")
        self.is_open = False
        """Whether the application may send."""
        self._stopping = False
        self._over = False

    @property
    def producer(self) -> Producer:
        """The present one."""
        return self._producer

    def start(self, now: Now, out: Outbox) -> None:
        """Request the producer id, then begin the first transaction."""
        self._init(now, out)

    def commit(self, now: Now, out: Outbox) -> None:
        """Commit the open transaction, then begin the next one."""
        self.is_open = False
        self._producer.transactions.commit(now, out, self._commit_ended)

    def abort(self, now: Now, out: Outbox) -> None:
        """Abort the open transaction, then begin the next one."""
        self.is_open = False
        self._producer.transactions.abort(now, out, self._abort_ended)

    def look(self, now: Now, out: Outbox) -> None:
        """React to an error of the open transaction; call it after each input."""
        if self.is_open and self._producer.transactions.state != "in-transaction":
            self.failed(now, out, self._producer.transactions.refusal())

    def stop(self, now: Now, out: Outbox) -> None:
        """Begin no further transaction; an open one is committed first."""
        self._stopping = True
        if self.is_open:
            self.commit(now, out)
        elif self._producer.transactions.state in ("uninitialized", "initializing", "fatal"):
            self.close(now, out, "")

    def close(self, now: Now, out: Outbox, reason: str) -> None:
        """End at once: an open transaction stays open at its coordinator."""
        if self._over:
            return
        self._over, self.is_open = True, False
        out.cancel_timer((self._key,))
        self._producer.close(now, out)
        self._on_over(now, out, reason)

    def failed(self, now: Now, out: Outbox, error: str) -> None:
        """Abort, or begin again with another producer."""
        self.is_open = False
        state = self._producer.transactions.state
        if state in ("abortable", "in-transaction"):
            self.abort(now, out)
        elif error == FENCED or self._stopping:
            self.close(now, out, error)
        else:
            self._producer.close(now, out)
            self._on_ended(now, out, False)
            out.set_timer((self._key,), RESTART_AFTER_MS, self._restart)

    # --- private --------------------------------------------------------------------------------------------

    def _init(self, now: Now, out: Outbox) -> None:
        producer = self._producer

        def ended(now: Now, out: Outbox, error: str) -> None:
            if self._over or self._producer is not producer:
                return
            if error == TIMED_OUT:
                producer.transactions.init(now, out, ended)
            elif error:
                self.failed(now, out, error)
            else:
                self._next(now, out)

        producer.transactions.init(now, out, ended)

    def _next(self, now: Now, out: Outbox) -> None:
        if self._stopping:
            self.close(now, out, "")
            return
        error = self._producer.transactions.begin(now, out)
        if error:
            self.failed(now, out, error)
            return
        self.is_open = True
        self._opened(now, out)

    def _commit_ended(self, now: Now, out: Outbox, error: str) -> None:
        if self._over:
            return
        if error == TIMED_OUT:
            self._producer.transactions.commit(now, out, self._commit_ended)
        elif error:
            self.failed(now, out, error)
        else:
            self._report.committed += 1
            self._on_ended(now, out, True)
            self._next(now, out)

    def _abort_ended(self, now: Now, out: Outbox, error: str) -> None:
        if self._over:
            return
        if error == TIMED_OUT:
            self._producer.transactions.abort(now, out, self._abort_ended)
        elif error:
            self.failed(now, out, error)
        else:
            self._report.aborted += 1
            self._on_ended(now, out, False)
            self._next(now, out)

    def _restart(self, now: Now, out: Outbox) -> None:
        self._producers += 1
        self._producer = self._make(f"{self._key}-{self._producers}")
        self._init(now, out)
