"""The four codecs of Kafka's records, in the framings that Kafka's own clients write.

- gzip: one gzip stream.
- snappy: snappy-java's stream framing (a 16-byte header, then blocks of at most 32 KiB, each behind its
  length); a bare snappy block, which other clients write, is read too.
- lz4: frames of independent blocks without content checksum (KIP-57; Kafka's reader refuses linked blocks).
  Message format 0 has frames whose header checksum is computed wrongly on purpose: see `legacy_lz4`.
- zstd: one frame (KIP-110; only in batches of magic 2).

Decompression is bounded: data that would unpack to more than the limit is an error, not an allocation.
"""

import struct
import zlib
from typing import Final, Literal

import cramjam

Compression = Literal["none", "gzip", "snappy", "lz4", "zstd"]

CODECS: Final[tuple[Compression, ...]] = ("none", "gzip", "snappy", "lz4", "zstd")
"""Names by codec id, the low three bits of a batch's or message's attributes."""

CODEC_IDS: Final[dict[str, int]] = {name: codec for codec, name in enumerate(CODECS)}

DECOMPRESSED_BYTES_MAX: Final = 100 * 1024 * 1024
"""Maximum unpacked bytes of a batch: Kafka's `socket.request.max.bytes`."""

_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_SNAPPY_HEADER = _SNAPPY_MAGIC + struct.pack(">ii", 1, 1)
_SNAPPY_BLOCK_BYTES = 32 * 1024
_LZ4_MAGIC = b"\x04\x22\x4d\x18"
_ROOM_BYTES_MIN = 16 * 1024
_ROOM_RATIO = 8


class DecompressionFailed(Exception):
    """The codec cannot read the data."""


class DecompressedTooLarge(Exception):
    """The data unpacks to more than the limit."""


def compress(codec: Compression, data: bytes) -> bytes:
    """`data` in the framing of `codec`; deterministic."""
    match codec:
        case "none":
            return data
        case "gzip":
            packer = zlib.compressobj(wbits=31)
            return packer.compress(data) + packer.flush()
        case "snappy":
            parts = [_SNAPPY_HEADER]
            for start in range(0, len(data), _SNAPPY_BLOCK_BYTES):
                block = bytes(cramjam.snappy.compress_raw(data[start : start + _SNAPPY_BLOCK_BYTES]))
                parts += (len(block).to_bytes(4, "big"), block)
            return b"".join(parts)
        case "lz4":
            frame = cramjam.lz4.Compressor(content_checksum=False, block_linked=False)
            frame.compress(data)
            return bytes(frame.finish())
        case "zstd":
            return bytes(cramjam.zstd.compress(data))


def decompress(codec: Compression, data: bytes, limit_bytes: int = DECOMPRESSED_BYTES_MAX) -> bytes:
    """The inverse of `compress`.

    Raises DecompressionFailed on data the codec cannot read, DecompressedTooLarge beyond `limit_bytes`.
    """
    match codec:
        case "none":
            if len(data) > limit_bytes:
                raise DecompressedTooLarge(f"more than {limit_bytes} bytes")
            return data
        case "gzip":
            return _gunzip(data, limit_bytes)
        case "snappy":
            return _unsnap(data, limit_bytes)
        case "lz4" | "zstd":
            return _unpack_frame(codec, data, limit_bytes)


def _gunzip(data: bytes, limit_bytes: int) -> bytes:
    unpacker = zlib.decompressobj(wbits=31)
    try:
        unpacked = unpacker.decompress(data, limit_bytes + 1)
    except zlib.error as error:
        raise DecompressionFailed(f"gzip: {error}") from None
    if len(unpacked) > limit_bytes:
        raise DecompressedTooLarge(f"gzip data unpacks to more than {limit_bytes} bytes")
    if not unpacker.eof:
        raise DecompressionFailed("gzip: the stream is incomplete")
    if unpacker.unused_data:
        raise DecompressionFailed(f"gzip: {len(unpacker.unused_data)} bytes after the stream")
    return unpacked


