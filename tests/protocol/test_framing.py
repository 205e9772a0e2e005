"""Frames: every message there and back, byte by byte; errors are named (docs/protocol.md)."""

import struct
from contextlib import suppress
from typing import Any

import msgpack  # type: ignore[import-untyped]
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from protocol.framing import MAX_FRAME_BYTES, FrameDecoder, ProtocolError, decode, decode_body, encode, encode_body
from protocol.messages import REGISTRY
from protocol.messages.leadership_messages import MetadataRequest
from protocol.messages.message_base import DIRECTIONS, Message
from protocol.messages.replication_messages import FetchRequest, ProducePartition, ProduceRequest

MESSAGES = sorted(REGISTRY.values(), key=lambda message: (message.API_KEY, message.DIRECTION))


def values_of(kind: msgspec.inspect.Type) -> st.SearchStrategy[Any]:
    """Any value that a field of this type may have."""
    match kind:
        case msgspec.inspect.Metadata(type=inner):
            return values_of(inner)
        case msgspec.inspect.BoolType():
            return st.booleans()
        case msgspec.inspect.IntType(ge=low, le=high):
            return st.integers(-(2**63) if low is None else low, 2**63 - 1 if high is None else high)
        case msgspec.inspect.FloatType(ge=low, le=high):
            return st.floats(low, high, allow_nan=False)
        case msgspec.inspect.StrType(min_length=shortest):
            return st.text(min_size=shortest or 0, max_size=20)
        case msgspec.inspect.BytesType():
            return st.binary(max_size=40)
        case msgspec.inspect.NoneType():
            return st.none()
        case msgspec.inspect.ListType(item_type=item):
            return st.lists(values_of(item), max_size=3)
        case msgspec.inspect.VarTupleType(item_type=item):
            return st.lists(values_of(item), max_size=3).map(tuple)
        case msgspec.inspect.TupleType(item_types=items):
            return st.tuples(*(values_of(item) for item in items))
        case msgspec.inspect.DictType(key_type=key, value_type=value):
            return st.dictionaries(values_of(key), values_of(value), max_size=3)
        case msgspec.inspect.UnionType(types=types):
            return st.one_of([values_of(one) for one in types])
        case msgspec.inspect.LiteralType(values=values):
            return st.sampled_from(list(values))
        case msgspec.inspect.EnumType(cls=cls):
            return st.sampled_from(list(cls))
        case msgspec.inspect.StructType(cls=cls, fields=fields):
            return st.builds(cls, **{field.name: values_of(field.type) for field in fields})
        case msgspec.inspect.AnyType():
            return st.none() | st.booleans() | st.integers(-5, 5) | st.text(max_size=5)
    raise AssertionError(f"no values for {kind}")


def any_message(message: type[Message]) -> st.SearchStrategy[Message]:
    return values_of(msgspec.inspect.type_info(message))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda m: m.__name__)
@settings(max_examples=15, suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much], deadline=None)
@given(data=st.data(), correlation_id=st.integers(0, 2**31 - 1), version=st.integers(0, 15))
def test_every_message_there_and_back(message: type[Message], data: Any, correlation_id: int, version: int) -> None:
    sent = data.draw(any_message(message))
    wire = encode(sent, correlation_id, version)
    (payload,) = FrameDecoder().feed(wire)
    frame = decode(payload)
    assert (frame.message, frame.correlation_id, frame.version) == (sent, correlation_id, version)
    assert type(frame.message) is message
    assert decode_body(message, encode_body(sent)) == frame.message, "what simulated frames carry"
    # An independent reader sees the same envelope, and no field that was left at its default.
    api_key, direction, seen_version, seen_correlation, body = msgpack.unpackb(payload, strict_map_key=False)
    assert (api_key, direction, seen_version, seen_correlation) == (
        message.API_KEY, message.DIRECTION, version, correlation_id,
    )  # fmt: skip
    assert set(body) <= set(message.__struct_fields__)
    for name, default in zip(reversed(message.__struct_fields__), reversed(message.__struct_defaults__), strict=False):
        if isinstance(default, int | str | bytes | bool):
            assert (name in body) is (getattr(sent, name) is not default)


@given(
    st.lists(st.binary(max_size=30), min_size=1, max_size=5),
    st.lists(st.integers(1, 40), min_size=1, max_size=60),
)
def test_a_stream_may_be_cut_anywhere(records: list[bytes], cuts: list[int]) -> None:
    sent = [ProduceRequest(1, 1500, [ProducePartition("t", n, data)]) for n, data in enumerate(records)]
    wire = b"".join(encode(message, number) for number, message in enumerate(sent))
    decoder, payloads, position = FrameDecoder(), [], 0
    for size in [*cuts, len(wire)]:
        payloads += decoder.feed(wire[position : position + size])
        position += size
    assert [decode(payload).message for payload in payloads] == sent
    assert decoder.pending_bytes == 0


def test_byte_by_byte() -> None:
    wire = encode(MetadataRequest(["t"]), 7, 9)
    decoder = FrameDecoder()
    payloads = [payload for index in range(len(wire)) for payload in decoder.feed(wire[index : index + 1])]
    assert [decode(payload).message for payload in payloads] == [MetadataRequest(["t"])]


