"""The request decoder reads the same as the library.

A frame's size and entries bound its cost.
"""

import random
import struct
import sys
import uuid
from collections.abc import Callable, Iterator
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.worlds.network.kafka_listener import apis, codec
from emulator.worlds.network.kafka_listener.apis import BUILT, Range
from emulator.worlds.network.kafka_listener.message_schemas import REQUESTS, field_name, is_flexible, resolved
from emulator.worlds.network.kafka_listener.request_decoder import ENTRIES_MAX, Cursor, read_client_id, request_reader
from protocol.framing import ProtocolError
from protocol.gates import gates_for
from tests.emulator.worlds.kafka_listener.library_messages import REQUESTS as LIBRARY_REQUESTS
from verification.attack.kafka_frames import PLACE, KafkaFrames

VERSIONS = [(api, version) for api, range_ in BUILT.items() for version in range(range_.least, range_.most + 1)]
FRAMES = KafkaFrames(3)
MUCH = 128 * 1024
"""Bytes: enough for more entries than a request may have."""
ENDLESS = b"\xff" * (1 << 20)
CALLS_PER_ENTRY = 20
"""Function calls for one entry of a list: its fields, and their lengths.

Generous by a factor of two.
"""
CALLS_OF_A_FRAME = 200


def plain(value: Any, schema: dict[str, Any]) -> Any:
    """A decoded value as dictionaries and lists, from either decoder."""
    if isinstance(value, list):
        return [plain(one, {**schema, "type": schema["type"].removeprefix("[]")}) for one in value]
    fields = schema.get("fields")
    if schema["type"] == "uuid":
        return value or UUID(int=0)  # the library reads zeros as None
    if fields is None or value is None:
        return bytes(value) if isinstance(value, memoryview) else value
    names = [(one, field_name(one)) for one in fields]
    return {name: plain(getattr(value, name), one) for one, name in names}


def body_of(payload: bytes, api: int, version: int) -> Any:
    listener = codec.Listener({api: Range(version, version)}, 2, PLACE, gates_for("2.8"))
    return codec.read_request(payload, listener).body


def unlimited_body_of(payload: bytes, api: int, version: int) -> Any:
    schema, cursor = REQUESTS[api], Cursor(payload, 8)
    read_client_id(cursor, flexible=is_flexible(schema, version))
    return request_reader(schema, version, {})(cursor)


def by_library(payload: bytes, api: int, version: int) -> Any:
    return LIBRARY_REQUESTS[api].decode(payload, version=version, header=True)


@pytest.mark.parametrize("api", BUILT, ids=codec.api_name)
def test_requests_are_decoded_as_the_library_decodes_them(api: int) -> None:
    schema = REQUESTS[api]
    whole = {"type": schema["name"], "fields": schema["fields"]}
    for version in range(BUILT[api].least, BUILT[api].most + 1):
        for _ in range(40):
            payload = FRAMES.written(api, version)
            ours = plain(unlimited_body_of(payload, api, version), whole)
            assert ours == plain(by_library(payload, api, version), whole), (api, version)


def calls_of(decode: Callable[[], object]) -> int:
    """Function calls until `decode` ends, with a result or a ProtocolError."""
    calls = 0

    def count(_frame: object, event: str, _argument: object) -> None:
        nonlocal calls
        calls += event in ("call", "c_call")

    sys.setprofile(count)
    try:
        decode()
    except ProtocolError:
        pass
    finally:
        sys.setprofile(None)
    return calls


def work_of(payload: bytes, api: int, version: int) -> int:
    codec._reader(api, version)  # made once, not for each request
    return calls_of(lambda: body_of(payload, api, version))


def head(api: int, version: int) -> bytes:
    return struct.pack(">hhih", api, version, 1, 0)


BOUND = ENTRIES_MAX * CALLS_PER_ENTRY + CALLS_OF_A_FRAME


