"""A session service that is a dictionary.
Znodes with versions, ephemerals, one-shot watches, atomic multis.
"""

from dataclasses import dataclass

from protocol.messages.session_messages import (
    Check,
    Create,
    Delete,
    Exists,
    GetChildren,
    GetData,
    Operation,
    OpResult,
    SessionError,
    SessionRequest,
    SessionResponse,
    SetData,
    WatchFired,
)


@dataclass
class Znode:
    data: bytes
    czxid: int
    owner: int
    version: int = 0
    children_made: int = 0


class Service:
    """The znode tree; sessions are numbers."""

    def __init__(self) -> None:
        self.znodes: dict[str, Znode] = {"/": Znode(b"", 0, 0)}
        self.zxid = 0
        self.watches: dict[tuple[str, str], set[int]] = {}
        self.fired: list[tuple[int, WatchFired]] = []
        self.history: list[tuple[str, bytes, int]] = []
        """Every write of data: path, content, version after it."""
        self.requests: list[SessionRequest] = []
        self.elsewhere: set[int] = set()
        """Sessions that are taken to be at another server: their multis are refused."""

    def request(self, session: int, request: SessionRequest) -> SessionResponse:
        self.requests.append(request)
        if not request.multi:
            assert len(request.ops) == 1, "several operations at once are a multi"
            result = self.apply(session, request.ops[0])
            return SessionResponse([result], result.error)
        if session in self.elsewhere:
            after = [OpResult(error=SessionError.RUNTIME_INCONSISTENCY)] * (len(request.ops) - 1)
            moved = SessionError.SESSION_MOVED
            return SessionResponse([OpResult(error=moved), *after], moved)
        saved = {path: Znode(**vars(znode)) for path, znode in self.znodes.items()}
        noted, fired = len(self.history), len(self.fired)
        watches = {key: set(sessions) for key, sessions in self.watches.items()}
        results = []
        for index, op in enumerate(request.ops):
            results.append(self.apply(session, op))
            if results[-1].error:
                self.znodes, self.watches = saved, watches
                del self.history[noted:], self.fired[fired:]
                after = [OpResult(error=SessionError.RUNTIME_INCONSISTENCY)] * (len(request.ops) - index - 1)
                return SessionResponse([OpResult()] * index + [results[-1], *after], results[-1].error)
        return SessionResponse(results)

    def apply(self, session: int, op: Operation) -> OpResult:
        match op:
            case Create(path, data, ephemeral, sequential):
                return self._create(session, path, data, ephemeral, sequential)
            case Delete(path, version):
                znode = self.znodes.get(path)
                if znode is None:
                    return OpResult(error=SessionError.NO_NODE)
                if version not in (-1, znode.version):
                    return OpResult(error=SessionError.BAD_VERSION)
                if self.children(path):
                    return OpResult(error=SessionError.NOT_EMPTY)
                self.zxid += 1
                self._remove(path)
                return OpResult()
            case SetData(path, data, version):
                znode = self.znodes.get(path)
                if znode is None:
                    return OpResult(error=SessionError.NO_NODE)
                if version not in (-1, znode.version):
                    return OpResult(error=SessionError.BAD_VERSION)
                self.zxid += 1
                znode.data, znode.version = data, znode.version + 1
                self.history.append((path, data, znode.version))
                self._fire("data", path, "changed")
                return self._stat(path)
            case Check(path, version):
                znode = self.znodes.get(path)
                if znode is None:
                    return OpResult(error=SessionError.NO_NODE)
                return OpResult(error=0 if znode.version == version else SessionError.BAD_VERSION)
            case GetData(path, watch) | Exists(path, watch):
                if watch and (path in self.znodes or isinstance(op, Exists)):
                    self.watches.setdefault(("data", path), set()).add(session)
                if path not in self.znodes:
                    return OpResult(error=SessionError.NO_NODE)
                return self._stat(path)
            case GetChildren(path, watch):
                if path not in self.znodes:
                    return OpResult(error=SessionError.NO_NODE)
                if watch:
                    self.watches.setdefault(("children", path), set()).add(session)
                return OpResult(path=path, children=self.children(path))
        raise AssertionError(op)

    def end(self, session: int) -> None:
        """Its ephemerals and watches go."""
        for sessions in self.watches.values():
            sessions.discard(session)
        for path in [path for path, znode in self.znodes.items() if znode.owner == session]:
            self.zxid += 1
            self._remove(path)

    def children(self, path: str) -> list[str]:
        prefix = "/" if path == "/" else path + "/"
        return [
            p[len(prefix) :] for p in self.znodes if p.startswith(prefix) and "/" not in p[len(prefix) :] and p != path
        ]

    def put(self, path: str, data: bytes = b"") -> None:
        """Create or set, with everything above it: what a tool outside the cluster does."""
        parts = path.strip("/").split("/")
        for depth in range(1, len(parts)):
            self.apply(0, Create("/" + "/".join(parts[:depth])))
        if path in self.znodes:
            self.apply(0, SetData(path, data))
        else:
            self.apply(0, Create(path, data))

    def _create(self, session: int, path: str, data: bytes, ephemeral: bool, sequential: bool) -> OpResult:
        parent = path.rsplit("/", 1)[0] or "/"
        if parent not in self.znodes:
            return OpResult(error=SessionError.NO_NODE)
        if sequential:
            path += f"{self.znodes[parent].children_made:010d}"
            self.znodes[parent].children_made += 1
        if path in self.znodes:
            return OpResult(error=SessionError.NODE_EXISTS)
        self.zxid += 1
        self.znodes[path] = Znode(data, self.zxid, session if ephemeral else 0)
        self.history.append((path, data, 0))
        self._fire("data", path, "created")
        self._fire("children", parent, "children")
        return self._stat(path)

    def _remove(self, path: str) -> None:
        del self.znodes[path]
        self._fire("data", path, "deleted")
        self._fire("children", path.rsplit("/", 1)[0] or "/", "children")

    def _fire(self, of: str, path: str, kind: str) -> None:
        for session in sorted(self.watches.pop((of, path), ())):
            self.fired.append((session, WatchFired(kind, path, self.zxid)))

    def _stat(self, path: str) -> OpResult:
        znode = self.znodes[path]
        return OpResult(0, path, znode.data, znode.version, znode.czxid, znode.owner)
