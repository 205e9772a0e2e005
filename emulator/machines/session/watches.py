"""Watches: one-shot notices that one server owes its own clients. They are not replicated (semantics 5.2).

Two tables, as ZooKeeper's: data watches (set by get and exists) and child watches (set by children). A change
takes the watchers of its path out and names what each is to be told; a client that watched both ways is told of
a deletion once.
"""

from emulator.machines.session.tree import Tree
from emulator.machines.session.znodes import Change, parent_of
from protocol.messages.session import SetWatchesRequest, WatchFired

WATCHES_MAX = 100_000
"""Per server: more is a client's bug, and the connection that asks for it is closed."""


class Watches:
    """`connection` identifies the client; a dict as an ordered set keeps the notices' order deterministic."""

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
        """The client is gone."""
        for children, path in sorted(self._held.pop(connection, ())):
            table = self._children if children else self._data
            del table[path][connection]
            if not table[path]:
                del table[path]
            self.count -= 1

    def clear(self) -> None:
        self.__init__()  # type: ignore[misc]

    def fired(self, change: Change, zxid: int) -> list[tuple[int, WatchFired]]:
        """(connection, notice) for everyone who watched for this change; they watch no longer."""
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
        """Watches of a client that comes back: those that missed their change fire at once, the others stand
        again."""
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
