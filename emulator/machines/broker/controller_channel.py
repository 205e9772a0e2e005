"""A broker's channel to the controller: one request at a time.

Semantics 1.6, kraft-semantics 3.1.

With ZooKeeper it carries AlterIsr. It uses the first controller in the broker's own metadata. It keeps to that one
until its connection is lost, times out or responds NOT_CONTROLLER; only then it reads the metadata again. So a leader
keeps sending to an isolated controller long after it has learned of a new one. It retries for ever, after a short
pause.

In KRaft the same thread has three channels (`node_channels`), and the quorum's node knows the controller. A channel
with a limit of its own gives a request up when that has passed since it was queued.

Source: BrokerToControllerRequestThread, NodeToControllerRequestThread.
"""

from collections import deque
from collections.abc import Callable, Iterator
from math import ceil, inf
from typing import NamedTuple

from emulator.machines.broker.broker_context import BrokerContext
from protocol.errors import ErrorCode
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now, TimerKey
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import TO_CONTROLLER

NAME = "to-controller"
RETRY_MS = 50.0
"""Reconnect backoff of the channel, in ms."""
LOOK_AGAIN_MS = 100.0
"""Pause before it reads metadata without a controller again, in ms.

Source: BrokerToControllerRequestThread.doWork.
"""
SETUP_TIMEOUT_MS = 10_000.0
"""socket.connection.setup.timeout.ms"""
SETUP_MAX_MS = 30_000.0
"""socket.connection.setup.timeout.max.ms"""
SETUP_JITTER = 0.2
SETUP_DOUBLINGS = 10
QUEUE_MAX = 1_000

Answered = Callable[[Message | None], None]
"""Callback of a request: its response; None: the channel gave it up."""


class _Queued(NamedTuple):
    request: Message
    version: int
    done: Answered
    at_ms: float


