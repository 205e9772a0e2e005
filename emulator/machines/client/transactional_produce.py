"""Command that writes values in transactions, by a producer of its own.

It ends a transaction when all its records have ended. One that cannot be committed is aborted, and the next one
follows. After a fatal error, or a call that timed out, the rest is not sent.
"""

from collections import deque
from collections.abc import Callable
from typing import Final

from emulator.machines.client.client_state import Done
from emulator.machines.client.producer import Producer
from emulator.machines.client.transaction_errors import TIMED_OUT
from protocol.machine import Now
from protocol.messages.workload_messages import ClientProduceRequest, TransactionEnd, TransactionReport
from protocol.outbox import Due, Outbox

COMMIT: Final = "commit"
ABORT: Final = "abort"
OPEN: Final = "open"
PACE: Final = "transaction-pace"

Ended = Callable[[Now, Outbox, list[TransactionReport]], None]


class TransactionalProduce:
    """One command. `number` names its timer. `make(handled)` creates its producer.

    `sent` receives each record's end, `ended` the transactions.
    """

    def __init__(
        self,
        number: int,
        request: ClientProduceRequest,
        make: Callable[[Due], Producer],
        sent: Done,
        ended: Ended,
    ) -> None:
        self._key = (PACE, number)
        self._request = request
        self._producer = make(self.look)
        self._sent = sent
        self._ended = ended
        keys: list[bytes | None] = [*request.keys] if request.keys else [None] * len(request.values)
        places = request.partitions or [request.partition]
        partitions = [places[index % len(places)] for index in range(len(request.values))]
        self._waiting = deque(zip(request.values, keys, partitions, strict=True))
        self._size = request.records_per_transaction or len(request.values)
        self._number = 0
        self._in_transaction = 0
        self._is_full = False
        self._reports: list[TransactionReport] = []
        self._over = False

    def start(self, now: Now, out: Outbox) -> None:
        """Obtain the producer id, then begin."""

        def ended(now: Now, out: Outbox, error: str) -> None:
            if error:
                self._finish(now, out, COMMIT, error)
            else:
                self._next(now, out)

        self._producer.transactions.init(now, out, ended)

    def look(self, now: Now, out: Outbox) -> None:
        """End a transaction whose records have all ended; call it after each input."""
        if self._is_full and not self._producer.unfinished and not self._over:
            self._is_full = False
            self._end(now, out)

    def close(self, now: Now, out: Outbox) -> None:
        """End at once, without a result."""
        self._over = True
        out.cancel_timer(self._key)
        self._producer.close(now, out)

    # --- private --------------------------------------------------------------------------------------------

    def _next(self, now: Now, out: Outbox) -> None:
        """Begin the next transaction, if there are values."""
        if not self._waiting:
            self._close(now, out)
            return
        error = self._producer.transactions.begin(now, out)
        if error:
            self._finish(now, out, COMMIT, error)
            return
        self._number += 1
        self._in_transaction = 0
        self._send(now, out)

    def _send(self, now: Now, out: Outbox) -> None:
        """Send the values of the transaction, or one and the next after a pause; then end it."""
        request = self._request
        while self._waiting and self._in_transaction < self._size and not self._over:
            value, key, partition = self._waiting.popleft()
            self._in_transaction += 1
            self._producer.send(now, out, request.topic, partition, value, self._sent, key)
            if request.every_ms:
                out.set_timer(self._key, float(request.every_ms), self._send)
                return
        if not self._over:
            self._is_full = True
            self.look(now, out)

    def _end(self, now: Now, out: Outbox) -> None:
        ends = self._request.ends or [COMMIT]
        end: TransactionEnd = ends[min(self._number, len(ends)) - 1]
        transactions = self._producer.transactions
        if end == OPEN:
            self._finish(now, out, end, "")
        elif end == ABORT:
            transactions.abort(now, out, lambda now, out, error: self._has_ended(now, out, end, error))
        else:
            transactions.commit(now, out, lambda now, out, error: self._has_ended(now, out, end, error))

    def _has_ended(self, now: Now, out: Outbox, end: TransactionEnd, error: str) -> None:
        if self._over:
            return
        if not error:
            self._report(end, "")
            self._next(now, out)
        elif error != TIMED_OUT and self._producer.transactions.state == "abortable":
            self._report(end, error)
            self._producer.transactions.abort(now, out, self._aborted)
        else:
            self._finish(now, out, end, error)

    def _aborted(self, now: Now, out: Outbox, error: str) -> None:
        """Go on after an abort that an error needed."""
        if self._over:
            return
        if error:
            self._finish(now, out, ABORT, error)
        else:
            self._next(now, out)

    def _report(self, end: TransactionEnd, error: str) -> None:
        self._reports.append(TransactionReport(self._number, end, error))

    def _finish(self, now: Now, out: Outbox, end: TransactionEnd, error: str) -> None:
        self._report(end, error)
        self._close(now, out)

    def _close(self, now: Now, out: Outbox) -> None:
        self.close(now, out)  # records without an end get one
        self._ended(now, out, self._reports)
