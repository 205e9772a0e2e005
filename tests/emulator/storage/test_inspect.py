"""A replica read from its files: the shapes of the recordings, live tails, power loss."""

import json
from pathlib import Path

import pytest

from emulator.storage.checkpoints import CheckpointDamaged, format_leader_epochs, format_offsets
from emulator.storage.disk import DiskFiles
from emulator.storage.files import Files
from emulator.storage.inspect import (
    LogDamaged,
    PartitionFiles,
    batches_of,
    erase,
    keep_batches,
    log_bounds,
    log_sizes,
    partitions_on,
    read_partition,
)
from emulator.storage.log_directory import (
    HIGH_WATERMARKS,
    LEADER_EPOCHS,
    LOG_STARTS,
    META_PROPERTIES,
    METADATA_LOG,
    RECOVERY_POINTS,
    segment_name,
)
from emulator.storage.memory_files import MemoryFiles
from emulator.storage.subdirectory_files import Within
from protocol.ids import LeaderEpoch, Offset
from protocol.records import format as records
from protocol.records.compression import Compression

GOLDEN = Path(__file__).parents[2] / "golden"


def append(
    files: Files,
    offset: int,
    *values: str,
    epoch: int = 0,
    magic: int = 2,
    codec: Compression = "none",
    segment: int = 0,
    partition: str = "t-0",
) -> int:
    sent = records.encode([value.encode() for value in values], magic=magic, timestamp_ms=1, compression=codec)
    return files.append(f"{partition}/{segment_name(segment)}", records.place(sent, Offset(offset), LeaderEpoch(epoch)))


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Files:
    made: Files = MemoryFiles() if request.param == "memory" else DiskFiles(tmp_path)
    made.make_directory("t-0")
    return made


def test_a_replica_as_snapshots_show_it(files: Files) -> None:
    """The end of az-isolated-controller at 2.8."""
    append(files, 0, "a")
    append(files, 1, "b")
    append(files, 2, "c", epoch=1)
    files.write_atomically(
        f"t-0/{LEADER_EPOCHS}", format_leader_epochs([(LeaderEpoch(0), Offset(0)), (LeaderEpoch(1), Offset(2))])
    )
    files.write_atomically(
        HIGH_WATERMARKS, format_offsets({("t", 0): Offset(3), ("t-0", 0): Offset(9), ("t", 1): Offset(8)})
    )
    recording = json.loads((GOLDEN / "az-isolated-controller@2.8" / "1.json").read_text())
    snapshot = next(entry for entry in recording["timeline"] if entry.get("saw") == "snapshot")
    assert read_partition(files, "t-0") == snapshot["replicas"]["broker-0"]


def test_a_replica_of_old_messages_has_no_epochs(files: Files) -> None:
    """kip101-case2 at 0.10.2."""
    append(files, 0, "m1", magic=1)
    append(files, 1, "m2", magic=1)
    files.write_atomically(HIGH_WATERMARKS, format_offsets({("t", 0): Offset(2)}))
    recording = json.loads((GOLDEN / "kip101-case2@0.10.2" / "1.json").read_text())
    snapshot = next(entry for entry in recording["timeline"] if entry.get("saw") == "snapshot")
    assert read_partition(files, "t-0") == snapshot["replicas"]["broker-0"]


def test_wrappers_as_logs_show_them(files: Files) -> None:
    """kip101-case2-compressed at 0.10.2: [offset of the wrapper's last record, inner values]."""
    append(files, 0, "m1", magic=1)
    append(files, 1, "x1", "x2", "x3", magic=1, codec="gzip")
    recording = json.loads((GOLDEN / "kip101-case2-compressed@0.10.2" / "1.json").read_text())
    logs = next(entry for entry in recording["timeline"] if entry.get("saw") == "logs")
    assert batches_of(files, "t-0") == logs["a"]
    assert keep_batches(files, "t-0", 1) == 1
    append(files, 1, "y1", "y2", "y3", "y4", "y5", magic=1, codec="gzip")
    logs = next(entry for entry in recording["timeline"] if entry.get("saw") == "logs" and len(entry["b"][1][1]) == 5)
    assert batches_of(files, "t-0") == logs["b"]


