"""Counts of a process's responses by API and error code: Kafka's ErrorsPerSec.

Kafka counts each error in a response (`AbstractResponse.errorCounts`): one for each partition, or one for the whole.
"""

from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any, Final

import msgspec

from protocol.errors import error_name
from protocol.messages.message_base import RESPONSE, Message

KAFKAS_APIS: Final = 1_000
"""API keys below are Kafka's; those above are messages of the emulator."""
ERROR: Final = "error"
NONE: Final = 0


class ResponseErrors:
    """Counts since the process began. Their number is bounded by those of APIs and error codes."""

    def __init__(self) -> None:
        self._counts: dict[str, Counter[int]] = {}

    def count(self, message: Message) -> None:
        """Count a message that is sent, if it is a response of Kafka's protocol."""
        if message.DIRECTION != RESPONSE or not 0 <= message.API_KEY < KAFKAS_APIS:
            return
        counts = self._counts.setdefault(message.API_NAME, Counter())
        found = False
        for error in _errors_of(type(message))(message):
            counts[error] += 1
            found = True
        if not found:
            counts[NONE] += 1

    def report(self) -> dict[str, dict[str, int]]:
        """{API: {name of an error: count}}"""
        return {
            api: {error_name(error): count for error, count in sorted(counts.items())}
            for api, counts in sorted(self._counts.items())
        }


@cache
def _errors_of(kind: type[Message]) -> Callable[[Any], Iterator[int]]:
    """Reader of the codes of one message type: its own, else those of its entries."""
    names = kind.__struct_fields__
    if ERROR in names:
        return lambda message: iter((message.error,))
    lists = [field.name for field in msgspec.structs.fields(kind) if _has_errors(field.type)]

    def of_entries(message: Any) -> Iterator[int]:
        for name in lists:
            for entry in getattr(message, name):
                yield entry.error

    return of_entries


def _has_errors(type_: Any) -> bool:
    """Whether a field is a list of structs with a code."""
    info = msgspec.inspect.type_info(type_)
    if not isinstance(info, msgspec.inspect.ListType):
        return False
    item = info.item_type
    return isinstance(item, msgspec.inspect.StructType) and ERROR in item.cls.__struct_fields__
