"""Message sets, formats 0 and 1: Kafka's bytes, wrappers, and all possible faults of them."""

import struct
import sys
import zlib
from types import FrameType

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from protocol.ids import Offset
from protocol.records.compression import compress
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
from protocol.records.message import Magic
from protocol.records.message_set import (
    check_crc,
    encode_message_set,
    iter_headers,
    place_message_set,
    place_plain,
    place_wrapper,
    read_header,
    read_records,
    values_of,
)
from protocol.records.types import BATCH_BYTES_MAX, RecordFields

TIME_MS = 1_700_000_000_000
OLD_CODECS = ("none", "gzip", "snappy", "lz4")

# Offset 5, key "k", value "a", laid out by hand; CRC-32 of the bytes from the magic on.
VECTOR_0 = bytes.fromhex("0000000000000005000000109c3f52cd0000000000016b0000000161")
VECTOR_1 = bytes.fromhex("000000000000000500000018baf509f401000000018bcfe56800000000016b0000000161")

fields = st.one_of(st.none(), st.binary(max_size=40))
keyed = st.lists(st.tuples(fields, fields, st.just(())), min_size=1, max_size=10)


def bitwise_crc32(data: bytes) -> int:
    value = 0xFFFFFFFF
    for byte in data:
        value ^= byte
        for _ in range(8):
            value = value >> 1 ^ (0xEDB88320 if value & 1 else 0)
    return value ^ 0xFFFFFFFF


def resealed(message: bytes) -> bytes:
    return message[:12] + zlib.crc32(message[16:]).to_bytes(4, "big") + message[16:]


def with_attributes(message: bytes, attributes: int) -> bytes:
    return resealed(message[:17] + bytes((attributes,)) + message[18:])


def wrapper(inner: bytes, magic: int, *, offset: int = 0, codec: int = 1) -> bytes:
    """A gzip wrapper around `inner`, built apart from the code under test."""
    packed = compress("gzip", inner)
    timestamp = struct.pack(">q", TIME_MS) if magic else b""
    body = bytes((magic, codec)) + timestamp + struct.pack(">ii", -1, len(packed)) + packed
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


@pytest.mark.parametrize(("magic", "vector"), [(0, VECTOR_0), (1, VECTOR_1)])
def test_a_message_has_exactly_kafkas_bytes(magic, vector) -> None:  # type: ignore[no-untyped-def]
    encoded = encode_message_set([(b"k", b"a", ())], timestamp_ms=TIME_MS, magic=magic, base_offset=Offset(5))
    assert encoded.hex() == vector.hex()
    assert int.from_bytes(vector[12:16], "big") == bitwise_crc32(vector[16:])
    header = read_header(vector)
    assert (header.magic, header.base_offset, header.last_offset, header.record_count) == (magic, 5, 5, 1)
    assert (header.leader_epoch, header.producer_id, header.base_sequence) == (-1, -1, -1)
    assert header.crc == bitwise_crc32(vector[16:])
    assert header.max_timestamp_ms == (TIME_MS if magic else -1)
    assert check_crc(vector)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", OLD_CODECS)
@given(values=keyed, base_offset=st.integers(0, 2**61))
@settings(max_examples=30, deadline=None)
def test_what_is_encoded_and_placed_is_read_back(magic, compression, values, base_offset) -> None:  # type: ignore[no-untyped-def]
    sent = encode_message_set(values, timestamp_ms=TIME_MS, magic=magic, compression=compression)
    data = place_message_set(sent, base_offset)
    time_ms = TIME_MS if magic else -1
    expected = [(base_offset + index, time_ms, key, value) for index, (key, value, _) in enumerate(values)]
    found = []
    for position, header in iter_headers(data):
        assert check_crc(data, position)
        records = read_records(data, position)
        assert (header.base_offset, header.last_offset) == (records[0].offset, records[-1].offset)
        assert (header.record_count, header.compression) == (len(records), compression)
        found += [(record.offset, record.timestamp_ms, record.key, record.value) for record in records]
    assert found == expected