def test_nothing_written_is_empty_and_null(files: Files) -> None:
    empty: PartitionFiles = {"log": [], "leader_epochs": [], "high_watermark_checkpoint": None}
    assert read_partition(files, "t-0") == empty
    assert read_partition(files, "never-hosted-3") == empty
    assert batches_of(files, "t-0") == []
    files.append(HIGH_WATERMARKS, b"")
    files.append(f"t-0/{LEADER_EPOCHS}", b"")
    assert read_partition(files, "t-0") == empty


def test_a_batch_being_written_is_not_there_yet(files: Files) -> None:
    end = append(files, 0, "a")
    whole = append(files, 1, "b")
    path = f"t-0/{segment_name(0)}"
    for size_bytes in range(whole - 1, end - 1, -1):
        files.truncate(path, size_bytes)
        assert read_partition(files, "t-0")["log"] == [[0, 0, "a"]]


def test_segments_follow_each_other(files: Files) -> None:
    append(files, 0, "a", "b")
    append(files, 2, "c", segment=2)
    append(files, 3, "d", segment=2)
    files.append("t-0/00000000000000000002.index", b"not a segment")
    assert [entry[2] for entry in read_partition(files, "t-0")["log"]] == ["a", "b", "c", "d"]
    assert batches_of(files, "t-0") == [[1, ["a", "b"]], [2, ["c"]], [3, ["d"]]]


def test_an_incomplete_batch_before_the_last_segment_is_damage(files: Files) -> None:
    end = append(files, 0, "a")
    files.truncate(f"t-0/{segment_name(0)}", end - 1)
    append(files, 1, "b", segment=1)
    with pytest.raises(LogDamaged, match=r"t-0/00000000000000000000.log: at byte 0: a batch of 69 bytes"):
        read_partition(files, "t-0")


def test_damage_names_file_and_byte(files: Files) -> None:
    end = append(files, 0, "a")
    files.append(f"t-0/{segment_name(0)}", bytes(100))
    with pytest.raises(LogDamaged, match=rf"t-0/00000000000000000000.log: at byte {end}: message size 0"):
        read_partition(files, "t-0")
    files.write_atomically(f"t-0/{LEADER_EPOCHS}", b"0\n1\nx 0\n")
    keep_batches_path = f"t-0/{segment_name(0)}"
    files.truncate(keep_batches_path, end)
    with pytest.raises(CheckpointDamaged, match="t-0/leader-epoch-checkpoint line 3"):
        read_partition(files, "t-0")


def test_values_that_are_no_text_are_shown_escaped(files: Files) -> None:
    sent = records.encode([(b"k", None, ()), (None, b"\xff\xc3\xa9", ())], magic=2, timestamp_ms=1)
    files.append(f"t-0/{segment_name(0)}", records.place(sent, Offset(0), LeaderEpoch(0)))
    assert read_partition(files, "t-0")["log"] == [[0, 0, None], [1, 0, "\\xffé"]]


@pytest.mark.parametrize("count", range(5))
def test_losing_what_was_not_synced_cuts_batches_only(files: Files, count: int) -> None:
    append(files, 0, "a", "b")
    append(files, 2, "c")
    append(files, 3, "d", segment=3)
    whole = append(files, 4, "e", segment=3)
    files.truncate(f"t-0/{segment_name(3)}", whole)
    append(files, 5, "torn", segment=3)
    files.truncate(f"t-0/{segment_name(3)}", whole + 20)
    files.write_atomically(f"t-0/{LEADER_EPOCHS}", format_leader_epochs([(LeaderEpoch(0), Offset(0))]))
    assert keep_batches(files, "t-0", count) == 4 - count
    assert batches_of(files, "t-0") == [[1, ["a", "b"]], [2, ["c"]], [3, ["d"]], [4, ["e"]]][:count]
    segments = [name for name in files.list("t-0") if name.endswith(".log")]
    assert len(segments) == (2 if count > 2 else 1)
    assert read_partition(files, "t-0")["leader_epochs"] == [[0, 0]]
    if count == 4:
        assert files.size(f"t-0/{segment_name(3)}") == whole


