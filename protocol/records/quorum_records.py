"""Control records of the metadata log: the leader change that begins each epoch (KIP-595).

    key    version i16 = 0, type i16 = 2
    value  version i16 = 0, leader i32, voters [voter i32], granting voters [voter i32]

The value is a flexible message: a list's length is an unsigned varint plus one, and each struct ends with a count of
tagged fields, which is 0.

Source: ControlRecordType, LeaderChangeMessage.json.
"""

import struct
from collections.abc import Sequence
from typing import Final

import msgspec

from protocol.ids import BrokerId
from protocol.records.schema_fields import Fields, UnreadableRecord
from protocol.records.types import RecordFields

LEADER_CHANGE: Final = 2
KEY_VERSION: Final = 0
VALUE_VERSION: Final = 0
NO_TAGS: Final = b"\0"
VOTERS_MAX: Final = 126
"""Maximum voters, whose length is one byte; no quorum has more."""


class LeaderChange(msgspec.Struct, frozen=True, gc=False):
    """A leader, the voters of its epoch, and those that elected it."""

    leader: BrokerId
    voters: tuple[BrokerId, ...]
    granting: tuple[BrokerId, ...]


def encode_leader_change(change: LeaderChange) -> RecordFields:
    """The record's fields."""
    value = struct.pack(">hi", VALUE_VERSION, change.leader)
    return struct.pack(">hh", KEY_VERSION, LEADER_CHANGE), value + _list(change.voters) + _list(
        change.granting
    ) + NO_TAGS, ()


def decode_leader_change(key: bytes | None, value: bytes | None) -> LeaderChange | None:
    """The leader change of a control record; None: another type. Raises UnreadableRecord."""
    if key is None or value is None:
        raise UnreadableRecord("control record: it has no key or no value")
    head = Fields(key, "control record's key")
    head.number(">h")
    if head.number(">h") != LEADER_CHANGE:
        return None
    fields = Fields(value, "leader change")
    if (version := fields.number(">h")) != VALUE_VERSION:
        raise UnreadableRecord(f"leader change: version {version}, known is {VALUE_VERSION}")
    leader = BrokerId(fields.number(">i"))
    change = LeaderChange(leader, _voters(fields), _voters(fields))
    _untagged(fields)
    fields.end()
    return change


def _list(voters: Sequence[BrokerId]) -> bytes:
    assert len(voters) <= VOTERS_MAX, len(voters)
    return bytes([len(voters) + 1]) + b"".join(struct.pack(">i", voter) + NO_TAGS for voter in voters)


def _voters(fields: Fields) -> tuple[BrokerId, ...]:
    count = fields.number(">B") - 1
    if not 0 <= count <= VOTERS_MAX:
        raise UnreadableRecord(f"leader change: {count} voters")
    voters = []
    for _ in range(count):
        voters.append(BrokerId(fields.number(">i")))
        _untagged(fields)
    return tuple(voters)


def _untagged(fields: Fields) -> None:
    if (tags := fields.number(">B")) != 0:
        raise UnreadableRecord(f"leader change: {tags} tagged fields")
