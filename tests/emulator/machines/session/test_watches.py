"""Watches: one-shot, per kind, and what a client that comes back is told (semantics 5.2)."""

import pytest

from emulator.machines.session.server_watches import Watches
from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change
from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import Create, SetData, SetWatchesRequest, WriteOp


def _change(kind: str, path: str) -> Change:
    return Change(kind, path, 0, b"", 1)


def _fired(watches: Watches, kind: str, path: str) -> list[tuple[int, str, str]]:
    return [(c, notice.kind, notice.path) for c, notice in watches.fired(_change(kind, path), 7)]


@pytest.mark.parametrize("kind", ["created", "changed", "deleted"])
def test_a_data_watch_fires_once(kind: str) -> None:
    watches = Watches()
    watches.watch_data(-1, "/a")
    watches.watch_data(-1, "/a")
    assert _fired(watches, kind, "/a") == [(-1, kind, "/a")]
    assert _fired(watches, kind, "/a") == []
    assert watches.count == 0


def test_a_child_watch_fires_when_a_child_comes_or_goes_not_when_its_data_changes() -> None:
    watches = Watches()
    for kind, expected in (("changed", []), ("created", [(-1, "children", "/p")])):
        watches.watch_children(-1, "/p")
        assert _fired(watches, kind, "/p/c") == expected
    watches.watch_children(-1, "/p")
    assert _fired(watches, "deleted", "/p/c") == [(-1, "children", "/p")]


def test_a_deletion_is_reported_once_to_a_watcher_of_data_and_children() -> None:
    watches = Watches()
    watches.watch_data(-1, "/p")
    watches.watch_children(-1, "/p")
    watches.watch_children(-2, "/p")
    assert _fired(watches, "deleted", "/p") == [(-1, "deleted", "/p"), (-2, "deleted", "/p")]


def test_a_session_has_no_watches_after_leaving() -> None:
    watches = Watches()
    watches.watch_data(-1, "/a")
    watches.watch_children(-1, "/a")
    watches.watch_data(-2, "/a")
    watches.forget(-1)
    assert _fired(watches, "deleted", "/a") == [(-2, "deleted", "/a")]
    assert watches.count == 0


def test_missed_changes_fire_at_once_and_the_other_watches_stand_again() -> None:
    """SetWatches with the newest zxid that the client has seen."""
    tree = Tree()
    tree.apply(Transaction(1, "open", timeout_ms=1))
    ops: list[WriteOp] = [
        Create("/old"),
        Create("/new"),
        Create("/p"),
        Create("/q"),
        SetData("/new", b"1"),
        Create("/p/c"),
    ]
    for op in ops:
        tree.apply(Transaction(tree.zxid + 1, "operations", 1, ops=[op]))
    watches = Watches()
    request = SetWatchesRequest(5, ["/old", "/new", "/gone"], ["/old", "/never"], ["/p", "/q", "/gone"])
    fired = [(notice.kind, notice.path) for notice in watches.resume(-1, request, tree)]
    assert fired == [
        ("changed", "/new"),
        ("deleted", "/gone"),
        ("created", "/old"),
        ("children", "/p"),
        ("deleted", "/gone"),
    ]
    assert _fired(watches, "changed", "/old") == [(-1, "changed", "/old")]
    assert _fired(watches, "created", "/never") == [(-1, "created", "/never")]
    assert _fired(watches, "created", "/q/c") == [(-1, "children", "/q")]
