"""Messages of kafka-python: the client end, independent of the listener's codec."""

from typing import Any, Final

from kafka.protocol import admin, consumer, metadata, producer, sasl

REQUESTS: Final[dict[int, Any]] = {}
RESPONSES: Final[dict[int, Any]] = {}
"""{API key: class}"""

for _module in (producer, consumer, metadata, admin, sasl):
    for _name in _module.__all__:
        _class = getattr(_module, _name)
        if hasattr(_class, "API_KEY"):
            (REQUESTS if _name.endswith("Request") else RESPONSES)[_class.API_KEY] = _class


def encoded(request: Any, version: int, *, correlation_id: int = 1, client_id: str = "app") -> bytes:
    """A request's payload."""
    request.API_VERSION = version
    request.with_header(correlation_id=correlation_id, client_id=client_id)
    return bytes(request.encode(header=True))


def response_of(frame: bytes, api: int, version: int) -> Any:
    """The response in a whole frame."""
    return RESPONSES[api].decode(frame[4:], version=version, header=True)
