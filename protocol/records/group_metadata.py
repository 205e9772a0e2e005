"""Records of `__consumer_offsets` with a group's members, byte for byte as Kafka's.

    key    version i16 = 2, group string
    value  version i16, protocol type string, generation i32, protocol string?, leader string?,
           2: timestamp of its state i64,
           members: count i32, each
             member string, 3: instance string?, client string, host string, 1: rebalance timeout i32,
             session timeout i32, subscription bytes, assignment bytes

(`n:` from version n on, `?` may be null.) No value: the group is forgotten. The last record of a key counts.

Source: GroupMetadataManager.groupMetadataValue; KIP-62 (1), KIP-211 (2), KIP-345 (3).
"""

import struct
from typing import Final

import msgspec

from protocol.records.schema_fields import Fields, UnreadableRecord, nullable_string, sized_bytes, string

KEY_VERSION: Final = 2
VALUE_VERSIONS: Final = range(4)
MEMBERS_MAX: Final = 100_000
"""Maximum members of a decoded record: no coordinator writes more."""


class StoredMember(msgspec.Struct, frozen=True):
    """`subscription`: the metadata for the chosen protocol. `instance` None: no static member."""

    member: str
    client: str
    host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    subscription: bytes
    assignment: bytes
    instance: str | None = None


class StoredGroup(msgspec.Struct, frozen=True):
    """An assigned generation, or one without members.

    `protocol`, `leader` None: it has none. `since_ms`: of its state, since 1970; -1 unknown (before version 2).
    """

    protocol_type: str
    generation: int
    protocol: str | None
    leader: str | None
    members: tuple[StoredMember, ...] = ()
    since_ms: int = -1


def encode_group_key(group: str) -> bytes:
    """A group's key. Raises ValueError for a name above the limit of a string."""
    return struct.pack(">h", KEY_VERSION) + string(group)


def encode_group(stored: StoredGroup, version: int) -> bytes:
    """A group's value, without fields that `version` lacks. Raises ValueError as above."""
    assert version in VALUE_VERSIONS, f"value version {version}"
    parts = [
        struct.pack(">h", version), string(stored.protocol_type), struct.pack(">i", stored.generation),
        nullable_string(stored.protocol), nullable_string(stored.leader),
    ]  # fmt: skip
    if version >= 2:
        parts.append(struct.pack(">q", stored.since_ms))
    parts.append(struct.pack(">i", len(stored.members)))
    for one in stored.members:
        parts.append(string(one.member))
        if version >= 3:
            parts.append(nullable_string(one.instance))
        parts += [string(one.client), string(one.host)]
        if version >= 1:
            parts.append(struct.pack(">i", one.rebalance_timeout_ms))
        parts += [struct.pack(">i", one.session_timeout_ms), sized_bytes(one.subscription), sized_bytes(one.assignment)]
    return b"".join(parts)


def decode_group(data: bytes) -> StoredGroup:
    """A group from its value. Raises UnreadableRecord.

    Without a rebalance time-out in the version, it is the session's.
    """
    fields = Fields(data, "a group's value")
    version = fields.number(">h")
    if version not in VALUE_VERSIONS:
        raise UnreadableRecord(f"a group's value version {version}; known are 0 to {VALUE_VERSIONS[-1]}")
    protocol_type, generation = fields.string(), fields.number(">i")
    protocol, leader = fields.nullable_string(), fields.nullable_string()
    since_ms = fields.number(">q") if version >= 2 else -1
    count = fields.number(">i")
    if not 0 <= count <= MEMBERS_MAX:
        raise UnreadableRecord(f"a group's value: {count} members; at most {MEMBERS_MAX}")
    members = tuple(_member(fields, version) for _ in range(count))
    fields.end()
    return StoredGroup(protocol_type, generation, protocol, leader, members, since_ms)


def _member(fields: Fields, version: int) -> StoredMember:
    member = fields.string()
    instance = fields.nullable_string() if version >= 3 else None
    client, host = fields.string(), fields.string()
    rebalance_ms = fields.number(">i") if version >= 1 else None
    session_ms = fields.number(">i")
    subscription, assignment = fields.sized_bytes(), fields.sized_bytes()
    rebalance_ms = session_ms if rebalance_ms is None else rebalance_ms
    return StoredMember(member, client, host, rebalance_ms, session_ms, subscription, assignment, instance)
