"""Snapshots of the metadata log on disk: names, bytes, downloads, the log below them."""

import pytest

from controller.quorum.quorum_log import SnapshotId, divergence, needed_snapshot
from emulator.machines.node.metadata_log import DIRECTORY, MetadataLog
from emulator.storage.memory_files import MemoryFiles
from protocol.ids import LeaderEpoch, Offset
from protocol.records.quorum_control_records import ControlRecord, KRaftVersion, SnapshotHeader

AT_3 = SnapshotId(Offset(3), LeaderEpoch(1))
AT_5 = SnapshotId(Offset(5), LeaderEpoch(2))
NAME_OF_3 = f"{DIRECTORY}/00000000000000000003-0000000001.checkpoint"
CONTROL: list[ControlRecord] = [SnapshotHeader(1500), KRaftVersion(1)]


def filled(segment_bytes: int = 1 << 20) -> tuple[MemoryFiles, MetadataLog]:
    """Epoch 1 at 0 to 2, epoch 2 at 3 to 5, all committed; a snapshot at 3."""
    files = MemoryFiles()
    log = MetadataLog.open(files, segment_bytes)
    for epoch in (1, 1, 1, 2, 2, 2):
        log.append(LeaderEpoch(epoch), [b"x"], 1.0)
    log.flush()
    log.note_high_watermark(Offset(6))
    log.store_snapshot(AT_3, CONTROL, [b"a", b"b"], 2.0)
    return files, log


def test_a_snapshot_is_a_file_of_batches_with_kafkas_name() -> None:
    files, log = filled()
    assert files.exists(NAME_OF_3) and log.snapshots == [AT_3]
    assert log.snapshot_values(AT_3) == [b"a", b"b"]
    assert list(log.snapshot_control_records(AT_3))[:2] == CONTROL
    assert log.snapshot_timestamp_ms(AT_3) == 1500
    assert log.snapshot_size_bytes(AT_3) == files.size(NAME_OF_3)
    assert log.snapshot_size_bytes(AT_5) == -1


def test_a_restart_finds_whole_snapshots_and_deletes_incomplete_ones() -> None:
    files, log = filled()
    data = log.read_snapshot(AT_3, 0, log.snapshot_size_bytes(AT_3))
    log.begin_download(AT_5)
    log.append_download(data[:40])
    assert log.download_bytes == 40
    again = MetadataLog.open(files)
    assert again.snapshots == [AT_3]
    assert not [name for name in files.list(DIRECTORY) if name.endswith(".part")]


def test_a_snapshot_beyond_the_log_replaces_it_also_after_a_restart() -> None:
    source = filled()[1]
    data = source.read_snapshot(AT_3, 0, source.snapshot_size_bytes(AT_3))
    for restarts in (False, True):
        files = MemoryFiles()
        log = MetadataLog.open(files)
        log.append(LeaderEpoch(1), [b"other"], 1.0)
        log.begin_download(AT_3)
        log.append_download(data)
        log.finish_download()
        if restarts:
            log = MetadataLog.open(files)
        else:
            assert log.truncate_to_latest_snapshot()
        assert (log.start, log.end, log.last_epoch) == (3, 3, 1)
        log.append_from_leader(source.read(Offset(3)))
        assert (log.end, log.last_epoch) == (6, 2)


def test_the_log_below_a_snapshot_is_deleted_and_stays_deleted() -> None:
    files, log = filled(segment_bytes=100)
    log.store_snapshot(AT_5, CONTROL, [b"c"], 3.0)
    assert len([name for name in files.list(DIRECTORY) if name.endswith(".log")]) == 6
    assert log.delete_before(AT_5)
    assert (log.start, log.snapshots) == (5, [AT_5])
    assert len([name for name in files.list(DIRECTORY) if name.endswith(".log")]) == 1
    again = MetadataLog.open(files, segment_bytes=100)
    assert (again.start, again.end, again.snapshots, again.last_epoch) == (5, 6, [AT_5], 2)
    assert not again.delete_before(AT_5)


def test_a_start_within_a_segment_stays_after_a_restart() -> None:
    files, log = filled()
    log.store_snapshot(AT_5, CONTROL, [b"c"], 3.0)
    log.delete_before(AT_5)
    assert MetadataLog.open(files).start == 5


def test_a_log_that_begins_later_without_a_snapshot_is_refused() -> None:
    files, log = filled(segment_bytes=100)
    log.store_snapshot(AT_5, CONTROL, [b"c"], 3.0)
    log.delete_before(AT_5)
    files.delete(f"{DIRECTORY}/00000000000000000005-0000000002.checkpoint")
    with pytest.raises(ValueError, match="begins at 5, and no snapshot"):
        MetadataLog.open(files, segment_bytes=100)


@pytest.mark.parametrize("keeps", [0, 30, 100, -1])
def test_a_damaged_snapshot_is_named(keeps: int) -> None:
    files, log = filled()
    files.truncate(NAME_OF_3, keeps if keeps >= 0 else files.size(NAME_OF_3) - 10)
    with pytest.raises(ValueError, match=r"checkpoint|bytes|batch"):
        log.snapshot_control_records(AT_3)


@pytest.mark.parametrize(
    ("offset", "epoch", "needed"),
    [(0, 0, True), (2, 1, True), (3, 0, True), (3, 1, False), (3, 2, True), (4, 1, False), (6, 2, False)],
)
def test_a_replica_needs_a_snapshot_where_the_log_is_too_short(offset: int, epoch: int, needed: bool) -> None:
    _, log = filled()
    log.delete_before(AT_3)
    place = (Offset(offset), LeaderEpoch(epoch))
    snapshot = needed_snapshot(log, *place, empty_needs_snapshot=False)
    assert snapshot == (AT_3 if needed else None)
    if (offset, epoch) == (4, 1):
        assert divergence(log, *place) == (1, 3)


def test_an_empty_replica_needs_a_snapshot_from_3_6_on_even_if_the_log_is_whole() -> None:
    _, log = filled()
    start = (Offset(0), LeaderEpoch(0))
    assert needed_snapshot(log, *start, empty_needs_snapshot=False) is None
    assert needed_snapshot(log, *start, empty_needs_snapshot=True) == AT_3
