"""Frames: a four-byte big-endian length, then one msgpack array.

    [api_key, direction, version, correlation_id, {field: value, ...}]

Any msgpack reader reads a captured stream. `FrameDecoder` takes bytes as they come and returns whole payloads; `decode`
turns a payload into a typed message, or raises an error with the reason. A frame has a bound: a length above
`MAX_FRAME_BYTES` is refused before a byte of it is kept. As a connection's first frame `decode_hello` decodes only a
Hello: a peer without the token is not served.
"""

import struct
from typing import Any, TypeVar

import msgspec

from protocol.frame import Frame
from protocol.messages import REGISTRY
from protocol.messages.control import Hello
from protocol.messages.message_base import DIRECTIONS, Message
from protocol.undecodable import UNDECODABLE, why

MAX_FRAME_BYTES = 32 * 1024 * 1024
"""Maximum frame. Kafka's socket.request.max.bytes is 100 MiB; fetches here have 10 MiB."""

_LENGTH = struct.Struct(">I")
_NO_FRAME = "not a frame of [api_key, direction, version, correlation_id, body]"
_encoder = msgspec.msgpack.Encoder()
_envelope = msgspec.msgpack.Decoder(tuple[int, int, int, int, msgspec.Raw])
_bodies: dict[tuple[int, int], msgspec.msgpack.Decoder[Any]] = {
    place: msgspec.msgpack.Decoder(message) for place, message in REGISTRY.items()
}
_of_kind: dict[type[Message], msgspec.msgpack.Decoder[Any]] = {
    message: _bodies[place] for place, message in REGISTRY.items()
}
_BODY_BYTES_MAX = MAX_FRAME_BYTES - 64
"""Bodies above this size are checked together with the frame's overhead."""
M = TypeVar("M", bound=Message)


class ProtocolError(Exception):
    """The peer violated the protocol. The connection is closed; earlier frames are kept."""


def encode(message: Message, correlation_id: int = 0, version: int = 0) -> bytes:
    """A whole frame, length included. Raises ProtocolError if it would exceed the bound."""
    payload = _encoder.encode((message.API_KEY, message.DIRECTION, version, correlation_id, message))
    if len(payload) > MAX_FRAME_BYTES:
        raise ProtocolError(f"{message.API_NAME} of {len(payload)} bytes exceeds the frame bound of {MAX_FRAME_BYTES}")
    return _LENGTH.pack(len(payload)) + payload


def decode(payload: bytes | bytearray | memoryview) -> Frame:
    """A payload (without its length) as a typed message. Raises ProtocolError with the place."""
    try:
        api_key, direction, version, correlation_id, body = _envelope.decode(payload)
    except UNDECODABLE as error:
        raise ProtocolError(f"{_NO_FRAME}: {why(error)}") from error
    decoder = _bodies.get((api_key, direction))
    if decoder is None:
        kind = DIRECTIONS[direction] if 0 <= direction < len(DIRECTIONS) else f"direction {direction}"
        raise ProtocolError(f"no {kind} with API key {api_key}")
    return Frame(correlation_id, version, _message(decoder, api_key, direction, body))


def encode_body(message: Message) -> bytes:
    """A message's body in a frame. Raises ProtocolError if its frame would exceed the bound."""
    body = _encoder.encode(message)
    if len(body) > _BODY_BYTES_MAX:
        encode(message)
    return body


def decode_body(kind: type[M], body: bytes) -> M:
    """A message of that kind from a body of `encode_body`."""
    return _of_kind[kind].decode(body)  # type: ignore[no-any-return]


def decode_hello(payload: bytes) -> Hello:
    """A connection's first payload, as a Hello. Raises ProtocolError.

    Bodies of other messages are not decoded.
    """
    try:
        api_key, direction, _, _, body = _envelope.decode(payload)
    except UNDECODABLE as error:
        raise ProtocolError(f"{_NO_FRAME}: {why(error)}") from error
    if (api_key, direction) != (Hello.API_KEY, Hello.DIRECTION):
        known = REGISTRY.get((api_key, direction))
        raise ProtocolError(f"the first frame is {known.API_NAME if known else f'API key {api_key}'}, not Hello")
    hello: Hello = _message(_bodies[api_key, direction], api_key, direction, body)
    return hello


def _message(decoder: msgspec.msgpack.Decoder[Any], api_key: int, direction: int, body: msgspec.Raw) -> Any:
    try:
        return decoder.decode(body)
    except UNDECODABLE as error:
        name = REGISTRY[api_key, direction].API_NAME
        raise ProtocolError(f"{name} {DIRECTIONS[direction]} (API key {api_key}): {why(error)}") from error


class FrameDecoder:
    """Cuts a byte stream into payloads.

    Keeps at most one incomplete frame, bounded by `max_frame_bytes`.
    """

    __slots__ = ("_buffer", "_max_frame_bytes")

    def __init__(self, max_frame_bytes: int = MAX_FRAME_BYTES) -> None:
        self._buffer = bytearray()
        self._max_frame_bytes = max_frame_bytes

    def feed(self, data: bytes | bytearray | memoryview) -> list[bytes]:
        """Payloads completed by `data`, in order.

        Raises ProtocolError at an oversized or empty frame; whole frames before it are given first, and the error comes
        at the next call.
        """
        buffer = self._buffer
        if not buffer and len(data) >= 4 and 0 < len(data) - 4 == _LENGTH.unpack_from(data)[0] <= self._max_frame_bytes:
            return [bytes(data[4:])]  # most often it is one whole frame
        buffer += data
        payloads: list[bytes] = []
        position = 0
        available = len(buffer)
        while available - position >= 4:
            (length,) = _LENGTH.unpack_from(buffer, position)
            if not 0 < length <= self._max_frame_bytes:
                if payloads:
                    break
                raise ProtocolError(f"a frame of {length} bytes; allowed are 1 to {self._max_frame_bytes}")
            if available - position - 4 < length:
                break
            with memoryview(buffer) as view:
                payloads.append(bytes(view[position + 4 : position + 4 + length]))
            position += 4 + length
        if position:
            del buffer[:position]
        return payloads

    @property
    def pending_bytes(self) -> int:
        """Bytes of an incomplete frame; not zero at the stream's end means a torn frame."""
        return len(self._buffer)
