"""Requests in flight to other nodes: one at a time to each, with a timeout and a backoff.

A response counts only if its request is the one in flight. Every transition forgets all requests, so that no response
to an earlier state is handled.

Source: RequestManager.
"""

from collections.abc import Callable, Sequence

from protocol.ids import BrokerId

NEVER_MS = float("inf")

AWAITING, BACKING_OFF = 0, 1


class _Peer:
    __slots__ = ("correlation", "since_ms", "state")

    def __init__(self, correlation: int, since_ms: float) -> None:
        self.correlation = correlation
        self.since_ms = since_ms
        self.state = AWAITING


class PeerRequests:
    """State of the requests of one node. `servers`: the nodes to search for a leader."""

    def __init__(
        self,
        servers: Sequence[BrokerId],
        request_timeout_ms: float,
        retry_backoff_ms: float,
        draw: Callable[[int], int],
    ) -> None:
        self._servers = list(servers)
        self._request_timeout_ms = request_timeout_ms
        self._retry_backoff_ms = retry_backoff_ms
        self._draw = draw
        self._peers: dict[BrokerId, _Peer] = {}
        self._correlation = 0

    def forget_all(self) -> None:
        self._peers.clear()

    def forget(self, node: BrokerId) -> None:
        self._peers.pop(node, None)

    def sent(self, node: BrokerId, now_ms: float) -> int:
        """Note a request; returns its correlation."""
        self._correlation += 1
        self._peers[node] = _Peer(self._correlation, now_ms)
        return self._correlation

    def is_expected(self, node: BrokerId, correlation: int) -> bool:
        """Whether the request in flight to `node` is this one."""
        peer = self._peers.get(node)
        return peer is not None and peer.state == AWAITING and peer.correlation == correlation

    def answered(self, node: BrokerId, correlation: int, success: bool, now_ms: float) -> None:
        """Note the outcome of a request, if the response's handling has not forgotten it."""
        if not self.is_expected(node, correlation):
            return
        if success:
            del self._peers[node]
        else:
            peer = self._peers[node]
            peer.state = BACKING_OFF
            peer.since_ms = now_ms

    # --- waits; times are absolute ---

    def has_timed_out(self, node: BrokerId, now_ms: float) -> bool:
        peer = self._peers.get(node)
        return peer is not None and peer.state == AWAITING and now_ms >= self._ends_ms(peer)

    def is_backing_off(self, node: BrokerId, now_ms: float) -> bool:
        peer = self._peers.get(node)
        return peer is not None and peer.state == BACKING_OFF and now_ms < self._ends_ms(peer)

    def is_ready(self, node: BrokerId, now_ms: float) -> bool:
        """Whether a request may be sent now."""
        peer = self._peers.get(node)
        if peer is None:
            return True
        if now_ms >= self._ends_ms(peer):
            del self._peers[node]
            return True
        return False

    def waits_until_ms(self, node: BrokerId) -> float:
        """Time at which the request in flight times out, or the backoff ends."""
        return self._ends_ms(self._peers[node])

    # --- any server ---

    def has_any_in_flight(self, now_ms: float) -> bool:
        return any(one.state == AWAITING and now_ms < self._ends_ms(one) for one in self._peers.values())

    def ready_server(self, now_ms: float) -> BrokerId | None:
        """The first ready server from a random one on; None while any request is in flight."""
        if not self._servers or self.has_any_in_flight(now_ms):
            return None
        first = self._draw(len(self._servers))
        for place in range(len(self._servers)):
            server = self._servers[(first + place) % len(self._servers)]
            if self.is_ready(server, now_ms):
                return server
        return None

    def server_ready_at_ms(self, now_ms: float) -> float:
        """Time at which `ready_server` may find one."""
        at_ms = now_ms + self._retry_backoff_ms
        for node in sorted(self._peers):
            peer = self._peers[node]
            ends_ms = self._ends_ms(peer)
            if now_ms < ends_ms:
                if peer.state == AWAITING:
                    return ends_ms
                at_ms = min(at_ms, ends_ms)
        return now_ms if any(self.is_ready(server, now_ms) for server in self._servers) else at_ms

    def _ends_ms(self, peer: _Peer) -> float:
        limit_ms = self._request_timeout_ms if peer.state == AWAITING else self._retry_backoff_ms
        return peer.since_ms + limit_ms
