"""The leader epoch cache: the rules of semantics 2.1 and 3, and a naive model beside it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.broker.leader_epochs import UNDEFINED, LeaderEpochCache
from emulator.storage.checkpoints import parse_leader_epochs
from emulator.storage.memory_files import MemoryFiles
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset

PATH = "t-0/leader-epoch-checkpoint"


def cache(version: str, *entries: tuple[int, int], files: MemoryFiles | None = None) -> LeaderEpochCache:
    files = files or MemoryFiles()
    files.make_directory("t-0")
    return LeaderEpochCache(
        files, PATH, gates_for(version), [(LeaderEpoch(epoch), Offset(start)) for epoch, start in entries]
    )


# Three epochs: 1 at [0,4), 3 at [4,10), 5 at [10,12); log end 12.
ENTRIES = ((1, 0), (3, 4), (5, 10))


@pytest.mark.parametrize(
    ("question", "at_2_0_0", "from_2_0_1"),
    [
        (-1, UNDEFINED, UNDEFINED),
        (5, (5, 12), (5, 12)),
        (6, UNDEFINED, UNDEFINED),
        (0, UNDEFINED, (0, 0)),
        (1, (1, 4), (1, 4)),
        (2, (1, 4), (1, 4)),
        (3, (3, 10), (3, 10)),
        (4, (3, 10), (3, 10)),
    ],
)
def test_where_an_epoch_ends(question: int, at_2_0_0: tuple[int, int], from_2_0_1: tuple[int, int]) -> None:
    """Semantics 2.1, the leader's table."""
    assert cache("2.0.0", *ENTRIES).end_offset_for(LeaderEpoch(question), Offset(12)) == at_2_0_0
    for version in ("2.0.1", "2.6", "2.8"):
        assert cache(version, *ENTRIES).end_offset_for(LeaderEpoch(question), Offset(12)) == from_2_0_1


def test_an_empty_cache_has_no_epoch() -> None:
    """Semantics 2.1."""
    for version in ("0.11", "2.0.0", "2.8"):
        assert cache(version).end_offset_for(LeaderEpoch(0), Offset(7)) == UNDEFINED
        assert cache(version).latest == -1


@pytest.mark.parametrize(
    ("epoch", "start", "to_2_0_0", "from_2_0_1"),
    [
        # the same epoch again: known already
        (5, 12, ENTRIES, ENTRIES),
        # a new epoch at the end
        (6, 12, (*ENTRIES, (6, 12)), (*ENTRIES, (6, 12))),
        # an older epoch: the old rule warns and ignores, the new one removes what conflicts
        (2, 12, ENTRIES, ((1, 0), (2, 12))),
        # a newer epoch that begins before the last one
        (6, 7, ENTRIES, ((1, 0), (3, 4), (6, 7))),
        # a newer epoch that begins where the last one does
        (6, 10, (*ENTRIES, (6, 10)), ((1, 0), (3, 4), (6, 10))),
        # the same epoch with an earlier start
        (5, 9, ENTRIES, ((1, 0), (3, 4), (5, 9))),
    ],
)
def test_assigning_an_epoch(
    epoch: int, start: int, to_2_0_0: tuple[tuple[int, int], ...], from_2_0_1: tuple[tuple[int, int], ...]
) -> None:
    """Semantics 3, assign."""
    for version, expected in (("0.11", to_2_0_0), ("2.0.0", to_2_0_0), ("2.0.1", from_2_0_1), ("2.8", from_2_0_1)):
        held = cache(version, *ENTRIES)
        held.assign(LeaderEpoch(epoch), Offset(start))
        assert tuple(held.entries) == expected, version


def test_before_0_11_nothing_is_kept() -> None:
    """Semantics, table of eras."""
    files = MemoryFiles()
    held = cache("0.10.2", files=files)
    held.assign(LeaderEpoch(3), Offset(0))
    assert (held.entries, held.latest, files.exists(PATH)) == ([], -1, False)


def test_cutting_from_the_end_drops_entries_that_start_at_or_beyond_it() -> None:
    """Semantics 3, truncateFromEnd."""
    held = cache("2.6", *ENTRIES)
    held.truncate_from_end(Offset(11))
    assert held.entries == list(ENTRIES)
    held.truncate_from_end(Offset(10))
    assert held.entries == [(1, 0), (3, 4)]
    held.truncate_from_end(Offset(0))
    assert held.entries == []


def test_cutting_from_the_start_moves_one_entry() -> None:
    """Semantics 3, truncateFromStart."""
    held = cache("2.6", *ENTRIES)
    held.truncate_from_start(Offset(6))
    assert held.entries == [(3, 6), (5, 10)]
    held.truncate_from_start(Offset(10))
    assert held.entries == [(5, 10)]
    held.truncate_from_start(Offset(3))
    assert held.entries == [(5, 10)]


def test_every_change_rewrites_the_file_durably() -> None:
    """Semantics 3: `0`, the count, then `epoch start`; each change is synced."""
    files = MemoryFiles()
    held = cache("2.6", files=files)
    held.assign(LeaderEpoch(0), Offset(0))
    held.assign(LeaderEpoch(2), Offset(7))
    files.power_loss({})
    assert files.read(PATH, 0, 100) == b"0\n2\n0 0\n2 7\n"
    operations: list[str] = []
    files.operation_hook = lambda operation, path: operations.append(operation)
    held.assign(LeaderEpoch(2), Offset(9))
    held.truncate_from_end(Offset(8))
    assert operations == [], "nothing changed, nothing is written"
    held.clear()
    assert operations == ["write", "fsync", "rename", "sync_directory"]
    assert files.read(PATH, 0, 100) == b"0\n0\n"


class Naive:
    """Epoch of every offset, written down one by one."""

    def __init__(self) -> None:
        self.epochs: list[int] = []

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        present = sorted(set(self.epochs))
        if epoch == -1 or not present or epoch > present[-1]:
            return UNDEFINED
        if epoch < present[0]:
            return epoch, 0
        largest = max(known for known in present if known <= epoch)
        return largest, sum(1 for known in self.epochs if known <= largest)


step = st.one_of(
    st.tuples(st.just("append"), st.integers(0, 3), st.integers(1, 4)),
    st.tuples(st.just("cut"), st.integers(0, 20), st.just(0)),
)


@given(st.lists(step, max_size=30), st.integers(-1, 40))
def test_the_cache_agrees_with_a_log_that_remembers_each_offset(
    steps: list[tuple[str, int, int]], question: int
) -> None:
    """Appends of growing epochs and cuts.
    The same answers as counting (semantics 2.1, 2.0.1 and later).
    """
    files = MemoryFiles()
    held, naive, epoch = cache("2.8", files=files), Naive(), 0
    for kind, number, count in steps:
        if kind == "append":
            epoch += number
            held.assign(LeaderEpoch(epoch), Offset(len(naive.epochs)))
            naive.epochs += [epoch] * count
        else:
            naive.epochs = naive.epochs[:number]
            held.truncate_from_end(Offset(len(naive.epochs)))
    assert held.end_offset_for(LeaderEpoch(question), Offset(len(naive.epochs))) == naive.end_offset_for(question)
    if files.exists(PATH):
        assert list(parse_leader_epochs(files.read(PATH, 0, 10_000), PATH)) == held.entries
