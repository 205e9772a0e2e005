"""The znode tree, replicated on every server of the ensemble. Semantics 5.1, 5.2.

A transaction goes in; its results and the list of changes come out. Application is deterministic: the same
transactions in the same order give the same tree on every server. That includes failures; a failed transaction
changes nothing.
"""

from collections.abc import Callable

import msgspec

from emulator.machines.session.session_state import Session, StoredTree, StoredZnode
from emulator.machines.session.znode import DATA_MAX_BYTES, Change, Znode, parent_of
from emulator.machines.session.znode_paths import ROOT, valid_path
from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import (
    Check,
    Create,
    Delete,
    OpResult,
    SessionError,
    SessionResponse,
    SetData,
    WriteOp,
)

_encode = msgspec.msgpack.Encoder(order="deterministic").encode
_decode = msgspec.msgpack.Decoder(StoredTree).decode


class _Refused(Exception):
    def __init__(self, error: SessionError) -> None:
        super().__init__(error.name)
        self.error = error


class Tree:
    """The znode tree. `zxid`: of the last transaction applied."""

    def __init__(self) -> None:
        self.zxid = 0
        self.znodes: dict[str, Znode] = {ROOT: Znode(b"", 0, 0)}
        self.sessions: dict[int, Session] = {}

    # --- writing --------------------------------------------------------------------------------------------

    def apply(self, transaction: Transaction) -> tuple[SessionResponse, list[Change]]:
        """Apply a transaction, which must be the newest: (its response, the changes in order)."""
        zxid = transaction.zxid
        assert zxid > self.zxid, f"transaction {zxid:#x} after {self.zxid:#x}"
        self.zxid = zxid
        if transaction.error:
            return _failed(transaction, SessionError(transaction.error), 0, zxid), []
        if transaction.kind == "open":
            self.sessions[zxid] = Session(zxid, transaction.timeout_ms, transaction.password, transaction.owner)
            return SessionResponse([], 0, zxid), []
        if transaction.session not in self.sessions:
            return _failed(transaction, SessionError.SESSION_EXPIRED, 0, zxid), []
        if transaction.kind == "close":
            session = self.sessions.pop(transaction.session)
            changes: list[Change] = []
            for path in sorted(session.ephemerals):
                self._remove(path, zxid, changes, [])
            return SessionResponse([], 0, zxid), changes
        assert transaction.kind == "operations", transaction.kind
        return self._operations(transaction)

    def _operations(self, transaction: Transaction) -> tuple[SessionResponse, list[Change]]:
        zxid = transaction.zxid
        changes: list[Change] = []
        undo: list[Callable[[], object]] = []
        results: list[OpResult] = []
        for place, op in enumerate(transaction.ops):
            try:
                results.append(self._operation(op, transaction.session, zxid, changes, undo))
            except _Refused as refused:
                for step in reversed(undo):
                    step()
                return _failed(transaction, refused.error, place, zxid), []
        return SessionResponse(results, 0, zxid), changes

    def _operation(
        self, op: WriteOp, session: int, zxid: int, changes: list[Change], undo: list[Callable[[], object]]
    ) -> OpResult:
        if not valid_path(op.path):
            raise _Refused(SessionError.BAD_ARGUMENTS)
        if isinstance(op, Create):
            return self._create(op, session, zxid, changes, undo)
        znode = self.znodes.get(op.path)
        if znode is None:
            raise _Refused(SessionError.NO_NODE)
        if op.version not in (-1, znode.version):
            raise _Refused(SessionError.BAD_VERSION)
        if isinstance(op, SetData):
            if len(op.data) > DATA_MAX_BYTES:
                raise _Refused(SessionError.BAD_ARGUMENTS)
            before = (znode.data, znode.version, znode.mzxid)

            def restore(znode: Znode = znode) -> None:
                znode.data, znode.version, znode.mzxid = before

            undo.append(restore)
            znode.data = op.data
            znode.version += 1
            znode.mzxid = zxid
            changes.append(Change("changed", op.path, znode.version, znode.data, znode.czxid))
        elif isinstance(op, Delete):
            if op.path == ROOT:
                raise _Refused(SessionError.BAD_ARGUMENTS)
            if znode.children:
                raise _Refused(SessionError.NOT_EMPTY)
            self._remove(op.path, zxid, changes, undo)
        else:
            assert isinstance(op, Check), op
        return OpResult(0, op.path, b"", znode.version, znode.czxid, znode.owner)

    def _create(
        self, op: Create, session: int, zxid: int, changes: list[Change], undo: list[Callable[[], object]]
    ) -> OpResult:
        path = op.path
        if path == ROOT:
            raise _Refused(SessionError.NODE_EXISTS)
        if len(op.data) > DATA_MAX_BYTES:
            raise _Refused(SessionError.BAD_ARGUMENTS)
        parent_path = parent_of(path)
        parent = self.znodes.get(parent_path)
        if parent is None:
            raise _Refused(SessionError.NO_NODE)
        if op.sequential:
            path = f"{path}{parent.created_children:010d}"
        if path in self.znodes:
            raise _Refused(SessionError.NODE_EXISTS)
        if parent.owner:
            raise _Refused(SessionError.NO_CHILDREN_FOR_EPHEMERALS)
        owner = session if op.ephemeral else 0
        before = (parent.created_children, parent.pzxid)
        name = path.rpartition("/")[2]

        def remove() -> None:
            del self.znodes[path]
            parent.children.discard(name)
            parent.created_children, parent.pzxid = before
            if owner:
                self.sessions[owner].ephemerals.discard(path)

        undo.append(remove)
        self.znodes[path] = Znode(op.data, zxid, owner)
        parent.children.add(name)
        parent.created_children += 1
        parent.pzxid = zxid
        if owner:
            self.sessions[owner].ephemerals.add(path)
        changes.append(Change("created", path, 0, op.data, zxid))
        return OpResult(0, path, b"", 0, zxid, owner)

    def _remove(self, path: str, zxid: int, changes: list[Change], undo: list[Callable[[], object]]) -> None:
        znode = self.znodes.pop(path)
        parent = self.znodes[parent_of(path)]
        name = path.rpartition("/")[2]
        before = parent.pzxid
        parent.children.discard(name)
        parent.pzxid = zxid
        session = self.sessions.get(znode.owner)
        if session is not None:
            session.ephemerals.discard(path)

        def restore() -> None:
            self.znodes[path] = znode
            parent.children.add(name)
            parent.pzxid = before
            if session is not None:
                session.ephemerals.add(path)

        undo.append(restore)
        changes.append(Change("deleted", path, znode.version, znode.data, znode.czxid))

    # --- reading --------------------------------------------------------------------------------------------

    def get(self, path: str) -> OpResult:
        """Data, version, czxid, owner; NO_NODE."""
        znode = self.znodes.get(path)
        if znode is None:
            return OpResult(SessionError.NO_NODE, path)
        return OpResult(0, path, znode.data, znode.version, znode.czxid, znode.owner)

    def exists(self, path: str) -> OpResult:
        """As `get`, without the data."""
        znode = self.znodes.get(path)
        if znode is None:
            return OpResult(SessionError.NO_NODE, path)
        return OpResult(0, path, b"", znode.version, znode.czxid, znode.owner)

    def children(self, path: str) -> OpResult:
        """Names of children, sorted; NO_NODE."""
        znode = self.znodes.get(path)
        if znode is None:
            return OpResult(SessionError.NO_NODE, path)
        return OpResult(0, path, b"", znode.version, znode.czxid, znode.owner, sorted(znode.children))

    # --- snapshots ------------------------------------------------------------------------------------------

    def snapshot(self) -> bytes:
        """The whole tree as bytes; equal trees give equal bytes."""
        znodes = [
            StoredZnode(path, z.data, z.version, z.created_children, z.czxid, z.mzxid, z.pzxid, z.owner)
            for path, z in sorted(self.znodes.items())
        ]
        return _encode(StoredTree(self.zxid, znodes, [self.sessions[s] for s in sorted(self.sessions)]))

    @classmethod
    def restored(cls, snapshot: bytes) -> "Tree":
        """The tree of a `snapshot`. Raises msgspec.MsgspecError."""
        stored = _decode(snapshot)
        tree = cls()
        tree.zxid = stored.zxid
        tree.sessions = {session.session: session for session in stored.sessions}
        for entry in stored.znodes:
            znode = Znode(entry.data, entry.czxid, entry.owner)
            znode.version = entry.version
            znode.created_children = entry.created_children
            znode.mzxid = entry.mzxid
            znode.pzxid = entry.pzxid
            tree.znodes[entry.path] = znode
        for path in tree.znodes:
            if path != ROOT:
                tree.znodes[parent_of(path)].children.add(path.rpartition("/")[2])
        return tree

    def changes_to(self, other: "Tree") -> list[tuple[int, Change]]:
        """Changes from this tree to `other`, as (zxid, change) in order, for watches and observers."""
        found: list[tuple[int, Change]] = []
        for path, znode in self.znodes.items():
            if path not in other.znodes:
                found.append((other.zxid, Change("deleted", path, znode.version, znode.data, znode.czxid)))
        for path, znode in other.znodes.items():
            mine = self.znodes.get(path)
            if mine is None or mine.czxid != znode.czxid:
                kind = "created" if znode.version == 0 else "changed"
            elif mine.mzxid != znode.mzxid:
                kind = "changed"
            else:
                continue
            found.append((znode.mzxid, Change(kind, path, znode.version, znode.data, znode.czxid)))
        return sorted(found, key=lambda entry: (entry[0], entry[1].path))


def _failed(transaction: Transaction, error: SessionError, place: int, zxid: int) -> SessionResponse:
    """Results of a failed multi, as in ZooKeeper.

    0 before the failing operation, its error, then RUNTIME_INCONSISTENCY.
    """
    after = SessionError.RUNTIME_INCONSISTENCY
    results = [
        OpResult(0 if i < place else error if i == place else after, op.path) for i, op in enumerate(transaction.ops)
    ]
    return SessionResponse(results, error, zxid)
