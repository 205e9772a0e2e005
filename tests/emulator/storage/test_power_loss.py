"""The remains of a power loss (semantics 3).

The same in memory and on a disk with noted fsyncs.
"""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.storage.disk import DiskFiles
from emulator.storage.inspect import NotSoMany, batches_of
from emulator.storage.log_directory import META_PROPERTIES, segment_name
from emulator.storage.memory_files import MemoryFiles
from emulator.storage.power_loss import cut, surviving_bytes
from emulator.storage.synced_journal import JOURNAL, SyncedJournal
from protocol.ids import LeaderEpoch, Offset
from protocol.records.batch import encode_batch

PlayedFiles = MemoryFiles | DiskFiles


@pytest.fixture(params=["memory", "disk"])
def files(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[PlayedFiles]:
    made = MemoryFiles() if request.param == "memory" else DiskFiles(tmp_path, syncs=False)
    yield made
    if isinstance(made, DiskFiles):
        made.close()


def write(
    files: PlayedFiles, partition: str, *values: str, first: int = 0, segment: int = 0, sync: bool = False
) -> str:
    """One batch each."""
    files.make_directory(partition)
    path = f"{partition}/{segment_name(segment)}"
    for offset, value in enumerate(values, first):
        files.append(
            path,
            encode_batch([value.encode()], timestamp_ms=0, base_offset=Offset(offset), leader_epoch=LeaderEpoch(0)),
        )
    if sync:
        files.fsync(path)
    return path


def lose(files: PlayedFiles, partition: str = "", batches: int = -1) -> None:
    """With nothing left of what need not be."""

    def survives(path: str, synced: int, size: int) -> int:
        return synced

    cut(files, surviving_bytes(files, files.synced_bytes, survives, partition=partition, batches=batches))


def held(files: PlayedFiles, partition: str) -> list[object]:
    return [values[0] for _, values in batches_of(files, partition) if isinstance(values, list)]


def test_synced_data_stays_whatever_the_configuration(files: PlayedFiles) -> None:
    write(files, "t-0", "a", "b", sync=True)
    write(files, "t-0", "c", "d", first=2)
    for batches, left in ((3, "abc"), (0, "ab"), (-1, "ab")):
        lose(files, batches=batches)
        assert held(files, "t-0") == list(left)


def test_one_partition_loses_and_the_others_keep_what_was_written(files: PlayedFiles) -> None:
    write(files, "t-0", "a", "b", "c")
    write(files, "t-1", "x", "y", "z")
    lose(files, "t-0", 2)
    assert (held(files, "t-0"), held(files, "t-1")) == (["a", "b"], ["x", "y", "z"])


def test_of_all_partitions_so_many_are_kept_as_there_are(files: PlayedFiles) -> None:
    write(files, "t-0", "a", "b", "c")
    write(files, "t-1", "x")
    lose(files, batches=2)
    assert (held(files, "t-0"), held(files, "t-1")) == (["a", "b"], ["x"])


def test_of_a_partition_that_is_named_there_must_be_so_many(files: PlayedFiles) -> None:
    write(files, "t-0", "a")
    with pytest.raises(NotSoMany, match="t-0 holds 1 batches, 2 of them cannot be kept"):
        lose(files, "t-0", 2)
    assert held(files, "t-0") == ["a"]


def test_it_goes_through_segments_and_log_directories(files: PlayedFiles) -> None:
    for folder in ("d0", "d1"):
        files.make_directory(folder)
        files.write_atomically(f"{folder}/{META_PROPERTIES}", b"")
    write(files, "d0/t-0", "a", "b", sync=True)
    write(files, "d0/t-0", "c", first=2, segment=2)
    write(files, "d1/u-0", "x", "y")
    lose(files, batches=1)
    assert (held(files, "t-0"), held(files, "u-0")) == (["a", "b"], ["x"])
    assert not files.exists(f"d0/t-0/{segment_name(2)}")


def test_what_was_cut_or_deleted_is_not_durable_when_it_is_written_anew(files: PlayedFiles) -> None:
    path = write(files, "t-0", "a", "b", "c", sync=True)
    one = files.size(path) // 3
    files.truncate(path, one)
    write(files, "t-0", "d", "e", first=1)
    lose(files)
    assert held(files, "t-0") == ["a"]
    files.delete(path)
    write(files, "t-0", "f")
    lose(files)
    assert held(files, "t-0") == []


def test_a_restarted_node_still_has_what_was_synced(tmp_path: Path) -> None:
    first = DiskFiles(tmp_path, syncs=False)
    path = write(first, "t-0", "a", sync=True)
    first.close()
    second = DiskFiles(tmp_path, syncs=False)
    write(second, "t-0", "b", first=1)
    write(second, "t-1", "x", sync=True)
    second.close()
    looks = DiskFiles(tmp_path)
    assert looks.synced_bytes(path) == looks.size(path) // 2
    lose(looks)
    assert (held(looks, "t-0"), held(looks, "t-1")) == (["a"], ["x"])


def test_a_torn_last_line_does_not_count(tmp_path: Path) -> None:
    (tmp_path / JOURNAL).write_bytes(b"10 t-0/a.log\n20 t-0/b.log\n30 t-0/a.l")
    assert SyncedJournal(str(tmp_path)).read() == {"t-0/a.log": 10, "t-0/b.log": 20}


@given(st.lists(st.tuples(st.sampled_from(("synced", "cut")), st.sampled_from("ab"), st.integers(0, 9)), max_size=30))
def test_the_journal_equals_a_dictionary(changes: list[tuple[str, str, int]]) -> None:
    with TemporaryDirectory() as folder:
        journal, known = SyncedJournal(folder), {"a": 0, "b": 0}
        for number, (what, path, size) in enumerate(changes):
            if what == "synced":
                journal.synced(path, size)
                known[path] = size
            else:
                journal.cut(path, size)
                known[path] = min(known[path], size)
            if number % 7 == 6:
                journal.close()
                journal = SyncedJournal(folder)
        assert journal.read() == {path: size for path, size in known.items() if size}
        journal.close()
