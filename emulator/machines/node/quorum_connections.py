"""Connections of a quorum's node to its peers: one request in flight each, others in line.

A request that its peer has not answered within the request timeout costs the connection, as in Kafka's client. What
waits behind it goes on over a new one, unless it has waited for as long.

Source: KafkaNetworkChannel, InterBrokerSendThread, NetworkClient, KafkaRaftManager.buildNetworkClient.
"""

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from protocol.chance import Chance
from protocol.ids import BrokerId
from protocol.machine import ConnectionEvent, ConnectionLost, ConnectionOpened, Now
from protocol.messages.quorum_messages import QuorumRequest, QuorumResponse
from protocol.outbox import Outbox
from protocol.purposes import QUORUM

RECONNECT_MS: Final = 50.0
"""First reconnect.backoff.ms of KafkaRaftManager's client; doubled by each failure in a row."""
RECONNECT_MAX_MS: Final = 500.0
"""reconnect.backoff.max.ms of KafkaRaftManager's client.

Kafka's jitter of a fifth is left out.
"""
SETUP_MS: Final = 10_000.0
"""socket.connection.setup.timeout.ms.

An opening connection outlives the requests that wait for it.
"""
SETUP_MAX_MS: Final = 30_000.0
"""socket.connection.setup.timeout.max.ms: the limit doubles with each failure in a row."""
SETUP_JITTER: Final = 0.2
DOUBLINGS_MAX: Final = 10
WAITING_MAX: Final = 16
"""Bound of the requests in line to one peer; the oldest makes room."""


def setup_limit_ms(failures: int, chance: Chance) -> float:
    """Limit of an opening connection after so many failed ones. Source: ClusterConnectionStates."""
    jitter = chance.between(1.0 - SETUP_JITTER, 1.0 + SETUP_JITTER)
    return min(SETUP_MS * 2.0 ** min(failures, DOUBLINGS_MAX) * jitter, SETUP_MAX_MS)


class _Waiting(NamedTuple):
    correlation: int
    request: QuorumRequest
    since_ms: float


class PeerConnection:
    """The connection to one peer.

    `answered(now, peer, correlation, response)`; None: the request failed.

    A request that was dropped is not answered at all: the quorum's node has its own timeout.
    """

    def __init__(
        self,
        peer: BrokerId,
        node: str,
        timeout_ms: float,
        chance: Chance,
        answered: Callable[[Now, BrokerId, int, QuorumResponse | None], None],
    ) -> None:
        self._chance = chance
        self._peer = peer
        self._node = node
        self._timeout_ms = timeout_ms
        self._answered = answered
        self._waiting: deque[_Waiting] = deque()
        self._in_flight = -1
        """Correlation of the request in flight; -1: none."""
        self._connection = 0
        self._opened = False
        self._backs_off = False
        self._failures = 0
        """Connections in a row that were not established."""

    def send(self, now: Now, out: Outbox, correlation: int, request: QuorumRequest) -> None:
        """Send a request when its turn comes."""
        if len(self._waiting) == WAITING_MAX:
            self._waiting.popleft()
        self._waiting.append(_Waiting(correlation, request, now.mono_ms))
        self._go_on(now, out)

    def close(self, out: Outbox) -> None:
        """Drop the connection and what waits for it."""
        self._waiting.clear()
        self._in_flight = -1
        self._disconnect(out)
        out.cancel_timer(("quorum-reconnect", self._peer))

    def _go_on(self, now: Now, out: Outbox) -> None:
        while self._waiting and now.mono_ms - self._waiting[0].since_ms >= self._timeout_ms:
            self._waiting.popleft()
        if self._in_flight >= 0 or not self._waiting or self._backs_off:
            return
        if not self._connection:
            self._connection = out.open(self._node, QUORUM, self._on_connection_event)
            out.set_timer(("quorum-limit", self._peer), setup_limit_ms(self._failures, self._chance), self._failed)
        elif self._opened:
            self._in_flight, request, _ = self._waiting.popleft()
            out.send(self._connection, request, self._in_flight)
            out.set_timer(("quorum-limit", self._peer), self._timeout_ms, self._failed)

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, ConnectionOpened):
            self._opened = True
            self._failures = 0
            out.cancel_timer(("quorum-limit", self._peer))
            self._go_on(now, out)
        elif isinstance(event, ConnectionLost):
            self._connection = 0
            self._failed(now, out)
        elif event.correlation_id == self._in_flight and isinstance(event.message, QuorumResponse):
            correlation, self._in_flight = self._in_flight, -1
            out.cancel_timer(("quorum-limit", self._peer))
            self._answered(now, self._peer, correlation, event.message)
            self._go_on(now, out)

    def _failed(self, now: Now, out: Outbox) -> None:
        """Fail the request in flight and all in line, then pause.

        Source: InterBrokerSendThread.checkDisconnects.
        """
        if not self._opened:
            self._failures += 1
        self._disconnect(out)
        failed = [one.correlation for one in self._waiting]
        if self._in_flight >= 0:
            failed.insert(0, self._in_flight)
        self._waiting.clear()
        self._in_flight = -1
        self._backs_off = True
        pause_ms = min(RECONNECT_MS * 2.0 ** min(max(self._failures - 1, 0), 10), RECONNECT_MAX_MS)
        out.set_timer(("quorum-reconnect", self._peer), pause_ms, self._reconnect)
        for correlation in failed:
            self._answered(now, self._peer, correlation, None)

    def _reconnect(self, now: Now, out: Outbox) -> None:
        self._backs_off = False
        self._go_on(now, out)

    def _disconnect(self, out: Outbox) -> None:
        if self._connection:
            out.close(self._connection)
        self._connection = 0
        self._opened = False
        out.cancel_timer(("quorum-limit", self._peer))
