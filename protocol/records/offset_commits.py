"""Records of `__consumer_offsets` with committed offsets, byte for byte as Kafka's.

    key    version i16 = 1, group string, topic string, partition i32
    value  version i16, offset i64,
           1: metadata string, commit timestamp i64, expire timestamp i64
           2: metadata string, commit timestamp i64
           3: leader epoch i32, metadata string, commit timestamp i64

No value: the offset is forgotten. Keys of version 2 are groups (`group_metadata`). The last record of a key counts.

Source: GroupMetadataManager; KIP-211 (2), KIP-320 (3).
"""

import struct
import sys
from operator import mul
from typing import Final

import msgspec

from protocol.ids import EPOCH_UNKNOWN, LeaderEpoch, Offset
from protocol.records.group_metadata import KEY_VERSION as GROUP_KEY_VERSION
from protocol.records.schema_fields import Fields, UnreadableRecord, string

OFFSETS_TOPIC: Final = "__consumer_offsets"

KEY_VERSION: Final = 1
VALUE_VERSIONS: Final = (1, 2, 3)

_HASH_MODULUS: Final = 1 << 32
_POWERS: Final = [1]
"""Powers of 31, up to the longest name so far.

A client may send names of 32,767 characters.
"""
_UTF_16: Final = f"utf-16-{'le' if sys.byteorder == 'little' else 'be'}"
"""UTF-16 in the machine's byte order, as a memoryview reads it."""
_HASH_SIGN: Final = 1 << 31


class GroupKey(msgspec.Struct, frozen=True):
    """Key of a group's own record."""

    group: str


class OffsetKey(msgspec.Struct, frozen=True):
    """Key of a group's offset for a partition."""

    group: str
    topic: str
    partition: int


class CommittedOffset(msgspec.Struct, frozen=True):
    """A committed offset.

    `offset`: the next to read. `leader_epoch`: of the last record read, -1 unknown. Timestamps since 1970;
    `expire_timestamp_ms` -1: never (only value version 1 has one).
    """

    offset: Offset
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN
    metadata: str = ""
    commit_timestamp_ms: int = 0
    expire_timestamp_ms: int = -1


def hash_partition(key: str, partitions: int) -> int:
    """Partition of a group or a transactional id: Java's String.hashCode, absolute, modulo."""
    units = memoryview(key.encode(_UTF_16, "surrogatepass")).cast("H")
    while len(_POWERS) < len(units):
        _POWERS.append(_POWERS[-1] * 31 % _HASH_MODULUS)
    code = sum(map(mul, reversed(units), _POWERS)) % _HASH_MODULUS
    signed = code - _HASH_MODULUS if code >= _HASH_SIGN else code
    # Java has no absolute value of its smallest number; Utils.abs makes it 0.
    return 0 if signed == -_HASH_SIGN else abs(signed) % partitions


def encode_key(key: OffsetKey) -> bytes:
    """A key's bytes. Raises ValueError for a group or topic above the limit of a string."""
    return struct.pack(">h", KEY_VERSION) + string(key.group) + string(key.topic) + struct.pack(">i", key.partition)


def encode_value(committed: CommittedOffset, version: int) -> bytes:
    """A value's bytes, without fields that `version` lacks (the leader epoch before 3).

    Raises ValueError as `encode_key`.
    """
    assert version in VALUE_VERSIONS, f"value version {version}"
    parts = [struct.pack(">hq", version, committed.offset)]
    if version >= 3:
        parts.append(struct.pack(">i", committed.leader_epoch))
    parts += [string(committed.metadata), struct.pack(">q", committed.commit_timestamp_ms)]
    if version == 1:
        parts.append(struct.pack(">q", committed.expire_timestamp_ms))
    return b"".join(parts)


def decode_key(data: bytes) -> OffsetKey | GroupKey:
    """A key from its bytes. Raises UnreadableRecord."""
    fields = Fields(data, "key")
    version = fields.number(">h")
    if version == GROUP_KEY_VERSION:
        of_group = GroupKey(fields.string())
        fields.end()
        return of_group
    if version not in (0, KEY_VERSION):
        raise UnreadableRecord(f"key version {version}; known are 0, {KEY_VERSION} and {GROUP_KEY_VERSION}")
    key = OffsetKey(fields.string(), fields.string(), fields.number(">i"))
    fields.end()
    return key


def decode_value(data: bytes) -> CommittedOffset:
    """A value from its bytes. Raises UnreadableRecord."""
    fields = Fields(data, "value")
    version = fields.number(">h")
    if version not in VALUE_VERSIONS:
        raise UnreadableRecord(f"value version {version}; known are 1, 2 and 3")
    offset = Offset(fields.number(">q"))
    leader_epoch = LeaderEpoch(fields.number(">i")) if version >= 3 else EPOCH_UNKNOWN
    metadata, committed_ms = fields.string(), fields.number(">q")
    expire_ms = fields.number(">q") if version == 1 else -1
    fields.end()
    return CommittedOffset(offset, leader_epoch, metadata, committed_ms, expire_ms)