@pytest.mark.parametrize("magic", [0, 1])
def test_uncompressed_messages_are_entries_of_their_own_placed_where_they_lie(magic) -> None:  # type: ignore[no-untyped-def]
    sent = encode_message_set([b"a", b"bc"], timestamp_ms=TIME_MS, magic=magic)
    placed = place_message_set(memoryview(sent), Offset(7))
    assert [header.base_offset for _, header in iter_headers(placed)] == [7, 8]
    size = len(sent) // 2
    assert placed[8:size] == sent[8:size]
    assert len(placed) == len(sent)


def test_format_1_moves_the_wrapper_and_leaves_its_content() -> None:
    """KIP-31: relative inner offsets save the leader from compressing again."""
    sent = encode_message_set([b"x1", b"x2", b"x3"], timestamp_ms=TIME_MS, compression="gzip")
    placed = place_message_set(sent, Offset(1))
    assert placed == struct.pack(">q", 3) + sent[8:]
    assert [record.offset for record in read_records(placed)] == [1, 2, 3]


def test_format_1_gives_the_wrapper_the_largest_inner_timestamp() -> None:
    """LogValidator of 0.10.2: a client may leave the wrapper's timestamp at 0."""
    inner = encode_message_set([b"a"], timestamp_ms=TIME_MS) + encode_message_set(
        [b"b"], timestamp_ms=TIME_MS + 9, base_offset=Offset(1)
    )
    placed = place_message_set(wrapper(inner, 1), Offset(10))
    assert check_crc(placed)
    header = read_header(placed)
    assert (header.base_timestamp_ms, header.max_timestamp_ms) == (TIME_MS, TIME_MS + 9)
    assert [record.timestamp_ms for record in read_records(placed)] == [TIME_MS, TIME_MS + 9]


def test_format_1_is_rebuilt_when_inner_offsets_do_not_count_from_0() -> None:
    inner = encode_message_set([b"a", b"b"], timestamp_ms=TIME_MS, base_offset=Offset(4))
    placed = place_message_set(wrapper(inner, 1), Offset(10))
    assert [(record.offset, record.value) for record in read_records(placed)] == [(10, b"a"), (11, b"b")]
    assert place_message_set(placed, Offset(20)) == struct.pack(">q", 21) + placed[8:]


def test_format_0_is_compressed_again_with_absolute_inner_offsets() -> None:
    sent = encode_message_set([b"a", b"b"], timestamp_ms=TIME_MS, magic=0, compression="gzip")
    placed = place_message_set(sent, Offset(40))
    assert struct.unpack_from(">q", placed)[0] == 41
    # What is inside counts, whatever the wrapper claims.
    renamed = struct.pack(">q", 99) + placed[8:]
    assert [record.offset for record in read_records(renamed)] == [40, 41]
    assert read_header(renamed).last_offset == 41


def test_several_wrappers_become_one() -> None:
    first = encode_message_set([b"a"], timestamp_ms=TIME_MS, compression="gzip")
    second = encode_message_set([b"b", b"c"], timestamp_ms=TIME_MS, compression="snappy")
    placed = place_message_set(first + second, Offset(5))
    assert [(position, header.compression) for position, header in iter_headers(placed)] == [(0, "snappy")]
    assert [(record.offset, record.value) for record in read_records(placed)] == [
        (5, b"a"),
        (6, b"b"),
        (7, b"c"),
    ]


def test_log_append_time_of_the_wrapper_is_that_of_its_messages() -> None:
    sent = encode_message_set([b"a", b"b"], timestamp_ms=TIME_MS, compression="gzip")
    stamped = resealed(sent[:17] + b"\x09" + struct.pack(">q", TIME_MS + 77) + sent[26:])
    assert read_header(stamped).has_log_append_time
    assert {record.timestamp_ms for record in read_records(stamped)} == {TIME_MS + 77}


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", ["none", "gzip"])
def test_every_truncation_is_seen_at_the_byte_where_its_entry_starts(magic, compression) -> None:  # type: ignore[no-untyped-def]
    first = encode_message_set([b"a"], timestamp_ms=TIME_MS, magic=magic)
    second = encode_message_set([b"b", b"c"][: 1 if compression == "none" else 2], timestamp_ms=TIME_MS,
                                magic=magic, base_offset=Offset(1), compression=compression)  # fmt: skip
    for end in range(len(second)):
        data = first + second[:end]
        for reader in (read_header, check_crc, read_records):
            with pytest.raises(TruncatedRecord) as caught:
                reader(data, len(first))
            assert caught.value.position == len(first)
        found = iter_headers(data)
        assert [position for position, _ in found] == [0]
        assert (found.end, found.tail is None) == (len(first), end == 0)


