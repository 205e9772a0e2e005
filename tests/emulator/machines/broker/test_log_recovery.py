"""A log after a stop, clean or not (semantics 3)."""

import pytest

from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.storage.memory_files import MemoryFiles
from protocol.errors import ErrorCode
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset
from protocol.records.format import read_header
from tests.emulator.machines.broker.test_log import values
from verification.broker_bench import batch, created_log

FIRST = "t-0/00000000000000000000.log"


def written(version: str = "2.6", segment_bytes: int = 1 << 30, epochs: tuple[int, ...] = (0, 0, 1)) -> MemoryFiles:
    """a, b, c, ... with one epoch each."""
    files = MemoryFiles()
    log = created_log(files, gates_for(version), LogSettings(segment_bytes))
    for text, epoch in zip("abcdefgh", epochs, strict=False):
        log.append_as_leader(batch(text, magic=gates_for(version).record_magic), LeaderEpoch(epoch))
    return files


def load(
    files: MemoryFiles, version: str = "2.6", *, clean: bool = False, recovery_point: int = 0, log_start: int = 0
) -> Log:
    checkpoints = {"recovery_point": Offset(recovery_point), "log_start": Offset(log_start)}
    return Log.load(files, "t-0", gates_for(version), LogSettings(), clean=clean, **checkpoints)


def damage(files: MemoryFiles, path: str, position: int) -> None:
    data = bytearray(files.read(path, 0, files.size(path)))
    data[position] ^= 1
    files.truncate(path, 0)
    files.append(path, bytes(data))


@pytest.mark.parametrize("clean", [True, False])
@pytest.mark.parametrize("version", ["0.10.2", "0.11", "1.0", "2.6", "2.7", "2.8"])
def test_a_whole_log_is_found_again(version: str, clean: bool) -> None:
    """After a clean stop the recovery point is the log end.
    After another it is what was checkpointed, from 1.0 to 2.7 the log end, too (Log.recoverLog).
    """
    moves = clean or version in ("1.0", "2.6", "2.7")
    log = load(written(version), version, clean=clean, recovery_point=2)
    assert values(log) == [(0, "a"), (1, "b"), (2, "c")]
    assert (log.log_end, log.high_watermark, log.recovery_point) == (3, 0, 3 if moves else 2)
    assert log.epochs.entries == ([] if version == "0.10.2" else [(0, 0), (1, 2)])


