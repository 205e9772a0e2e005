"""kafka-python reads what we write, and we read what it writes, in every format and codec."""

import warnings
from typing import Any

import pytest

from protocol.ids import LeaderEpoch, Offset
from protocol.records import format as records
from protocol.records.batch import encode_batch, place_batch
from protocol.records.compression import CODEC_IDS, CODECS, Compression
from protocol.records.message_set import encode_message_set

with warnings.catch_warnings():
    # kafka-python reads its schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.record.default_records import DefaultRecordBatchBuilder
    from kafka.record.legacy_records import LegacyRecordBatchBuilder
    from kafka.record.memory_records import MemoryRecords

TIME_MS = 1_700_000_000_000
VALUES: list[tuple[bytes | None, bytes | None]] = [
    (None, b"m1"),
    (b"key", b"m2" * 30_000),
    (b"", b""),
    (b"tombstone", None),
]
HEADERS = (("trace", b"\x00\xff"), ("empty", None), ("", b""))


def read_by_kafka_python(data: bytes) -> list[tuple[Any, ...]]:
    found: list[tuple[Any, ...]] = []
    batches = MemoryRecords(data)
    while batches.has_next():
        batch = batches.next_batch()
        assert batch.validate_crc()
        for record in batch:
            headers = tuple(record.headers) if record.headers else ()
            found.append((record.offset, record.timestamp, record.key, record.value, headers))
    assert batches.valid_bytes() == len(data)
    return found


def read_by_us(data: bytes) -> list[tuple[Any, ...]]:
    return [
        (record.offset, record.timestamp_ms, record.key, record.value, record.headers)
        for position, _ in records.iter_headers(data)
        for record in records.read_records(data, position)
    ]


@pytest.mark.parametrize("codec", CODECS)
def test_it_reads_our_batches(codec: Compression) -> None:
    values = [(key, value, HEADERS) for key, value in VALUES]
    sent = encode_batch(
        values, timestamp_ms=TIME_MS, compression=codec, producer_id=7, producer_epoch=2, base_sequence=11
    )
    placed = place_batch(sent, Offset(100), LeaderEpoch(3))
    expected = [(100 + index, TIME_MS, *value) for index, value in enumerate(values)]
    assert read_by_kafka_python(placed) == expected
    theirs = MemoryRecords(placed).next_batch()
    ours = records.read_header(placed)
    for name, value in (
        ("base_offset", ours.base_offset),
        ("last_offset", ours.last_offset),
        ("next_offset", ours.next_offset),
        ("leader_epoch", ours.leader_epoch),
        ("crc", ours.crc),
        ("producer_id", ours.producer_id),
        ("producer_epoch", ours.producer_epoch),
        ("base_sequence", ours.base_sequence),
        ("last_sequence", ours.last_sequence),
        ("records_count", ours.record_count),
        ("first_timestamp", ours.base_timestamp_ms),
        ("max_timestamp", ours.max_timestamp_ms),
        ("size_in_bytes", ours.size_bytes),
        ("attributes", ours.attributes),
    ):
        assert getattr(theirs, name) == value, name


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("transactional", [False, True])
def test_we_read_its_batches(codec: Compression, transactional: bool) -> None:
    builder = DefaultRecordBatchBuilder(2, CODEC_IDS[codec], transactional, 7, 2, 11, 1_000_000)
    for index, (key, value) in enumerate(VALUES):
        builder.append(index, TIME_MS + 10 - index, key, value, list(HEADERS))
    data = bytes(builder.build())
    header = records.read_header(data)
    assert records.check_crc(data)
    assert (header.compression, header.is_transactional, header.is_control) == (codec, transactional, False)
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (TIME_MS + 10, TIME_MS + 10)
    placed = records.place(data, Offset(50), LeaderEpoch(4))
    assert read_by_us(placed) == [
        (50 + index, TIME_MS + 10 - index, key, value, HEADERS) for index, (key, value) in enumerate(VALUES)
    ]
    assert read_by_kafka_python(placed) == read_by_us(placed)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_it_reads_our_message_sets(magic: Any, codec: Compression) -> None:
    sent = encode_message_set(
        [(key, value, ()) for key, value in VALUES], timestamp_ms=TIME_MS, magic=magic, compression=codec
    )
    assert read_by_kafka_python(records.place(sent, Offset(100), LeaderEpoch(3))) == [
        (100 + index, TIME_MS if magic else None, key, value, ()) for index, (key, value) in enumerate(VALUES)
    ]


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4"])
def test_we_read_its_message_sets(magic: Any, codec: Compression) -> None:
    """Its wrappers claim offset 0 and timestamp 0: the leader sets both."""
    builder = LegacyRecordBatchBuilder(magic, CODEC_IDS[codec], 1_000_000)
    for index, (key, value) in enumerate(VALUES):
        builder.append(index, TIME_MS + index, key, value)
    placed = records.place(bytes(builder.build()), Offset(50), LeaderEpoch(4))
    assert read_by_us(placed) == [
        (50 + index, TIME_MS + index if magic else -1, key, value, ()) for index, (key, value) in enumerate(VALUES)
    ]
    assert [offset for offset, *_ in read_by_kafka_python(placed)] == [50, 51, 52, 53]
