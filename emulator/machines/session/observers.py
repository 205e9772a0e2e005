"""Observers: the player's view of one server's committed state, without a session.

An observer first gets a copy of the znodes under its prefixes. Then it gets every committed change in the order of
the zxids, those of a re-synchronisation included. `serving` reports whether this server has a quorum. Emulator
only: ZooKeeper has no such connection.
"""

from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change
from protocol.machine import ConnectionEvent, ConnectionLost, Now
from protocol.messages.session_messages import Observed, ObservedZnode, ObserveRequest
from protocol.outbox import Outbox


class Observers:
    """{connection: prefixes}; a prefix covers its own path and all below ("/": everything)."""

    def __init__(self) -> None:
        self._prefixes: dict[int, tuple[str, ...]] = {}

    def add(self, out: Outbox, connection: int, request: ObserveRequest, tree: Tree, serving: bool) -> None:
        prefixes = tuple(request.prefixes)
        self._prefixes[connection] = prefixes
        out.own(connection, self._on_connection_event)
        copy = [
            ObservedZnode(path, znode.mzxid, znode.version, znode.data, znode.czxid)
            for path, znode in sorted(tree.znodes.items(), key=lambda entry: (entry[1].mzxid, entry[0]))
            if path != "/" and _under(path, prefixes)
        ]
        out.send(connection, Observed(serving, tree.zxid, copy))

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        """Forget a disconnected observer; observers send nothing after their request."""
        if isinstance(event, ConnectionLost):
            del self._prefixes[event.connection]

    def changed(self, out: Outbox, serving: bool, zxid: int, changes: list[tuple[int, Change]]) -> None:
        """Send `changes` with their zxids, in order; `zxid`: of the tree after them."""
        for connection, prefixes in self._prefixes.items():
            seen = [
                ObservedZnode(
                    change.path,
                    at,
                    change.version,
                    None if change.kind == "deleted" else change.data,
                    change.czxid,
                )
                for at, change in changes
                if _under(change.path, prefixes)
            ]
            if seen:
                out.send(connection, Observed(serving, zxid, seen))

    def serving_changed(self, out: Outbox, serving: bool, zxid: int) -> None:
        for connection in self._prefixes:
            out.send(connection, Observed(serving, zxid, []))


def _under(path: str, prefixes: tuple[str, ...]) -> bool:
    return any(prefix in ("/", path) or path.startswith(prefix + "/") for prefix in prefixes)
