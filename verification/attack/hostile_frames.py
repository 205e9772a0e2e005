"""Invalid frames: malformed, truncated, oversized, deep, of wrong types, or out of place.

All are made of a pool of valid frames, so that a hundred thousand of them take seconds.
"""

import random
import struct
from collections import Counter
from typing import Final

import msgspec

from protocol.conversations import (
    ACCEPTED_BY_BROKER,
    ACCEPTED_BY_CLIENT,
    ACCEPTED_BY_CONTROLLER,
    ACCEPTED_BY_PLAYER,
    ACCEPTED_BY_SESSION_SERVER,
    Conversation,
    OutOfPlace,
)
from protocol.framing import FrameDecoder, ProtocolError, decode, decode_hello, encode
from protocol.messages import REGISTRY
from protocol.purposes import ALL
from verification.attack.hostile_messages import Messages

POOL: Final = 3_000
KINDS: Final = (
    ACCEPTED_BY_BROKER, ACCEPTED_BY_CONTROLLER, ACCEPTED_BY_SESSION_SERVER, ACCEPTED_BY_CLIENT, ACCEPTED_BY_PLAYER
)  # fmt: skip
PLACES: Final = {
    message: [(kind, purpose) for kind in KINDS for purpose, accepted in kind.items() if message in accepted]
    for message in REGISTRY.values()
}
"""{message: where it belongs}"""
NOT_UTF_8: Final = bytes.fromhex("95cd051402000081a46e6f6465a4fffefdfc")
_encode = msgspec.msgpack.Encoder().encode


class Frames:
    """`payload()`: the next one, without its length; `seed` decides all."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)
        messages = Messages(self.chance, [])
        self._pool = [encode(messages.any(), self.chance.randrange(4))[4:] for _ in range(POOL)]

    def valid(self) -> bytes:
        return self.chance.choice(self._pool)

    def payload(self) -> bytes:
        chance = self.chance
        which = chance.randrange(10)
        if which < 3:
            return self.valid()
        if which == 3:  # bits flipped
            data = bytearray(self.valid())
            for _ in range(chance.choice((1, 1, 2, 5))):
                data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)
            return bytes(data)
        if which == 4:  # truncated
            data = bytearray(self.valid())
            return bytes(data[: chance.randrange(1, len(data) + 1)])
        if which == 5:  # one spliced into another
            one, other = self.valid(), self.valid()
            return one[: chance.randrange(1, len(one) + 1)] + other[chance.randrange(len(other)) :]
        if which == 6:  # another's key: the body does not fit
            key = chance.choice((0, 1, 3, 4, 56, 1014, 1204, 1300, 1320, 1404, -1, 2**63))
            envelope = [key, chance.randrange(4), 0, 0]
            return b"\x95" + b"".join(_encode(part) for part in envelope) + self.valid()[5:]
        if which == 7:  # deep
            return chance.choice((b"", b"\x95\x01\x00\x00\x00\x81\xa1x", b"\x95\x00\x00\x00\x00")) + bytes(
                [chance.choice((0x91, 0x81, 0xDC))]
            ) * chance.choice((10, 400, 3_000))
        if which == 8:  # long lists that are not there
            return b"\x95\x01\x00\x00\x00" + chance.choice((b"\xdd", b"\xdf", b"\xc6", b"\xdb", b"\xc9")) + b"\xff" * 4
        return chance.choice((NOT_UTF_8, chance.randbytes(chance.randrange(1, 60)), b"GET / HTTP/1.1\r\n\r\n"))


def decoded(frames: Frames, count: int) -> Counter[str]:
    """Send `count` frames to the decoding layers, as a connection does.

    In a stream, then to every kind of node on some purpose. Returns outcomes by name; any other exception is a bug.
    """
    chance, outcomes = frames.chance, Counter[str]()
    stream = FrameDecoder()
    for _ in range(count):
        payload = frames.payload()
        size = len(payload) if chance.random() < 0.98 else chance.choice((0, 2**25 + 1, 2**32 - 1))
        try:
            (payload,) = stream.feed(struct.pack(">I", size) + payload)
            frame = decode(payload)
            if chance.random() < 0.1:
                decode_hello(payload)
            fitting = PLACES.get(type(frame.message)) if chance.random() < 0.5 else None
            kind, purpose = chance.choice(fitting) if fitting else (chance.choice(KINDS), chance.choice(ALL))
            conversation = Conversation(kind, purpose, opened=not fitting and chance.random() < 0.5)
            conversation.hear(frame.message, frame.correlation_id)
        except ProtocolError:
            outcomes["no frame"] += 1
            stream = FrameDecoder()
        except OutOfPlace:
            outcomes["out of place"] += 1
        else:
            outcomes["heard"] += 1
    return outcomes
