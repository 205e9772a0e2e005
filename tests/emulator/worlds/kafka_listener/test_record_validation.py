"""Records of clients are refused as Kafka's LogValidator refuses them, at a bounded cost."""

import random
import struct
import zlib
from collections.abc import Callable

import pytest
from google_crc32c import value as crc32c
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.worlds.network.kafka_listener.record_validation import (
    MESSAGES_MAX,
    RECORDS_MAX,
    RECORDS_PER_MIB,
    REWRITTEN_BYTES_MAX,
    REWRITTEN_COSTS,
    UNPACKED_BYTES_PER_MIB,
    WRAPPER_COSTS,
    WRAPPERS_ARE_UNPACKED,
    Allowance,
    validate,
)
from protocol.errors import ErrorCode
from protocol.framing import ProtocolError
from protocol.ids import Offset
from protocol.records import format as records_format
from protocol.records.batch import HEADER_BYTES, encode_batch, read_records
from protocol.records.compression import CODECS, Compression, compress
from protocol.records.errors import RecordsError
from protocol.records.message_set import encode_message_set
from protocol.records.types import RecordFields

E = ErrorCode
VALUES: list[bytes | RecordFields] = [
    b"a",
    (b"key", b"b" * 70, ()),
    (None, None, (("name", b"1"), ("null", None))),
    (b"k" * 300, b"", ()),
]
CODEC_IDS = {codec: number for number, codec in enumerate(CODECS)}


def verdict(records: bytes, version: int = 9, newest: int = 9) -> tuple[ErrorCode, bool]:
    return validate(records, version, newest, Allowance(len(records)))


def sealed(data: bytes) -> bytes:
    """A batch with the length and the checksum that its bytes have."""
    batch = bytearray(data)
    batch[8:12] = struct.pack(">i", len(batch) - 12)
    batch[17:21] = struct.pack(">I", crc32c(bytes(batch[21:])))
    return bytes(batch)


def of(records: bytes, count: int, codec: Compression = "none", packed: bytes | None = None) -> bytes:
    """A batch around these bytes of records."""
    head = bytearray(encode_batch([b"x"], timestamp_ms=1)[:HEADER_BYTES])
    head[22] = CODEC_IDS[codec]
    head[23:27] = struct.pack(">i", count - 1)
    head[57:61] = struct.pack(">i", count)
    return sealed(bytes(head) + (compress(codec, records) if packed is None else packed))


def changed(at: int, layout: str, value: int) -> bytes:
    batch = bytearray(encode_batch(VALUES, timestamp_ms=1))
    struct.pack_into(layout, batch, at, value)
    return sealed(bytes(batch))


RECORDS = encode_batch(VALUES, timestamp_ms=1)[HEADER_BYTES:]
SMALL = b"\x0e\x00\x00\x00\x01\x00\x00\x00"
"""An empty value without a key."""


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("count", [1, 3, 200])
def test_what_clients_write_is_sound(codec: Compression, count: int) -> None:
    batch = encode_batch(VALUES * count, timestamp_ms=1, compression=codec)
    assert verdict(batch) == (E.NONE, False)


