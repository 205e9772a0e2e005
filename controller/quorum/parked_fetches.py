"""Fetches that wait at the leader for records, for at most their own limit.

Kraft-semantics 1.3.

Source: KafkaRaftClient.handleFetchRequest, fetchPurgatory.
"""

from protocol.ids import BrokerId, Offset
from protocol.messages.quorum_messages import QuorumFetchRequest, QuorumFetchResponse


class ParkedFetch:
    """`at_expiry`: the response of its arrival, which a fetch gets that waits in vain."""

    __slots__ = ("at_expiry", "correlation", "ends_ms", "request", "sender")

    def __init__(
        self,
        sender: BrokerId,
        correlation: int,
        request: QuorumFetchRequest,
        at_expiry: QuorumFetchResponse,
        ends_ms: float,
    ) -> None:
        self.sender = sender
        self.correlation = correlation
        self.request = request
        self.at_expiry = at_expiry
        self.ends_ms = ends_ms


class ParkedFetches:
    """The parked fetches of one leader, in the order of their arrival."""

    def __init__(self) -> None:
        self._fetches: list[ParkedFetch] = []

    def park(self, fetch: ParkedFetch) -> None:
        self._fetches.append(fetch)

    def take_all(self) -> list[ParkedFetch]:
        taken, self._fetches = self._fetches, []
        return taken

    def take_below(self, end: Offset) -> list[ParkedFetch]:
        """Take the fetches for which the log's `end` has records."""
        taken = [one for one in self._fetches if one.request.offset < end]
        self._fetches = [one for one in self._fetches if one.request.offset >= end]
        return taken

    def take_expired(self, now_ms: float) -> list[ParkedFetch]:
        taken = [one for one in self._fetches if one.ends_ms <= now_ms]
        self._fetches = [one for one in self._fetches if one.ends_ms > now_ms]
        return taken

    @property
    def next_end_ms(self) -> float:
        return min((one.ends_ms for one in self._fetches), default=float("inf"))