@pytest.mark.parametrize("api", BUILT, ids=codec.api_name)
def test_much_of_anything_costs_a_bounded_number_of_steps(api: int) -> None:
    for version in range(BUILT[api].least, BUILT[api].most + 1):
        beginning = FRAMES.written(api, version)
        cuts = [8, *range(10, len(beginning), max(1, len(beginning) // 4))]
        for filling in (b"\xff", b"\x80", b"\x00", b"\x01", b"\x7f"):
            for cut in cuts:
                assert work_of(beginning[:cut] + filling * MUCH, api, version) <= BOUND


@pytest.mark.parametrize(("api", "version"), [(apis.METADATA, 9), (apis.CREATE_TOPICS, 5)])
def test_an_endless_number_is_refused_at_its_fifth_byte(api: int, version: int) -> None:
    payload = head(api, version) + b"\x00" + ENDLESS
    assert work_of(payload, api, version) < CALLS_OF_A_FRAME
    with pytest.raises(ProtocolError, match="at byte 11 has more than 32 bits"):
        body_of(payload, api, version)


@pytest.mark.parametrize("count", [2**31 - 1, 10**6, ENTRIES_MAX + 1])
def test_a_count_is_compared_with_the_bytes_that_are_left(count: int) -> None:
    with pytest.raises(ProtocolError, match=f"{count} entries at byte 14; 30 bytes are left"):
        body_of(head(apis.METADATA, 1) + struct.pack(">i", count) + bytes(30), apis.METADATA, 1)


@pytest.mark.parametrize("version", [1, 9])
def test_one_entry_more_than_a_request_may_have_is_refused(version: int) -> None:
    def requested(count: int) -> bytes:
        if version == 1:
            return head(apis.METADATA, 1) + struct.pack(">i", count) + bytes(2 * count)
        return head(apis.METADATA, 9) + b"\x00" + varint(count + 1) + b"\x01\x00" * count + b"\x01\x00\x00\x00"

    assert len(body_of(requested(ENTRIES_MAX), apis.METADATA, version).topics) == ENTRIES_MAX
    with pytest.raises(ProtocolError, match=f"more than {ENTRIES_MAX} entries in the lists of one request"):
        body_of(requested(ENTRIES_MAX + 1), apis.METADATA, version)


def varint(value: int) -> bytes:
    data = bytearray()
    while value >= 0x80:
        data.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*data, value])


@given(st.integers(0, 2**32 - 1))
def test_numbers_of_32_bits_are_read_to_their_end(value: int) -> None:
    cursor = Cursor(varint(value) + b"\xff")
    assert (cursor.varint(), cursor.position) == (value, len(varint(value)))


@given(st.binary(max_size=200), st.sampled_from(VERSIONS))
@settings(max_examples=400)
def test_any_input_is_a_request_or_a_protocol_error(tail: bytes, which: tuple[int, int]) -> None:
    try:
        body_of(head(*which) + tail, *which)
    except ProtocolError as error:
        assert str(error).startswith(f"{codec.api_name(which[0])} version {which[1]}: ")


def tagged(*fields: tuple[int, bytes]) -> bytes:
    return varint(len(fields)) + b"".join(varint(tag) + varint(len(data)) + data for tag, data in fields)


FETCH_12 = struct.pack(">iiiibii", -1, 1, 1, 1, 0, 0, -1) + b"\x01\x01\x01"


def fetch_12(tags: bytes) -> Any:
    return body_of(head(apis.FETCH, 12) + b"\x00" + FETCH_12 + tags, apis.FETCH, 12)


def test_tagged_fields_are_read_where_they_are_known_and_passed_over_where_not() -> None:
    assert fetch_12(tagged()).cluster_id is None
    assert fetch_12(tagged((0, b"\x04abc"))).cluster_id == "abc"
    assert fetch_12(tagged((7, b"whatever"), (0, b"\x04abc"), (2**32 - 1, b""))).cluster_id == "abc"


@pytest.mark.parametrize(
    ("tags", "reason"),
    [
        (tagged((0, b"\x04abcd")), "tagged field cluster_id has 4 bytes, not 5"),
        (b"\x01\x07\x05abc", "a tagged field of 5 bytes at byte 42; 3 are left"),
        (varint(2**31) + b"\x00" * 10, "entries at byte"),
        (b"\x01" * 3, "a tagged field of 1 bytes"),
    ],
)
def test_tagged_fields_that_lie_are_refused(tags: bytes, reason: str) -> None:
    with pytest.raises(ProtocolError, match=reason):
        fetch_12(tags)


def test_tagged_fields_in_every_structure_count_as_entries() -> None:
    tags = varint(ENTRIES_MAX) + b"\x07\x00" * ENTRIES_MAX
    fetch_12(tags)
    payload = head(apis.METADATA, 9) + varint(ENTRIES_MAX // 2 + 1) + b"\x07\x00" * (ENTRIES_MAX // 2 + 1)
    with pytest.raises(ProtocolError, match=f"more than {ENTRIES_MAX} entries"):
        body_of(payload + varint(ENTRIES_MAX) + b"\x01\x00" * ENTRIES_MAX + bytes(4), apis.METADATA, 9)


SCHEMA = resolved({
    "name": "Anything",
    "flexibleVersions": "1+",
    "commonStructs": [{"name": "Pair", "versions": "0+", "fields": [
        {"name": "Left", "type": "int8", "versions": "0+"}, {"name": "RightSide", "type": "string", "versions": "0-1"},
    ]}],
    "fields": [
        {"name": "Id", "type": "uuid", "versions": "0+"},
        {"name": "Share", "type": "float64", "versions": "0+"},
        {"name": "Maybe", "type": "Pair", "versions": "0+", "nullableVersions": "1+"},
        {"name": "Pairs", "type": "[]Pair", "versions": "0+", "nullableVersions": "0+"},
        {"name": "Later", "type": "int32", "versions": "9+", "default": "0x7f"},
    ],
})  # fmt: skip


def test_types_that_no_request_here_has_yet_are_read() -> None:
    fixed = bytes(range(16)) + struct.pack(">d", 0.5)
    read = request_reader(SCHEMA, 0, {})(Cursor(fixed + b"\x05\x00\x01x" + struct.pack(">i", -1)))
    assert (read.id, read.share, read.pairs, read.later) == (uuid.UUID(bytes=bytes(range(16))), 0.5, None, 127)
    assert (read.maybe.left, read.maybe.right_side) == (5, "x")
    read = request_reader(SCHEMA, 1, {})(Cursor(fixed + b"\xff" + b"\x02\x01\x02y\x00" + b"\x00"))
    assert read.maybe is None and [(one.left, one.right_side) for one in read.pairs] == [(1, "y")]


def cut_frames() -> Iterator[tuple[bytes, int, int]]:
    draw = random.Random(2)
    for api, version in VERSIONS:
        payload = FRAMES.written(api, version)
        yield payload[: draw.randrange(8, len(payload))], api, version


def test_a_frame_that_ends_too_early_is_refused() -> None:
    refused = 0
    for payload, api, version in cut_frames():
        try:
            body_of(payload, api, version)
        except ProtocolError:
            refused += 1
    assert refused > 0.8 * len(VERSIONS)
