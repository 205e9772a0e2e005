"""Lasting connections of a client: one per broker, with pipelining and reconnect backoff.

Kafka's NetworkClient. A request without a response in its time costs the connection. Then all requests under way on
it fail: responses come in order, so their outcome is unknown. A sender calls `ready` first, which opens a missing
connection. Timeouts come by `poll`, at `next_at_ms`.
"""

from collections.abc import Callable, Sequence

from emulator.machines.client.client_settings import ClientSettings
from emulator.machines.client.client_state import Failure
from emulator.machines.client.deadlines import NEVER, earliest_ms, is_due
from protocol.chance import Chance
from protocol.machine import ConnectionEvent, ConnectionLost, MessageReceived, Now
from protocol.messages.message_base import Message
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
    """One broker's connection.

    `connection` 0: there is none; `open` false: it is being opened. In a row: `failures`, and `failed_attempts`,
    connections that were not established. `deadline_ms`: of being opened, then the earliest of the requests under way.
    """

    __slots__ = (
        "attempted_at_ms", "backoff_until_ms", "connection", "deadline_ms", "failed_attempts", "failures", "in_flight",
        "node", "open", "wanted",
    )  # fmt: skip

    def __init__(self, node: str) -> None:
        self.node = node
        self.connection = 0
        self.open = False
        self.deadline_ms = NEVER
        self.attempted_at_ms = 0.0
        self.failures = 0
        self.failed_attempts = 0
        self.backoff_until_ms = 0.0
        self.wanted = False
        self.in_flight: dict[int, _Request] = {}


