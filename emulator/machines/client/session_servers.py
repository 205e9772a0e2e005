"""In which order, and how soon, a session client tries the servers of the ensemble (ZooKeeper's host provider).

The list is drawn once per session, then gone through round and round from wherever the client is. A random part
of a second passes before every attempt but the first (after a tenth, for the old connection's end), and a second more
before it tries the server again at which the round began.
"""

from collections.abc import Sequence

from protocol.chance import Chance

CLEAN_UP_MS = 100.0
"""ZooKeeper's client rests that long when it has closed a connection."""
RECONNECT_DELAY_MAX_MS = 1000.0
ROUND_PAUSE_MS = 1000.0


class SessionServers:
    """`current`: the server of the present attempt or connection; "" before the first."""

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
        """For a new session: another order, from its beginning."""
        self._chance = chance
        self._servers = chance.shuffled(self._servers)
        self._place = self._round_began = -1

    def advance(self) -> float:
        """On to the next server; how many ms to wait before trying it."""
        first = self._place == -1
        self._place = (self._place + 1) % len(self._servers)
        if first:
            self._round_began = 0
            return 0.0
        delay_ms = CLEAN_UP_MS + self._chance.between(0.0, RECONNECT_DELAY_MAX_MS)
        return delay_ms + ROUND_PAUSE_MS if self._place == self._round_began else delay_ms

    def connected(self) -> None:
        """A round begins here."""
        self._round_began = self._place
