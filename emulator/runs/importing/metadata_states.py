"""Committed states of partitions and brokers, from a controller's metadata log (KRaft)."""

from collections import Counter
from collections.abc import Iterator, Sequence

from emulator.runs.importing.line_events import NodeEvent
from emulator.runs.importing.replica_contents import MetadataEntry, ReplicaContents, metadata_entries
from protocol import events as e
from protocol.records.errors import RecordsError
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)


def longest_metadata_log(logs: Sequence[tuple[str, ReplicaContents]]) -> tuple[str, ReplicaContents] | None:
    """(node, its metadata log as far as a majority of the collected ones has it).

    None: none was collected.
    """
    if not logs:
        return None
    counted = Counter((one.base_offset, one.digest) for _, log in logs for one in {*log.batches})
    majority = len(logs) // 2 + 1
    node, log = max(logs, key=lambda one: (one[1].batches[-1].epoch if one[1].batches else -1, one[1].log_end))
    common = tuple(one for one in log.batches if counted[one.base_offset, one.digest] >= majority)
    return node, log._replace(batches=common)


def committed_events(log: ReplicaContents) -> Iterator[NodeEvent]:
    """Events of the log's records, at their batches' times; what cannot be read ends them."""
    try:
        for entry in metadata_entries(log):
            event = _event(entry)
            if event is not None:
                yield NodeEvent(float(entry.at_ms), 1, event, f"{log.name}@{entry.offset}")
    except (RecordsError, OSError):
        return


def _event(entry: MetadataEntry) -> e.PartitionStateCommitted | e.BrokerRegistrationCommitted | None:
    record = entry.record
    if isinstance(record, PartitionRecord | PartitionChangeRecord):
        return _partition_state(entry, record)
    if isinstance(record, RegisterBrokerRecord):
        return e.BrokerRegistrationCommitted(record.broker, "registered", record.epoch, entry.offset, entry.epoch)
    if isinstance(record, UnregisterBrokerRecord):
        return e.BrokerRegistrationCommitted(record.broker, "unregistered", record.epoch, entry.offset, entry.epoch)
    if isinstance(record, BrokerRegistrationChangeRecord):
        change = (
            "in-controlled-shutdown" if record.in_controlled_shutdown == 1
            else "fenced" if record.fenced == 1
            else "unfenced" if record.fenced == -1
            else ""
        )  # fmt: skip
        if change:
            return e.BrokerRegistrationCommitted(record.broker, change, record.epoch, entry.offset, entry.epoch)
    return None


def _partition_state(
    entry: MetadataEntry, record: PartitionRecord | PartitionChangeRecord
) -> e.PartitionStateCommitted | None:
    for topic, number, state in entry.image.partitions():
        if topic.topic_id == record.topic_id and number == record.partition:
            return e.PartitionStateCommitted(
                topic=topic.topic, partition=number, leader=state.leader, leader_epoch=state.leader_epoch,
                isr=e.ids_text(state.isr), partition_epoch=state.partition_epoch, replicas=e.ids_text(state.replicas),
                offset=entry.offset, epoch=entry.epoch, elr=e.ids_text(state.elr),
                last_known_elr=e.ids_text(state.last_known_elr), recovering=state.recovering,
            )  # fmt: skip
    return None
