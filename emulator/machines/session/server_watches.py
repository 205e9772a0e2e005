"""Watches of one server's own clients: one-shot, not replicated (semantics 5.2).

Two tables, as ZooKeeper's: data watches (set by get and exists) and child watches (set by children). A change
removes the watches of its path and makes their notices. A client that watched both ways gets one notice of a
deletion.
"""

from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change, parent_of
from protocol.messages.session_messages import SetWatchesRequest, WatchFired

WATCHES_MAX = 100_000
"""Bound of one server's watches; it closes the connection that exceeds it, a client's bug."""


class Watches:
    """Watches by `connection`, a client's; dicts as ordered sets keep the notices' order."""

    def __init__(self) -> None:
        self._data: dict[str, dict[int, None]] = {}
        self._children: dict[str, dict[int, None]] = {}
        self._held: dict[int, set[tuple[bool, str]]] = {}
        self.count = 0

    def watch_data(self, connection: int, path: str) -> None:
        self._add(False, self._data, connection, path)

    def watch_children(self, connection: int, path: str) -> None:
        self._add(True, self._children, connection, path)

    def forget(self, connection: int) -> None:
        """Remove the watches of a disconnected client."""
        for children, path in sorted(self._held.pop(connection, ())):
            table = self._children if children else self._data
            del table[path][connection]
            if not table[path]:
                del table[path]
            self.count -= 1

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def fired(self, change: Change, zxid: int) -> list[tuple[int, WatchFired]]:
        """Remove the watches of a change; their notices as (connection, notice)."""
        if not self.count:
            return []
        path = change.path
        notices = {
            connection: WatchFired(change.kind, path, zxid) for connection in self._take(False, self._data, path)
        }
        found = list(notices.items())
        if change.kind == "deleted":
            for connection in self._take(True, self._children, path):
                if connection not in notices:
                    found.append((connection, WatchFired("deleted", path, zxid)))
        if change.kind != "changed":
            parent = parent_of(path)
            for connection in self._take(True, self._children, parent):
                found.append((connection, WatchFired("children", parent, zxid)))
        return found

    def resume(self, connection: int, request: SetWatchesRequest, tree: Tree) -> list[WatchFired]:
        """Set the watches of a reconnecting client again.

        Watches that missed their change fire at once.
        """
        fired: list[WatchFired] = []
        since = request.last_zxid
        for path in request.data_watches:
            znode = tree.znodes.get(path)
            if znode is None:
                fired.append(WatchFired("deleted", path, tree.zxid))
            elif znode.mzxid > since:
                fired.append(WatchFired("changed", path, znode.mzxid))
            else:
                self.watch_data(connection, path)
        for path in request.exists_watches:
            znode = tree.znodes.get(path)
            if znode is None:
                self.watch_data(connection, path)
            else:
                fired.append(WatchFired("created", path, znode.czxid))
        for path in request.child_watches:
            znode = tree.znodes.get(path)
            if znode is None:
                fired.append(WatchFired("deleted", path, tree.zxid))
            elif znode.pzxid > since:
                fired.append(WatchFired("children", path, znode.pzxid))
            else:
                self.watch_children(connection, path)
        return fired

    def _add(self, children: bool, table: dict[str, dict[int, None]], connection: int, path: str) -> None:
        watchers = table.setdefault(path, {})
        if connection not in watchers:
            watchers[connection] = None
            self._held.setdefault(connection, set()).add((children, path))
            self.count += 1

    def _take(self, children: bool, table: dict[str, dict[int, None]], path: str) -> list[int]:
        watchers = list(table.pop(path, ()))
        for connection in watchers:
            self._held[connection].discard((children, path))
        self.count -= len(watchers)
        return watchers
