"""Codec of Kafka's frames, by Kafka's message schemas.

    [length i32] [API key i16, version i16, correlation id i32, client id, (tagged fields)] [body]

`request_decoder` decodes requests, `message_encoder` encodes responses. It is imported where a listener is open, and
there before nodes are forked.
"""

import struct
from functools import cache
from typing import Any, Final, NamedTuple

import msgspec

from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.apis import API_VERSIONS, LIMITS, Range, apis_of
from emulator.worlds.network.kafka_listener.message_encoder import Fields, Writer, message_writer
from emulator.worlds.network.kafka_listener.message_schemas import REQUESTS, RESPONSES, is_flexible
from emulator.worlds.network.kafka_listener.request_decoder import Cursor, Reader, read_client_id, request_reader
from protocol.framing import ProtocolError
from protocol.gates import Gates

_HEAD: Final = struct.Struct(">hhi")
_RESPONSE_HEAD: Final = struct.Struct(">ii")
CLIENT_ID_CHARACTERS_MAX: Final = 255
_INT64_BOUND: Final = 1 << 62


class Listener(NamedTuple):
    """Protocol of one listener."""

    apis: dict[int, Range]
    magic: int
    """Format of the records in the broker's logs."""
    place: Place
    gates: Gates


def listener_of(gates: Gates, place: Place) -> Listener:
    return Listener(apis_of(gates), gates.record_magic, place, gates)


class KafkaRequest(msgspec.Struct, frozen=True):
    """A request as a Kafka client sent it. `body` has the fields of Kafka's schema.

    `body` None: an ApiVersions request in a version that the listener does not support.
    """

    listener: Listener
    api: int
    version: int
    correlation_id: int
    client_id: str
    body: Any
    has_long_text: bool = False

    @property
    def name(self) -> str:
        return api_name(self.api)


def api_name(key: int) -> str:
    """Name of an API (`Produce`), or `API <key>` for an unknown key."""
    return str(REQUESTS[key]["name"]).removesuffix("Request") if key in REQUESTS else f"API {key}"


def read_request(payload: bytes, listener: Listener) -> KafkaRequest:
    """Decode a whole frame, without its length.

    Raises ProtocolError where Kafka, too, closes the connection.
    """
    try:
        api, version, correlation_id = _HEAD.unpack_from(payload)
    except struct.error:
        raise ProtocolError(f"a request of {len(payload)} bytes has no header") from None
    range_ = listener.apis.get(api)
    if range_ is None:
        raise ProtocolError(f"{api_name(api)} is not spoken by this listener")
    if not range_.least <= version <= range_.most:
        if api == API_VERSIONS:
            return KafkaRequest(listener, api, version, correlation_id, "", None)
        raise ProtocolError(f"{api_name(api)} version {version}; {range_.least} to {range_.most} are spoken here")
    cursor = Cursor(payload, _HEAD.size)
    try:
        flexible, reader = _reader(api, version)
        client_id = read_client_id(cursor, flexible=flexible)
        # Kafka ignores bytes behind the body; librdkafka leaves one there (Metadata 9).
        body = reader(cursor)
    except ProtocolError as error:
        raise ProtocolError(f"{api_name(api)} version {version}: {error}") from error
    client_id = client_id[:CLIENT_ID_CHARACTERS_MAX]
    return KafkaRequest(listener, api, version, correlation_id, client_id, body, cursor.has_long_text)


@cache
def _reader(api: int, version: int) -> tuple[bool, Reader]:
    """(Whether the version is flexible, the reader of its body), for a supported version."""
    schema = REQUESTS[api]
    return is_flexible(schema, version), request_reader(schema, version, LIMITS.get(api, {}))


def within_62_bits(value: int) -> int:
    """An offset or a timestamp, clamped to the range of our messages.

    No log reaches the bound, so a value beyond it stays out of range.
    """
    return min(max(value, -_INT64_BOUND), _INT64_BOUND)


def write_response(request: KafkaRequest, fields: Fields) -> bytes:
    """Encode a whole frame, length included.

    The response to an unsupported version of ApiVersions has version 0 (KIP-511).
    """
    tags, writer = _writer(request.api, 0 if request.body is None else request.version)
    chunks = [b"", tags] if tags else [b""]
    writer(chunks, fields)
    size_bytes = _RESPONSE_HEAD.size - 4 + sum(map(len, chunks))
    chunks[0] = _RESPONSE_HEAD.pack(size_bytes, request.correlation_id)
    return b"".join(chunks)


@cache
def _writer(api: int, version: int) -> tuple[bytes, Writer]:
    """(Tagged fields of the response's header, the writer of its body).

    The header of ApiVersions has never any: a client reads it before both ends know a common version.
    """
    schema = RESPONSES[api]
    tags = b"\x00" if is_flexible(schema, version) and api != API_VERSIONS else b""
    return tags, message_writer(schema, version)