@pytest.mark.parametrize(
    ("batch", "error"),
    [
        (changed(0, ">q", 7), E.INVALID_RECORD),
        (changed(23, ">i", 4), E.INVALID_RECORD),
        (changed(23, ">i", 2), E.INVALID_RECORD),
        (changed(23, ">i", -1), E.INVALID_RECORD),
        (changed(57, ">i", 0), E.INVALID_RECORD),
        (changed(57, ">i", -1), E.INVALID_RECORD),
        (changed(57, ">i", 2**31 - 1), E.INVALID_RECORD),
        (changed(21, ">h", 0x20), E.INVALID_RECORD),
        (changed(43, ">q", 5), E.INVALID_RECORD),
        (changed(21, ">h", 0x08), E.INVALID_TIMESTAMP),
        (changed(21, ">h", 5), E.UNKNOWN_SERVER_ERROR),
        (changed(21, ">h", 1), E.UNKNOWN_SERVER_ERROR),
        (of(RECORDS, 5), E.INVALID_RECORD),
        (of(RECORDS, 3), E.INVALID_RECORD),
        (of(RECORDS + b"\x00", 4), E.INVALID_RECORD),
        (of(RECORDS[:-1], 4), E.INVALID_RECORD),
        (of(b"", 1), E.INVALID_RECORD),
        (of(b"\x01" + SMALL, 1), E.INVALID_RECORD),
        (of(b"\x0e\x00\x00\x00\x01\x03\x00", 1), E.INVALID_RECORD),
        (of(b"\x0e\x00\x00\x00\x03\x00\x00", 1), E.INVALID_RECORD),
        (of(b"\x0c\x00\x00\x00\x01\x00\x01", 1), E.INVALID_RECORD),
        (of(b"\x0c\x00\x00\x00\x01\x00\x7e", 1), E.INVALID_RECORD),
        (of(b"\xff" * 40, 1), E.INVALID_RECORD),
        (of(b"\x0e\x00" + b"\xff" * 12, 1), E.INVALID_RECORD),
    ],
    ids=[
        "base offset", "more offsets than records", "fewer", "negative range", "no records", "negative count",
        "a count of 2^31-1", "control records", "a producer id without a sequence", "the broker's time", "codec 5",
        "said to be gzip", "count too large", "count too small", "a byte too many", "a byte too few", "no bytes",
        "negative length of a record", "negative length of a value", "of a key", "negative number of headers",
        "63 headers", "an endless length", "an endless timestamp",
    ],
)  # fmt: skip
def test_what_log_validator_refuses(batch: bytes, error: ErrorCode) -> None:
    assert verdict(batch) == (error, False)


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
@pytest.mark.parametrize("garbage", [b"", b"garbage", bytes(100), b"\x1f\x8b\x08" + bytes(40)], ids=len)
def test_garbage_where_compressed_records_should_be(codec: Compression, garbage: bytes) -> None:
    assert verdict(of(b"", 1, codec, packed=garbage))[0] in (E.UNKNOWN_SERVER_ERROR, E.INVALID_RECORD)


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_compressed_records_are_counted_too(codec: Compression) -> None:
    assert verdict(of(RECORDS, 4, codec)) == (E.NONE, False)
    assert verdict(of(RECORDS, 5, codec)) == verdict(of(RECORDS, 3, codec)) == (E.INVALID_RECORD, False)


def damaged(data: bytes, seed: int) -> bytes:
    draw, out = random.Random(seed), bytearray(data)
    for _ in range(draw.choice((0, 1, 1, 2, 4))):
        out[draw.randrange(len(out))] = draw.choice((0, 1, 2, 3, 0x7E, 0x7F, 0x80, 0xFF, draw.randrange(256)))
    if draw.random() < 0.2:
        out = out[: draw.randrange(len(out) + 1)]
    return bytes(out)


@given(st.integers(0, 2**40), st.sampled_from(CODECS), st.sampled_from((3, 4, 4, 4, 5)))
@settings(max_examples=2_000)
def test_a_batch_is_sound_exactly_if_it_can_be_read(seed: int, codec: Compression, count: int) -> None:
    """The reader of consumers, oracle and audit shares nothing with the validation."""
    batch = of(damaged(RECORDS, seed), count, codec)
    try:
        readable = len(read_records(batch)) == count
    except RecordsError:
        readable = False
    assert (verdict(batch)[0] == E.NONE) == readable


ONE = encode_batch([b"a"], timestamp_ms=1)
ZSTD = encode_batch([b"a"], timestamp_ms=1, compression="zstd")


@pytest.mark.parametrize(
    ("records", "version", "error"),
    [
        (ONE + ONE, 3, E.INVALID_RECORD),
        (ONE * 100_000, 9, E.INVALID_RECORD),
        (b"", 8, E.INVALID_RECORD),
        (ONE[:-1], 8, E.INVALID_RECORD),
        (encode_message_set([b"a"], timestamp_ms=1), 3, E.INVALID_RECORD),
        (ZSTD, 6, E.UNSUPPORTED_COMPRESSION_TYPE),
        (bytes(8) + struct.pack(">i", -5) + bytes(60), 9, E.CORRUPT_MESSAGE),
        (ONE[:16] + b"\x03" + ONE[17:], 9, E.CORRUPT_MESSAGE),
    ],
    ids=["two batches", "a hundred thousand", "none", "no whole one", "magic 1", "zstd", "negative size", "magic 3"],
)
def test_what_a_requests_version_refuses(records: bytes, version: int, error: ErrorCode) -> None:
    assert verdict(records, version) == (error, True)
    with pytest.raises(ProtocolError, match="exactly one batch of magic 2"):  # up to 2.0: the connection ends
        verdict(records, min(version, 6), newest=6)


def test_zstd_is_known_from_2_1_on() -> None:
    assert verdict(ZSTD, 7, newest=7) == (E.NONE, False)
    with pytest.raises(ProtocolError):
        verdict(ZSTD, 6, newest=6)


def bomb(codec: Compression, size_bytes: int) -> bytes:
    return of(b"", 1, codec, packed=compress(codec, bytes(size_bytes)))


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_what_unpacks_to_too_much_is_refused(codec: Compression) -> None:
    assert verdict(bomb(codec, UNPACKED_BYTES_PER_MIB))[0] == E.INVALID_RECORD  # of zeros there is no record
    assert verdict(bomb(codec, UNPACKED_BYTES_PER_MIB + 1)) == (E.MESSAGE_TOO_LARGE, False)