class ControllerChannel:
    """Channel to the controller.

    `controller_node`: its node, or None. `name`: of its timers. `retry_limit_ms`: limit of a request since it was
    queued, and of each response; None: no limit, and a thread that wakes each request.timeout.ms notices a late
    response.
    """

    def __init__(
        self,
        context: BrokerContext,
        controller_node: Callable[[], str | None],
        *,
        purpose: str = TO_CONTROLLER,
        name: str = NAME,
        retry_limit_ms: float | None = None,
    ) -> None:
        self._context = context
        self._controller_node = controller_node
        self._purpose = purpose
        self._retry: TimerKey = (f"{name}-retry",)
        self._timeout: TimerKey = (f"{name}-timeout",)
        self._expiry: TimerKey = (f"{name}-expiry",)
        self._retry_limit_ms = retry_limit_ms
        self._queue: deque[_Queued] = deque()
        self._connection = 0
        self._opened = False
        self._node: str | None = None
        self._cached: str | None = None
        self._correlation = 0
        self._awaiting = False
        self._failures = 0
        """Connections in a row that were not established."""

    def send(self, request: Message, version: int, done: Answered) -> None:
        """Queue a request of that version; `done` gets the response, once.

        A full queue gives it up at once.
        """
        if len(self._queue) >= QUEUE_MAX:
            done(None)
            return
        self._queue.append(_Queued(request, version, done, self._context.now.mono_ms))
        self._work()

    def learn(self) -> None:
        """Read the updated metadata: the first controller they name receives the requests."""
        if self._cached is None:
            self._cached = self._controller_node()

    def close(self) -> None:
        """Drop the connection and all requests, which get no response any more."""
        self._queue.clear()
        self._disconnect()
        self._context.out.cancel_timer(self._retry)
        self._context.out.cancel_timer(self._expiry)

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, ConnectionOpened):
            self._opened = True
            self._failures = 0
            if self._retry_limit_ms is not None:
                self._context.out.cancel_timer(self._timeout)  # what it was opened for may have been given up
            self._work()
        elif isinstance(event, ConnectionLost):
            self._connection = 0
            if self._queue or self._retry_limit_ms is not None:
                self._drop()
        else:
            self._answered(event.correlation_id, event.message)

    def _work(self) -> None:
        if self._awaiting:
            return
        self._give_up()
        if not self._queue:
            return
        self.learn()
        node = self._cached
        context = self._context
        if self._connection and node != self._node:
            context.out.close(self._connection)
            self._connection = 0
            self._failures = 0
        if node is None:
            context.set_timer(self._retry, LOOK_AGAIN_MS, self._work)
            return
        if not self._connection:
            self._node = node
            self._opened = False
            self._connection = context.out.open(node, self._purpose, self._on_connection_event)
            context.set_timer(self._timeout, self._setup_limit_ms, self._drop)
        if not self._opened:
            self._expire_later()
            return
        self._correlation += 1
        self._awaiting = True
        context.out.send(self._connection, self._queue[0].request, self._correlation, self._queue[0].version)
        context.set_timer(self._timeout, self._answer_limit_ms, self._drop)

    def _give_up(self) -> None:
        """Give up the requests whose limit has passed; an earlier one has waited longer.

        Source: NodeToControllerRequestThread.generateRequests.
        """
        if self._retry_limit_ms is None:
            return
        while self._queue and self._context.now.mono_ms - self._queue[0].at_ms >= self._retry_limit_ms:
            self._queue.popleft().done(None)

    def _expire_later(self) -> None:
        """Give the first request up at its limit; the opening connection outlives it (KRaft)."""
        limit_ms = self._retry_limit_ms
        if limit_ms is not None and limit_ms < inf:
            left_ms = self._queue[0].at_ms + limit_ms - self._context.now.mono_ms
            self._context.set_timer(self._expiry, max(left_ms, 0.0), self._expired)

    def _expired(self) -> None:
        """Source: InterBrokerSendThread.failExpiredRequests."""
        if not self._opened:
            self._cached = None
            self._give_up()
            self._work()

    @property
    def _setup_limit_ms(self) -> float:
        """Limit of an opening connection. In KRaft it doubles with each failure (ClusterConnectionStates)."""
        if self._retry_limit_ms is None:
            return self._woken_after_ms(SETUP_TIMEOUT_MS)
        jitter = self._context.chance.between(1.0 - SETUP_JITTER, 1.0 + SETUP_JITTER)
        return min(SETUP_TIMEOUT_MS * 2.0 ** min(self._failures, SETUP_DOUBLINGS) * jitter, SETUP_MAX_MS)

    @property
    def _answer_limit_ms(self) -> float:
        limit_ms = self._context.settings.controller_socket_timeout_ms
        if self._retry_limit_ms is None:
            return self._woken_after_ms(limit_ms)
        return min(limit_ms, self._retry_limit_ms)

    def _woken_after_ms(self, limit_ms: float) -> float:
        """Time until a limit is noticed: an idle thread wakes every request.timeout.ms."""
        period_ms = self._context.settings.request_timeout_ms
        return period_ms * max(1, ceil(limit_ms / period_ms))

    def _answered(self, correlation: int, message: Message) -> None:
        if not self._awaiting or correlation != self._correlation:
            return
        self._awaiting = False
        self._context.out.cancel_timer(self._timeout)
        if ErrorCode.NOT_CONTROLLER in errors_of(message):
            self._drop()
            return
        done = self._queue.popleft().done
        done(message)
        self._work()

    def _drop(self) -> None:
        """Drop the connection and restart with the first request, after a pause."""
        if not self._opened:
            self._failures += 1
        self._disconnect()
        self._context.set_timer(self._retry, RETRY_MS, self._work)
        self._give_up()

    def _disconnect(self) -> None:
        out = self._context.out
        if self._connection:
            out.close(self._connection)
            self._connection = 0
        self._opened = False
        self._awaiting = False
        self._cached = None
        out.cancel_timer(self._timeout)


def errors_of(message: Message) -> Iterator[int]:
    """Error codes of a response, and of its partitions, topics and other parts (errorCounts)."""
    if hasattr(message, "error"):
        yield message.error
    for name in message.__struct_fields__:
        parts = getattr(message, name)
        if isinstance(parts, list):
            yield from (part.error for part in parts if hasattr(part, "error"))


NO_LIMIT_MS = inf
"""Limit of a KRaft channel that never gives a request up."""
