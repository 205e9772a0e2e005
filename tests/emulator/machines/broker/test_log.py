"""One replica's log: appending, reading, rolling, cutting (semantics 1.1, 3, 11.9)."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.machines.broker.batches import CorruptBatch, LargerThanAllowed, LargerThanSegment, OffsetsOutOfOrder
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.replica_log import Log
from emulator.storage.files import DiskFull
from emulator.storage.memory_files import MemoryFiles
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset
from protocol.records.format import encode, iter_headers, read_records
from verification.broker_bench import batch, created_log


def new_log(version: str = "2.6", files: MemoryFiles | None = None, segment_bytes: int = 1 << 30) -> Log:
    return created_log(files or MemoryFiles(), gates_for(version), LogSettings(segment_bytes))


def values(log: Log, start: int = 0) -> list[tuple[int, str]]:
    """All records from `start`, as a follower would read them."""
    found: list[tuple[int, str]] = []
    while start < log.log_end:
        data = log.read(Offset(start), log.log_end, 1 << 20)
        for position, _ in iter_headers(data):
            found += [(r.offset, (r.value or b"").decode()) for r in read_records(data, position)]
        start = found[-1][0] + 1
    return found


def test_a_leader_places_batches_at_its_log_end() -> None:
    """Semantics 1.1: the log end is the next offset."""
    log = new_log()
    first = log.append_as_leader(batch("a"), LeaderEpoch(0))
    second = log.append_as_leader(batch("b", "c"), LeaderEpoch(2))
    assert (first.base_offset, first.last_offset, first.leader_epoch) == (0, 0, 0)
    assert (second.base_offset, second.last_offset, second.leader_epoch) == (1, 2, 2)
    assert (log.log_start, log.log_end, log.high_watermark, log.recovery_point) == (0, 3, 0, 0)
    assert values(log) == [(0, "a"), (1, "b"), (2, "c")]
    assert log.epochs.entries == [(0, 0), (2, 1)]


def test_a_follower_takes_offsets_and_epochs_from_its_leader() -> None:
    """Semantics 3: followers assign epochs from batch headers."""
    log = new_log()
    log.append_as_follower(batch("a", "b", base_offset=0, epoch=4) + batch("c", base_offset=2, epoch=6))
    assert values(log) == [(0, "a"), (1, "b"), (2, "c")]
    assert log.epochs.entries == [(4, 0), (6, 2)]
    assert log.append_as_follower(b"") == []


def test_a_followers_batch_must_not_begin_before_its_log_end() -> None:
    """Semantics 2: on append the offset must continue the log.
    Nothing of such an answer is kept.
    """
    log = new_log()
    log.append_as_follower(batch("a", "b", base_offset=0, epoch=0))
    with pytest.raises(OffsetsOutOfOrder, match="batch at 1 after log end 2"):
        log.append_as_follower(batch("x", base_offset=1, epoch=0))
    with pytest.raises(OffsetsOutOfOrder, match="batch at 2 after log end 3"):
        log.append_as_follower(batch("c", base_offset=2, epoch=0) + batch("y", base_offset=2, epoch=0))
    assert values(log) == [(0, "a"), (1, "b")]


def test_a_follower_takes_no_more_at_once_than_a_segment_holds() -> None:
    """Log.append looks at segment.bytes for followers, too.
    It was smaller than the leader's segment is.
    """
    log = new_log()
    data = batch("a", base_offset=0, epoch=0) + batch("b", base_offset=1, epoch=0)
    log.settings = LogSettings(len(data) - 1)
    with pytest.raises(LargerThanSegment):
        log.append_as_follower(data)
    assert log.log_end == 0
    log.settings = LogSettings(len(data))
    log.append_as_follower(data)
    assert log.log_end == 2


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.1", "2.5", "2.6", "2.8"])
def test_a_follower_refuses_a_large_batch_up_to_2_5(version: str) -> None:
    """Log.analyzeAndValidateRecords (KAFKA-9617).
    Its max.message.bytes was smaller than the leader's is. Size is looked at before the checksum.
    """
    log = new_log(version)
    magic = log._gates.record_magic
    data = batch("a", magic=magic, base_offset=0, epoch=0)
    log.settings = LogSettings(max_message_bytes=len(data) - 1)
    if version in ("2.6", "2.8"):
        assert len(log.append_as_follower(data)) == 1
        return
    for sent in (data, data[:-1] + b"?"):
        with pytest.raises(LargerThanAllowed):
            log.append_as_follower(sent)
    log.settings = LogSettings(max_message_bytes=len(data))
    assert len(log.append_as_follower(data)) == 1


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2"])
def test_a_message_set_goes_into_one_segment(version: str) -> None:
    """Log.append: a segment is rolled for all messages that came together.
    They are synced together.
    """
    log = new_log(version)
    one = batch("a", magic=log._gates.record_magic)
    log.settings = LogSettings(3 * len(one), flush_messages=3)
    log.append_as_leader(one, LeaderEpoch(0))
    log.append_as_leader(one * 3, LeaderEpoch(0))
    assert [segment.base_offset for segment in log.segments] == [0, 1]
    assert (log.log_end, log.recovery_point) == (4, 4)
    log.append_as_leader(one * 2, LeaderEpoch(0))
    assert (log.log_end, log.recovery_point) == (6, 4)


def test_what_a_follower_takes_at_once_is_synced_at_once() -> None:
    """flush.messages is looked at after an append, not after each batch of it."""
    log = new_log()
    log.settings = LogSettings(flush_messages=2)
    log.append_as_follower(b"".join(batch("a", base_offset=offset, epoch=0) for offset in range(3)))
    assert log.recovery_point == 3


def test_nothing_below_the_recovery_point_is_synced_again() -> None:
    """Log.flush.
    So no orderly stop syncs what a start after an unclean stop has found (1.0 to 2.7).
    """
    files = MemoryFiles()
    log = new_log(files=files)
    log.append_as_leader(batch("a"), LeaderEpoch(0))
    log.recovery_point = log.log_end
    synced: list[str] = []
    files.operation_hook = lambda operation, path: synced.append(operation)
    log.flush()
    assert synced == []
    log.append_as_leader(batch("a"), LeaderEpoch(0))
    log.flush()
    assert synced == ["append", "fsync"]


@pytest.mark.parametrize("version", ["0.10.2", "2.6"])
def test_damaged_batches_are_refused_whole(version: str) -> None:
    """Kafka's error 2."""
    log = new_log(version)
    magic = log._gates.record_magic
    good = batch("a", magic=magic)
    damaged = good[:-1] + bytes([good[-1] ^ 1])
    for data in (damaged, good[:-1], b"", good[:10]):
        with pytest.raises(CorruptBatch):
            log.append_as_leader(data, LeaderEpoch(0))
    with pytest.raises(CorruptBatch):
        log.append_as_follower(batch("a", magic=magic) + damaged)
    assert (log.log_end, values(log)) == (0, [])