def test_a_frame_is_its_length_and_an_array_of_five() -> None:
    wire = encode(MetadataRequest(["t"]), 7, 9)
    assert struct.unpack(">I", wire[:4])[0] == len(wire) - 4
    assert msgpack.unpackb(wire[4:]) == [3, 0, 9, 7, {"topics": ["t"]}]


def test_a_torn_stream_is_known_by_what_is_left() -> None:
    decoder = FrameDecoder()
    assert decoder.feed(encode(MetadataRequest())[:-1]) == []
    assert decoder.pending_bytes > 0


@pytest.mark.parametrize("length", [0, MAX_FRAME_BYTES + 1, 2**32 - 1])
def test_lengths_out_of_bounds(length: int) -> None:
    with pytest.raises(ProtocolError, match=rf"^a frame of {length} bytes; allowed are 1 to 33554432$"):
        FrameDecoder().feed(struct.pack(">I", length))


def test_a_bound_of_ones_own() -> None:
    wire = encode(MetadataRequest(["t"]))
    assert len(FrameDecoder(len(wire) - 4).feed(wire)) == 1
    with pytest.raises(ProtocolError, match=f"^a frame of {len(wire) - 4} bytes; allowed are 1 to {len(wire) - 5}$"):
        FrameDecoder(len(wire) - 5).feed(wire)


def test_what_is_too_large_is_not_sent() -> None:
    huge = ProduceRequest(1, 0, [ProducePartition("t", 0, bytes(MAX_FRAME_BYTES))])
    with pytest.raises(ProtocolError, match=r"^Produce of \d+ bytes exceeds the frame bound of 33554432$"):
        encode_body(huge)
    with pytest.raises(ProtocolError, match=r"^Produce of \d+ bytes exceeds the frame bound of 33554432$"):
        encode(huge)


def payload(*parts: object) -> bytes:
    packed: bytes = msgpack.packb(list(parts))
    return packed


FETCH = {"replica_id": 1, "max_wait_ms": 0, "min_bytes": 1, "max_bytes": 1, "partitions": []}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xc1", "not a frame of [api_key, direction, version, correlation_id, body]: "),
        (b"", "not a frame of [api_key, direction, version, correlation_id, body]: "),
        (b"hello", "not a frame of [api_key, direction, version, correlation_id, body]: "),
        (payload(1, 0, 0, 0), "not a frame of [api_key, direction, version, correlation_id, body]: "),
        (payload("x", 0, 0, 0, {}), "not a frame of [api_key, direction, version, correlation_id, body]: "),
        (payload(1, 0, 0, 0, FETCH) + b"\x00", "not a frame of [api_key, direction, version, correlation_id, body]: "),
        (payload(999, 0, 0, 0, {}), "no request with API key 999"),
        (payload(0, 2, 0, 0, {}), "no one-way with API key 0"),
        (payload(0, 7, 0, 0, {}), "no direction 7 with API key 0"),
        (payload(0, -1, 0, 0, {}), "no direction -1 with API key 0"),
        (payload(1, 0, 0, 0, {}), "Fetch request (API key 1): Object missing required field `replica_id`"),
        (
            payload(1, 0, 0, 0, {**FETCH, "replica_id": "one"}),
            "Fetch request (API key 1): Expected `int`, got `str` - at `$.replica_id`",
        ),
        (
            payload(1, 0, 0, 0, {**FETCH, "colour": 1}),
            "Fetch request (API key 1): Object contains unknown field `colour`",
        ),
        (payload(1, 0, 0, 0, []), "Fetch request (API key 1): Expected `object`, got `array`"),
    ],
)
def test_what_is_wrong_is_named(data: bytes, message: str) -> None:
    with pytest.raises(ProtocolError) as raised:
        decode(data)
    assert str(raised.value).startswith(message)


def test_a_good_one_beside_the_bad_ones() -> None:
    assert isinstance(decode(payload(1, 0, 0, 0, FETCH)).message, FetchRequest)


@given(st.binary(max_size=200))
def test_any_bytes_are_a_message_or_a_protocol_error(data: bytes) -> None:
    with suppress(ProtocolError):
        assert isinstance(decode(data).message, Message)


def test_the_registry_is_sound() -> None:
    for (api_key, direction), message in REGISTRY.items():
        assert (api_key, direction) == (message.API_KEY, message.DIRECTION)
        assert 0 <= direction < len(DIRECTIONS)
        low, high = message.VERSIONS
        assert 0 <= low <= high
    requests = {key for key, direction in REGISTRY if direction == 0}
    assert {key for key, direction in REGISTRY if direction == 1} <= requests, "every response answers a request"
    names = {(message.API_NAME, message.DIRECTION) for message in REGISTRY.values()}
    assert len(names) == len(REGISTRY)
    by_name = {message.API_NAME: message.API_KEY for message in REGISTRY.values()}
    kafkas = {"Produce": 0, "Fetch": 1, "ListOffsets": 2, "Metadata": 3, "LeaderAndIsr": 4, "StopReplica": 5,
              "UpdateMetadata": 6, "ControlledShutdown": 7, "InitProducerId": 22, "OffsetForLeaderEpoch": 23,
              "AlterIsr": 56}  # fmt: skip
    assert {name: by_name[name] for name in kafkas} == kafkas
