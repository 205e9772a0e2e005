"""Connections that a client keeps: one per broker, several requests under way on each, reconnected with
growing pauses.

What Kafka's NetworkClient does. A request that is not answered in its time costs the connection: everything
under way on it fails, because answers come in order and nobody knows what became of them. Whoever wants to
send asks `ready` first; it opens a connection where there is none. Time-outs come by `poll`, at `next_at_ms`.
"""

from collections.abc import Callable, Sequence

from emulator.machines.client.client_settings import ClientSettings
from emulator.machines.client.deadlines import NEVER, is_due
from emulator.machines.client.failure import Failure
from protocol.chance import Chance
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.base import Message
from protocol.outbox import Due, Outbox
from protocol.purposes import CLIENT

Answered = Callable[[Now, Outbox, Message | Failure], None]


class _Request:
    __slots__ = ("answered", "api_key", "deadline_ms")

    def __init__(self, api_key: int, deadline_ms: float, answered: Answered) -> None:
        self.api_key = api_key
        self.deadline_ms = deadline_ms
        self.answered = answered


class _Channel:
    """One broker's connection. `connection` 0: there is none; `open` false: it is being opened. In a row: `failures`,
    and `failed_attempts`, connections that did not come about."""

    __slots__ = (
        "attempted_at_ms", "backoff_until_ms", "connection", "failed_attempts", "failures", "in_flight", "node", "open",
        "open_deadline_ms", "wanted",
    )  # fmt: skip

    def __init__(self, node: str) -> None:
        self.node = node
        self.connection = 0
        self.open = False
        self.open_deadline_ms = NEVER
        self.attempted_at_ms = 0.0
        self.failures = 0
        self.failed_attempts = 0
        self.backoff_until_ms = 0.0
        self.wanted = False
        self.in_flight: dict[int, _Request] = {}


