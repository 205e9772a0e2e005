"""Batches of a log with producers' numbers and markers, as observations show them."""

from protocol.ids import topic_partition_text
from protocol.records.format import iter_headers, read_records
from protocol.records.transaction_markers import decode_marker
from protocol.records.transaction_states import decode_transaction, decode_transaction_key

BatchEntry = list[int | str | list[str | None]]
"""A batch.

[first offset, last offset, leader epoch, producer id, producer epoch, first sequence, kind, values].

Kind: data (of a transaction), commit or abort (with the coordinator epoch in the place of the values), plain.
"""
StateEntry = list[int | str | list[str]]
"""State of a transactional id.

[offset, leader epoch, transactional id, producer id, producer epoch, time-out, state, partitions]
"""


def batch_entries(data: bytes) -> list[BatchEntry]:
    """Entries of the whole batches in `data`. Raises CorruptRecord, UnreadableRecord."""
    found: list[BatchEntry] = []
    for position, header in iter_headers(data):
        entry: BatchEntry = [
            header.base_offset, header.last_offset, header.leader_epoch, header.producer_id, header.producer_epoch,
            header.base_sequence,
        ]  # fmt: skip
        marker = decode_marker(data, position) if header.is_control else None
        if marker is not None:
            found.append([*entry, "commit" if marker.commits else "abort", marker.coordinator_epoch])
            continue
        values = [_text(record.value) for record in read_records(data, position, header)]
        found.append([*entry, "data" if header.is_transactional else "plain", values])
    return found


def state_entries(data: bytes) -> list[StateEntry]:
    """Entries of a log of transactional ids; tombstones are left out.

    Raises CorruptRecord, UnreadableRecord.
    """
    found: list[StateEntry] = []
    for position, header in iter_headers(data):
        for record in () if header.is_control else read_records(data, position, header):
            if record.value is None:
                continue
            stored = decode_transaction(record.value)
            partitions = [topic_partition_text(*one) for one in stored.partitions]
            found.append([
                record.offset, header.leader_epoch, decode_transaction_key(record.key or b""), stored.producer_id,
                stored.producer_epoch, stored.timeout_ms, stored.state.text, partitions,
            ])  # fmt: skip
    return found


def _text(value: bytes | None) -> str | None:
    return None if value is None else value.decode(errors="backslashreplace")
