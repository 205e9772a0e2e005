"""Kafka's frames, by a library that is made from Kafka's own schemas (kafka-python's `kafka.protocol`).

    [length i32] [API key i16, version i16, correlation id i32, client id, (tagged fields)] [body]

Importing this module costs 90 ms and 22 MB (the library brings its clients along), so it is imported where a door is
open, and there before nodes are forked. What a stranger's bytes make the library raise is a refusal, whatever it is.
"""

import io
import struct
from typing import Any, Final

import msgspec
from kafka.protocol import admin, consumer, metadata, producer, sasl
from kafka.protocol.api_header import RequestHeader

from emulator.worlds.network.door.apis import API_VERSIONS, Range
from protocol.framing import ProtocolError

_HEAD = struct.Struct(">hhi")
CLIENT_ID_CHARACTERS_MAX: Final = 255
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
UNREADABLE: Final = (
    struct.error, ValueError, IndexError, KeyError, TypeError, AttributeError, OverflowError, RecursionError, EOFError,
)  # fmt: skip
"""What the library raises at bytes that are no message: it does not check them by itself."""


class Asked(msgspec.Struct, frozen=True):
    """A request as a Kafka client sent it. `body`: the library's object; None: its version is not spoken here, which
    ApiVersions alone may be."""

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
    request = _REQUESTS[api]
    flexible = request.flexible_version_q(version)
    try:
        stream = io.BytesIO(payload)
        header = RequestHeader.decode(stream, flexible=flexible)
        # `decode` does not say where it stopped, and takes what it lacks at the end for empty.
        decode = request._struct.compiled_decode_from(version, compact=flexible, tagged=flexible, data_class=request)
        body, end = decode(memoryview(payload), stream.tell())
    except UNREADABLE as error:
        raise ProtocolError(f"{api_name(api)} version {version} cannot be read: {type(error).__name__}") from error
    if end > len(payload):  # Kafka does not look at what is behind it; librdkafka leaves a byte there (Metadata 9)
        raise ProtocolError(f"{api_name(api)} version {version} ends at {end} of {len(payload)} bytes")
    return Asked(api, version, correlation_id, (header.client_id or "")[:CLIENT_ID_CHARACTERS_MAX], body)


def response(api: int, **fields: Any) -> Any:
    """The library's object. Parts of it are made by `part`."""
    return _RESPONSES[api](**fields)


def part(api: int, path: str, **fields: Any) -> Any:
    """A struct in a response, by the names of Kafka's schema: `part(FETCH, "FetchableTopicResponse.PartitionData")`."""
    kind = _RESPONSES[api]
    for name in path.split("."):
        kind = getattr(kind, name)
    return kind(**fields)


def write_response(asked: Asked, answer: Any, *, version: int | None = None) -> bytes:
    """A whole frame, length included."""
    answer.API_VERSION = asked.version if version is None else version
    answer.with_header(correlation_id=asked.correlation_id)
    return bytes(answer.encode(header=True, framed=True))
