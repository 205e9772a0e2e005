"""Truncation offset of a follower (semantics 2.1, the follower's action)."""

import pytest

from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.truncation import Cut, cut_for
from emulator.storage.memory_files import MemoryFiles
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset
from verification.broker_bench import batch, created_log


def follower_log() -> Log:
    """Epoch 1 at [0,4), epoch 3 at [4,10): log end 10."""
    log = created_log(MemoryFiles(), gates_for("2.6"), LogSettings())
    log.append_as_follower(batch(*"abcd", base_offset=0, epoch=1) + batch(*"efghij", base_offset=4, epoch=3))
    return log


@pytest.mark.parametrize(
    ("epoch", "end_offset", "expected"),
    [
        # undefined: the fetch offset
        (-1, -1, Cut(Offset(2), complete=True)),
        # an old peer says the offset alone
        (-1, 7, Cut(Offset(7), complete=True)),
        (-1, 70, Cut(Offset(10), complete=True)),
        # the leader's epoch is ours: the smaller end
        (3, 8, Cut(Offset(8), complete=True)),
        (3, 70, Cut(Offset(10), complete=True)),
        (1, 3, Cut(Offset(3), complete=True)),
        (1, 9, Cut(Offset(4), complete=True)),
        # we have an older one only: our end of it, and ask again
        (2, 9, Cut(Offset(4), complete=False)),
        # older than all of ours: from 2.0.1 it ends where our first begins
        (0, 5, Cut(Offset(0), complete=True)),
        # newer than all of ours: nothing is known
        (4, 8, Cut(Offset(8), complete=True)),
        (4, 70, Cut(Offset(10), complete=True)),
    ],
)
def test_the_cut(epoch: int, end_offset: int, expected: Cut) -> None:
    """Semantics 2.1."""
    assert cut_for(follower_log(), Offset(2), LeaderEpoch(epoch), Offset(end_offset)) == expected


def test_a_follower_without_epochs_cuts_to_the_leaders_offset() -> None:
    """Semantics 2.1: own answer none -> min(offset, log end), done."""
    empty = created_log(MemoryFiles(), gates_for("2.6"), LogSettings())
    assert cut_for(empty, Offset(0), LeaderEpoch(3), Offset(8)) == Cut(Offset(0), complete=True)
