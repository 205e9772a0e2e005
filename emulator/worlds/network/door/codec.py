"""Codec of Kafka's frames, by the message schemas in kafka-python's `kafka.protocol`.

    [length i32] [API key i16, version i16, correlation id i32, client id, (tagged fields)] [body]

Importing this module costs 90 ms and 22 MB (the library imports its clients), so it is imported where a listener
is open, and there before nodes are forked. `request_decoder` decodes requests, because a client's bytes may be hostile
and the library does not check lengths. The library encodes the responses.
"""

import struct
from functools import cache
from typing import Any, Final

import msgspec
from kafka.protocol import admin, consumer, metadata, producer, sasl

from emulator.worlds.network.door.apis import API_VERSIONS, Range
from emulator.worlds.network.door.request_decoder import (
    Cursor,
    Reader,
    is_flexible,
    read_client_id,
    request_reader,
)
from protocol.framing import ProtocolError

_HEAD = struct.Struct(">hhi")
CLIENT_ID_CHARACTERS_MAX: Final = 255
ERROR_MESSAGE_CHARACTERS_MAX: Final = 1_000
"""Messages quote clients' texts, and a string of the protocol has at most 32,767 bytes."""
_INT64_BOUND: Final = 1 << 62
_MODULES: Final = (producer, consumer, metadata, admin, sasl)
_REQUESTS: Final[dict[int, Any]] = {}
_RESPONSES: Final[dict[int, Any]] = {}
for _module in _MODULES:
    for _name in _module.__all__:
        _class = getattr(_module, _name)
        if _name.endswith("Request") and hasattr(_class, "API_KEY"):
            _REQUESTS[_class.API_KEY] = _class
        elif _name.endswith("Response") and hasattr(_class, "API_KEY"):
            _RESPONSES[_class.API_KEY] = _class


class Asked(msgspec.Struct, frozen=True):
    """A request as a Kafka client sent it. `body` has the fields of Kafka's schema.

    `body` None: an ApiVersions request in a version that the listener does not support.
    """

    api: int
    version: int
    correlation_id: int
    client_id: str
    body: Any

    @property
    def name(self) -> str:
        return api_name(self.api)


def api_name(key: int) -> str:
    """Name of an API (`Produce`), or `API <key>` for an unknown key."""
    return _REQUESTS[key].__name__.removesuffix("Request") if key in _REQUESTS else f"API {key}"


def read_request(payload: bytes, spoken: dict[int, Range]) -> Asked:
    """Decode a whole frame, without its length.

    Raises ProtocolError where Kafka, too, closes the connection.
    """
    try:
        api, version, correlation_id = _HEAD.unpack_from(payload)
    except struct.error:
        raise ProtocolError(f"a request of {len(payload)} bytes has no header") from None
    range_ = spoken.get(api)
    if range_ is None:
        raise ProtocolError(f"{api_name(api)} is not spoken at this door")
    if not range_.least <= version <= range_.most:
        if api == API_VERSIONS:
            return Asked(api, version, correlation_id, "", None)
        raise ProtocolError(f"{api_name(api)} version {version}; {range_.least} to {range_.most} are spoken here")
    cursor = Cursor(payload, _HEAD.size)
    try:
        flexible, reader = _reader(api, version)
        client_id = read_client_id(cursor, flexible=flexible)
        # Kafka ignores bytes behind the body; librdkafka leaves one there (Metadata 9).
        body = reader(cursor)
    except ProtocolError as error:
        raise ProtocolError(f"{api_name(api)} version {version}: {error}") from error
    return Asked(api, version, correlation_id, client_id[:CLIENT_ID_CHARACTERS_MAX], body)


@cache
def _reader(api: int, version: int) -> tuple[bool, Reader]:
    """(Whether the version is flexible, the reader of its body), for a supported version."""
    schema = _REQUESTS[api].json
    return is_flexible(schema, version), request_reader(schema, version)


def response(api: int, **fields: Any) -> Any:
    """The library's response object; `part` makes its parts."""
    return _RESPONSES[api](**_cut(fields))


def part(api: int, path: str, **fields: Any) -> Any:
    """A struct in a response, by the names of Kafka's schema.

    Example: `part(FETCH, "FetchableTopicResponse.PartitionData")`. An answer may have thousands, so every field is set
    here: the library's constructor omits unnamed fields and looks up their defaults when it encodes, which costs more
    than the encoding.
    """
    kind, defaults = _part_of(api, path)
    values = {**defaults, **_cut(fields)}
    if len(values) != len(defaults):
        raise ValueError(f"{path} of {api_name(api)}: no fields {sorted(values.keys() - defaults.keys())}")
    made = kind.__new__(kind)
    for name, value in values.items():
        setattr(made, name, value)
    return made


@cache
def _part_of(api: int, path: str) -> tuple[Any, dict[str, Any]]:
    """(The library's class, the default values of its objects)."""
    kind = _RESPONSES[api]
    for name in path.split("."):
        kind = getattr(kind, name)
    bare = kind()
    own = {name: getattr(bare, name) for name in ("_version", "tags", "unknown_tags")}
    return kind, own | {name: field.default for name, field in kind.fields.items()}


def _cut(fields: dict[str, Any]) -> dict[str, Any]:
    if message := fields.get("error_message"):
        fields["error_message"] = message[:ERROR_MESSAGE_CHARACTERS_MAX]
    return fields


def within_62_bits(value: int) -> int:
    """An offset or a timestamp, clamped to the range of our messages.

    No log reaches the bound, so a value beyond it stays out of range.
    """
    return min(max(value, -_INT64_BOUND), _INT64_BOUND)


def write_response(request: Asked, answer: Any, *, version: int | None = None) -> bytes:
    """Encode a whole frame, length included."""
    answer.API_VERSION = request.version if version is None else version
    answer.with_header(correlation_id=request.correlation_id)
    return bytes(answer.encode(header=True, framed=True))
