"""A bound on frames that have begun to come and have not ended, all connections of a kind together."""

import trio


class UnendedFrames:
    """Beyond `most_bytes` the connection whose frame began first is let go: its scope is cancelled."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._held: dict[int, tuple[int, trio.CancelScope]] = {}
        """{connection: bytes of its frame so far}, in the order of their beginnings."""
        self._bytes = 0

    def hold(self, connection: int, size_bytes: int, scope: trio.CancelScope) -> None:
        """So much of an unended frame of `connection` is kept; 0: its frame has ended, or the connection."""
        before, _ = self._held.get(connection, (0, scope))
        self._bytes += size_bytes - before
        if not size_bytes:
            self._held.pop(connection, None)
            return
        self._held[connection] = (size_bytes, scope)
        if self._bytes > self.most_bytes:
            _, oldest = next(iter(self._held.values()))
            oldest.cancel()
