"""State that survives a server's death: epochs, log and snapshot (semantics 5.3)."""

import pytest

from emulator.machines.session.transaction_history import ACCEPTED_EPOCH, LOG, SNAPSHOT, History, HistoryDamaged
from emulator.machines.session.tree import Tree
from emulator.storage.files import NodeKilled
from emulator.storage.memory_files import MemoryFiles
from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import Create

FIRST = 1 << 32


def _transactions(first: int, count: int) -> list[Transaction]:
    return [Transaction(FIRST + first + i, "open", timeout_ms=1, owner=f"node-{first + i}") for i in range(count)]


def _grown(files: MemoryFiles, count: int = 5, **limits: int) -> History:
    history = History(files, **limits)
    history.append(_transactions(1, count))
    return history


def test_a_restarted_server_has_its_log_and_epochs() -> None:
    files = MemoryFiles()
    history = _grown(files)
    history.accept_epoch(3)
    history.enter_epoch(2)
    again = History(files)
    assert again.transactions == history.transactions
    assert (again.accepted_epoch, again.current_epoch, again.last_zxid) == (3, 2, FIRST + 5)


def test_what_was_acknowledged_survives_power_loss() -> None:
    files = MemoryFiles()
    history = _grown(files)
    files.power_loss(lambda path, synced, written: synced, name_changes_kept=0)
    assert History(files).transactions == history.transactions


@pytest.mark.parametrize("torn", range(1, 30))
def test_a_torn_tail_is_cut_and_the_log_goes_on(torn: int) -> None:
    """The node died within an append: no client was answered about that transaction."""
    files = MemoryFiles()
    _grown(files)
    files.truncate(LOG, files.size(LOG) - torn)
    again = History(files)
    assert again.last_zxid == FIRST + 4
    again.append(_transactions(5, 1))
    assert History(files).last_zxid == FIRST + 5


def test_trunc_cuts_the_file_too() -> None:
    files = MemoryFiles()
    history = _grown(files)
    history.cut_after(FIRST + 2)
    history.append(_transactions(7, 1))
    assert [t.zxid - FIRST for t in History(files).transactions] == [1, 2, 7]


def test_the_common_point_with_a_follower() -> None:
    history = _grown(MemoryFiles())
    assert history.newest_up_to(FIRST + 3) == FIRST + 3
    assert history.newest_up_to(FIRST + 9) == FIRST + 5
    assert history.newest_up_to(FIRST) == 0
    assert [t.zxid - FIRST for t in history.after(FIRST + 3)] == [4, 5]
    assert history.holds(0) and history.holds(FIRST + 5) and not history.holds(FIRST + 6)


def _compacted(files: MemoryFiles) -> tuple[History, Tree]:
    history = _grown(files, 10, log_max=10, log_kept=3)
    tree = Tree()
    for transaction in history.transactions[:8]:
        tree.apply(transaction)
    assert history.compact(tree)
    return history, tree


def test_a_long_log_is_cut_behind_a_snapshot_and_keeps_some_for_a_diff() -> None:
    files = MemoryFiles()
    history, tree = _compacted(files)
    again = History(files)
    for one in (history, again):
        assert [t.zxid - FIRST for t in one.transactions] == [6, 7, 8, 9, 10]
        assert (one.base_zxid, one.snapshot_zxid) == (FIRST + 5, FIRST + 8)
        assert one.newest_up_to(FIRST + 4) is None, "needs a SNAP"
    assert Tree.restored(again.snapshot).snapshot() == tree.snapshot()
    history.append(_transactions(11, 1))
    assert History(files).last_zxid == FIRST + 11
    assert not history.compact(tree), "nothing new to keep"


@pytest.mark.parametrize("steps", range(12))
def test_a_server_may_die_at_any_step_of_a_compaction(steps: int) -> None:
    files = MemoryFiles()
    left = [10**9]

    def hook(operation: str, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise NodeKilled

    files.operation_hook = hook
    history = _grown(files, 10, log_max=10, log_kept=3)
    tree = Tree()
    for transaction in history.transactions[:8]:
        tree.apply(transaction)
    left[0] = steps
    try:
        history.compact(tree)
    except NodeKilled:
        files.power_loss(lambda path, synced, written: synced, name_changes_kept=0)
    left[0] = 10**9
    again = History(files)
    restored = Tree.restored(again.snapshot)
    for transaction in again.after(restored.zxid):
        restored.apply(transaction)
    assert restored.zxid == FIRST + 10 and len(restored.sessions) == 10


@pytest.mark.parametrize("steps", range(14))
def test_a_follower_may_die_at_any_step_of_a_snap(steps: int) -> None:
    """It then has the old history, none, or the new one; never a mixture."""
    source = MemoryFiles()
    _, tree = _compacted(source)
    files = MemoryFiles()
    left = [10**9]

    def hook(operation: str, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise NodeKilled

    files.operation_hook = hook
    history = _grown(files, 2)
    left[0] = steps
    try:
        history.replace(tree.snapshot())
    except NodeKilled:
        files.power_loss(lambda path, synced, written: synced, name_changes_kept=0)
    left[0] = 10**9
    again = History(files)
    assert again.last_zxid in (0, FIRST + 2, FIRST + 8)
    assert len(again.transactions) + len(Tree.restored(again.snapshot).sessions) in (0, 2, 8)


def test_damage_is_named_not_guessed_around() -> None:
    files = MemoryFiles()
    _compacted(files)
    files.write_atomically(ACCEPTED_EPOCH, b"three")
    with pytest.raises(HistoryDamaged, match="acceptedEpoch holds b'three'"):
        History(files)
    files.write_atomically(ACCEPTED_EPOCH, b"3")
    files.delete(SNAPSHOT)
    with pytest.raises(HistoryDamaged, match="log begins after"):
        History(files)
    files.write_atomically(SNAPSHOT, b"\xc1")
    with pytest.raises(HistoryDamaged, match="snapshot"):
        History(files)


def test_a_znode_in_the_log_reads_back_as_it_was() -> None:
    files = MemoryFiles()
    history = History(files)
    transaction = Transaction(FIRST, "operations", 5, 1, 9, [Create("/a", b"\x00\xff", True)], True)
    history.append([transaction])
    assert History(files).transactions == [transaction]