@given(st.data(), st.sampled_from([0, 1]), st.sampled_from(["none", "gzip", "lz4"]))
@settings(max_examples=200, deadline=None)
def test_a_flipped_bit_never_passes(data, magic, compression) -> None:  # type: ignore[no-untyped-def]
    message = encode_message_set([(b"k", b"v", ())], timestamp_ms=TIME_MS, magic=magic, compression=compression)
    at = data.draw(st.integers(8, len(message) - 1))
    flipped = bytearray(message)
    flipped[at] ^= 1 << data.draw(st.integers(0, 7))
    with pytest.raises(RecordsError):
        read_records(flipped)


@given(st.binary(max_size=120), st.sampled_from([0, 1]), st.integers(0, 3))
@settings(max_examples=300)
def test_any_bytes_under_a_right_checksum_are_read_or_refused(payload: bytes, magic: int, codec: int) -> None:
    body = bytes((magic, codec)) + payload
    data = struct.pack(">qiI", 0, len(body) + 4, zlib.crc32(body)) + body
    for read in (read_records, lambda data: place_message_set(data, Offset(3))):
        try:
            read(data)
        except CorruptRecord as error:
            assert error.position == 0


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (VECTOR_1[:16] + b"\3" + VECTOR_1[17:], UnknownMagic, "at byte 0: magic 3, a message has 0 or 1"),
        (VECTOR_1[:8] + struct.pack(">i", 21) + VECTOR_1[12:], BadLength, "size 21, the least is 22"),
        (VECTOR_0[:8] + struct.pack(">i", 13) + VECTOR_0[12:], BadLength, "size 13, the least is 14"),
        (VECTOR_0[:8] + struct.pack(">i", -5) + VECTOR_0[12:], BadLength, "size -5"),
        (b"\0" * 40, BadLength, "size 0"),
        (VECTOR_0[:8] + struct.pack(">i", BATCH_BYTES_MAX + 1) + VECTOR_0[12:], TooLarge, "the most is"),
        (VECTOR_0[:-1] + b"b", BadCrc, "0x9c3f52cd"),
        (resealed(VECTOR_0[:18] + struct.pack(">i", 9) + VECTOR_0[22:]), BadLength, "a key of 9 bytes"),
        (resealed(VECTOR_0[:23] + struct.pack(">i", 2) + VECTOR_0[27:]), BadLength, "value of 2 bytes"),
        (resealed(VECTOR_0[:23] + struct.pack(">i", 0) + VECTOR_0[27:]), BadLength, "1 bytes after"),
        (resealed(VECTOR_0[:23] + struct.pack(">i", -7) + VECTOR_0[27:]), BadLength, "a value of -7 bytes"),
        (with_attributes(VECTOR_1, 4), BadCompression, "codec 4, messages know 0 to 3"),
        (with_attributes(VECTOR_1, 1), BadCompression, "gzip"),
        (with_attributes(VECTOR_1, 2), BadCompression, "snappy"),
        (with_attributes(VECTOR_1, 3), BadCompression, "lz4"),
        (with_attributes(VECTOR_0, 3), BadCompression, "lz4: no frame header"),
        (wrapper(b"", 1), CountMismatch, "without messages"),
        (wrapper(VECTOR_1[:-1], 1), BadLength, "inner message 0: a message of"),
        (wrapper(VECTOR_1 + VECTOR_1[:-1] + b"b", 1), BadCrc, "inner message 1: its checksum"),
        (wrapper(VECTOR_0, 1), UnknownMagic, "inner message 0 has magic 0, its wrapper 1"),
        (wrapper(wrapper(VECTOR_0, 0), 0), BadCompression, "inner message 0 is compressed again"),
        (encode_message_set([(b"k", None, ())], timestamp_ms=0, magic=0), None, ""),
        (with_attributes(encode_message_set([(b"k", None, ())], timestamp_ms=0), 1),
         BadCompression, "without value"),
    ],
)  # fmt: skip
def test_each_damage_has_its_own_error(data: bytes, error: type[RecordsError] | None, message: str) -> None:
    if error is None:
        assert read_records(data)[0].value is None
        return
    with pytest.raises(error, match=message) as caught:
        read_records(data)
    assert type(caught.value) is error


