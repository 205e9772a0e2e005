"""Record batches, magic 2: Kafka's bytes, and every way in which they can be wrong."""

import struct

import pytest
from google_crc32c import value as crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.ids import LeaderEpoch, Offset
from protocol.records.batch import (
    HEADER_BYTES,
    check_crc,
    encode_batch,
    iter_headers,
    place_batch,
    read_header,
    read_records,
)
from protocol.records.compression import CODECS
from protocol.records.errors import (
    BadCompression,
    BadCrc,
    BadLength,
    CorruptRecord,
    CountMismatch,
    RecordsError,
    TooLarge,
    TruncatedRecord,
    UnknownMagic,
)
from protocol.records.types import BATCH_BYTES_MAX

TIME_MS = 1_700_000_000_000

# Offset 5, leader epoch 3, producer 9 at epoch 1, sequence 7; one record "a" at TIME_MS. Worked out by hand
# from KIP-98's layout; the checksum by the bitwise algorithm, not by the library.
VECTOR = bytes.fromhex(
    "0000000000000005" "00000039" "00000003" "02" "ce2d7a85" "0000" "00000000"
    "0000018bcfe56800" "0000018bcfe56800" "0000000000000009" "0001" "00000007" "00000001"
    "0e" "00" "00" "00" "01" "02" "61" "00"
)  # fmt: skip

fields = st.one_of(st.none(), st.binary(max_size=40))
headers = st.lists(st.tuples(st.text(max_size=8), fields), max_size=3).map(tuple)
records = st.lists(st.tuples(fields, fields, headers), min_size=1, max_size=12)


def slow_crc32c(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0x82F63B78 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def sealed(data: bytes) -> bytes:
    """`data` with a right checksum, so that what is wrong with it lies elsewhere."""
    crc: int = crc32c(data[21:])
    return data[:17] + crc.to_bytes(4, "big") + data[21:]


def test_a_batch_has_exactly_kafkas_bytes() -> None:
    encoded = encode_batch(
        [b"a"],
        timestamp_ms=TIME_MS,
        base_offset=Offset(5),
        leader_epoch=LeaderEpoch(3),
        producer_id=9,
        producer_epoch=1,
        base_sequence=7,
    )
    assert encoded.hex() == VECTOR.hex()
    assert int.from_bytes(VECTOR[17:21], "big") == slow_crc32c(VECTOR[21:])


def test_a_header_has_the_contents_of_its_bytes() -> None:
    header = read_header(VECTOR)
    assert (header.base_offset, header.last_offset, header.next_offset) == (5, 5, 6)
    assert (header.size_bytes, header.leader_epoch, header.magic) == (len(VECTOR), 3, 2)
    assert header.crc == slow_crc32c(VECTOR[21:])
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (TIME_MS, TIME_MS)
    assert (header.producer_id, header.producer_epoch) == (9, 1)
    assert (header.base_sequence, header.last_sequence, header.record_count) == (7, 7, 1)
    assert header.compression == "none"
    assert not (header.is_control or header.is_transactional or header.has_log_append_time)


@pytest.mark.parametrize("compression", CODECS)
@given(values=records, base_offset=st.integers(0, 2**62), epoch=st.integers(-1, 2**31 - 1))
@settings(max_examples=40, deadline=None)
def test_what_is_encoded_is_read_back(compression, values, base_offset, epoch) -> None:  # type: ignore[no-untyped-def]
    data = encode_batch(
        values, timestamp_ms=TIME_MS, base_offset=base_offset, leader_epoch=epoch, compression=compression
    )
    header = read_header(data)
    assert check_crc(data)
    assert (header.compression, header.record_count, header.leader_epoch) == (compression, len(values), epoch)
    assert header.last_offset == base_offset + len(values) - 1
    assert [
        (record.offset - base_offset, record.timestamp_ms, record.key, record.value, record.headers)
        for record in read_records(data)
    ] == [(index, TIME_MS, *value) for index, value in enumerate(values)]


def test_sequences_wrap_after_the_largest_int() -> None:
    data = encode_batch([b"a", b"b", b"c"], timestamp_ms=0, producer_id=1, producer_epoch=0, base_sequence=2**31 - 2)
    assert read_header(data).last_sequence == 0


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_leader_sets_offset_and_epoch_and_nothing_else(kind: type) -> None:
    data = encode_batch([b"a", b"b"], timestamp_ms=TIME_MS)
    placed = place_batch(kind(data), Offset(41), LeaderEpoch(6))
    assert type(placed) is bytes
    assert check_crc(kind(placed))
    header = read_header(kind(placed))
    assert (header.base_offset, header.last_offset, header.leader_epoch) == (41, 42, 6)
    assert placed[8:12] + placed[16:] == data[8:12] + data[16:]
    assert [record.offset for record in read_records(kind(placed))] == [41, 42]


def test_only_one_whole_batch_is_placed() -> None:
    data = encode_batch([b"a"], timestamp_ms=TIME_MS)
    with pytest.raises(BadLength, match=f"at byte {len(data)}: 3 bytes after the one batch"):
        place_batch(data + b"abc", Offset(0), LeaderEpoch(0))
    with pytest.raises(TruncatedRecord):
        place_batch(data[:-1], Offset(0), LeaderEpoch(0))
    with pytest.raises(UnknownMagic):
        place_batch(data[:16] + b"\1" + data[17:], Offset(0), LeaderEpoch(0))


@pytest.mark.parametrize(("last_delta", "count"), [(0, 2), (1, 1), (-1, 0), (0, -1)])
def test_a_leader_takes_no_batch_with_more_or_fewer_offsets_than_records(last_delta: int, count: int) -> None:
    """LogValidator.validateBatch: the log would have holes, or offsets twice."""
    data = patched(57, struct.pack(">i", count))
    data = sealed(data[:23] + struct.pack(">i", last_delta) + data[27:])
    with pytest.raises(CountMismatch, match=f"{count} records at {last_delta + 1} offsets"):
        place_batch(data, Offset(0), LeaderEpoch(0))


def test_every_truncation_is_seen_at_the_byte_where_its_batch_starts() -> None:
    first = encode_batch([b"a", b"b"], timestamp_ms=TIME_MS, compression="gzip")
    second = encode_batch([b"c"], timestamp_ms=TIME_MS, base_offset=Offset(2))
    for end in range(len(second)):
        data = first + second[:end]
        for reader in (read_header, check_crc, read_records):
            with pytest.raises(TruncatedRecord) as caught:
                reader(data, len(first))
            assert caught.value.position == len(first)
        found = iter_headers(data)
        assert [position for position, _ in found] == [0]
        assert found.end == len(first)
        assert (found.tail is None) == (end == 0)
    found = iter_headers(first + second)
    assert [header.base_offset for _, header in found] == [0, 2]
    assert (found.end, found.tail) == (len(first + second), None)


def test_headers_stop_before_damage_and_locate_it() -> None:
    first = encode_batch([b"a"], timestamp_ms=TIME_MS)
    found = iter_headers(first + b"\0" * 80)
    assert next(found)[0] == 0
    with pytest.raises(BadLength, match=f"at byte {len(first)}: batch length 0"):
        next(found)
    assert found.end == len(first)


@given(st.data())
@settings(max_examples=200, deadline=None)
def test_a_flipped_bit_never_passes(data) -> None:  # type: ignore[no-untyped-def]
    batch = encode_batch([(b"k", b"value", (("h", b"x"),))], timestamp_ms=TIME_MS)
    # The first 8 and bytes 12 to 15 are the leader's to set: the checksum leaves them out.
    at = data.draw(st.sampled_from([*range(8, 12), *range(16, len(batch))]))
    flipped = bytearray(batch)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RecordsError):
        read_records(flipped)


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    for prefix in (b"", VECTOR[:17], VECTOR[:57]):
        try:
            read_records(prefix + data)
        except RecordsError as error:
            assert str(error).startswith("at byte 0: ")


