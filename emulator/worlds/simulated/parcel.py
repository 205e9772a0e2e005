"""What lies between the two ends of a connection of the simulated world."""

import msgspec

from protocol.framing import decode_body, encode
from protocol.messages.base import Message


class Parcel(msgspec.Struct, frozen=True, gc=False):
    """A frame on its way: the message as bytes, and what the envelope around it would say."""

    kind: type[Message]
    correlation_id: int
    version: int
    body: bytes

    @property
    def frame_bytes(self) -> int:
        """Of the whole frame, as the network's world would send it."""
        return len(encode(decode_body(self.kind, self.body), self.correlation_id, self.version))
