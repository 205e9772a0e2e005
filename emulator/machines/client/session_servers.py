"""Order and delays of a session client's attempts at servers (ZooKeeper's host provider).

The client draws the list once per session, then goes round it from the present server. A random part of a second
passes before every attempt but the first (after a tenth, for the old connection's end). A further second passes
before it tries the round's first server again.
"""

from collections.abc import Sequence

from protocol.chance import Chance

CLEAN_UP_MS = 100.0
"""Pause of ZooKeeper's client after it has closed a connection."""
RECONNECT_DELAY_MAX_MS = 1000.0
ROUND_PAUSE_MS = 1000.0


class SessionServers:
    """Servers of one session client.

    `current`: the server of the present attempt or connection; "" before the first.
    """

    def __init__(self, servers: Sequence[str]) -> None:
        assert servers, "a session client needs servers"
        self._servers = list(servers)
        self._chance = Chance(0)
        self._place = -1
        self._round_began = -1

    def __len__(self) -> int:
        return len(self._servers)

    @property
    def current(self) -> str:
        return self._servers[self._place] if self._place >= 0 else ""

    def draw(self, chance: Chance) -> None:
        """Draw another order for a new session, and begin at its start."""
        self._chance = chance
        self._servers = chance.shuffled(self._servers)
        self._place = self._round_began = -1

    def advance(self) -> float:
        """Move on to the next server; returns the delay in ms before its attempt."""
        first = self._place == -1
        self._place = (self._place + 1) % len(self._servers)
        if first:
            self._round_began = 0
            return 0.0
        delay_ms = CLEAN_UP_MS + self._chance.between(0.0, RECONNECT_DELAY_MAX_MS)
        return delay_ms + ROUND_PAUSE_MS if self._place == self._round_began else delay_ms

    def connected(self) -> None:
        """Begin a round at the current server."""
        self._round_began = self._place
