"""The znode tree against a naive model, and its own rules of semantics 5.1 and 5.2."""

from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import DATA_MAX_BYTES, parent_of
from emulator.machines.session.znode_paths import valid_path
from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import Check, Create, Delete, SessionError, SetData, WriteOp


class Model:
    """A dict of path -> [data, version, czxid, owner]; a multi works on a copy."""

    def __init__(self) -> None:
        self.nodes: dict[str, list[object]] = {}
        self.made: dict[str, int] = {}
        self.sessions: set[int] = set()

    def run(self, ops: list[WriteOp], session: int, zxid: int) -> int:
        nodes = {path: list(node) for path, node in self.nodes.items()}
        made = dict(self.made)
        for op in ops:
            error = self._one(nodes, made, op, session, zxid)
            if error:
                return error
        self.nodes, self.made = nodes, made
        return 0

    @staticmethod
    def _one(nodes: dict[str, list[object]], made: dict[str, int], op: WriteOp, session: int, zxid: int) -> int:
        if isinstance(op, Create):
            parent = parent_of(op.path)
            path = op.path
            if parent != "/" and parent not in nodes:
                return SessionError.NO_NODE
            if op.sequential:
                path += f"{made.get(parent, 0):010d}"
            if path in nodes:
                return SessionError.NODE_EXISTS
            if parent != "/" and nodes[parent][3]:
                return SessionError.NO_CHILDREN_FOR_EPHEMERALS
            nodes[path] = [op.data, 0, zxid, session if op.ephemeral else 0]
            made[parent] = made.get(parent, 0) + 1
            return 0
        if op.path not in nodes:
            return SessionError.NO_NODE
        node = nodes[op.path]
        if op.version not in (-1, node[1]):
            return SessionError.BAD_VERSION
        if isinstance(op, SetData):
            node[0] = op.data
            node[1] = int(str(node[1])) + 1
        elif isinstance(op, Delete):
            if any(parent_of(path) == op.path for path in nodes):
                return SessionError.NOT_EMPTY
            del nodes[op.path]
            made.pop(op.path, None)
        return 0


_names = st.sampled_from(["a", "b", "c"])
_paths = st.lists(_names, min_size=1, max_size=3).map(lambda parts: "/" + "/".join(parts))
_versions = st.integers(-1, 2)
_data = st.binary(max_size=2)
_ops: st.SearchStrategy[WriteOp] = st.one_of(
    st.builds(Create, _paths, _data, st.booleans(), st.booleans()),
    st.builds(Delete, _paths, _versions),
    st.builds(SetData, _paths, _data, _versions),
    st.builds(Check, _paths, _versions),
)
_steps = st.one_of(
    st.tuples(st.just("open"), st.integers(0, 0)),
    st.tuples(st.just("close"), st.integers(0, 3)),
    st.tuples(st.lists(_ops, min_size=1, max_size=4), st.integers(0, 3)),
)


def _compare(tree: Tree, model: Model) -> None:
    assert {
        path: [z.data, z.version, z.czxid, z.owner] for path, z in tree.znodes.items() if path != "/"
    } == model.nodes
    for path, znode in tree.znodes.items():
        names = {p.rpartition("/")[2] for p in model.nodes if parent_of(p) == path}
        assert znode.children == names
    for number, session in tree.sessions.items():
        assert session.ephemerals == {path for path, node in model.nodes.items() if node[3] == number}
    assert set(tree.sessions) == model.sessions


@settings(max_examples=150, deadline=None)
@given(st.lists(_steps, max_size=25))
def test_the_tree_does_what_the_naive_model_does(steps: list[tuple[object, int]]) -> None:
    """Versions, czxids, owners, children, ephemerals, atomic multis, whatever the operations."""
    tree, model = Tree(), Model()
    opened: list[int] = []
    for zxid, (what, which) in enumerate(steps, 1):
        session = opened[which] if which < len(opened) else 999_999
        if what == "open":
            tree.apply(Transaction(zxid, "open", timeout_ms=1, password=1))
            opened.append(zxid)
            model.sessions.add(zxid)
        elif what == "close":
            tree.apply(Transaction(zxid, "close", session))
            if session in model.sessions:
                model.sessions.discard(session)
                model.nodes = {p: n for p, n in model.nodes.items() if n[3] != session}
        else:
            assert isinstance(what, list)
            response, changes = tree.apply(Transaction(zxid, "operations", session, ops=what, multi=True))
            if session in model.sessions:
                assert response.error == model.run(what, session, zxid)
            else:
                assert response.error == SessionError.SESSION_EXPIRED
            assert not (response.error and changes)
        _compare(tree, model)
    copy = Tree.restored(tree.snapshot())
    _compare(copy, model)
    assert copy.snapshot() == tree.snapshot()
    assert not tree.changes_to(copy)


def _tree(*ops: WriteOp, session: bool = False) -> Tree:
    tree = Tree()
    if session:
        tree.apply(Transaction(1, "open", timeout_ms=1))
    else:
        tree.sessions[1] = Tree.restored(_tree(session=True).snapshot()).sessions[1]
    for op in ops:
        response, _ = tree.apply(Transaction(tree.zxid + 1, "operations", 1, ops=[op]))
        assert response.error == 0
    return tree