def test_batches_that_are_not_there_cannot_be_kept(files: Files) -> None:
    append(files, 0, "a")
    with pytest.raises(ValueError, match="t-0 holds 1 batches, 2 of them cannot be kept"):
        keep_batches(files, "t-0", 2)
    assert batches_of(files, "t-0") == [[0, ["a"]]]


def test_a_lost_disk_holds_nothing(files: Files) -> None:
    append(files, 0, "a")
    files.write_atomically(RECOVERY_POINTS, format_offsets({("t", 0): Offset(1)}))
    erase(files)
    assert files.list("") == []
    assert read_partition(files, "t-0") == {"log": [], "leader_epochs": [], "high_watermark_checkpoint": None}


def test_nothing_of_a_lost_disk_comes_back_when_the_power_goes() -> None:
    """It is in another machine's bin: a deletion that was not durable yet would give it back."""
    lost = MemoryFiles()
    lost.make_directory("t-0")
    append(lost, 0, "a")
    lost.fsync(f"t-0/{segment_name(0)}")
    erase(lost)
    lost.power_loss(lambda path, synced, size: synced, name_changes_kept=0)
    assert lost.list("") == [] and not lost.exists(f"t-0/{segment_name(0)}")


def test_a_log_begins_and_ends_where_its_files_do(files: Files) -> None:
    assert log_bounds(files, "t-0") == (0, 0)
    append(files, 3, "d", segment=3)
    assert log_bounds(files, "t-0") == (3, 4)
    append(files, 4, "e", segment=3)
    files.append(f"t-0/{segment_name(5)}", b"")
    assert log_bounds(files, "t-0") == (3, 5)
    files.write_atomically(LOG_STARTS, format_offsets({("t", 0): Offset(4)}))
    assert log_bounds(files, "t-0") == (4, 5)


def test_an_empty_segment_marks_the_end_of_an_empty_log(files: Files) -> None:
    """After a replica threw everything away and began anew."""
    files.append(f"t-0/{segment_name(42)}", b"")
    assert log_bounds(files, "t-0") == (42, 42)


def test_sizes_leave_out_the_metadata_log_which_an_idle_controller_lets_grow(files: Files) -> None:
    for name in ("t-0", METADATA_LOG):
        files.make_directory(name)
        append(files, 0, "a", partition=name)
    assert log_sizes(files) == {"t-0": files.size(f"t-0/{segment_name(0)}")}


def test_a_partition_is_found_in_whichever_log_directory_it_is(files: Files) -> None:
    for name in ("data-0", "data-1"):
        files.make_directory(name)
        files.write_atomically(f"{name}/{META_PROPERTIES}", b"")
    other = Within(files, "data-1")
    other.make_directory("u-3")
    append(other, 0, "a", partition="u-3")
    other.write_atomically(RECOVERY_POINTS, format_offsets({("u", 3): Offset(1)}))
    assert partitions_on(files) == ["u-3"], "the directories' own names are none of partitions"
    assert batches_of(files, "u-3") == [[0, ["a"]]]
    assert log_bounds(files, "u-3") == (0, 1)
    assert log_sizes(files) == {"u-3": other.size(f"u-3/{segment_name(0)}")}
    assert keep_batches(files, "u-3", 0) == 1
    erase(files, "data-1")
    assert partitions_on(files) == [] and files.list("data-1") == []
    assert files.exists(f"data-0/{META_PROPERTIES}")
