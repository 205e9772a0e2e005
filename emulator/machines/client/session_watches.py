"""Watches of a session client, to be set again after reconnecting (semantics 5.2)."""

from protocol.messages.session_messages import (
    Exists,
    GetChildren,
    GetData,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetWatchesRequest,
    WatchFired,
)

READS = (GetData, Exists, GetChildren)
"""Operations that can set a watch."""


class HeldWatches:
    """Watches by kind, as in SetWatches: of existing data, of absent znodes, of children."""

    def __init__(self) -> None:
        self._data: set[str] = set()
        self._exists: set[str] = set()
        self._children: set[str] = set()

    def answered(self, request: SessionRequest, response: SessionResponse) -> None:
        """Note the watch of a read's response; of an exists also when there is no znode."""
        if len(request.ops) != 1 or not response.results:
            return
        op, error = request.ops[0], response.results[0].error
        if not isinstance(op, READS) or not op.watch:
            return
        if not error:
            (self._children if isinstance(op, GetChildren) else self._data).add(op.path)
        elif isinstance(op, Exists) and error == SessionError.NO_NODE:
            self._exists.add(op.path)

    def fired(self, notice: WatchFired) -> None:
        """Remove a fired watch (one-shot)."""
        if notice.kind == "children":
            self._children.discard(notice.path)
            return
        self._data.discard(notice.path)
        self._exists.discard(notice.path)
        if notice.kind == "deleted":
            self._children.discard(notice.path)

    def request(self, last_zxid: int) -> SetWatchesRequest | None:
        """First request of a reconnected client; None: it has no watches."""
        if not (self._data or self._exists or self._children):
            return None
        return SetWatchesRequest(last_zxid, sorted(self._data), sorted(self._exists), sorted(self._children))
