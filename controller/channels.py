"""Request channels from the controller to each broker, its own included (semantics 4.3).

One queue and one connection per broker, one request in flight. The channel sends an undelivered request again after
100 ms (0.8.2: 300). It repeats this until the broker's znode is gone; then the channel closes and drops its whole
queue. It never drops a single request, because a later UpdateMetadata does not repeat an earlier one.
States of a channel: idle; connecting (bounded by controller.socket.timeout.ms); waiting for a response (bounded by
request.timeout.ms); pausing before a retry. A channel notices a connection lost while idle only at its next
request.
Up to 2.0 a channel that closes while it connects or waits ends that first (gate failure_waits_for_sender_thread,
semantics 11.13). `end_sending` returns whether this is so, and calls back.
"""

from collections import deque
from collections.abc import Callable
from enum import Enum

from controller.settings import ControllerSettings
from protocol.ids import BrokerId
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now, TimerKey
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.purposes import CONTROLLER

MAX_QUEUED = 10_000
"""Bound of requests queued for one broker.

Kafka has no bound. A controller that reaches this one is beyond recovery.
"""

Answered = Callable[[Now, Outbox, BrokerId, Message, Message], None]
"""Callback with a response: (now, out, broker, request, response)."""
Handled = Callable[[Now, Outbox], None]
"""Callback after a channel has handled an input."""


class ChannelFull(Exception):
    """MAX_QUEUED requests are queued for one broker."""


class _Doing(Enum):
    IDLE = "idle"
    CONNECTING = "connecting"
    WAITING = "waiting"
    PAUSING = "pausing"


def timer_key(broker: BrokerId) -> TimerKey:
    return ("controller", "channel", broker)


class Channel:
    """Channel to one broker. `closing`: it begins no further request."""

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
        """Begin no further request. True: one is under way, and `ended` is called at its end."""
        if self._doing in (_Doing.CONNECTING, _Doing.WAITING):
            self._closing = ended
            return True
        return False

    def close(self, out: Outbox) -> None:
        """Close at once, also while a request is under way."""
        if self._doing is not _Doing.IDLE:
            out.cancel_timer(timer_key(self.broker))
        self._drop_connection(out)
        self._doing = _Doing.IDLE
        self._queue.clear()

    # --- inputs ---

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
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
            self._connection = out.open(self.node, CONTROLLER, self._on_connection_event)
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
    """Channels of one controller, by broker."""

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
        """Add a broker's channel; its first request opens the connection."""
        if broker not in self._by_broker:
            self._by_broker[broker] = Channel(
                broker, self._node_of(broker), self._settings, self._answered, self._handled, self._resends_after_ms
            )

    def remove(self, out: Outbox, broker: BrokerId) -> None:
        """Close a broker's channel and drop its queue: the broker's znode is gone."""
        self._by_broker.pop(broker).close(out)

    def close(self, out: Outbox) -> None:
        """Close all channels: the controller resigned."""
        for broker in sorted(self._by_broker):
            self._by_broker[broker].close(out)
        self._by_broker.clear()

    def send(self, now: Now, out: Outbox, broker: BrokerId, request: Message, version: int) -> None:
        """Queue a request; dropped if the broker has no channel (offline). Raises ChannelFull."""
        channel = self._by_broker.get(broker)
        if channel is not None:
            channel.send(now, out, request, version)

    def end_sending(self, broker: BrokerId, ended: Callable[[Now, Outbox], None]) -> bool:
        """As Channel.end_sending; False for a broker without a channel."""
        channel = self._by_broker.get(broker)
        return channel is not None and channel.end_sending(ended)
