"""Bound on the bytes of incomplete frames, over all connections of a kind."""

import trio


class UnendedFrames:
    """Beyond `most_bytes` it cancels the scope of the connection whose frame began first."""

    def __init__(self, most_bytes: int) -> None:
        self.most_bytes = most_bytes
        self._held: dict[int, tuple[int, trio.CancelScope]] = {}
        """{connection: (bytes of its frame so far, its scope)}, in the order of the frames' starts."""
        self._bytes = 0

    def hold(self, connection: int, size_bytes: int, scope: trio.CancelScope) -> None:
        """Set the bytes held of a connection's incomplete frame; 0: the frame or connection ended."""
        before, _ = self._held.get(connection, (0, scope))
        self._bytes += size_bytes - before
        if not size_bytes:
            self._held.pop(connection, None)
            return
        self._held[connection] = (size_bytes, scope)
        if self._bytes > self.most_bytes:
            _, oldest = next(iter(self._held.values()))
            oldest.cancel()
