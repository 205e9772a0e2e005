"""Records of the offsets topic: Kafka's bytes (semantics 6, "Committed offsets")."""

import io
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.ids import LeaderEpoch, Offset
from protocol.records.batch import encode_batch
from protocol.records.offset_commits import (
    VALUE_VERSIONS,
    CommittedOffset,
    GroupKey,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    hash_partition,
)
from protocol.records.schema_fields import STRING_BYTES_MAX, UnreadableRecord

with warnings.catch_warnings():
    # kafka-python reads its schemas with a call that Python 3.11 deprecates.
    warnings.simplefilter("ignore", DeprecationWarning)
    from kafka.protocol.old.types import Int16, Int32, Int64, Schema, String
    from kafka.record.memory_records import MemoryRecords

LONG = st.integers(-(1 << 63), (1 << 63) - 1)
INT = st.integers(-(1 << 31), (1 << 31) - 1)
TEXT = st.text(st.characters(codec="utf-8"), max_size=100)
KEYS = st.builds(OffsetKey, TEXT, TEXT, INT)
VALUES = st.builds(CommittedOffset, LONG, INT, TEXT, LONG, LONG)

KEY = Schema(("version", Int16), ("group", String()), ("topic", String()), ("partition", Int32))
VALUE = {
    1: Schema(("v", Int16), ("offset", Int64), ("metadata", String()), ("commit", Int64), ("expire", Int64)),
    2: Schema(("v", Int16), ("offset", Int64), ("metadata", String()), ("commit", Int64)),
    3: Schema(("v", Int16), ("offset", Int64), ("epoch", Int32), ("metadata", String()), ("commit", Int64)),
}
"""The layouts again, in the words of a library that is not ours."""


def held(committed: CommittedOffset, version: int) -> CommittedOffset:
    """The fields that `version` has room for."""
    epoch = committed.leader_epoch if version >= 3 else -1
    expire_ms = committed.expire_timestamp_ms if version == 1 else -1
    return CommittedOffset(
        committed.offset, LeaderEpoch(epoch), committed.metadata, committed.commit_timestamp_ms, expire_ms
    )


@given(KEYS)
def test_a_key_comes_back(key: OffsetKey) -> None:
    assert decode_key(encode_key(key)) == key


@given(VALUES, st.sampled_from(VALUE_VERSIONS))
def test_a_value_comes_back_as_far_as_its_version_holds_it(committed: CommittedOffset, version: int) -> None:
    assert decode_value(encode_value(committed, version)) == held(committed, version)


def test_the_bytes_are_kafkas() -> None:
    assert (
        encode_key(OffsetKey("g", "tä", 7)) == b"\x00\x01" + b"\x00\x01g" + b"\x00\x03t\xc3\xa4" + b"\x00\x00\x00\x07"
    )
    committed = CommittedOffset(Offset(5), LeaderEpoch(2), "m", 1000, 2000)
    offset, epoch, text = (5).to_bytes(8), (2).to_bytes(4), b"\x00\x01m"
    times = (1000).to_bytes(8), (2000).to_bytes(8)
    assert encode_value(committed, 1) == b"\x00\x01" + offset + text + times[0] + times[1]
    assert encode_value(committed, 2) == b"\x00\x02" + offset + text + times[0]
    assert encode_value(committed, 3) == b"\x00\x03" + offset + epoch + text + times[0]


@given(KEYS, VALUES, st.sampled_from(VALUE_VERSIONS))
def test_an_independent_library_reads_our_records(key: OffsetKey, committed: CommittedOffset, version: int) -> None:
    batch = encode_batch([(encode_key(key), encode_value(committed, version), ())], timestamp_ms=0)
    (record,) = MemoryRecords(batch).next_batch()
    assert KEY.decode(io.BytesIO(record.key)) == (1, key.group, key.topic, key.partition)
    found = dict(zip(VALUE[version].names, VALUE[version].decode(io.BytesIO(record.value)), strict=True))
    expected = held(committed, version)
    assert (found["v"], found["offset"], found["metadata"]) == (version, expected.offset, expected.metadata)
    assert found["commit"] == expected.commit_timestamp_ms
    assert (found.get("epoch", -1), found.get("expire", -1)) == (expected.leader_epoch, expected.expire_timestamp_ms)


@given(KEYS, VALUES, st.sampled_from(VALUE_VERSIONS))
def test_we_read_what_an_independent_library_writes(key: OffsetKey, committed: CommittedOffset, version: int) -> None:
    assert decode_key(KEY.encode((1, key.group, key.topic, key.partition))) == key
    fields = {
        "v": version, "offset": committed.offset, "metadata": committed.metadata, "epoch": committed.leader_epoch,
        "commit": committed.commit_timestamp_ms, "expire": committed.expire_timestamp_ms,
    }  # fmt: skip
    data = VALUE[version].encode(tuple(fields[name] for name in VALUE[version].names))
    assert decode_value(data) == held(committed, version)


@given(KEYS, VALUES, st.sampled_from(VALUE_VERSIONS), st.data())
def test_what_is_cut_short_is_refused(
    key: OffsetKey, committed: CommittedOffset, version: int, data: st.DataObject
) -> None:
    for whole, decode in ((encode_key(key), decode_key), (encode_value(committed, version), decode_value)):
        cut = data.draw(st.integers(0, len(whole) - 1))
        with pytest.raises(UnreadableRecord):
            decode(whole[:cut])
        with pytest.raises(UnreadableRecord, match="1 bytes after the last field"):
            decode(whole + b"\0")


def test_impossible_versions_are_refused_and_a_groups_members_are_no_offset() -> None:
    assert decode_key(b"\x00\x02\x00\x01g") == GroupKey("g")
    with pytest.raises(UnreadableRecord, match="key version 9; known are 0, 1 and 2"):
        decode_key(b"\x00\x09")
    with pytest.raises(UnreadableRecord, match="value version 4; known are 1, 2 and 3"):
        decode_value(b"\x00\x04")
    with pytest.raises(UnreadableRecord, match="no UTF-8"):
        decode_key(b"\x00\x01\x00\x01\xff\x00\x01t\x00\x00\x00\x00")
    with pytest.raises(ValueError, match=f"a string has at most {STRING_BYTES_MAX}"):
        encode_key(OffsetKey("g" * (STRING_BYTES_MAX + 1), "t", 0))


def test_a_groups_partition_is_javas_hash_code() -> None:
    """String.hashCode of these is known.

    0, 103, 99162322, the smallest number there is, and one with a pair of surrogates.
    """
    assert hash_partition("", 50) == 0
    assert hash_partition("g", 50) == 103 % 50
    assert hash_partition("hello", 50) == 99162322 % 50
    assert hash_partition("polygenelubricants", 50) == 0
    assert hash_partition("𐐷", 1 << 40) == 0xD801 * 31 + 0xDC37
    assert hash_partition("anything", 1) == 0
