"""A broker's connection to a broker, for requests between coordinators and leaders.

The other broker may be itself.

One request in flight; the others wait. A request fails, and its sender decides, when the connection cannot be made, is
lost, or brings no response in request.timeout.ms.

Source: InterBrokerSendThread, NetworkClient.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from emulator.machines.broker.broker_context import BrokerContext
from protocol.machine import ConnectionEvent, ConnectionOpened, MessageReceived, Now
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import TRANSACTION

SETUP_TIMEOUT_MS: Final = 10_000.0
"""socket.connection.setup.timeout.ms"""
RECONNECT_MS: Final = 50.0
"""reconnect.backoff.ms of the brokers' clients."""
QUEUE_MAX: Final = 1_000

Answered = Callable[[Message | None], None]
"""Callback of a request, once: its response; None: it failed."""


class _Queued(NamedTuple):
    request: Message
    version: int
    answered: Answered


class BrokerLink:
    """Requests to `node`. `name`: of its timers, unique on the broker."""

    def __init__(self, context: BrokerContext, node: str, name: str) -> None:
        self._context = context
        self._node = node
        self._timeout = (name, "timeout", node)
        self._retry = (name, "reconnect", node)
        self._queue: deque[_Queued] = deque()
        self._connection = 0
        self._opened = False
        self._awaiting: _Queued | None = None
        self._correlation = 0
        self._not_before_ms = 0.0

    def send(self, request: Message, version: int, answered: Answered) -> None:
        """Queue a request. With a full queue it fails at once."""
        if len(self._queue) >= QUEUE_MAX:
            answered(None)
            return
        self._queue.append(_Queued(request, version, answered))
        self._work()

    def close(self) -> None:
        """Drop the connection and all requests, which get no answer any more."""
        self._queue.clear()
        self._awaiting = None
        self._disconnect()
        self._context.out.cancel_timer(self._retry)

    def _work(self) -> None:
        if self._awaiting is not None or not self._queue:
            return
        context = self._context
        if not self._connection:
            wait_ms = self._not_before_ms - context.now.mono_ms
            if wait_ms > 0:
                context.set_timer(self._retry, wait_ms, self._work)
                return
            self._opened = False
            self._connection = context.out.open(self._node, TRANSACTION, self._on_connection_event)
            context.set_timer(self._timeout, SETUP_TIMEOUT_MS, self._failed)
        elif self._opened:
            self._awaiting = self._queue.popleft()
            self._correlation += 1
            context.out.send(self._connection, self._awaiting.request, self._correlation, self._awaiting.version)
            context.set_timer(self._timeout, context.settings.request_timeout_ms, self._failed)

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            if self._awaiting is None or event.correlation_id != self._correlation:
                return
            answered, self._awaiting = self._awaiting.answered, None
            out.cancel_timer(self._timeout)
            answered(event.message)
            self._work()
        elif isinstance(event, ConnectionOpened):
            self._opened = True
            out.cancel_timer(self._timeout)
            self._work()
        else:
            self._connection = 0
            self._failed()

    def _failed(self) -> None:
        """Fail the request in flight; without a connection also those that wait for one."""
        failed = [self._awaiting] if self._awaiting is not None else []
        if not self._opened:
            failed += self._queue
            self._queue.clear()
        self._awaiting = None
        self._disconnect()
        self._not_before_ms = self._context.now.mono_ms + RECONNECT_MS
        for one in failed:
            one.answered(None)
        self._work()

    def _disconnect(self) -> None:
        if self._connection:
            self._context.out.close(self._connection)
            self._connection = 0
        self._opened = False
        self._context.out.cancel_timer(self._timeout)