@given(st.binary(max_size=60), st.integers(0, 3))
@settings(max_examples=300)
def test_any_records_under_a_right_checksum_are_read_or_refused(payload: bytes, count: int) -> None:
    """The checksum protects against accidents only.

    A right one proves nothing about the records.
    """
    head = VECTOR[:8] + (HEADER_BYTES - 12 + len(payload)).to_bytes(4, "big") + VECTOR[12:57]
    data = sealed(head + count.to_bytes(4, "big") + payload)
    try:
        assert len(read_records(data)) == count
    except CorruptRecord as error:
        assert error.position == 0


def patched(at: int, value: bytes) -> bytes:
    return sealed(VECTOR[:at] + value + VECTOR[at + len(value) :])


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (patched(16, b"\3"), UnknownMagic, "at byte 0: magic 3, a batch has 2"),
        (patched(8, struct.pack(">i", 48)), BadLength, "batch length 48, the least is 49"),
        (patched(8, struct.pack(">i", -1)), BadLength, "batch length -1"),
        (patched(8, struct.pack(">i", BATCH_BYTES_MAX)), TooLarge, f"the most is {BATCH_BYTES_MAX}"),
        (patched(8, struct.pack(">i", BATCH_BYTES_MAX - 1)), TruncatedRecord, "69 left"),
        (patched(21, b"\0\5"), BadCompression, "codec 5, known are 0 to 4"),
        (patched(21, b"\0\1"), BadCompression, "gzip"),
        (patched(21, b"\0\2"), BadCompression, "snappy"),
        (patched(21, b"\0\3"), BadCompression, "lz4"),
        (patched(21, b"\0\4"), BadCompression, "zstd"),
        (patched(23, struct.pack(">i", -1)), BadLength, "last offset delta -1"),
        (patched(57, struct.pack(">i", -1)), CountMismatch, "record count -1"),
        (patched(57, struct.pack(">i", 2)), CountMismatch, "2 records promised, 1 there"),
        (patched(57, struct.pack(">i", 0)), CountMismatch, "8 bytes after the last of 0 records"),
        (patched(61, b"\x10"), BadLength, "record 0: length 8, 7 bytes left"),
        (patched(61, b"\x0c"), BadLength, "record 0: "),
        (patched(66, b"\x20"), BadLength, "a field of 16 bytes, 2 left"),
        (patched(68, b"\x08"), BadLength, "4 headers in 0 bytes"),
        (VECTOR[:-1] + b"\1", BadCrc, "0xce2d7a85"),
    ],
)
def test_each_damage_has_its_own_error(data: bytes, error: type[RecordsError], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        read_records(data)
    assert type(caught.value) is error
    assert isinstance(caught.value, ValueError)  # callers that do not care what is wrong catch this


def test_a_damaged_checksum_is_false_not_raised() -> None:
    assert check_crc(VECTOR)
    assert not check_crc(VECTOR[:-1] + b"\1")
    assert not check_crc(VECTOR[:17] + b"\0\0\0\0" + VECTOR[21:])
