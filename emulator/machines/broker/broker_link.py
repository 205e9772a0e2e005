"""A broker's connections to other brokers, for requests between coordinators and leaders.

The other broker may be itself.

One request in flight to each broker. A request fails, and its sender decides, when the connection cannot be made, is
lost, or brings no response in request.timeout.ms.

Source: InterBrokerSendThread, NetworkClient.
"""

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

Answered = Callable[[Message | None], None]
"""Callback of a request, once: its response; None: it failed."""


class _Request(NamedTuple):
    message: Message
    version: int
    answered: Answered


class BrokerLinks:
    """Connections to brokers by their nodes. `name`: of their timers, unique on the broker."""

    def __init__(self, context: BrokerContext, name: str) -> None:
        self._context = context
        self._name = name
        self._links: dict[str, _BrokerLink] = {}

    def is_busy(self, node: str) -> bool:
        """Whether a request to `node` has no answer yet."""
        link = self._links.get(node)
        return link is not None and link.request is not None

    def send(self, node: str, message: Message, version: int, answered: Answered) -> None:
        """Send to a node that is not busy."""
        link = self._links.get(node)
        if link is None:
            link = self._links[node] = _BrokerLink(self._context, node, self._name)
        link.send(_Request(message, version, answered))

    def close(self) -> None:
        """Drop all connections; requests get no answer any more."""
        for link in self._links.values():
            link.close()


class _BrokerLink:
    """The connection to `node`. `request`: the one without an answer."""

    def __init__(self, context: BrokerContext, node: str, name: str) -> None:
        self._context = context
        self._node = node
        self._timeout = (name, "timeout", node)
        self._retry = (name, "reconnect", node)
        self.request: _Request | None = None
        self._is_sent = False
        self._connection = 0
        self._opened = False
        self._correlation = 0
        self._not_before_ms = 0.0

    def send(self, request: _Request) -> None:
        assert self.request is None, self._node
        self.request, self._is_sent = request, False
        self._work()

    def close(self) -> None:
        self._disconnect()
        self._context.out.cancel_timer(self._retry)

    def _work(self) -> None:
        if self.request is None or self._is_sent:
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
            self._is_sent = True
            self._correlation += 1
            context.out.send(self._connection, self.request.message, self._correlation, self.request.version)
            context.set_timer(self._timeout, context.settings.request_timeout_ms, self._failed)

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            if self.request is None or not self._is_sent or event.correlation_id != self._correlation:
                return
            request, self.request = self.request, None
            out.cancel_timer(self._timeout)
            request.answered(event.message)
        elif isinstance(event, ConnectionOpened):
            self._opened = True
            out.cancel_timer(self._timeout)
            self._work()
        else:
            self._connection = 0
            self._failed()

    def _failed(self) -> None:
        """Fail the request, whether it was sent or waits for a connection."""
        request, self.request = self.request, None
        self._disconnect()
        self._not_before_ms = self._context.now.mono_ms + RECONNECT_MS
        if request is not None:
            request.answered(None)

    def _disconnect(self) -> None:
        if self._connection:
            self._context.out.close(self._connection)
            self._connection = 0
        self._opened = False
        self._context.out.cancel_timer(self._timeout)
