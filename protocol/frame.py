"""A decoded frame, the result of `framing.decode`."""

import msgspec

from protocol.messages.message_base import Message


class Frame(msgspec.Struct, frozen=True):
    """A decoded frame. `correlation_id` pairs a response with its request."""

    correlation_id: int
    version: int
    message: Message
