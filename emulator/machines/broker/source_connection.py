"""A fetcher's connection to its source: one, with one request in flight. Semantics 2.

replica.socket.timeout.ms bounds connecting alone. The limit for a response is request.timeout.ms (2.4), in 0.8.2
that for connecting.
"""

from collections.abc import Callable

from emulator.machines.broker.broker_context import BrokerContext
from protocol.ids import BrokerId
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, MessageReceived, Now
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import FETCHER


class SourceConnection:
    """Connection to `node`.

    `ready`: the next request can be sent. `failed`: the connection or response will not come, with the reason.
    """

    def __init__(
        self,
        context: BrokerContext,
        source: BrokerId,
        node: str,
        ready: Callable[[], None],
        failed: Callable[[str], None],
    ) -> None:
        self._context = context
        self._node = node
        self._ready = ready
        self._failed = failed
        self._timeout = ("fetcher", source, "timeout")
        self._connection = 0
        self._connecting = False
        self._correlation = 0
        self._awaiting: Callable[[Message], None] | None = None
        self._ended: Callable[[], None] | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits for a connection or a response."""
        return self._awaiting is not None or self._connecting

    def send(self, message: Message, version: int, handle: Callable[[Message], None]) -> None:
        """Send if connected, and `handle` gets the response; otherwise connect first, then `ready`."""
        out, settings = self._context.out, self._context.settings
        if not self._connection:
            out.set_timer(self._timeout, settings.replica_socket_timeout_ms, self._timed_out)
            self._connection = out.open(self._node, FETCHER, self._on_connection_event)
            self._connecting = True
            return
        of_request = self._context.gates.fetcher_answer_within_request_timeout
        limit_ms = settings.request_timeout_ms if of_request else settings.replica_socket_timeout_ms
        out.set_timer(self._timeout, limit_ms, self._timed_out)
        self._correlation += 1
        self._awaiting = handle
        out.send(self._connection, message, self._correlation, version)

    def end(self, ended: Callable[[], None]) -> None:
        """End with the present wait (KAFKA-6051); then call `ended`."""
        assert self.waits and self._ended is None
        self._ended = ended

    def close(self) -> None:
        if self._connection:
            self._context.out.close(self._connection)
        self._context.out.cancel_timer(self._timeout)
        self._connection = 0

    # --- events ---

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._received(event)
        elif isinstance(event, ConnectionOpened):
            self._opened()
        else:
            self._lost(event)

    def _opened(self) -> None:
        self._connecting = False
        self._context.out.cancel_timer(self._timeout)
        if not self._end_if_requested():
            self._ready()

    def _received(self, event: MessageReceived) -> None:
        if self._awaiting is None or event.correlation_id != self._correlation:
            return
        handle, self._awaiting = self._awaiting, None
        self._context.out.cancel_timer(self._timeout)
        if not self._end_if_requested():
            handle(event.message)
            self._ready()

    def _lost(self, event: ConnectionLost) -> None:
        self._connection = 0
        self._nothing_comes(event.reason)

    def _timed_out(self, now: Now, out: Outbox) -> None:
        out.close(self._connection)
        self._connection = 0
        self._nothing_comes("timed out")

    def _nothing_comes(self, reason: str) -> None:
        if self._end_if_requested():
            return
        waited = self.waits
        self._awaiting, self._connecting = None, False
        self._context.out.cancel_timer(self._timeout)
        if waited:  # the next request notices the end of an idle connection
            self._failed(reason)

    def _end_if_requested(self) -> bool:
        if self._ended is None:
            return False
        ended, self._ended = self._ended, None
        self._awaiting, self._connecting = None, False
        ended()
        return True
