"""A broker's channel to the controller, for AlterIsr. Semantics 1.6.

One request at a time. It uses the first controller in the broker's own metadata. It keeps to that one until its
connection is lost, times out or responds NOT_CONTROLLER; only then it reads the metadata again. So a leader keeps
sending to an isolated controller long after it has learned of a new one. It retries for ever, after a short pause.
"""

from collections import deque
from collections.abc import Callable
from math import ceil

from emulator.machines.broker.broker_context import BrokerContext
from protocol.errors import ErrorCode
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.leadership_messages import AlterIsrResponse
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import TO_CONTROLLER

RETRY = ("to-controller-retry",)
TIMEOUT = ("to-controller-timeout",)
RETRY_MS = 50.0
"""Reconnect backoff of the channel, in ms."""
LOOK_AGAIN_MS = 100.0
"""Pause before it reads metadata without a controller again, in ms.

Source: BrokerToControllerRequestThread.doWork.
"""
SETUP_TIMEOUT_MS = 10_000.0
"""socket.connection.setup.timeout.ms"""
QUEUE_MAX = 1_000


class ControllerChannel:
    """Channel to the controller. `controller_node`: its node by this broker's metadata, or None."""

    def __init__(self, context: BrokerContext, controller_node: Callable[[], str | None]) -> None:
        self._context = context
        self._controller_node = controller_node
        self._queue: deque[tuple[Message, int, Callable[[Message], None]]] = deque()
        self._connection = 0
        self._opened = False
        self._node: str | None = None
        self._cached: str | None = None
        self._correlation = 0
        self._awaiting = False

    def send(self, request: Message, version: int, done: Callable[[Message], None]) -> None:
        """Queue a request of that version; `done` gets the response, once."""
        assert len(self._queue) < QUEUE_MAX, "requests to the controller pile up"
        self._queue.append((request, version, done))
        self._work()

    def learn(self) -> None:
        """Read the updated metadata: the first controller they name receives the requests."""
        if self._cached is None:
            self._cached = self._controller_node()

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, ConnectionOpened):
            self._opened = True
            self._work()
        elif isinstance(event, ConnectionLost):
            self._connection = 0
            if self._queue:
                self._drop()
        else:
            self._answered(event.correlation_id, event.message)

    def _work(self) -> None:
        if self._awaiting or not self._queue:
            return
        self.learn()
        node = self._cached
        context = self._context
        if self._connection and node != self._node:
            context.out.close(self._connection)
            self._connection = 0
        if node is None:
            context.set_timer(RETRY, LOOK_AGAIN_MS, self._work)
            return
        if not self._connection:
            self._node = node
            self._opened = False
            self._connection = context.out.open(node, TO_CONTROLLER, self._on_connection_event)
            context.set_timer(TIMEOUT, self._woken_after_ms(SETUP_TIMEOUT_MS), self._drop)
            return
        if not self._opened:
            return
        self._correlation += 1
        self._awaiting = True
        request, version, _ = self._queue[0]
        context.out.send(self._connection, request, self._correlation, version)
        limit_ms = context.settings.controller_socket_timeout_ms
        context.set_timer(TIMEOUT, self._woken_after_ms(limit_ms), self._drop)

    def _woken_after_ms(self, limit_ms: float) -> float:
        """Time until a limit is noticed: an idle thread wakes every request.timeout.ms."""
        period_ms = self._context.settings.request_timeout_ms
        return period_ms * max(1, ceil(limit_ms / period_ms))

    def _answered(self, correlation: int, message: Message) -> None:
        if not self._awaiting or correlation != self._correlation:
            return
        self._awaiting = False
        self._context.out.cancel_timer(TIMEOUT)
        assert isinstance(message, AlterIsrResponse), message
        errors = (message.error, *(changed.error for changed in message.partitions))
        if ErrorCode.NOT_CONTROLLER in errors:  # of the request, or of any partition (errorCounts)
            self._drop()
            return
        _, _, done = self._queue.popleft()
        done(message)
        self._work()

    def _drop(self) -> None:
        """Drop the connection and restart with the first request, after a pause."""
        out = self._context.out
        if self._connection:
            out.close(self._connection)
            self._connection = 0
        self._awaiting = False
        self._cached = None
        out.cancel_timer(TIMEOUT)
        self._context.set_timer(RETRY, RETRY_MS, self._work)
