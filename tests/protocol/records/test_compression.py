"""Codecs: framings as other clients read them, and a bound on the unpacked size."""

import contextlib

import cramjam
import lz4.frame  # type: ignore[import-untyped]
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from protocol.records.batch import encode_batch, read_records
from protocol.records.compression import (
    CODECS,
    DecompressedTooLarge,
    DecompressionFailed,
    _xxh32_short,
    compress,
    decompress,
    legacy_lz4,
)
from protocol.records.errors import TooLarge


@pytest.mark.parametrize("codec", CODECS)
@given(data=st.binary(max_size=2000), times=st.sampled_from([1, 1, 1, 100]))
def test_round_trip_and_same_bytes_each_time(codec, data, times) -> None:  # type: ignore[no-untyped-def]
    packed = compress(codec, data * times)
    assert packed == compress(codec, data * times)
    assert decompress(codec, packed) == data * times


@pytest.mark.parametrize("codec", CODECS)
@pytest.mark.parametrize("size_bytes", [1000, 300_000])
def test_the_limit_is_exact(codec, size_bytes) -> None:  # type: ignore[no-untyped-def]
    packed = compress(codec, bytes(size_bytes))
    assert decompress(codec, packed, size_bytes) == bytes(size_bytes)
    with pytest.raises(DecompressedTooLarge):
        decompress(codec, packed, size_bytes - 1)


@pytest.mark.parametrize("codec", ["gzip", "zstd"])
def test_a_small_batch_that_unpacks_to_too_much_is_refused(codec) -> None:  # type: ignore[no-untyped-def]
    """200 MiB of zeros pack to 200 KiB and less."""
    data = encode_batch([bytes(200 * 1024 * 1024)], timestamp_ms=0, compression=codec)
    assert len(data) < 300_000
    with pytest.raises(TooLarge, match="unpacks to more than 104857600 bytes"):
        read_records(data)


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
@given(data=st.binary(max_size=100))
def test_any_bytes_unpack_or_fail(codec, data) -> None:  # type: ignore[no-untyped-def]
    with contextlib.suppress(DecompressionFailed, DecompressedTooLarge):
        assert len(decompress(codec, data, 10_000)) <= 10_000


@pytest.mark.parametrize("codec", [codec for codec in CODECS if codec != "none"])
def test_truncated_data_fails(codec) -> None:  # type: ignore[no-untyped-def]
    packed = compress(codec, bytes(range(256)) * 20)
    for end in (*range(12), len(packed) // 2, len(packed) - 1):
        with pytest.raises(DecompressionFailed):
            decompress(codec, packed[:end])


def test_a_bare_snappy_block_is_read() -> None:
    """librdkafka and others leave snappy-java's framing out."""
    assert decompress("snappy", bytes(cramjam.snappy.compress_raw(b"abc" * 50))) == b"abc" * 50


def test_lz4_frames_are_what_kafkas_reader_accepts() -> None:
    """Independent blocks, no content size, no content checksum (KafkaLZ4BlockInputStream)."""
    info = lz4.frame.get_frame_info(compress("lz4", b"abc" * 100_000))
    assert not info["block_linked"]
    assert not info["content_checksum"]
    assert info["content_size"] == 0


@given(st.binary(max_size=15))
def test_the_short_hash_is_xxhash(data: bytes) -> None:
    assert _xxh32_short(data) == xxhash.xxh32_intdigest(data)


@given(st.binary(max_size=300), st.booleans())
def test_legacy_header_checksum_covers_the_magic_too(data: bytes, store_size: bool) -> None:
    """KAFKA-3160."""
    frame = lz4.frame.compress(data, store_size=store_size)
    at = 14 if store_size and data else 6
    wrong = legacy_lz4(frame, correct=False)
    assert wrong[at] == xxhash.xxh32_intdigest(frame[:at]) >> 8 & 0xFF
    assert legacy_lz4(wrong, correct=True) == frame
