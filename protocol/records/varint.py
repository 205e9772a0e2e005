"""Variable-length integers of Kafka's v2 records: zigzag, then seven bits a byte, low first.

Source: KIP-98, "Message format". Lengths and offset deltas have at most 5 bytes, timestamp deltas 10.
"""

from typing import Final

_TABLE_END: Final = 4096


def _encode_slowly(value: int) -> bytes:
    rest = value << 1 if value >= 0 else (-value << 1) - 1
    encoded = bytearray()
    while rest > 0x7F:
        encoded.append(rest & 0x7F | 0x80)
        rest >>= 7
    encoded.append(rest)
    return bytes(encoded)


# Nearly every length and delta is small: one look-up instead of a loop.
_TABLE: Final = tuple(_encode_slowly(value) for value in range(_TABLE_END))


def encode_varint(value: int) -> bytes:
    """The bytes of `value`, a signed 64-bit number."""
    return _TABLE[value] if 0 <= value < _TABLE_END else _encode_slowly(value)


def decode_varint(data: bytes, position: int, bits: int = 32) -> tuple[int, int]:
    """The signed number at `position` and the position after it.

    Raises IndexError when the data ends first, ValueError when it has more than `bits` bits.
    """
    byte = data[position]
    position += 1
    value = byte & 0x7F
    shift = 7
    while byte & 0x80:
        byte = data[position]
        position += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if shift > 70:
            break
    if value >> bits:
        raise ValueError(f"a variable-length integer of more than {bits} bits")
    return value >> 1 ^ -(value & 1), position
