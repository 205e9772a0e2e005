"""A frame between the two ends of a connection of the simulated world."""

import msgspec

from protocol.framing import decode_body, encode
from protocol.messages.message_base import Message


class Parcel(msgspec.Struct, frozen=True, gc=False):
    """A frame in flight: the message as bytes, and the fields of its envelope."""

    kind: type[Message]
    correlation_id: int
    version: int
    body: bytes

    @property
    def frame_bytes(self) -> int:
        """Size of the whole frame in the network world."""
        return len(encode(decode_body(self.kind, self.body), self.correlation_id, self.version))