def test_reads_give_whole_batches_below_the_stop() -> None:
    """Semantics 1.9: followers read to the log end, consumers to the high watermark."""
    log = new_log()
    for text in ("a", "b", "c"):
        log.append_as_leader(batch(text), LeaderEpoch(0))
    one = log.segments[0].headers[0].size_bytes
    assert len(log.read(Offset(0), Offset(3), 1 << 20)) == 3 * one
    assert len(log.read(Offset(0), Offset(2), 1 << 20)) == 2 * one
    assert len(log.read(Offset(1), Offset(3), one)) == one
    assert len(log.read(Offset(0), Offset(3), 1)) == one, "the first batch comes whole even if it is larger"
    assert log.read(Offset(0), Offset(3), 1, at_least_one=False) == b""
    assert log.read(Offset(3), Offset(3), 1 << 20) == b""
    assert (
        log.bytes_between(Offset(0), Offset(3)),
        log.bytes_between(Offset(1), Offset(2)),
        log.bytes_between(Offset(3), Offset(3)),
    ) == (3 * one, one, 0)


def test_a_full_segment_is_flushed_and_a_new_one_begun() -> None:
    """Semantics 3: a real flush happens on segment roll."""
    files = MemoryFiles()
    size = len(batch("a"))
    log = new_log(files=files, segment_bytes=2 * size)
    for text in "abcde":
        log.append_as_leader(batch(text), LeaderEpoch(0))
    assert [segment.base_offset for segment in log.segments] == [0, 2, 4]
    assert log.recovery_point == 4
    assert [files.synced_bytes(segment.path) for segment in log.segments] == [2 * size, 2 * size, 0]
    assert [value for _, value in values(log)] == list("abcde")
    assert [value for _, value in values(log, 3)] == ["d", "e"]


def test_cutting_removes_segments_epochs_and_clamps_the_rest() -> None:
    """Semantics 1.1, 2.1: a real cut drops epochs that start there.
    It lowers recovery point and high watermark.
    """
    files = MemoryFiles()
    log = new_log(files=files, segment_bytes=2 * len(batch("a")))
    for epoch, text in enumerate("abcde"):
        log.append_as_leader(batch(text), LeaderEpoch(epoch))
    log.high_watermark = Offset(5)
    assert log.truncate_to(Offset(3)) is True
    assert (log.log_end, log.high_watermark, log.recovery_point) == (3, 3, 3)
    assert log.epochs.entries == [(0, 0), (1, 1), (2, 2)]
    assert [segment.base_offset for segment in log.segments] == [0, 2]
    assert files.list("t-0") == ["00000000000000000000.log", "00000000000000000002.log", "leader-epoch-checkpoint"]
    assert [value for _, value in values(log)] == ["a", "b", "c"]


