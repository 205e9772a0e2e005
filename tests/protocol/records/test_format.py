"""Each format is reached by its magic, also when a log holds several."""

import pytest

from protocol.ids import LeaderEpoch, Offset
from protocol.records import format as records
from protocol.records.errors import BadLength, TruncatedRecord, UnknownMagic


def log_of_three_formats() -> bytes:
    """The log of a broker that was upgraded twice: offsets 0 to 5."""
    return b"".join(
        (
            records.place(records.encode([b"a", b"b"], magic=0, timestamp_ms=1), Offset(0), LeaderEpoch(7)),
            records.place(
                records.encode([b"c", b"d"], magic=1, timestamp_ms=1, compression="gzip"), Offset(2), LeaderEpoch(7)
            ),
            records.place(
                records.encode([b"e", b"f"], magic=2, timestamp_ms=1, compression="zstd"), Offset(4), LeaderEpoch(7)
            ),
        )
    )


def test_a_log_may_hold_all_formats() -> None:
    log = log_of_three_formats()
    found = records.iter_headers(log)
    entries = list(found)
    assert [(header.magic, header.base_offset, header.last_offset) for _, header in entries] == [
        (0, 0, 0),
        (0, 1, 1),
        (1, 2, 3),
        (2, 4, 5),
    ]
    assert [header.leader_epoch for _, header in entries] == [-1, -1, -1, 7]
    assert all(records.check_crc(log, position) for position, _ in entries)
    read = [record for position, _ in entries for record in records.read_records(log, position)]
    assert [(record.offset, record.value) for record in read] == list(enumerate([b"a", b"b", b"c", b"d", b"e", b"f"]))
    assert (found.end, found.tail) == (len(log), None)


def test_recovery_learns_where_to_cut_at_every_length() -> None:
    log = log_of_three_formats()
    starts = [position for position, _ in records.iter_headers(log)]
    for end in range(len(log)):
        found = records.iter_headers(log[:end])
        whole = len(list(found))
        assert found.end == (starts[whole] if whole < len(starts) else len(log))
        if found.end == end:
            assert found.tail is None
        else:
            assert isinstance(found.tail, TruncatedRecord)
            assert found.tail.position == found.end


@pytest.mark.parametrize("reader", [records.read_header, records.read_records, records.check_crc])
def test_unknown_and_missing_magic(reader) -> None:  # type: ignore[no-untyped-def]
    batch = records.encode([b"a"], magic=2, timestamp_ms=1)
    with pytest.raises(UnknownMagic, match="at byte 69: magic 9, known are 0, 1 and 2"):
        reader(batch + batch[:16] + b"\x09" + batch[17:], len(batch))
    with pytest.raises(TruncatedRecord, match="at byte 69: 5 bytes left"):
        reader(batch + batch[:5], len(batch))


def test_a_tail_of_zeros_is_damage_not_a_tail() -> None:
    """A crash of the file system may leave zeros.

    No more bytes will mend them, recovery cuts before them.
    """
    batch = records.encode([b"a"], magic=2, timestamp_ms=1)
    found = records.iter_headers(batch + bytes(100))
    assert next(found)[0] == 0
    with pytest.raises(BadLength, match="at byte 69: message size 0"):
        next(found)
    assert found.end == len(batch)
