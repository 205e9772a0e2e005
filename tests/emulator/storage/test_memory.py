"""Files in memory: what power loss takes and what it cannot."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.storage.files import FileMissing
from emulator.storage.memory_files import PENDING_NAMES_MAX, MemoryFiles


def worst(path: str, synced_bytes: int, written_bytes: int) -> int:
    return synced_bytes


def everything(path: str, synced_bytes: int, written_bytes: int) -> int:
    return written_bytes


def content(files: MemoryFiles) -> dict[str, bytes]:
    return {name: files.read(name, 0, files.size(name)) for name in files.list("")}


def test_power_loss_takes_unsynced_bytes() -> None:
    files = MemoryFiles()
    files.append("log", b"abc")
    files.fsync("log")
    files.append("log", b"def")
    assert files.synced_bytes("log") == 3
    files.power_loss(worst)
    assert content(files) == {"log": b"abc"}


@pytest.mark.parametrize("kept", [3, 4, 5, 6])
def test_the_caller_chooses_how_much_of_the_suffix_survives(kept: int) -> None:
    files = MemoryFiles()
    files.append("log", b"abc")
    files.fsync("log")
    files.append("log", b"def")
    files.power_loss({"log": kept})
    assert content(files) == {"log": b"abcdef"[:kept]}
    assert files.synced_bytes("log") == kept


@pytest.mark.parametrize("kept", [2, 7])
def test_synced_bytes_cannot_be_lost_nor_others_invented(kept: int) -> None:
    files = MemoryFiles()
    files.append("log", b"abc")
    files.fsync("log")
    files.append("log", b"def")
    with pytest.raises(ValueError, match=f"log: {kept} bytes kept, possible are 3 to 6"):
        files.power_loss({"log": kept})
    assert content(files) == {"log": b"abcdef"}


def test_files_that_a_mapping_leaves_out_keep_what_was_synced() -> None:
    files = MemoryFiles()
    files.append("a", b"12")
    files.append("b", b"34")
    files.fsync("b")
    files.power_loss({})
    assert content(files) == {"a": b"", "b": b"34"}


def test_bytes_written_after_a_truncation_are_unsynced() -> None:
    files = MemoryFiles()
    files.append("log", b"abcdef")
    files.fsync("log")
    files.truncate("log", 2)
    files.append("log", b"XYZ")
    files.power_loss(worst)
    assert content(files) == {"log": b"ab"}


def test_an_atomic_write_survives_whole() -> None:
    files = MemoryFiles()
    files.write_atomically("hw", b"old")
    files.write_atomically("hw", b"new")
    assert files.name_changes_pending == 0
    files.power_loss(worst, name_changes_kept=0)
    assert content(files) == {"hw": b"new"}


def test_a_rename_before_its_directory_was_synced_may_be_undone() -> None:
    files = MemoryFiles()
    files.write_atomically("hw", b"old")
    files.append("hw.tmp", b"new")
    files.fsync("hw.tmp")
    files.rename("hw.tmp", "hw")
    lost, kept = files.copy(), files.copy()
    lost.power_loss(worst, name_changes_kept=0)
    kept.power_loss(worst, name_changes_kept=1)
    assert content(lost) == {"hw": b"old", "hw.tmp": b"new"}
    assert content(kept) == {"hw": b"new"}
    files.fsync("")
    assert files.name_changes_pending == 0


def test_name_changes_are_lost_from_the_last_one_backwards() -> None:
    files = MemoryFiles()
    files.append("a", b"1")
    files.fsync("a")
    files.rename("a", "b")
    files.append("a", b"2")
    files.delete("b")
    for kept, expected in (
        (3, {"a": b"2"}),
        (2, {"a": b"2", "b": b"1"}),
        (1, {"b": b"1"}),
        (0, {"a": b"1"}),
    ):
        twin = files.copy()
        twin.power_loss(everything, name_changes_kept=kept)
        assert content(twin) == expected
    with pytest.raises(ValueError, match="4 name changes kept of 3"):
        files.power_loss(everything, name_changes_kept=4)


def test_syncing_a_file_makes_its_creation_durable() -> None:
    files = MemoryFiles()
    files.append("a", b"1")
    files.append("b", b"2")
    files.fsync("a")
    files.power_loss(everything, name_changes_kept=0)
    assert content(files) == {"a": b"1"}


def test_pending_name_changes_are_bounded() -> None:
    files = MemoryFiles()
    for _ in range(PENDING_NAMES_MAX):
        files.append("a", b"")
        files.delete("a")
    assert files.name_changes_pending == PENDING_NAMES_MAX


def test_power_loss_forgets_nothing_a_second_time() -> None:
    files = MemoryFiles()
    files.append("log", b"abc")
    files.power_loss(everything)
    files.power_loss(worst, name_changes_kept=0)
    assert content(files) == {"log": b"abc"}


def test_a_copy_is_independent_both_ways() -> None:
    files = MemoryFiles(operation_hook=lambda operation, path: None)
    files.append("log", b"abc")
    copied = files.copy()
    assert copied.operation_hook is None
    files.append("log", b"d")
    copied.truncate("log", 1)
    assert (content(files), content(copied)) == ({"log": b"abcd"}, {"log": b"a"})
    copied.power_loss(worst, name_changes_kept=0)
    with pytest.raises(FileMissing):
        copied.size("log")


@given(st.lists(st.tuples(st.sampled_from(["append", "fsync", "truncate"]), st.integers(0, 5))), st.data())
def test_what_survives_is_a_prefix_that_holds_every_synced_byte(steps, data) -> None:  # type: ignore[no-untyped-def]
    files = MemoryFiles()
    files.append("log", b"")
    written = synced = b""
    for number, (step, amount) in enumerate(steps):
        match step:
            case "append":
                more = bytes((number % 256,)) * amount
                files.append("log", more)
                written += more
            case "fsync":
                files.fsync("log")
                synced = written
            case "truncate":
                written = written[: max(0, len(written) - amount)]
                files.truncate("log", len(written))
                synced = synced[: len(written)]
    files.power_loss(lambda path, least, most: data.draw(st.integers(least, most)))
    survived = content(files)["log"]
    assert written.startswith(survived)
    assert survived.startswith(synced)
