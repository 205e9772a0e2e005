"""Entries in a fetch response's bytes, as a consumer receives them.

A consumer receives whole entries (batches, message sets' wrappers). The first may begin before the requested
offset, and the last may be cut off at the response's size limit. Records before the requested offset and a cut-off
tail do not count. Control records, and at read_committed records of aborted transactions, are not delivered, but the
consumer's position passes them (KIP-98, CompletedFetch.nextFetchedRecord of Java's client).
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from emulator.machines.client.client_state import FetchedEntry, FetchedRecord
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, LeaderEpoch, Offset
from protocol.messages.replication_messages import AbortedTransaction, FetchedPartition
from protocol.records.errors import CorruptRecord
from protocol.records.format import iter_headers, read_records
from protocol.records.schema_fields import UnreadableRecord
from protocol.records.transaction_markers import decode_marker
from protocol.records.types import CONTROL, TRANSACTIONAL

_SPECIAL: Final = TRANSACTIONAL | CONTROL


class FetchedEntries(msgspec.Struct):
    """Entries in the order of the log.

    `next_offset`: after the last one read, delivered or not; -1: none was. `leader_epoch`: of that one. `damaged`: the
    next one is.
    """

    entries: list[FetchedEntry]
    next_offset: Offset = NO_OFFSET
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN
    damaged: bool = False


def read_entries(
    data: bytes, from_offset: Offset, aborted: Sequence[AbortedTransaction] = ()
) -> list[FetchedEntry]:
    """Entries of a fetch at `from_offset`, in the order of the log.

    `aborted`: of a response at read_committed. Raises protocol.records.errors.CorruptRecord if an entry is damaged.
    """
    fetched = FetchedEntries([])
    _read(data, from_offset, aborted, fetched)
    return fetched.entries


def stable_offset(result: FetchedPartition) -> Offset:
    """The last stable offset of a response, which leaves it out where it is the high watermark."""
    return result.high_watermark if result.last_stable_offset < 0 else result.last_stable_offset


def passed_offset(data: bytes, from_offset: Offset) -> Offset:
    """The offset after the last whole entry, delivered or not; `from_offset` without one."""
    passed = from_offset
    for _, header in iter_headers(data):
        passed = max(passed, header.next_offset)
    return passed


def read_undamaged(
    data: bytes, from_offset: Offset, aborted: Sequence[AbortedTransaction] = ()
) -> FetchedEntries:
    """Entries up to the first damaged one. `aborted`: of a response at read_committed."""
    fetched = FetchedEntries([])
    try:
        _read(data, from_offset, aborted, fetched)
    except (CorruptRecord, UnreadableRecord):
        fetched.damaged = True
    return fetched


def _read(
    data: bytes, from_offset: Offset, aborted: Sequence[AbortedTransaction], fetched: FetchedEntries
) -> None:
    pending = sorted(aborted, key=lambda one: one.first_offset)
    dropped: set[int] = set()
    for position, header in iter_headers(data):
        special = header.attributes & _SPECIAL
        while pending and pending[0].first_offset <= header.last_offset:
            dropped.add(pending.pop(0).producer_id)
        records: tuple[FetchedRecord, ...] = ()
        if special & CONTROL:
            marker = decode_marker(data, position)
            if marker is not None and not marker.commits:
                dropped.discard(header.producer_id)
        elif not (special and header.producer_id in dropped):
            records = tuple(
                FetchedRecord(record.offset, header.leader_epoch, record.value or b"")
                for record in read_records(data, position, header)
                if record.offset >= from_offset
            )
        if records:
            fetched.entries.append(FetchedEntry(header.leader_epoch, header.crc, header.next_offset, records))
        if header.next_offset > from_offset:
            fetched.next_offset, fetched.leader_epoch = header.next_offset, header.leader_epoch


def digests(data: bytes, count: int) -> list[int]:
    """Digest of the entry of each of the `count` records in `data`, as encoded to be sent."""
    of_records: list[int] = []
    for _, header in iter_headers(data):
        of_records += [header.crc] * header.record_count
    assert len(of_records) == count, (len(of_records), count)
    return of_records
