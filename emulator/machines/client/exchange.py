"""One request and its response over a connection of its own, as with a plain socket.

A fresh connection per request, closed after it. The socket timeout bounds each wait by itself, as a socket's does:
for the connection, then for the response. Failures carry the name of the exception a script with a plain socket
would see:

- `TimeoutError`: nothing came in time (a cut link, a paused or blocked broker), or TCP gave up;
- `ConnectionRefusedError`: no process listens there;
- `ConnectionResetError`: the connection was established and lost, or the broker closed it.
"""

from collections.abc import Callable

from emulator.machines.client.client_state import Failure, TooManyExchanges
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Loss, Now
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import CLIENT

EXCHANGES_MAX = 256
"""Bound of one owner's exchanges at a time."""

WAITS = 2
"""Waits of an exchange, each with the timeout: for the connection, and for the response."""

EXCEPTIONS = {
    Loss.REFUSED: "ConnectionRefusedError",
    Loss.TIMED_OUT: "TimeoutError",
    Loss.CLOSED: "ConnectionResetError",
    Loss.RESET: "ConnectionResetError",
}
"""Exception of a plain socket for each kind of loss."""

CORRELATION = 1
"""Correlation id; each connection carries one request."""


Answered = Callable[[Now, Outbox, Message | Failure | None], None]
"""Callback with the response, or the failure.

None: no response was expected, and the request has left.
"""


class _Exchange:
    """An exchange under way."""

    __slots__ = ("answered", "awaits_answer", "connection", "number", "request", "sent", "timeout_ms", "version")

    def __init__(
        self, number: int, connection: int, request: Message, version: int, timeout_ms: float, *, awaits_answer: bool,
        answered: Answered,
    ) -> None:  # fmt: skip
        self.number = number
        self.connection = connection
        self.request = request
        self.version = version
        self.timeout_ms = timeout_ms
        self.awaits_answer = awaits_answer
        self.answered = answered
        self.sent = False


class Exchanges:
    """Exchanges in progress. `key` begins the timers' keys; it is unique on its node."""

    def __init__(self, key: str, purpose: str = CLIENT) -> None:
        self._key = key
        self._purpose = purpose
        self._count = 0
        self._under_way: dict[int, _Exchange] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    def require_room(self) -> None:
        """Raises TooManyExchanges if none may begin now; call it before recording an operation."""
        if len(self._under_way) >= EXCHANGES_MAX:
            raise TooManyExchanges(f"{self._key}: {EXCHANGES_MAX} requests are under way; wait until one ends")

    def ask(
        self,
        out: Outbox,
        *,
        node: str,
        request: Message,
        timeout_ms: float,
        answered: Answered,
        version: int | None = None,
        awaits_answer: bool = True,
    ) -> None:
        """Open a connection to `node` and send `request` on it (`version` None: the newest).

        Raises TooManyExchanges.
        """
        self.require_room()
        self._count += 1
        connection = out.open(node, self._purpose, self._on_connection_event)
        chosen = request.VERSIONS[1] if version is None else version
        exchange = _Exchange(
            self._count, connection, request, chosen, timeout_ms, awaits_answer=awaits_answer, answered=answered
        )
        self._under_way[connection] = exchange
        self._wait(out, exchange)

    def _wait(self, out: Outbox, exchange: _Exchange) -> None:
        key = (self._key, "socket", exchange.number)
        out.set_timer(key, exchange.timeout_ms, lambda now, out: self._late(now, exchange, out))

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        exchange = self._under_way[event.connection]
        if isinstance(event, ConnectionOpened):
            self._opened(now, exchange, out)
        elif isinstance(event, ConnectionLost):
            failure = Failure(EXCEPTIONS[event.loss], event.reason, exchange.sent)
            self._end(now, exchange, out, failure, closed=True)
        elif event.message.API_KEY != exchange.request.API_KEY:
            reason = f"answered a {exchange.request.API_NAME} with a {event.message.API_NAME}"
            self._end(now, exchange, out, Failure("ConnectionResetError", reason, exchange.sent))
        else:
            self._end(now, exchange, out, event.message)

    def _late(self, now: Now, exchange: _Exchange, out: Outbox) -> None:
        waited = "an answer" if exchange.sent else "the connection"
        reason = f"waited {exchange.timeout_ms:g} ms for {waited}"
        self._end(now, exchange, out, Failure("TimeoutError", reason, exchange.sent), fired=True)

    def _opened(self, now: Now, exchange: _Exchange, out: Outbox) -> None:
        out.send(exchange.connection, exchange.request, CORRELATION, exchange.version)
        exchange.sent = True
        if exchange.awaits_answer:
            self._wait(out, exchange)
        else:
            self._end(now, exchange, out, None)

    def _end(
        self,
        now: Now,
        exchange: _Exchange,
        out: Outbox,
        answer: Message | Failure | None,
        *,
        closed: bool = False,
        fired: bool = False,
    ) -> None:
        del self._under_way[exchange.connection]
        if not fired:
            out.cancel_timer((self._key, "socket", exchange.number))
        if not closed:
            out.close(exchange.connection)
        exchange.answered(now, out, answer)