class BrokerConnections:
    """The connections of one client. `in_flight_max` bounds the requests under way on each.

    `lost` is called for every lost or failed connection. `handled` is called after each event of a connection:
    other requests may be possible then.
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
        """Callbacks of responses are running.

        They may send again at once; the effects wait until all callbacks have run.
        """
        self._chance = chance
        self._in_flight_max = in_flight_max
        self._lost = lost
        self._channels: dict[str, _Channel] = {}
        self._by_connection: dict[int, _Channel] = {}
        self._correlation = 0

    def ready(self, now: Now, out: Outbox, node: str) -> bool:
        """Whether a request can be sent to `node` now.

        Opens a connection if there is none and the pause is over.
        """
        channel = self._channel(node)
        if channel.open:
            return len(channel.in_flight) < self._in_flight_max
        channel.wanted = True
        if not channel.connection and is_due(now, channel.backoff_until_ms):
            channel.connection = out.open(node, CLIENT, self._on_connection_event)
            channel.attempted_at_ms = now.mono_ms
            channel.deadline_ms = now.mono_ms + self._setup_timeout_ms(channel.failed_attempts)
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
        """Send to a node that is `ready`. `answered` None: no response is expected."""
        channel = self._channel(node)
        assert channel.open and len(channel.in_flight) < self._in_flight_max, node
        self._correlation += 1
        if answered is not None:
            deadline_ms = now.mono_ms + wait_ms
            channel.in_flight[self._correlation] = _Request(request.API_KEY, deadline_ms, answered)
            # Requests differ in their time limits, so the first is not always the first to be due.
            channel.deadline_ms = min(channel.deadline_ms, deadline_ms)
        chosen = request.VERSIONS[1] if version is None else version
        out.send(channel.connection, request, self._correlation, chosen)

    def least_loaded(self, now: Now, nodes: Sequence[str]) -> str | None:
        """The node for a request that any node can serve; None if there is none now.

        Source: NetworkClient.leastLoadedNode.
        """
        start = self._chance.below(len(nodes)) if nodes else 0
        channels = [self._channel(nodes[(start + index) % len(nodes)]) for index in range(len(nodes))]
        for channel in channels:
            if self._is_pausing(now, channel):
                channel.wanted = True
        usable = [channel for channel in channels if not self._is_pausing(now, channel)]
        best = (self._connected_first if self._settings.prefers_connected else _idle_first)(usable)
        return None if best is None else best.node

    def _connected_first(self, usable: list[_Channel]) -> _Channel | None:
        """A connected node with the fewest requests and room, else a connecting one, else a new one."""
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
        """Whether a new connection to `node` must wait for another that is being made.

        Source: NetworkClient.DefaultMetadataUpdater.maybeUpdate, isAnyNodeConnecting.
        """
        channel = self._channel(node)
        can_send = channel.open and len(channel.in_flight) < self._in_flight_max
        return not can_send and any(other.connection and not other.open for other in self._channels.values())

    def in_flight(self, node: str) -> int:
        """Requests under way to `node`."""
        return len(self._channel(node).in_flight)

    def is_unavailable(self, now: Now, node: str) -> bool:
        """Whether the connection was lost, or failed, and the pause is not over."""
        return self._is_pausing(now, self._channel(node))

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        self.handling = True
        self._handle(now, event, out)
        self.handling = False
        self._handled(now, out)

    def _handle(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        channel = self._by_connection[event.connection]
        if type(event) is MessageReceived:
            message = event.message
            request = channel.in_flight.pop(event.correlation_id, None)
            if request is None or request.api_key != message.API_KEY:
                out.close(event.connection)
                self._give_up(now, out, channel, f"answered with an unasked {message.API_NAME}")
                if request is not None:
                    request.answered(now, out, Failure("NetworkException", "another answer came", True))
                return
            if request.deadline_ms == channel.deadline_ms:
                channel.deadline_ms = earliest_ms([other.deadline_ms for other in channel.in_flight.values()])
            request.answered(now, out, message)
        elif isinstance(event, ConnectionLost):
            self._give_up(now, out, channel, event.reason)
        else:
            channel.open, channel.wanted = True, False
            channel.failures = channel.failed_attempts = 0
            channel.deadline_ms = NEVER

    def poll(self, now: Now, out: Outbox) -> None:
        """Give up connections and requests that have waited too long."""
        if not is_due(now, self.next_at_ms()):
            return
        for channel in list(self._channels.values()):
            if channel.connection and is_due(now, channel.deadline_ms):
                out.close(channel.connection)
                waited = "an answer" if channel.open else "the connection"
                self._give_up(now, out, channel, f"waited too long for {waited}")
            if channel.wanted and not channel.connection and is_due(now, channel.backoff_until_ms):
                channel.wanted = False  # a caller that still needs it calls `ready` again now

    def next_at_ms(self) -> float:
        """Time of the next work for `poll` (mono_ms)."""
        first_ms = NEVER
        for channel in self._channels.values():
            if channel.connection:
                at_ms = channel.deadline_ms
            elif channel.wanted:
                at_ms = channel.backoff_until_ms
            else:
                continue
            first_ms = min(first_ms, at_ms)
        return first_ms

    def give_up(self, now: Now, out: Outbox, node: str, reason: str) -> None:
        """Close a node's connection; its requests under way fail."""
        channel = self._channel(node)
        if channel.connection:
            out.close(channel.connection)
            self._give_up(now, out, channel, reason)

    def close(self, out: Outbox) -> None:
        """Close everything. Requests under way are forgotten: no `answered` follows."""
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

    def _give_up(self, now: Now, out: Outbox, channel: _Channel, reason: str) -> None:
        """Handle a connection that is gone."""
        del self._by_connection[channel.connection]
        channel.failed_attempts = 0 if channel.open else channel.failed_attempts + 1
        channel.connection, channel.open, channel.deadline_ms = 0, False, NEVER
        since_ms = channel.attempted_at_ms if self._settings.pause_counts_from_attempt else now.mono_ms
        channel.backoff_until_ms = since_ms + self._pause_ms(channel.failures)
        channel.failures += 1
        failed = list(channel.in_flight.values())
        channel.in_flight.clear()
        self._lost(now, out)
        for request in failed:
            request.answered(now, out, Failure("NetworkException", reason, True))

    def _pause_ms(self, failures: int) -> float:
        """Pause before connecting again."""
        settings = self._settings
        shortest, longest = settings.reconnect_backoff_ms, settings.reconnect_backoff_max_ms
        return self._grown_ms(shortest, longest, failures if settings.pauses_grow else 0)

    def _setup_timeout_ms(self, failed_attempts: int) -> float:
        """Limit for establishing a connection (from 2.7)."""
        settings = self._settings
        shortest, longest = settings.socket_connection_setup_timeout_ms, settings.socket_connection_setup_timeout_max_ms
        return self._grown_ms(shortest, longest, failed_attempts)

    def _grown_ms(self, shortest: float, longest: float, times: int) -> float:
        """A duration that doubles each time, with jitter, against synchronised clients.

        Source: ExponentialBackoff.
        """
        if longest <= shortest:
            return shortest
        return min(longest, shortest * (1 << min(times, 20))) * self._chance.between(0.8, 1.2)


def _idle_first(usable: list[_Channel]) -> _Channel | None:
    """A connected idle node, else the node with the fewest requests.

    A node that is not connected goes before a busy one.
    """
    for channel in usable:
        if channel.open and not channel.in_flight:
            return channel
    return min(usable, key=lambda channel: len(channel.in_flight), default=None)
