"""Channels: the controller's way to each broker, its own included (semantics 4.3).

One queue and one connection per broker, one request in flight. A request that could not be delivered is
tried again, the same one, 100 ms later (0.8.2: 300), until the broker's znode is gone and the channel is closed with
everything in it: requests are never dropped one by one, because a later UpdateMetadata does not repeat an
earlier one.

States of a channel: idle; connecting (bounded by controller.socket.timeout.ms); waiting for an answer
(bounded by request.timeout.ms); pausing before it tries again. A connection that is lost while idle is only
noticed then.

Up to 2.0 a channel that is being closed while it connects or waits first ends that (gate
failure_waits_for_sender_thread, semantics 11.13): `end_sending` says whether it is so and calls back.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum

from controller.settings import ControllerSettings
from protocol.ids import BrokerId
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now, TimerKey
from protocol.messages.base import Message
from protocol.outbox import Outbox
from protocol.purposes import CONTROLLER

MAX_QUEUED = 10_000
"""Requests waiting for one broker. Kafka has no bound; a controller that reaches this one is beyond
recovery."""

Answered = Callable[[Now, Outbox, BrokerId, Message, Message], None]
"""(now, out, broker, request, response)"""
Handled = Callable[[Now, Outbox], None]
"""Called when a channel has handled an input."""


class ChannelFull(Exception):
    """MAX_QUEUED requests wait for one broker."""


class _Doing(Enum):
    IDLE = "idle"
    CONNECTING = "connecting"
    WAITING = "waiting"
    PAUSING = "pausing"


def timer_key(broker: BrokerId) -> TimerKey:
    return ("controller", "channel", broker)


class Channel:
    """To one broker. `closing`: no further request is begun."""

    def __init__(
        self,
        broker: BrokerId,
        node: str,
        settings: ControllerSettings,
        answered: Answered,
        handled: Handled,
        resends_after_ms: int,
    ) -> None:
        self.broker = broker
        self.node = node
        self._settings = settings
        self._answered = answered
        self._handled = handled
        self._resends_after_ms = resends_after_ms
        self._queue: deque[tuple[Message, int]] = deque()
        self._connection = 0
        self._doing = _Doing.IDLE
        self._connected = False
        self._correlation_id = 0
        self._closing: Callable[[Now, Outbox], None] | None = None

    def send(self, now: Now, out: Outbox, request: Message, version: int) -> None:
        """Queue a request. Raises ChannelFull."""
        if len(self._queue) >= MAX_QUEUED:
            raise ChannelFull(f"{MAX_QUEUED} requests wait for broker {self.broker} ({self.node})")
        self._queue.append((request, version))
        if self._doing is _Doing.IDLE:
            self._next(now, out)

    def end_sending(self, ended: Callable[[Now, Outbox], None]) -> bool:
        """Begin nothing more. True: something is under way, and `ended` is called when it is over."""
        if self._doing in (_Doing.CONNECTING, _Doing.WAITING):
            self._closing = ended
            return True
        return False

    def close(self, out: Outbox) -> None:
        """At once, whatever is under way."""
        if self._doing is not _Doing.IDLE:
            out.cancel_timer(timer_key(self.broker))
        self._drop_connection(out)
        self._doing = _Doing.IDLE
        self._queue.clear()

    # --- inputs ---

    def _heard(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, ConnectionOpened):
            self._opened(out)
        elif isinstance(event, ConnectionLost):
            self._lost(now, out)
        else:
            self._received(now, out, event.correlation_id, event.message)
        self._handled(now, out)

    def _opened(self, out: Outbox) -> None:
        assert self._doing is _Doing.CONNECTING, self._doing
        self._connected = True
        out.cancel_timer(timer_key(self.broker))
        self._transmit(out)  # even if closing: the sender does not look between connecting and sending

    def _lost(self, now: Now, out: Outbox) -> None:
        self._connection = 0
        self._connected = False
        if self._doing in (_Doing.CONNECTING, _Doing.WAITING):
            self._try_again(now, out)

    def _received(self, now: Now, out: Outbox, correlation_id: int, response: Message) -> None:
        assert self._doing is _Doing.WAITING and correlation_id == self._correlation_id, "one request in flight"
        out.cancel_timer(timer_key(self.broker))
        request, _ = self._queue.popleft()
        self._doing = _Doing.IDLE
        if not self._end_if_closing(now, out):
            self._next(now, out)
        self._answered(now, out, self.broker, request, response)

    def _due(self, now: Now, out: Outbox) -> None:
        if self._doing is _Doing.PAUSING:
            self._next(now, out)
        else:  # connecting or answering took too long
            self._drop_connection(out)
            self._try_again(now, out)
        self._handled(now, out)

    # --- steps ---

    def _next(self, now: Now, out: Outbox) -> None:
        self._doing = _Doing.IDLE
        if not self._queue:
            return
        if self._connected:
            self._transmit(out)
        else:
            self._doing = _Doing.CONNECTING
            self._connection = out.open(self.node, CONTROLLER, self._heard)
            out.set_timer(timer_key(self.broker), self._settings.controller_socket_timeout_ms, self._due)

    def _transmit(self, out: Outbox) -> None:
        request, version = self._queue[0]
        self._correlation_id += 1
        self._doing = _Doing.WAITING
        out.send(self._connection, request, self._correlation_id, version)
        out.set_timer(timer_key(self.broker), self._settings.request_timeout_ms, self._due)

    def _try_again(self, now: Now, out: Outbox) -> None:
        out.cancel_timer(timer_key(self.broker))
        if not self._end_if_closing(now, out):
            self._doing = _Doing.PAUSING
            out.set_timer(timer_key(self.broker), self._resends_after_ms, self._due)

    def _end_if_closing(self, now: Now, out: Outbox) -> bool:
        if self._closing is None:
            return False
        ended, self._closing = self._closing, None
        self._doing = _Doing.IDLE
        ended(now, out)
        return True

    def _drop_connection(self, out: Outbox) -> None:
        if self._connection:
            out.close(self._connection)
        self._connection = 0
        self._connected = False


class Channels:
    """All of them, by broker."""

    def __init__(
        self,
        node_of: Callable[[BrokerId], str],
        settings: ControllerSettings,
        answered: Answered,
        handled: Handled,
        resends_after_ms: int,
    ) -> None:
        self._node_of = node_of
        self._settings = settings
        self._answered = answered
        self._handled = handled
        self._resends_after_ms = resends_after_ms
        self._by_broker: dict[BrokerId, Channel] = {}

    def add(self, broker: BrokerId) -> None:
        """A broker appeared; its connection is opened with its first request."""
        if broker not in self._by_broker:
            self._by_broker[broker] = Channel(
                broker, self._node_of(broker), self._settings, self._answered, self._handled, self._resends_after_ms
            )

    def remove(self, out: Outbox, broker: BrokerId) -> None:
        """The broker's znode is gone: so is everything that waited for it."""
        self._by_broker.pop(broker).close(out)

    def close(self, out: Outbox) -> None:
        """The controller resigned."""
        for broker in sorted(self._by_broker):
            self._by_broker[broker].close(out)
        self._by_broker.clear()

    def send(self, now: Now, out: Outbox, broker: BrokerId, request: Message, version: int) -> None:
        """Dropped if the broker has no channel: it is offline. Raises ChannelFull."""
        channel = self._by_broker.get(broker)
        if channel is not None:
            channel.send(now, out, request, version)

    def end_sending(self, broker: BrokerId, ended: Callable[[Now, Outbox], None]) -> bool:
        """See Channel; False for a broker without a channel."""
        channel = self._by_broker.get(broker)
        return channel is not None and channel.end_sending(ended)
