"""Events of committed records, as each controller reads them from the metadata log."""

from collections.abc import Iterator

from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from protocol.events import BrokerRegistrationCommitted, Event, PartitionStateCommitted, TopicRemoved
from protocol.ids import BrokerId, Offset
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    UnregisterBrokerRecord,
)


def apply_and_report(image: MetadataImage, batch: MetadataBatch) -> Iterator[Event]:
    """Apply a batch to `image`, with an event for each state that is new.

    A snapshot has states without their changes, so it has no events.
    """
    if batch.is_snapshot:
        image.apply_batch(batch)
        return
    for index, record in enumerate(batch.records):
        offset = Offset(batch.base_offset + index)
        before = _cleared(image, record)
        removed = image.topic_names.get(record.topic_id, "") if isinstance(record, RemoveTopicRecord) else ""
        image.apply(record, offset)
        match record:
            case PartitionRecord(topic_id=topic_id, partition=number):
                yield _state(image, image.topic_names[topic_id], number, offset, batch.epoch)
            case PartitionChangeRecord(topic_id=topic_id, partition=number):
                yield _state(image, image.topic_names[topic_id], number, offset, batch.epoch)
            case ClearElrRecord():
                for topic, number in before:
                    yield _state(image, topic, number, offset, batch.epoch)
            case RemoveTopicRecord(topic_id=topic_id):
                yield TopicRemoved(removed, int(batch.epoch), topic_id=topic_id)
            case _:
                change = _registration_change(record)
                if change is not None:
                    yield BrokerRegistrationCommitted(*change, int(offset), int(batch.epoch))
    image.apply_batch(MetadataBatch(batch.base_offset, batch.end, batch.epoch, ()))


def _cleared(image: MetadataImage, record: MetadataRecord) -> list[tuple[str, int]]:
    """The partitions whose ELR a record empties."""
    if not isinstance(record, ClearElrRecord):
        return []
    return [
        (topic.topic, number)
        for topic, number, state in image.partitions()
        if record.topic in ("", topic.topic) and (state.elr or state.last_known_elr)
    ]


def _registration_change(record: MetadataRecord) -> tuple[BrokerId, str, int] | None:
    """(broker, change, broker epoch) of a record about a registration; None: another record."""
    match record:
        case RegisterBrokerRecord(broker=broker, epoch=epoch):
            return broker, "registered", epoch
        case UnregisterBrokerRecord(broker=broker, epoch=epoch):
            return broker, "unregistered", epoch
        case BrokerRegistrationChangeRecord(broker=broker, epoch=epoch, fenced=fenced) if fenced:
            return broker, "fenced" if fenced > 0 else "unfenced", epoch
        case BrokerRegistrationChangeRecord(broker=broker, epoch=epoch, in_controlled_shutdown=begun) if begun > 0:
            return broker, "in-controlled-shutdown", epoch
        case _:
            return None


def _state(image: MetadataImage, topic: str, number: int, offset: Offset, epoch: int) -> PartitionStateCommitted:
    state: PartitionRegistration = image.topics[topic].partitions[number]
    return PartitionStateCommitted(
        topic, number, state.leader, state.leader_epoch, _text(state.isr), state.partition_epoch,
        _text(state.replicas), int(offset), int(epoch), _text(state.elr), _text(state.last_known_elr),
        state.recovering, topic_id=image.topics[topic].topic_id,
    )  # fmt: skip


def _text(brokers: tuple[BrokerId, ...]) -> str:
    return ",".join(map(str, brokers))
