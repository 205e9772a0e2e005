"""Kafka's frames, by Kafka's own message schemas, which a library brings along (kafka-python's `kafka.protocol`).

    [length i32] [API key i16, version i16, correlation id i32, client id, (tagged fields)] [body]

Importing this module costs 90 ms and 22 MB (the library brings its clients along), so it is imported where a door is
open, and there before nodes are forked. `request_decoder` decodes requests, because a client's bytes may be hostile and
the library believes them; the library encodes the responses.
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
"""Messages quote what clients send, and a string of the protocol has at most 32,767 bytes."""
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
    """A request as a Kafka client sent it. `body` has the fields of Kafka's schema; None: its version is not spoken
    here, which ApiVersions alone may be."""

    api: int
    version: int
    correlation_id: int
    client_id: str
    body: Any

    @property
    def name(self) -> str:
        return api_name(self.api)


def api_name(key: int) -> str:
    """`Produce`; of one that nobody knows its number."""
    return _REQUESTS[key].__name__.removesuffix("Request") if key in _REQUESTS else f"API {key}"


def read_request(payload: bytes, spoken: dict[int, Range]) -> Asked:
    """A whole frame, without its length. Raises ProtocolError: Kafka closes the connection there, too."""
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
        # Kafka does not look at what follows the body; librdkafka leaves a byte there (Metadata 9).
        body = reader(cursor)
    except ProtocolError as error:
        raise ProtocolError(f"{api_name(api)} version {version}: {error}") from error
    return Asked(api, version, correlation_id, client_id[:CLIENT_ID_CHARACTERS_MAX], body)


@cache
def _reader(api: int, version: int) -> tuple[bool, Reader]:
    """(Whether the version is flexible, the reader of its body); of versions that are spoken here."""
    schema = _REQUESTS[api].json
    return is_flexible(schema, version), request_reader(schema, version)


def response(api: int, **fields: Any) -> Any:
    """The library's object. Parts of it are made by `part`."""
    return _RESPONSES[api](**_cut(fields))


def part(api: int, path: str, **fields: Any) -> Any:
    """A struct in a response, by the names of Kafka's schema: `part(FETCH, "FetchableTopicResponse.PartitionData")`.

    An answer may have thousands. So every field is set here, where the library's constructor leaves out those that are
    not named and looks up their defaults when it encodes, which costs more than the encoding."""
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
    """(The library's class, what its objects have by default)."""
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
    """An offset or a timestamp as our messages hold it. No log reaches the bound, so what is beyond it is out of range
    there as well."""
    return min(max(value, -_INT64_BOUND), _INT64_BOUND)


def write_response(asked: Asked, answer: Any, *, version: int | None = None) -> bytes:
    """A whole frame, length included."""
    answer.API_VERSION = asked.version if version is None else version
    answer.with_header(correlation_id=asked.correlation_id)
    return bytes(answer.encode(header=True, framed=True))