def test_cutting_inside_a_batch_removes_the_whole_batch() -> None:
    """Kafka cuts files, and files hold batches.
    The follower refetches from the target it was given.
    """
    log = new_log()
    log.append_as_leader(batch("a", "b", "c"), LeaderEpoch(0))
    assert log.truncate_to(Offset(1)) is True
    assert (log.log_end, log.segments[0].headers, log.read(Offset(0), Offset(1), 1 << 20)) == (1, [], b"")


@pytest.mark.parametrize(("version", "left"), [("2.5", [(0, 0), (3, 1)]), ("2.6", [(0, 0)])])
def test_epochs_beyond_the_end_of_a_log_that_is_not_cut(version: str, left: list[tuple[int, int]]) -> None:
    """Semantics 2.1: from 2.6 entries at or beyond the log end are dropped.
    Even when nothing is cut.
    """
    log = new_log(version)
    log.append_as_leader(batch("a"), LeaderEpoch(0))
    log.epochs.assign(LeaderEpoch(3), Offset(1))
    assert log.truncate_to(Offset(1)) is False
    assert log.epochs.entries == left


def test_throwing_everything_away_begins_at_the_offset() -> None:
    """Semantics 2.3: the leader's log starts beyond our end."""
    log = new_log()
    log.append_as_leader(batch("a"), LeaderEpoch(0))
    log.truncate_fully(Offset(40))
    assert (log.log_start, log.log_end, log.high_watermark, log.recovery_point) == (40, 40, 40, 0)
    assert (log.epochs.entries, values(log, 40)) == ([], [])
    log.append_as_follower(batch("b", base_offset=40, epoch=3))
    assert values(log, 40) == [(40, "b")]


def test_a_full_disk_changes_nothing() -> None:
    """The batch is not in the log and its offset is free."""
    log = new_log(files=MemoryFiles(capacity_bytes=200))
    log.append_as_leader(batch("a"), LeaderEpoch(0))
    with pytest.raises(DiskFull):
        for _ in range(10):
            log.append_as_leader(batch("b" * 40), LeaderEpoch(0))
    end = log.log_end
    assert len(values(log)) == end


def test_an_old_wrapper_is_read_whole_by_its_last_offset() -> None:
    """Semantics 11.9: the first whole entry whose last offset is >= the one asked for."""
    log = new_log("0.10.2")

    log.append_as_leader(encode([b"m"], magic=1, timestamp_ms=0), LeaderEpoch(0))
    header = log.append_as_leader(
        encode([b"x", b"y", b"z"], magic=1, timestamp_ms=0, compression="gzip"), LeaderEpoch(0)
    )
    assert (header.base_offset, header.last_offset) == (1, 3)
    assert values(log, 3) == [(1, "x"), (2, "y"), (3, "z")]


def test_offsets_may_go_backwards_inside_old_wrappers() -> None:
    """KIP-101 case 2, compressed.
    The append check uses the wrapper's last offset (semantics 11.9).
    """

    def wrapper(count: int, base: int) -> bytes:
        return encode([b"v"] * count, magic=1, timestamp_ms=0, base_offset=Offset(base), compression="gzip")

    log = new_log("0.10.2")
    log.append_as_follower(wrapper(3, 1))
    assert log.log_end == 4
    log.append_as_follower(wrapper(5, 1))
    assert log.log_end == 6
    with pytest.raises(OffsetsOutOfOrder):
        log.append_as_follower(wrapper(5, 1))


@given(st.lists(st.one_of(st.integers(1, 5), st.integers(-40, -1)), max_size=25), st.integers(80, 400))
def test_a_log_is_the_list_of_its_records(steps: list[int], segment_bytes: int) -> None:
    """Appends of n one-record batches and cuts to |n|, whatever the segments' size.
    Reading gives what was kept.
    """
    log, kept, written = new_log(segment_bytes=segment_bytes), [], 0
    for number in steps:
        if number > 0:
            for _ in range(number):
                log.append_as_leader(batch(f"v{written}"), LeaderEpoch(0))
                kept.append(f"v{written}")
                written += 1
        else:
            log.truncate_to(Offset(-number))
            kept = kept[:-number]
    assert values(log) == list(enumerate(kept))
    assert log.log_end == len(kept)
