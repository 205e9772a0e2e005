"""Control records of voters and snapshots in the metadata log (KIP-630, KIP-853).

    type 3  snapshot header   version i16, append time of the last contained record i64
    type 4  snapshot footer   version i16
    type 5  kraft.version     version i16, level i16
    type 6  voters            version i16, [id i32, directory uuid, [listener, host, port u16], min i16, max i16]

The values are flexible messages. A key has a version i16 of 0 and the type i16.

Source: ControlRecordType, SnapshotHeaderRecord.json, SnapshotFooterRecord.json, KRaftVersionRecord.json,
VotersRecord.json.
"""

import struct
from typing import Final

import msgspec

from protocol.ids import BrokerId
from protocol.records.compact_fields import NO_TAGS, CompactFields, compact_string, uuid, uuid_text, uvarint
from protocol.records.quorum_records import KEY_VERSION, LeaderChange, decode_leader_change, encode_leader_change
from protocol.records.schema_fields import Fields, UnreadableRecord
from protocol.records.types import RecordFields

SNAPSHOT_HEADER: Final = 3
SNAPSHOT_FOOTER: Final = 4
KRAFT_VERSION: Final = 5
KRAFT_VOTERS: Final = 6
VALUE_VERSION: Final = 0
LISTENER: Final = "CONTROLLER"
CONTROLLER_PORT: Final = 9093
NO_DIRECTORY: Final = uuid_text(bytes(16))
"""Text of Kafka's zero uuid: the directory of a voter is unknown."""


class Voter(msgspec.Struct, frozen=True, gc=False):
    """A voter. `directory`: uuid of its log's directory, "" unknown. `host`: of its listener.

    `kraft_version_max`: highest level of `kraft.version` that it supports; the lowest is 0.
    """

    id: BrokerId
    directory: str = ""
    host: str = ""
    kraft_version_max: int = 1


class SnapshotHeader(msgspec.Struct, frozen=True, gc=False):
    """First record of a snapshot. `last_timestamp_ms`: append time of the last record in it."""

    last_timestamp_ms: int


class SnapshotFooter(msgspec.Struct, frozen=True, gc=False):
    """Last record of a snapshot; a snapshot without it is incomplete."""


class KRaftVersion(msgspec.Struct, frozen=True, gc=False):
    """Level of the feature `kraft.version`: 0 static voters, 1 voters in the log."""

    level: int


class Voters(msgspec.Struct, frozen=True, gc=False):
    """The voters from this record on."""

    voters: tuple[Voter, ...]


ControlRecord = LeaderChange | SnapshotHeader | SnapshotFooter | KRaftVersion | Voters


def encode_control_record(record: ControlRecord) -> RecordFields:
    """The record's fields. Raises ValueError for a directory that is no uuid."""
    match record:
        case LeaderChange():
            return encode_leader_change(record)
        case SnapshotHeader(last_timestamp_ms=timestamp_ms):
            return _fields(SNAPSHOT_HEADER, struct.pack(">hq", VALUE_VERSION, timestamp_ms))
        case SnapshotFooter():
            return _fields(SNAPSHOT_FOOTER, struct.pack(">h", VALUE_VERSION))
        case KRaftVersion(level=level):
            return _fields(KRAFT_VERSION, struct.pack(">hh", VALUE_VERSION, level))
        case Voters(voters=voters):
            listed = uvarint(len(voters) + 1) + b"".join(_voter(voter) for voter in voters)
            return _fields(KRAFT_VOTERS, struct.pack(">h", VALUE_VERSION) + listed)


def _fields(kind: int, value: bytes) -> RecordFields:
    return struct.pack(">hh", KEY_VERSION, kind), value + NO_TAGS, ()


def _voter(voter: Voter) -> bytes:
    endpoint = compact_string(LISTENER) + compact_string(voter.host) + struct.pack(">H", CONTROLLER_PORT) + NO_TAGS
    directory = uuid(voter.directory) if voter.directory else bytes(16)
    supported = struct.pack(">hh", 0, voter.kraft_version_max) + NO_TAGS
    return struct.pack(">i", voter.id) + directory + uvarint(2) + endpoint + supported + NO_TAGS


def decode_control_record(key: bytes | None, value: bytes | None) -> ControlRecord | None:
    """The control record of a key and a value; None: another type. Raises UnreadableRecord."""
    if key is None or value is None:
        raise UnreadableRecord("control record: it has no key or no value")
    head = Fields(key, "control record's key")
    head.number(">h")
    kind = head.number(">h")
    if kind not in (SNAPSHOT_HEADER, SNAPSHOT_FOOTER, KRAFT_VERSION, KRAFT_VOTERS):
        return decode_leader_change(key, value)
    fields = CompactFields(value, f"control record of type {kind}")
    if (version := fields.number(">h")) != VALUE_VERSION:
        raise UnreadableRecord(f"control record of type {kind}: version {version}, known is {VALUE_VERSION}")
    record: ControlRecord
    if kind == SNAPSHOT_HEADER:
        record = SnapshotHeader(fields.number(">q"))
    elif kind == SNAPSHOT_FOOTER:
        record = SnapshotFooter()
    elif kind == KRAFT_VERSION:
        record = KRaftVersion(fields.number(">h"))
    else:
        record = Voters(tuple(_read_voter(fields) for _ in range(fields.count())))
    fields.tagged({})
    fields.end()
    return record


def _read_voter(fields: CompactFields) -> Voter:
    identifier, directory = BrokerId(fields.number(">i")), fields.uuid()
    hosts = []
    for _ in range(fields.count()):
        fields.compact_string()
        hosts.append(fields.compact_string())
        fields.number(">H")
        fields.tagged({})
    fields.number(">h")
    newest = fields.number(">h")
    fields.tagged({})
    fields.tagged({})
    return Voter(identifier, "" if directory == NO_DIRECTORY else directory, hosts[0] if hosts else "", newest)
