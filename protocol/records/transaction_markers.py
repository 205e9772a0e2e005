"""Control records of transactions: the markers COMMIT and ABORT, byte for byte as Kafka's.

    key    version i16 = 0, type i16 (0 ABORT, 1 COMMIT)
    value  version i16 = 0, coordinator epoch i32

A marker is the only record of a batch with the attributes transactional and control, without a sequence.

Source: ControlRecordType, EndTransactionMarker; KIP-98.
"""

import struct
from typing import Final, NamedTuple

from protocol.records.batch import encode_batch, read_records
from protocol.records.schema_fields import Fields, UnreadableRecord
from protocol.records.types import Data

_VERSION: Final = 0
_ABORT, _COMMIT = 0, 1
_KEY: Final = struct.Struct(">hh")
_VALUE: Final = struct.Struct(">hi")


class Marker(NamedTuple):
    """Result of a transaction in one partition, and the epoch of the coordinator that wrote it."""

    commits: bool
    coordinator_epoch: int


def encode_marker(marker: Marker, *, producer_id: int, producer_epoch: int, timestamp_ms: int) -> bytes:
    """The batch of a marker, which a leader places."""
    key = _KEY.pack(_VERSION, _COMMIT if marker.commits else _ABORT)
    return encode_batch(
        [(key, _VALUE.pack(_VERSION, marker.coordinator_epoch), ())],
        timestamp_ms=timestamp_ms,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        is_control=True,
        is_transactional=True,
    )


def decode_marker(data: Data, position: int = 0) -> Marker | None:
    """The marker in the control batch at `position`; None: another control record, or none.

    Raises UnreadableRecord, CorruptRecord.
    """
    records = read_records(data, position)
    if not records:
        return None
    key, value = Fields(records[0].key or b"", "a control record's key"), records[0].value
    key.number(">h")
    kind = key.number(">h")
    if kind not in (_ABORT, _COMMIT):
        return None
    if value is None:
        raise UnreadableRecord("a marker's value: null; a marker has the coordinator's epoch")
    fields = Fields(value, "a marker's value")
    fields.number(">h")
    return Marker(kind == _COMMIT, fields.number(">i"))
