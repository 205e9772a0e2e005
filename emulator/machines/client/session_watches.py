"""Watches that a session client holds, so that it can set them again after reconnecting (semantics 5.2)."""

from protocol.messages.session import (
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
"""What can leave a watch behind."""


class HeldWatches:
    """By kind, as SetWatches wants them: of existing data, of znodes that do not exist yet, of children."""

    def __init__(self) -> None:
        self._data: set[str] = set()
        self._exists: set[str] = set()
        self._children: set[str] = set()

    def answered(self, request: SessionRequest, response: SessionResponse) -> None:
        """A watch stands once its read was answered; of an exists also when there is no znode."""
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
        """One-shot: what it tells of is watched no longer."""
        if notice.kind == "children":
            self._children.discard(notice.path)
            return
        self._data.discard(notice.path)
        self._exists.discard(notice.path)
        if notice.kind == "deleted":
            self._children.discard(notice.path)

    def request(self, last_zxid: int) -> SetWatchesRequest | None:
        """What a reconnected client sends first; None: it watches nothing."""
        if not (self._data or self._exists or self._children):
            return None
        return SetWatchesRequest(last_zxid, sorted(self._data), sorted(self._exists), sorted(self._children))
