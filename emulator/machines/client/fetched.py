"""Entries in a fetch response's bytes, as a consumer receives them.

A consumer receives whole entries (batches, message sets' wrappers). The first may begin before the requested
offset, and the last may be cut off at the response's size limit. Records before the requested offset and a cut-off
tail do not count.
"""

from collections.abc import Iterator

from emulator.machines.client.client_state import FetchedEntry, FetchedRecord
from protocol.ids import Offset
from protocol.records.errors import CorruptRecord
from protocol.records.format import iter_headers, read_records


def read_entries(data: bytes, from_offset: Offset) -> list[FetchedEntry]:
    """Entries of a fetch at `from_offset`, in the order of the log.

    Raises protocol.records.errors.CorruptRecord if an entry is damaged.
    """
    return list(_entries(data, from_offset))


def read_undamaged(data: bytes, from_offset: Offset) -> tuple[list[FetchedEntry], bool]:
    """Entries up to the first damaged one; whether there is one."""
    entries: list[FetchedEntry] = []
    try:
        for entry in _entries(data, from_offset):
            entries.append(entry)
    except CorruptRecord:
        return entries, True
    return entries, False


def _entries(data: bytes, from_offset: Offset) -> Iterator[FetchedEntry]:
    for position, header in iter_headers(data):
        records = tuple(
            FetchedRecord(record.offset, header.leader_epoch, record.value or b"")
            for record in read_records(data, position, header)
            if record.offset >= from_offset
        )
        if records:
            yield FetchedEntry(header.leader_epoch, header.crc, header.next_offset, records)


def digests(data: bytes, count: int) -> list[int]:
    """Digest of the entry of each of the `count` records in `data`, as encoded to be sent."""
    of_records: list[int] = []
    for _, header in iter_headers(data):
        of_records += [header.crc] * header.record_count
    assert len(of_records) == count, (len(of_records), count)
    return of_records