class BrokerConnections:
    """The connections of one client. `in_flight_max` bounds the requests under way on each.

    `lost` hears of every connection that was lost or could not be made. `handled` is called when something has become
    of one: what can be done now may be another thing.
    """

    def __init__(
        self,
        settings: ClientSettings,
        chance: Chance,
        in_flight_max: int,
        lost: Callable[[Now, Outbox], None],
        handled: Due,
    ) -> None:
        self._settings = settings
        self._handled = handled
        self.handling = False
        """Callers are being told what became of their requests. They may ask again at once; what comes of that waits
        until all are told."""
        self._chance = chance
        self._in_flight_max = in_flight_max
        self._lost = lost
        self._channels: dict[str, _Channel] = {}
        self._by_connection: dict[int, _Channel] = {}
        self._correlation = 0

    def ready(self, now: Now, out: Outbox, node: str) -> bool:
        """Whether a request can be sent to `node` now. Opens a connection if none stands and the pause is
        over.
        """
        channel = self._channel(node)
        if channel.open:
            return len(channel.in_flight) < self._in_flight_max
        channel.wanted = True
        if not channel.connection and is_due(now, channel.backoff_until_ms):
            channel.connection = out.open(node, CLIENT, self._heard)
            channel.attempted_at_ms = now.mono_ms
            channel.open_deadline_ms = now.mono_ms + self._setup_timeout_ms(channel.failed_attempts)
            self._by_connection[channel.connection] = channel
        return False

    def send(
        self,
        now: Now,
        out: Outbox,
        node: str,
        request: Message,
        *,
        wait_ms: float,
        answered: Answered | None,
        version: int | None = None,
    ) -> None:
        """Send to a node that is `ready`. `answered` None: no answer is awaited."""
        channel = self._channel(node)
        assert channel.open and len(channel.in_flight) < self._in_flight_max, node
        self._correlation += 1
        if answered is not None:
            channel.in_flight[self._correlation] = _Request(request.API_KEY, now.mono_ms + wait_ms, answered)
        chosen = request.VERSIONS[1] if version is None else version
        out.send(channel.connection, request, self._correlation, chosen)

    def least_loaded(self, now: Now, nodes: Sequence[str]) -> str | None:
        """The node to ask what any can answer (NetworkClient.leastLoadedNode). None if there is none now."""
        start = self._chance.below(len(nodes)) if nodes else 0
        channels = [self._channel(nodes[(start + index) % len(nodes)]) for index in range(len(nodes))]
        for channel in channels:
            if self._is_pausing(now, channel):
                channel.wanted = True
        usable = [channel for channel in channels if not self._is_pausing(now, channel)]
        best = (self._connected_first if self._settings.asks_connected_first else _idle_first)(usable)
        return None if best is None else best.node

    def _connected_first(self, usable: list[_Channel]) -> _Channel | None:
        """Connected with least under way and room for more, else being connected, else to be connected."""
        ready = [channel for channel in usable if channel.open and len(channel.in_flight) < self._in_flight_max]
        if ready:
            return min(ready, key=lambda channel: len(channel.in_flight))
        connecting = [channel for channel in usable if channel.connection and not channel.open]
        if connecting:
            return connecting[-1]
        others = [channel for channel in usable if not channel.connection]
        if others and self._settings.connects_to_least_recent:
            return min(others, key=lambda channel: channel.attempted_at_ms)
        return others[-1] if others else None

    def waits_for_another(self, node: str) -> bool:
        """Whether nothing can be sent to `node` now and some connection is being made, so that none is begun for it
        (NetworkClient.DefaultMetadataUpdater.maybeUpdate, isAnyNodeConnecting)."""
        channel = self._channel(node)
        can_send = channel.open and len(channel.in_flight) < self._in_flight_max
        return not can_send and any(other.connection and not other.open for other in self._channels.values())

    def in_flight(self, node: str) -> int:
        """Requests under way to `node`."""
        return len(self._channel(node).in_flight)

    def is_unavailable(self, now: Now, node: str) -> bool:
        """Whether the connection was lost, or could not be made, and the pause is not over."""
        return self._is_pausing(now, self._channel(node))

    def _heard(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        self.handling = True
        self._handle(now, event, out)
        self.handling = False
        self._handled(now, out)

    def _handle(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        channel = self._by_connection[event.connection]
        if isinstance(event, ConnectionOpened):
            channel.open, channel.wanted = True, False
            channel.failures = channel.failed_attempts = 0
            channel.open_deadline_ms = NEVER
        elif isinstance(event, ConnectionLost):
            self._give_up(now, out, channel, event.reason)
        else:
            message = event.message
            request = channel.in_flight.pop(event.correlation_id, None)
            if request is None or request.api_key != message.API_KEY:
                out.close(event.connection)
                self._give_up(now, out, channel, f"answered with an unasked {message.API_NAME}")
                if request is not None:
                    request.answered(now, out, Failure("NetworkException", "another answer came", True))
            else:
                request.answered(now, out, message)

    def poll(self, now: Now, out: Outbox) -> None:
        """Give up what has waited too long."""
        for channel in list(self._channels.values()):
            if channel.connection and is_due(now, self._deadline_ms(channel)):
                out.close(channel.connection)
                waited = "an answer" if channel.open else "the connection"
                self._give_up(now, out, channel, f"waited too long for {waited}")
            if channel.wanted and not channel.connection and is_due(now, channel.backoff_until_ms):
                channel.wanted = False  # whoever still wants it asks again now

    def next_at_ms(self) -> float:
        """When `poll` has something to do next (mono_ms)."""
        at = NEVER
        for channel in self._channels.values():
            if channel.connection:
                at = min(at, self._deadline_ms(channel))
            elif channel.wanted:
                at = min(at, channel.backoff_until_ms)
        return at

    def give_up(self, now: Now, out: Outbox, node: str, reason: str) -> None:
        """The owner wants no answers of that node any more: its connection is closed, what is under way has failed."""
        channel = self._channel(node)
        if channel.connection:
            out.close(channel.connection)
            self._give_up(now, out, channel, reason)

    def close(self, out: Outbox) -> None:
        """Close everything. What is under way is forgotten: no `answered` follows."""
        for channel in self._channels.values():
            if channel.connection:
                out.close(channel.connection)
        self._channels.clear()
        self._by_connection.clear()

    def _channel(self, node: str) -> _Channel:
        channel = self._channels.get(node)
        if channel is None:
            channel = self._channels[node] = _Channel(node)
        return channel

    def _is_pausing(self, now: Now, channel: _Channel) -> bool:
        return not channel.connection and not is_due(now, channel.backoff_until_ms)

    def _deadline_ms(self, channel: _Channel) -> float:
        if not channel.open:
            return channel.open_deadline_ms
        # Requests differ in how long they may take, so the first is not always the first to be due.
        return min((request.deadline_ms for request in channel.in_flight.values()), default=NEVER)

    def _give_up(self, now: Now, out: Outbox, channel: _Channel, reason: str) -> None:
        """The connection is gone."""
        del self._by_connection[channel.connection]
        channel.failed_attempts = 0 if channel.open else channel.failed_attempts + 1
        channel.connection, channel.open, channel.open_deadline_ms = 0, False, NEVER
        since_ms = channel.attempted_at_ms if self._settings.pause_counts_from_attempt else now.mono_ms
        channel.backoff_until_ms = since_ms + self._pause_ms(channel.failures)
        channel.failures += 1
        failed = list(channel.in_flight.values())
        channel.in_flight.clear()
        self._lost(now, out)
        for request in failed:
            request.answered(now, out, Failure("NetworkException", reason, True))

    def _pause_ms(self, failures: int) -> float:
        """Before connecting again."""
        settings = self._settings
        shortest, longest = settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms
        return self._grown_ms(shortest, longest, failures if settings.pauses_grow else 0)

    def _setup_timeout_ms(self, failed_attempts: int) -> float:
        """How long a connection may take to come about (from 2.7)."""
        settings = self._settings
        shortest, longest = settings.socket_connection_setup_timeout_ms, settings.socket_connection_setup_timeout_max_ms
        return self._grown_ms(shortest, longest, failed_attempts)

    def _grown_ms(self, shortest: float, longest: float, times: int) -> float:
        """What may grow doubles each time, and varies, so that clients do not march (ExponentialBackoff)."""
        if longest <= shortest:
            return shortest
        return min(longest, shortest * (1 << min(times, 20))) * self._chance.between(0.8, 1.2)


def _idle_first(usable: list[_Channel]) -> _Channel | None:
    """Connected with nothing under way, else least under way: one that is not connected goes before a busy one."""
    for channel in usable:
        if channel.open and not channel.in_flight:
            return channel
    return min(usable, key=lambda channel: len(channel.in_flight), default=None)
