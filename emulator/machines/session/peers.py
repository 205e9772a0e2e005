"""Peers: the connections on which votes travel.

Each server opens one to each other, when it first has a vote to tell; votes are answered on the connection that
they came by. There is no traffic and no timer while there is a leader. While we search, a connection that does not come
about within five seconds (ZooKeeper's cnxTimeout) is tried anew. One that stands is waited for without limit, as
ZooKeeper reads its votes without a time-out: after a cut the votes arrive with TCP's retransmissions, and a server that
was alone is back only then (recorded: 28.5 s after a cut that lasted 19 s).
"""

from protocol.machine import Now
from protocol.messages.ensemble import Vote
from protocol.outbox import Outbox, Owner
from protocol.purposes import ENSEMBLE

CONNECT_TIMEOUT_MS = 5000.0
RETRY_MS = 1000.0
"""How often a searching server looks after its connections."""

RETRY_TIMER = ("vote-retry",)


class _Peer:
    __slots__ = ("connection", "name", "open", "since_ms")

    def __init__(self, name: str) -> None:
        self.name = name
        self.connection = 0
        self.open = False
        self.since_ms = 0.0


class Peers:
    """`names`: the ensemble; we are `me`. `owner` is told what comes on these connections."""

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
        """Whose connection this is. Raises KeyError if it is none of ours."""
        number = self._opened.get(connection)
        return self._accepted[connection] if number is None else number

    def accepted(self, out: Outbox, connection: int, number: int) -> None:
        self._accepted[connection] = number
        out.own(connection, self._owner)

    def released(self, connection: int) -> int:
        """It turned out to be a follower's: no longer ours."""
        return self._accepted.pop(connection)

    def opened(self, out: Outbox, connection: int, vote: Vote | None) -> None:
        """`vote`: ours, if we search."""
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

    def heard(self, out: Outbox, connection: int, number: int) -> None:
        """A vote came by `connection`; an older one that the same peer opened is dead."""
        if connection in self._accepted:
            for other in [c for c, n in self._accepted.items() if n == number and c > connection]:
                del self._accepted[other]
                out.close(other)

    def tell_all(self, now: Now, out: Outbox, vote: Vote) -> None:
        for number, peer in self._peers.items():
            if peer.open:
                out.send(peer.connection, vote)
            elif not peer.connection:
                self._open(now, out, number, peer)

    def watch(self, out: Outbox) -> None:
        """While we search."""
        if self._peers:
            out.set_timer(RETRY_TIMER, RETRY_MS, self._retry)

    def rest(self, out: Outbox) -> None:
        """The search is over."""
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
