"""What every message is: a typed struct with an API key, a direction and a range of versions.

A field's unit and meaning stand beside it (`msgspec.Meta`); docs/protocol.md and the validation of incoming frames
both come from these classes, and so do the bounds of numbers, texts and lists: a machine never sees a number that it
cannot count on with. `since` in a field's `extra` is the first message version that carries it: older ones
leave it at its default, and defaults are not sent. """

from typing import Annotated, Any, ClassVar, TypeVar

import msgspec
from msgspec import Meta

from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset

REQUEST = 0
RESPONSE = 1
ONE_WAY = 2
DIRECTIONS = ("request", "response", "one-way")


class Message(msgspec.Struct, omit_defaults=True, forbid_unknown_fields=True, gc=False):
    """Base of all messages. Subclasses name their place in the registry. Data without cycles: `gc=False`."""

    API_KEY: ClassVar[int] = -1
    API_NAME: ClassVar[str] = ""
    DIRECTION: ClassVar[int] = REQUEST
    VERSIONS: ClassVar[tuple[int, int]] = (0, 0)


REGISTRY: dict[tuple[int, int], type[Message]] = {}
"""(API key, direction) -> class."""

M = TypeVar("M", bound=type[Message])


def register(message: M) -> M:
    """Class decorator: enters the message in the registry."""
    place = (message.API_KEY, message.DIRECTION)
    assert message.API_KEY >= 0 and message.API_NAME, f"{message.__name__} has no API key or name"
    assert place not in REGISTRY, f"{message.__name__} takes the place of {REGISTRY[place].__name__}"
    REGISTRY[place] = message
    return message


def unit(name: str, meaning: str = "", since: int = 0) -> Meta:
    """Field annotation: its unit (`ms`, `bytes`, `offset`, `epoch`, ...), meaning and first version."""
    extra: dict[str, Any] = {"unit": name, "since": since}
    return Meta(description=meaning or None, extra=extra)


_INT32 = Meta(ge=-(2**31), le=2**31 - 1)
Int32 = Annotated[int, _INT32]
_INT64 = Meta(ge=-(2**62), le=2**62)
Int64 = Annotated[int, _INT64]
"""Half of what 64 bits hold: a sum of two still fits into a frame."""
Count = Annotated[int, Meta(ge=0, le=2**62)]
PartitionField = Int32
"""A client may name a negative one, which no topic has."""
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
Name = Annotated[str, Meta(max_length=255)]
"""Of a node, a topic of ours, a group of ours."""
Text = Annotated[str, Meta(max_length=2**15 - 1)]
"""As long as a string of Kafka's protocol may be: what its clients call a group's member, a protocol, a topic."""