def test_partitions_of_one_request_share_what_they_may_unpack_to() -> None:
    allowance = Allowance(1_000)
    half = encode_batch([bytes(UNPACKED_BYTES_PER_MIB // 2)], timestamp_ms=1, compression="lz4")
    assert [validate(half, 9, 9, allowance).fault for _ in range(2)] == [E.NONE, E.MESSAGE_TOO_LARGE]


def test_the_number_of_records_is_bounded_before_they_are_read() -> None:
    assert verdict(of(SMALL * RECORDS_PER_MIB, RECORDS_PER_MIB)) == (E.INVALID_RECORD, False)
    assert verdict(of(b"", RECORDS_PER_MIB + 1)) == (E.MESSAGE_TOO_LARGE, False)
    assert Allowance(1 << 30).records == RECORDS_MAX


def test_message_sets_of_old_formats_have_a_bound() -> None:
    one = records_format.encode([b"v"], magic=1, timestamp_ms=1)
    assert verdict(one * MESSAGES_MAX, 2) == (E.NONE, False)
    assert verdict(one * (MESSAGES_MAX + 1), 2) == (E.MESSAGE_TOO_LARGE, True)


def wrapper(codec: Compression, unpacked: bytes) -> bytes:
    """A compressed message of magic 1."""
    packed = compress(codec, unpacked)
    body = struct.pack(">bbqii", 1, CODEC_IDS[codec], 1, -1, len(packed)) + packed
    return struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4"])
def test_what_is_in_a_wrapper_counts(codec: Compression) -> None:
    inner = records_format.encode([b"v"] * MESSAGES_MAX, magic=1, timestamp_ms=1)
    one = len(inner) // MESSAGES_MAX
    assert verdict(wrapper(codec, inner[: -one * WRAPPER_COSTS]), 2) == (E.NONE, False)
    assert verdict(wrapper(codec, inner), 2) == (E.MESSAGE_TOO_LARGE, True)
    too_much = bytes(UNPACKED_BYTES_PER_MIB // WRAPPERS_ARE_UNPACKED + 1)
    assert verdict(wrapper(codec, too_much), 2) == (E.MESSAGE_TOO_LARGE, True)
    assert verdict(wrapper(codec, b"\xff" * 100), 2) == (E.CORRUPT_MESSAGE, True)


def test_many_wrappers_count_more_than_messages() -> None:
    one = records_format.encode([b"v"], magic=1, timestamp_ms=1, compression="snappy")
    most = MESSAGES_MAX // (WRAPPER_COSTS + 1)
    assert verdict(one * most, 2) == (E.NONE, False)
    assert verdict(one * (most + 1), 2) == (E.MESSAGE_TOO_LARGE, True)


def test_wrappers_that_are_packed_anew_count_more() -> None:
    """Their offsets do not count from 0, and the leader packs them again."""

    def of_offsets(count: int, value: bytes = b"v", first: int = 1) -> bytes:
        inner = records_format.encode([value] * count, magic=1, timestamp_ms=1, base_offset=Offset(first))
        return wrapper("gzip", inner)

    most = (MESSAGES_MAX - WRAPPER_COSTS + 1) // REWRITTEN_COSTS + 1
    assert verdict(of_offsets(most - 1), 2) == (E.NONE, False)
    assert verdict(of_offsets(most), 2) == (E.MESSAGE_TOO_LARGE, True)
    half = bytes(REWRITTEN_BYTES_MAX // 2)
    assert verdict(of_offsets(1, half), 2) == (E.NONE, False)
    assert verdict(of_offsets(2, half), 2) == (E.MESSAGE_TOO_LARGE, True)
    assert verdict(of_offsets(2, half, first=0), 2) == (E.NONE, False)
    assert verdict(of_offsets(1, half) * 2, 2) == (E.MESSAGE_TOO_LARGE, True)


@given(st.binary(max_size=300), st.integers(2, 9))
def test_whatever_is_produced_has_a_verdict(records: bytes, version: int) -> None:
    assert isinstance(verdict(records, version)[0], ErrorCode)
    prefixed = ONE[:17] + records
    assert isinstance(verdict(prefixed, version)[0], ErrorCode)


@pytest.mark.parametrize("make", [lambda: ONE, lambda: of(b"\x80" * 200, 1), lambda: of(SMALL[:3], 1)])
def test_a_verdict_does_not_depend_on_what_follows_the_batch(make: Callable[[], bytes]) -> None:
    assert verdict(make() + b"\xff" * 5)[0] == verdict(make())[0]
