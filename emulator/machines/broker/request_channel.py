"""Request channel: connections, request handlers, responses.

    connection --one at a time--> queue --> request handlers (num.io.threads) --> response, or a purgatory

Kafka mutes a connection while it handles one of its requests. So a connection's requests are answered one at a time
and in order; those of different connections have no order. A handler that has to wait (for a partition's lock,
ZooKeeper, another handler's turn) is occupied. When all are, requests of any kind queue, and the broker responds to
none. A parked request occupies no handler.
"""

from collections import deque
from collections.abc import Callable
from functools import cache

from emulator.machines.broker.broker_context import BrokerContext
from protocol.events import RequestNotUnderstood
from protocol.machine import ConnectionEvent, ConnectionLost, MessageReceived, Now
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import CONTROLLER, FETCHER, OBSERVE, TO_CONTROLLER
from protocol.work import Work

BETWEEN_BROKERS = (FETCHER, CONTROLLER, TO_CONTROLLER)
PIPELINED_MAX = 500
"""Bound of one connection's requests behind the one under way; beyond it it is closed."""


class _Connection:
    """An accepted connection: its request under way, and the later ones."""

    __slots__ = ("busy", "number", "observes", "peer", "pipelined")

    def __init__(self, number: int, peer: str, observes: bool) -> None:
        self.number = number
        self.observes = observes
        """It only observes, and does not exist in Kafka."""
        self.peer = peer
        """The broker or controller that opened it; "": another client."""
        self.busy = False
        self.pipelined: deque[MessageReceived] = deque()


class Request:
    """One request, with the way of its response. It gets one response, or its connection ends."""

    __slots__ = ("_channel", "_connection", "answered", "correlation_id", "message", "name", "version")

    def __init__(self, channel: "RequestChannel", connection: _Connection, event: MessageReceived) -> None:
        self._channel = channel
        self._connection = connection
        self.message = event.message
        self.correlation_id = event.correlation_id
        self.version = event.version
        self.answered = False
        self.name = _name_of(type(event.message))
        """For status reports."""

    @property
    def connection(self) -> int:
        return self._connection.number

    def answer(self, message: Message | None) -> None:
        """Send the response. None: there is none (acks=0), and the connection is free."""
        assert not self.answered, f"{self.name} is answered twice"
        self.answered = True
        self._channel.answered(self._connection, self, message)

    def hang_up(self) -> None:
        """Close the connection instead of a response."""
        self._channel.hang_up(self._connection.number)


@cache
def _name_of(kind: type[Message]) -> str:
    return kind.__name__.removesuffix("Request")


class RequestChannel:
    """Requests of one broker. `serve` returns a handler's work; None: it is done."""

    def __init__(
        self,
        context: BrokerContext,
        serve: Callable[[Request], Work[None] | None],
        lost: Callable[[int], None] = lambda connection: None,
    ) -> None:
        """Create the channel. `lost` is called with every lost connection."""
        self._context = context
        self._serve = serve
        self._on_lost = lost
        self._connections: dict[int, _Connection] = {}
        self._queue: deque[Request] = deque()
        self._occupied = 0

    @property
    def occupied(self) -> int:
        """Request handlers that wait in the midst of a request."""
        return self._occupied

    @property
    def queued(self) -> int:
        """Requests that no handler has taken yet."""
        return len(self._queue)

    @property
    def pipelined(self) -> int:
        """Requests that wait behind another of their own connection."""
        return sum(len(connection.pipelined) for connection in self._connections.values())

    # --- connections ---

    def accepted(self, connection: int, peer: str, purpose: str) -> None:
        accepted = _Connection(connection, peer if purpose in BETWEEN_BROKERS else "", purpose == OBSERVE)
        self._connections[connection] = accepted

        def on_event(now: Now, event: ConnectionEvent, out: Outbox) -> None:
            if isinstance(event, MessageReceived):
                self._received(accepted, event)
            elif isinstance(event, ConnectionLost):
                self._lost(connection)

        self._context.out.own(connection, on_event)

    def _lost(self, connection: int) -> None:
        """Forget a lost connection; its request goes on, without a response."""
        del self._connections[connection]
        self._on_lost(connection)

    def hang_up(self, connection: int) -> None:
        if self._connections.pop(connection, None) is not None:
            self._context.out.close(connection)

    def shut(self) -> None:
        """Close every connection: the processors end.

        Source: SocketServer.shutdown, stopProcessingRequests.
        """
        for connection in [one.number for one in self._connections.values() if not one.observes]:
            self.hang_up(connection)

    def _received(self, connection: _Connection, event: MessageReceived) -> None:
        if connection.peer and not self._context.gates.understands(event.message.API_KEY, event.version):
            # Kafka cannot parse it, and closes the connection (SocketServer, semantics 4.6); the sender tries again.
            self._context.emit(RequestNotUnderstood(connection.peer, event.message.API_NAME, event.version))
            self.hang_up(connection.number)
        elif not connection.busy:
            self._put(connection, event)
        elif len(connection.pipelined) < PIPELINED_MAX:
            connection.pipelined.append(event)
        else:
            self.hang_up(connection.number)

    # --- handlers ---

    def _put(self, connection: _Connection, event: MessageReceived) -> None:
        connection.busy = True
        request = Request(self, connection, event)
        if self._queue or self._occupied >= self._context.settings.num_io_threads:
            self._queue.append(request)
        else:
            self._handle(request)

    def _handle(self, request: Request) -> None:
        work = self._serve(request)
        if work is not None:
            self._occupied += 1
            self._context.threads.start("request-handler", request.name, work, self._freed)

    def _freed(self, result: None) -> None:
        self._occupied -= 1
        if self._queue:
            self._context.threads.ready.append(self._take)

    def resized(self) -> None:
        """Use the changed number of handlers (num.io.threads)."""
        if self._queue:
            self._context.threads.ready.append(self._take)

    def _take(self) -> None:
        while self._queue and self._occupied < self._context.settings.num_io_threads:
            self._handle(self._queue.popleft())

    # --- answers ---

    def answered(self, connection: _Connection, request: Request, message: Message | None) -> None:
        if self._connections.get(connection.number) is not connection:
            return
        if message is not None:
            self._context.out.send(connection.number, message, request.correlation_id, request.version)
        connection.busy = False
        if connection.pipelined:
            self._context.threads.ready.append(lambda: self._next_of(connection))

    def _next_of(self, connection: _Connection) -> None:
        if not connection.busy and connection.pipelined and self._connections.get(connection.number) is connection:
            self._put(connection, connection.pipelined.popleft())
