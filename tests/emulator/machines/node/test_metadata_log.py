"""The metadata log over the broker's log: epochs, control records, restarts."""

from controller.quorum.quorum_log import EpochEnd
from emulator.machines.node.metadata_log import DIRECTORY, ElectionFile, MetadataLog
from emulator.storage.log_directory import LEADER_EPOCHS
from emulator.storage.memory_files import MemoryFiles
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.quorum_records import LeaderChange

ONE, THREE = LeaderEpoch(1), LeaderEpoch(3)


def filled() -> tuple[MemoryFiles, MetadataLog]:
    """Epoch 1 at offsets 0 to 2, its leader change included, epoch 3 from 3 on."""
    files = MemoryFiles()
    log = MetadataLog.open(files)
    log.begin_epoch(ONE)
    log.append_control(ONE, [LeaderChange(BrokerId(0), (BrokerId(0),), (BrokerId(0),))], 1.5)
    log.append(ONE, [b"a", b"b"], 1.5)
    log.begin_epoch(THREE)
    log.append(THREE, [b"c"], 1.5)
    return files, log


def test_a_new_log_is_empty() -> None:
    log = MetadataLog.open(MemoryFiles())
    assert (log.start, log.end, log.last_epoch) == (0, 0, 0)
    assert log.end_of_epoch(LeaderEpoch(0)) == EpochEnd(LeaderEpoch(0), Offset(0))


def test_ends_of_epochs() -> None:
    _, log = filled()
    assert (log.end, log.last_epoch) == (4, 3)
    ends = {epoch: log.end_of_epoch(LeaderEpoch(epoch)) for epoch in range(5)}
    assert ends == {0: (0, 0), 1: (1, 3), 2: (1, 3), 3: (3, 4), 4: (3, 4)}


def test_an_epoch_without_a_record_counts_until_it_is_truncated() -> None:
    _, log = filled()
    log.begin_epoch(LeaderEpoch(7))
    assert log.last_epoch == 7
    log.truncate(Offset(3))
    assert (log.end, log.last_epoch) == (3, 1)


def test_a_follower_appends_a_leaders_batches() -> None:
    _, log = filled()
    other = MetadataLog.open(MemoryFiles())
    other.append_from_leader(log.read(Offset(0)))
    assert (other.end, other.last_epoch) == (4, 3)
    assert other.batches(Offset(0), Offset(4)) == log.batches(Offset(0), Offset(4))
    assert [header.base_offset for header in log.batches(Offset(1), Offset(3))] == [1]


def test_a_restart_finds_records_and_epochs_again() -> None:
    files, log = filled()
    files.delete(f"{DIRECTORY}/{LEADER_EPOCHS}")
    again = MetadataLog.open(files)
    assert (again.end, again.last_epoch, again.end_of_epoch(ONE)) == (4, 3, (1, 3))
    assert again.high_watermark == 0, "it is unknown after a restart"
    assert log.end == 4


def test_a_power_loss_takes_what_was_not_flushed() -> None:
    files, log = filled()
    log.flush()
    log.append(THREE, [b"d"], 1.5)
    files.power_loss({})
    assert MetadataLog.open(files).end == 4


def test_the_election_file_is_durable_when_written() -> None:
    files = MemoryFiles()
    MetadataLog.open(files)
    store = ElectionFile(files)
    assert store.read() is None
    store.write(b"{}")
    files.power_loss({}, name_changes_kept=0)
    assert store.read() == b"{}"
