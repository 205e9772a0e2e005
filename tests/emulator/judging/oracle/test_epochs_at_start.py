"""Leader epochs of a log that a broker loads and leads in one step (KRaft from 3.5 on)."""

from emulator.judging.oracle.checkpoint_state import Kept
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.storage.memory_files import MemoryFiles
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset

PLACE = ("t", 0)


def outlived(begun: dict[tuple[str, int], int]) -> list[int]:
    files = MemoryFiles()
    files.make_directory("t-0")
    log = Log.create(files, "t-0", gates_for("4.4"), LogSettings())
    log.epochs.assign(LeaderEpoch(2), Offset(0))
    kept = Kept()
    kept.loaded("broker-0", 1, {PLACE: log}, {}, begun)
    return [one.epoch for one in kept.outlived]


def test_an_epoch_that_was_left_at_the_logs_end_is_found() -> None:
    assert outlived({}) == outlived({PLACE: 1}) == [2]


def test_an_epoch_that_the_leader_has_begun_meanwhile_is_none_of_them() -> None:
    assert outlived({PLACE: 2}) == []
