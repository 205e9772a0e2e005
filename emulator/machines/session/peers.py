"""Connections between servers of the ensemble, for votes.

Each server opens one to each other, when it first has a vote to send. The response to a vote goes out on the
connection it came in on. There is no traffic and no timer while there is a leader.
A searching server retries a connection that is not established within five seconds (ZooKeeper's cnxTimeout). It
waits on an established one without limit, as ZooKeeper reads its votes without a timeout. After a partition the
votes arrive with TCP's retransmissions, and only then does an isolated server return (recorded: 28.5 s after a
partition of 19 s).
"""

from protocol.machine import Now
from protocol.messages.ensemble import Vote
from protocol.outbox import Outbox, Owner
from protocol.purposes import ENSEMBLE

CONNECT_TIMEOUT_MS = 5000.0
RETRY_MS = 1000.0
"""Interval in which a searching server checks its connections."""

RETRY_TIMER = ("vote-retry",)


class _Peer:
    __slots__ = ("connection", "name", "open", "since_ms")

    def __init__(self, name: str) -> None:
        self.name = name
        self.connection = 0
        self.open = False
        self.since_ms = 0.0


class Peers:
    """Vote connections of server `me`. `names`: the ensemble. `owner` receives their events."""

    def __init__(self, me: int, names: list[str], owner: Owner) -> None:
        self._owner = owner
        self._peers = {number: _Peer(name) for number, name in enumerate(names) if number != me}
        self._numbers = {peer.name: number for number, peer in self._peers.items()}
        self._opened: dict[int, int] = {}
        self._accepted: dict[int, int] = {}

    def number_of(self, name: str) -> int | None:
        """Server number of a node; None: not one of the others."""
        return self._numbers.get(name)

    def sender(self, connection: int) -> int:
        """Server number of a connection's peer. Raises KeyError for other connections."""
        number = self._opened.get(connection)
        return self._accepted[connection] if number is None else number

    def accepted(self, out: Outbox, connection: int, number: int) -> None:
        self._accepted[connection] = number
        out.own(connection, self._owner)

    def released(self, connection: int) -> int:
        """Give up a connection that turned out to be a follower's; returns its server number."""
        return self._accepted.pop(connection)

    def opened(self, out: Outbox, connection: int, vote: Vote | None) -> None:
        """Handle an established connection. `vote`: this server's, if it searches."""
        self._peers[self._opened[connection]].open = True
        if vote is not None:
            out.send(connection, vote)

    def lost(self, connection: int) -> None:
        number = self._opened.pop(connection, None)
        if number is None:
            del self._accepted[connection]
        else:
            self._peers[number].connection = 0
            self._peers[number].open = False

    def voted(self, out: Outbox, connection: int, number: int) -> None:
        """Close older connections that the same peer opened: a vote came by `connection`."""
        if connection in self._accepted:
            for other in [c for c, n in self._accepted.items() if n == number and c > connection]:
                del self._accepted[other]
                out.close(other)

    def send_to_all(self, now: Now, out: Outbox, vote: Vote) -> None:
        for number, peer in self._peers.items():
            if peer.open:
                out.send(peer.connection, vote)
            elif not peer.connection:
                self._open(now, out, number, peer)

    def watch(self, out: Outbox) -> None:
        """Check the connections periodically while this server searches."""
        if self._peers:
            out.set_timer(RETRY_TIMER, RETRY_MS, self._retry)

    def rest(self, out: Outbox) -> None:
        """Stop checking: the search is over."""
        out.cancel_timer(RETRY_TIMER)

    def _retry(self, now: Now, out: Outbox) -> None:
        for number, peer in self._peers.items():
            if peer.connection and not peer.open and now.mono_ms - peer.since_ms >= CONNECT_TIMEOUT_MS:
                out.close(peer.connection)
                del self._opened[peer.connection]
                peer.connection = 0
            if not peer.connection:
                self._open(now, out, number, peer)
        out.set_timer(RETRY_TIMER, RETRY_MS, self._retry)

    def _open(self, now: Now, out: Outbox, number: int, peer: _Peer) -> None:
        peer.connection = out.open(peer.name, ENSEMBLE, self._owner)
        peer.open = False
        peer.since_ms = now.mono_ms
        self._opened[peer.connection] = number