@pytest.mark.parametrize("version", ["0.10.2", "2.6"])
@pytest.mark.parametrize("lost_bytes", [1, 20, 60])
def test_a_torn_tail_is_cut_off(version: str, lost_bytes: int) -> None:
    """The last batch was not written whole."""
    files = written(version)
    size = files.size(FIRST)
    files.truncate(FIRST, size - min(lost_bytes, size // 3))
    log = load(files, version)
    assert values(log) == [(0, "a"), (1, "b")]
    assert files.size(FIRST) == sum(header.size_bytes for header in log.segments[0].batches())


@pytest.mark.parametrize("version", ["0.10.2", "2.6"])
def test_damage_cuts_there_and_what_follows(version: str) -> None:
    """Recovery: at the first bad batch cut there."""
    files = written(version)
    one = files.size(FIRST) // 3
    damage(files, FIRST, 2 * one - 1)
    assert values(load(files, version)) == [(0, "a")]


def test_damage_deletes_later_segments() -> None:
    """Recovery: later segments go."""
    one = len(batch("a"))
    files = written(segment_bytes=2 * one, epochs=(0,) * 6)
    damage(files, FIRST, 2 * one - 1)
    log = load(files)
    assert values(log) == [(0, "a")]
    assert [name for name in files.list("t-0") if name.endswith(".log")] == ["00000000000000000000.log"]


def test_below_the_recovery_point_nothing_is_checked() -> None:
    """Unclean: validation begins with the segment that holds the recovery point."""
    one = len(batch("a"))
    files = written(segment_bytes=2 * one, epochs=(0,) * 5)
    damage(files, FIRST, 2 * one - 1)
    log = load(files, recovery_point=4)
    assert log.log_end == 5
    assert load(files, recovery_point=1).log_end == 1


def test_after_a_clean_stop_nothing_is_checked() -> None:
    """The marker says that all was flushed."""
    files = written()
    damage(files, FIRST, files.size(FIRST) - 1)
    assert load(files, clean=True).log_end == 3


def test_an_epoch_without_data_vanishes_on_restart() -> None:
    """Semantics 3: on load the entries are cut to [log start, log end]."""
    files = written()
    log = load(files)
    log.epochs.assign(LeaderEpoch(7), Offset(3))
    assert load(files, clean=True).epochs.entries == [(0, 0), (1, 2)]


@pytest.mark.parametrize(("version", "found"), [
    ("0.11", [(0, 0), (1, 2)]), ("2.0.1", [(0, 0), (1, 2)]), ("2.1", [(1, 2)]), ("2.5", [(1, 2)]),
    ("2.6", [(0, 0), (1, 2)]),
])  # fmt: skip
def test_recovery_adds_epochs_from_batches(version: str, found: list[tuple[int, int]]) -> None:
    """Semantics 3: epoch 0 was skipped (KAFKA-10432) from 2.1 to 2.5."""
    files = written(version)
    files.delete("t-0/leader-epoch-checkpoint")
    assert load(files, version).epochs.entries == found
    files.delete("t-0/leader-epoch-checkpoint")
    assert load(files, version, clean=True).epochs.entries == []


def test_loaded_epochs_stay_and_later_ones_are_added() -> None:
    """The file is loaded first; recovery only adds."""
    files = written("2.5")
    files.write_atomically("t-0/leader-epoch-checkpoint", b"0\n1\n0 0\n")
    assert load(files, "2.5").epochs.entries == [(0, 0), (1, 2)]


def test_an_empty_directory_is_an_empty_log() -> None:
    """A node may die between any two of the operations that make a log."""
    files = MemoryFiles()
    files.make_directory("t-0")
    log = load(files)
    assert (log.log_start, log.log_end, len(log.segments)) == (0, 0, 1)


def test_the_start_of_a_log_is_its_first_segments() -> None:
    files = written(segment_bytes=2 * len(batch("a")), epochs=(0, 0, 1, 1))
    files.delete(FIRST)
    log = load(files)
    assert (log.log_start, log.log_end, log.epochs.entries) == (2, 4, [(1, 2)])


@pytest.mark.parametrize("version", ["0.11", "1.0", "2.6"])
def test_sequences_are_rebuilt_from_batches(version: str) -> None:
    """Semantics 6: producer state survives a restart, and what was cut is forgotten."""
    files = MemoryFiles()
    log = created_log(files, gates_for(version), LogSettings())
    sent = [batch("v", producer_id=9, producer_epoch=0, base_sequence=number) for number in range(4)]
    for data in sent:
        log.append_as_leader(data, LeaderEpoch(0))
    again = load(files, version)
    error, duplicate = again.producers.check(read_header(sent[3]))
    assert error == ErrorCode.NONE and duplicate is not None and duplicate.base_offset == 3
    again.truncate_to(Offset(3))
    assert again.producers.check(read_header(sent[3])) == (ErrorCode.NONE, None)
    again.truncate_to(Offset(0))
    error, _ = again.producers.check(read_header(sent[3]))
    assert error == {"0.11": 45, "1.0": 59, "2.6": 0}[version]


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "0.11", "2.8"])
@pytest.mark.parametrize("clean", [True, False])
def test_a_message_larger_than_allowed_ends_an_old_log(version: str, clean: bool) -> None:
    """LogSegment.recover takes it and all behind it for damage.
    max.message.bytes was made smaller. Offset and size do not count.
    """
    files = written(version)
    size = len(batch("a", magic=gates_for(version).record_magic))
    for smaller, log_end in ((12, 3), (13, 0)):
        settings = LogSettings(max_message_bytes=size - smaller)
        log = Log.load(files, "t-0", gates_for(version), settings, clean=clean, recovery_point=Offset(0))
        cut = version in ("0.8.2", "0.10.2") and not clean
        assert log.log_end == (log_end if cut else 3)


@pytest.mark.parametrize(("version", "recovery_point"), [("2.3", 1), ("2.4", 2), ("2.8", 2)])
def test_a_recovery_point_is_not_below_the_start_from_2_4(version: str, recovery_point: int) -> None:
    """Log.updateLogStartOffset, in a life and when one begins."""
    files = written(version)
    log = load(files, version, clean=True)
    log.recovery_point, log.high_watermark = Offset(1), Offset(3)
    log.increment_log_start(Offset(2))
    assert log.recovery_point == recovery_point
    if version == "2.8":  # before it counts what recovery has found
        assert load(files, version, log_start=2).recovery_point == recovery_point


@pytest.mark.parametrize(("version", "entries"), [("2.4", [(1, 5)]), ("2.7", [(1, 5)]), ("2.8", [])])
def test_a_log_that_begins_anew_forgets_its_epochs_from_2_8(version: str, entries: list[tuple[int, int]]) -> None:
    files = written(version)
    log = load(files, version, log_start=5)
    assert (log.log_start, log.log_end, log.epochs.entries) == (5, 5, entries)
