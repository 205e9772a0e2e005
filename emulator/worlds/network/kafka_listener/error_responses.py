"""Responses that have only an error, as Kafka's `AbstractRequest.getErrorResponse`.

A response of ours has one code, or a code for each entry of the request. So one rule serves all APIs: an entry takes
the names of the request's entry, and otherwise stays at its defaults.
"""

from typing import Any, Final

import msgspec

from emulator.worlds.network.kafka_listener.codec import KafkaRequest
from emulator.worlds.network.kafka_listener.record_translation import NO_ANSWER
from emulator.worlds.network.kafka_listener.translation import answer_to
from emulator.worlds.network.mailbox import AnsweredHere
from protocol.errors import ErrorCode
from protocol.messages.message_base import REGISTRY, RESPONSE, Message
from protocol.messages.replication_messages import ProduceRequest

ERROR: Final = "error"
ENTRIES: Final = ("partitions", "topics", "members", "transactions")
"""Lists that request and response have in common."""


def refused(request: KafkaRequest, message: Message, error: ErrorCode) -> AnsweredHere:
    """The answer to a request that is not applied. With acks=0 a produce has none."""
    frame = answer_to(request, error_response(message, error))
    if not isinstance(message, ProduceRequest):
        return AnsweredHere(frame, error)
    return AnsweredHere(NO_ANSWER if request.body.acks == 0 else frame, error, message)


def error_response(message: Message, error: ErrorCode) -> Message:
    """The response of ours with the error, to a request of ours."""
    response: Message = _filled(REGISTRY[message.API_KEY, RESPONSE], message, error)
    return response


def _filled(kind: type[Any], source: Any, error: ErrorCode) -> Any:
    """A struct with the names of `source`; its code, if it has one, is the error."""
    given: dict[str, Any] = {}
    for field in msgspec.structs.fields(kind):
        name = field.name
        if name == ERROR:
            given[name] = int(error)
        elif name in ENTRIES and isinstance(getattr(source, name, None), list):
            item = msgspec.inspect.type_info(field.type)
            assert isinstance(item, msgspec.inspect.ListType) and isinstance(item.item_type, msgspec.inspect.StructType)
            given[name] = [_filled(item.item_type.cls, one, error) for one in getattr(source, name)]
        elif field.required:
            given[name] = getattr(source, name)
    return kind(**given)
