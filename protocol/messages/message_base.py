"""Base of messages: typed structs with an API key, a direction and a range of versions.

Unit and meaning of a field stand beside it (`msgspec.Meta`). docs/protocol.md and the validation of incoming frames
both derive from these classes, with the bounds of numbers, texts and lists: every number that reaches a machine is safe
for arithmetic. `since` in a field's `extra` is the first message version with the field: older versions leave it at its
default, and defaults are not sent.
"""

from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta

from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset

REQUEST = 0
RESPONSE = 1
ONE_WAY = 2
DIRECTIONS = ("request", "response", "one-way")


class Message(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Base of all messages. Subclasses define their registry key. No cycles, so `gc=False`."""

    API_KEY: ClassVar[int] = -1
    API_NAME: ClassVar[str] = ""
    DIRECTION: ClassVar[int] = REQUEST
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)


REGISTRY: dict[tuple[int, int], type[Message]] = {}
"""(API key, direction) -> class."""

M = TypeVar("M", bound=type[Message])


def register(message: M) -> M:
    """Class decorator: add the message to the registry."""
    place = (message.API_KEY, message.DIRECTION)
    assert message.API_KEY >= 0 and message.API_NAME, f"{message.__name__} has no API key or name"
    assert place not in REGISTRY, f"{message.__name__} takes the place of {REGISTRY[place].__name__}"
    REGISTRY[place] = message
    return message


def unit(name: str, meaning: str = "", since: int = 0) -> Meta:
    """Field annotation: unit (`ms`, `bytes`, `offset`, `epoch`, ...), meaning, first version."""
    extra: dict[str, Any] = {"unit": name, "since": since}
    return Meta(description=meaning or None, extra=extra)


_INT32 = Meta(ge=-(2**31), le=2**31 - 1)
Int32 = Annotated[int, _INT32]
_INT64 = Meta(ge=-(2**62), le=2**62)
Int64 = Annotated[int, _INT64]
"""Half the range of 64 bits: a sum of two still fits into a frame."""
Count = Annotated[int, Meta(ge=0, le=2**62)]
PartitionField = Int32
"""A partition number; a client may send a negative one, which no topic has."""
Broker32 = Annotated[BrokerId, _INT32]
BrokerField = Annotated[Broker32, unit("broker id", "-1 is none")]
Epoch32 = Annotated[LeaderEpoch, _INT32]
EpochField = Annotated[Epoch32, unit("leader epoch", "-1 is unknown")]
ControllerEpochField = Annotated[ControllerEpoch, _INT32, unit("controller epoch")]
Offset64 = Annotated[Offset, _INT64]
OffsetField = Annotated[Offset64, unit("offset", "-1 is none; ends are exclusive")]
ErrorField = Annotated[Int32, unit("error code", "0 is success")]
Millis = Annotated[int, Meta(ge=0, le=2**31 - 1), unit("ms")]
Bytes = Annotated[int, Meta(ge=0, le=2**31 - 1), unit("bytes")]
NAME_CHARACTERS_MAX = 255
Name = Annotated[str, Meta(max_length=NAME_CHARACTERS_MAX)]
"""Name of a node, of a topic of ours, of a group of ours."""
Text = Annotated[str, Meta(max_length=2**15 - 1)]
"""A string of the maximum length in Kafka's protocol: member ids, protocols, topics."""
