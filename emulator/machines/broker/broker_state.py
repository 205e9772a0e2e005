"""Structs of the broker: settings of a log, remembered batches, reads, parked requests."""

import msgspec

from emulator.machines.broker.settings import LONG_MAX
from protocol.ids import Offset
from protocol.messages.replication_messages import FetchedPartition


class LogSettings(msgspec.Struct, frozen=True):
    """Settings of a log.

    `flush_messages`: number of unsynced messages that causes a sync. `flush_ms`: age of unsynced messages that
    causes one. `max_message_bytes`: limit of a batch.
    """

    segment_bytes: int = 1024 * 1024 * 1024
    max_message_bytes: int = 1024 * 1024 + 12
    flush_messages: int = LONG_MAX
    flush_ms: int = LONG_MAX


class RememberedBatch(msgspec.Struct, frozen=True):
    """Sequences, offsets and CRC of a batch."""

    first_sequence: int
    last_sequence: int
    base_offset: Offset
    last_offset: Offset
    digest: int
    max_timestamp_ms: int = -1


class Read(msgspec.Struct, frozen=True):
    """Result of one partition: response, leader's log end at the read (-1: error), time."""

    result: FetchedPartition
    leader_log_end: Offset
    at_ms: float


class Parked(msgspec.Struct, frozen=True):
    """A parked request, for status reports."""

    connection: int
    correlation_id: int
    request: str
    deadline_ms: float
    waits_for: str