def test_only_one_format_in_a_set_and_none_without_messages() -> None:
    with pytest.raises(UnknownMagic, match=f"at byte {len(VECTOR_0)}: magic 1 in a message set of magic 0"):
        place_message_set(VECTOR_0 + VECTOR_1, Offset(0))
    with pytest.raises(BadLength, match="without messages"):
        place_message_set(b"", Offset(0))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("value", [b"", b"v" * 300])
def test_messages_without_codec_are_placed_as_a_set_of_them(magic: Magic, value: bytes) -> None:
    several = encode_message_set([value, (b"k", None, ()), (b"", value, ())], timestamp_ms=7, magic=magic)
    data = b"before" + several + wrapper(several, magic)
    placed, headers = place_plain(data, 6, Offset(41))
    assert placed == place_message_set(several, Offset(41))
    assert headers == [header for _, header in iter_headers(placed)]
    largest = max(header.size_bytes for header in headers)
    smaller = [one.size_bytes for one in headers].index(largest)
    assert place_plain(several, 0, Offset(41), largest - 1)[1] == headers[:smaller]


@pytest.mark.parametrize("magic", [0, 1])
@given(place=st.integers(0, 10_000), bit=st.integers(0, 7))
def test_placing_ends_before_a_message_that_is_not_sound(magic: Magic, place: int, bit: int) -> None:
    sent = encode_message_set([b"a", (b"k", b"b", ()), b"c"], timestamp_ms=7, magic=magic)
    data = bytearray(sent)
    at = place % len(data)
    data[at] ^= 1 << bit
    _, headers = place_plain(bytes(data), 0, Offset(41))
    ends = [position + header.size_bytes for position, header in iter_headers(sent)]
    in_offset = any(begin <= at < begin + 8 for begin in (0, *ends[:-1]))
    assert len(headers) == (3 if in_offset else sum(end <= at for end in ends))


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("first", [0, 3])
def test_one_wrapper_is_placed_as_a_set_of_one(magic: Magic, first: int) -> None:
    """`first`: the offset of its first message; format 1 packs it anew unless it is 0."""
    values: list[RecordFields] = [(None, b"a", ()), (b"k", None, ()), (None, b"", ()), (b"k" * 300, b"v" * 300, ())]
    inner = encode_message_set(values, timestamp_ms=7, magic=magic, base_offset=Offset(first))
    sent = wrapper(inner, magic)
    data = b"before" + sent + b"after"
    placed, header = place_wrapper(data, 6, read_header(data, 6), Offset(41))
    assert placed == place_message_set(sent, Offset(41))
    assert header == read_header(placed)


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", OLD_CODECS)
@given(values=keyed)
@settings(max_examples=20, deadline=None)
def test_values_alone_are_those_of_the_records(magic, compression, values) -> None:  # type: ignore[no-untyped-def]
    data = encode_message_set(values, timestamp_ms=TIME_MS, magic=magic, compression=compression)
    for position, _ in iter_headers(data):
        assert values_of(data, position) == [record.value or b"" for record in read_records(data, position)]


@pytest.mark.parametrize("magic", [0, 1])
def test_a_wrapper_is_read_and_placed_without_a_call_for_each_message(magic: Magic) -> None:
    """A frame of 28 kB holds ten thousand. Format 0 is always packed anew."""

    def calls(count: int) -> int:
        sent = encode_message_set([b"v"] * count, timestamp_ms=1, magic=magic, compression="gzip")
        made = 0

        def note(_frame: FrameType, event: str, _argument: object) -> None:
            nonlocal made
            made += event == "call"

        sys.setprofile(note)
        try:
            header = read_header(sent)
            if magic:
                place_wrapper(sent, 0, header, Offset(5))
        finally:
            sys.setprofile(None)
        return made

    assert calls(2_000) == calls(2)