def _apply(tree: Tree, *ops: WriteOp, multi: bool = False) -> tuple[int, list[int], list[str]]:
    response, changes = tree.apply(Transaction(tree.zxid + 1, "operations", 1, ops=list(ops), multi=multi))
    return response.error, [result.error for result in response.results], [c.kind + " " + c.path for c in changes]


def test_a_versioned_write_meets_bad_version_once_the_version_moved() -> None:
    """Semantics 5.2: versioned setData and delete."""
    tree = _tree(Create("/s", b"0"))
    assert _apply(tree, SetData("/s", b"1", 0)) == (0, [0], ["changed /s"])
    assert _apply(tree, SetData("/s", b"2", 0))[0] == SessionError.BAD_VERSION
    assert _apply(tree, Delete("/s", 0))[0] == SessionError.BAD_VERSION
    assert tree.get("/s").data == b"1"


def test_a_multi_happens_as_a_whole_or_not_at_all() -> None:
    """Semantics 4.1 (2.1+): create /controller and set /controller_epoch in one."""
    tree = _tree(Create("/controller_epoch", b"1"))
    both = (Create("/controller", b"me", True), SetData("/controller_epoch", b"2", 1))
    before = tree.snapshot()
    error, results, changes = _apply(tree, *both, multi=True)
    assert (error, changes) == (SessionError.BAD_VERSION, [])
    assert results == [0, SessionError.BAD_VERSION]
    tree.zxid -= 1
    assert tree.snapshot() == before
    good = (Create("/controller", b"me", True), SetData("/controller_epoch", b"2", 0), Check("/controller_epoch", 1))
    assert _apply(tree, *good, multi=True)[0] == 0
    late = _apply(tree, Create("/controller", b"you", True), SetData("/controller_epoch", b"3", 1), multi=True)
    assert late[1] == [SessionError.NODE_EXISTS, SessionError.RUNTIME_INCONSISTENCY]


def test_closing_a_session_removes_all_its_ephemerals_in_one_zxid() -> None:
    """Semantics 5.2."""
    tree = _tree(Create("/ids"), Create("/ids/0", b"", True), Create("/controller", b"", True), session=True)
    _, changes = tree.apply(Transaction(tree.zxid + 1, "close", 1))
    assert [(c.kind, c.path) for c in changes] == [("deleted", "/controller"), ("deleted", "/ids/0")]
    assert tree.children("/").children == ["ids"] and not tree.sessions


def test_an_ephemeral_has_no_children_and_a_parent_with_children_stays() -> None:
    tree = _tree(Create("/e", b"", True), Create("/p"), Create("/p/c"))
    assert _apply(tree, Create("/e/c"))[0] == SessionError.NO_CHILDREN_FOR_EPHEMERALS
    assert _apply(tree, Delete("/p"))[0] == SessionError.NOT_EMPTY


def test_sequential_names_count_creations_and_never_repeat() -> None:
    tree = _tree(Create("/q"))
    for _ in range(2):
        _apply(tree, Create("/q/n", b"", False, True))
    _apply(tree, Delete("/q/n0000000001"))
    response, _ = tree.apply(Transaction(tree.zxid + 1, "operations", 1, ops=[Create("/q/n", b"", False, True)]))
    assert response.results[0].path == "/q/n0000000002"


def test_paths_that_are_none_and_data_that_is_too_much_are_bad_arguments() -> None:
    tree = _tree()
    for path in ("", "a", "/a/", "//a", "/./a", "/a/..", "/a\0b"):
        assert not valid_path(path)
        assert _apply(tree, Create(path))[0] == SessionError.BAD_ARGUMENTS, path
    assert _apply(tree, Delete("/"))[0] == SessionError.BAD_ARGUMENTS
    assert _apply(tree, Create("/"))[0] == SessionError.NODE_EXISTS
    assert _apply(tree, Create("/big", bytes(DATA_MAX_BYTES + 1)))[0] == SessionError.BAD_ARGUMENTS


def test_a_refused_transaction_has_a_zxid_and_changes_nothing() -> None:
    tree = _tree(Create("/s"))
    refused = Transaction(tree.zxid + 1, "operations", 1, ops=[Delete("/s")], error=SessionError.SESSION_MOVED)
    response, changes = tree.apply(refused)
    assert (response.error, changes, tree.zxid) == (SessionError.SESSION_MOVED, [], refused.zxid)
    assert tree.exists("/s").error == 0


def test_the_way_from_one_tree_to_another_names_every_change_in_order() -> None:
    """Changes that an observer of a server receives after a SNAP."""
    old = _tree(Create("/gone"), Create("/kept"), Create("/changed"))
    new = Tree.restored(old.snapshot())
    for op in (Delete("/gone"), SetData("/changed", b"2"), Create("/new"), Delete("/kept"), Create("/kept")):
        assert _apply(new, op)[0] == 0
    found = [(change.kind, change.path) for _, change in old.changes_to(new)]
    assert found == [("changed", "/changed"), ("created", "/new"), ("deleted", "/gone"), ("created", "/kept")]