def _unsnap(data: bytes, limit_bytes: int) -> bytes:
    if not data.startswith(_SNAPPY_MAGIC):
        return _unsnap_block(data, limit_bytes)
    if len(data) < len(_SNAPPY_HEADER):
        raise DecompressionFailed("snappy: the stream header is incomplete")
    parts = []
    position, unpacked_bytes = len(_SNAPPY_HEADER), 0
    while position < len(data):
        block_bytes = int.from_bytes(data[position : position + 4], "big", signed=True)
        position += 4
        if not 0 <= block_bytes <= len(data) - position:
            raise DecompressionFailed(f"snappy: a block of {block_bytes} bytes, {len(data) - position} left")
        block = _unsnap_block(data[position : position + block_bytes], limit_bytes - unpacked_bytes)
        parts.append(block)
        unpacked_bytes += len(block)
        position += block_bytes
    return b"".join(parts)


def _unsnap_block(block: bytes, limit_bytes: int) -> bytes:
    if not block:
        raise DecompressionFailed("snappy: an empty block")  # even no data has a length in front
    try:
        # The claimed length is checked before anything of that size is allocated.
        if cramjam.snappy.decompress_raw_len(block) > limit_bytes:
            raise DecompressedTooLarge(f"snappy data unpacks to more than {limit_bytes} bytes")
        return bytes(cramjam.snappy.decompress_raw(block))
    except cramjam.DecompressionError as error:
        raise DecompressionFailed(f"snappy: {error}") from None


def _unpack_frame(codec: Literal["lz4", "zstd"], data: bytes, limit_bytes: int) -> bytes:
    """Unpack into a buffer of fixed size: one that suffices for most data, then the limit's."""
    unpacker = cramjam.lz4 if codec == "lz4" else cramjam.zstd
    if not data:
        raise DecompressionFailed(f"{codec}: no data")
    likely_bytes = max(_ROOM_BYTES_MIN, len(data) * _ROOM_RATIO)
    for room_bytes in (min(likely_bytes, limit_bytes), limit_bytes):
        room = bytearray(room_bytes + 1)
        try:
            unpacked_bytes = unpacker.decompress_into(data, room)
        except cramjam.DecompressionError as error:
            # The codec's only error for a buffer that is too small; any other text is damage.
            if "whole buffer" not in str(error):
                raise DecompressionFailed(f"{codec}: {error}") from None
            continue
        if unpacked_bytes <= limit_bytes:
            return bytes(memoryview(room)[:unpacked_bytes])
    raise DecompressedTooLarge(f"{codec} data unpacks to more than {limit_bytes} bytes")


def legacy_lz4(frame: bytes, *, correct: bool) -> bytes:
    """`frame` with the header checksum of message format 0 (`correct=False`), or the right one.

    Kafka's first LZ4 writer included the frame's magic in that checksum, and format 0 keeps the mistake for ever
    (KAFKA-3160). The right one covers the descriptor only.
    """
    if len(frame) < 7 or not frame.startswith(_LZ4_MAGIC):
        raise DecompressionFailed("lz4: no frame header")
    has_content_size = bool(frame[4] & 0x08)
    checksum_at = 14 if has_content_size else 6
    if len(frame) <= checksum_at:
        raise DecompressionFailed("lz4: the frame header is incomplete")
    covered = frame[4:checksum_at] if correct else frame[:checksum_at]
    checksum = _xxh32_short(covered) >> 8 & 0xFF
    return frame[:checksum_at] + bytes((checksum,)) + frame[checksum_at + 1 :]


def _xxh32_short(data: bytes) -> int:
    """xxHash-32 with seed 0 of at most 15 bytes (the longer algorithm's stripes never start)."""
    assert len(data) < 16, "a frame descriptor has at most 14 bytes"
    mask = 0xFFFFFFFF
    prime_1, prime_2, prime_3, prime_4, prime_5 = 2654435761, 2246822519, 3266489917, 668265263, 374761393
    value = prime_5 + len(data) & mask
    whole = len(data) // 4 * 4
    for start in range(0, whole, 4):
        value = value + int.from_bytes(data[start : start + 4], "little") * prime_3 & mask
        value = (value << 17 | value >> 15) * prime_4 & mask
    for byte in data[whole:]:
        value = value + byte * prime_5 & mask
        value = (value << 11 | value >> 21) * prime_1 & mask
    value = (value ^ value >> 15) * prime_2 & mask
    value = (value ^ value >> 13) * prime_3 & mask
    return value ^ value >> 16
