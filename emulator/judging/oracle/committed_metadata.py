"""History of the states of partitions and of the topics that a KRaft quorum commits.

The first controller that reads a batch shows it: a majority has it on disk by then. The states are added to those of
`committed_records`; the offset of a record stands for the zxid, the epoch of its batch for the controller epoch.
"""

from collections.abc import Iterable, Iterator

from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from emulator.judging.oracle.committed_records import Committed
from emulator.judging.oracle.partition_incarnations import Incarnations
from emulator.judging.oracle.truth import State
from protocol.ids import FIRST_OFFSET, BrokerId, Offset, TopicPartition
from protocol.records.metadata_records import (
    ClearElrRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)


class CommittedMetadata:
    """Applies committed batches to an image of its own.

    `next_offset`: end of those that it has seen.
    """

    def __init__(self, committed: Committed, incarnations: Incarnations) -> None:
        self._committed = committed
        self._incarnations = incarnations
        self._image = MetadataImage()
        self._known: dict[TopicPartition, PartitionRegistration] = {}
        self._newest: dict[TopicPartition, State] = {}
        self.next_offset: Offset = FIRST_OFFSET

    def catch_up(self, batches: Iterable[MetadataBatch], now_ms: float) -> Iterator[str]:
        """Apply the batches that are new here. Yields each topic that they remove."""
        for batch in batches:
            if batch.base_offset < self.next_offset:
                continue
            for index, record in enumerate(batch.records):
                yield from self._apply(record, Offset(batch.base_offset + index), batch, now_ms)
            self.next_offset = Offset(batch.end)

    def assignments(self) -> dict[TopicPartition, tuple[BrokerId, ...]]:
        """{partition: its final replicas}."""
        return {topic_partition: state.replicas for topic_partition, state in self._known.items()}

    def _apply(self, record: MetadataRecord, offset: Offset, batch: MetadataBatch, now_ms: float) -> Iterator[str]:
        removed = self._image.topic_names.get(record.topic_id) if isinstance(record, RemoveTopicRecord) else None
        self._image.apply(record, offset)
        if isinstance(record, TopicRecord):
            self._incarnations.created(record.topic, record.topic_id)
        if removed is not None:
            self._removed(removed, now_ms)
            yield removed
        if isinstance(record, PartitionRecord | PartitionChangeRecord | ClearElrRecord):
            for topic, number, state in self._image.partitions():
                if self._known.get((topic.topic, number)) is not state:
                    self._changed((topic.topic, number), state, offset, batch, now_ms)

    def _removed(self, topic: str, now_ms: float) -> None:
        for topic_partition in [of for of in self._known if of[0] == topic]:
            del self._known[topic_partition]
            self._newest.pop(topic_partition).until_ms = now_ms

    def _changed(
        self,
        topic_partition: TopicPartition,
        state: PartitionRegistration,
        offset: Offset,
        batch: MetadataBatch,
        now_ms: float,
    ) -> None:
        before = self._known.get(topic_partition)
        self._known[topic_partition] = state
        if before is not None:
            self._newest[topic_partition].until_ms = now_ms
        topic, number = topic_partition
        if before is None or before.replicas != state.replicas:
            self._committed.assigned_ms[topic] = now_ms
        newest = self._newest[topic_partition] = State(
            topic_partition=(self._incarnations.name(topic), number),
            zxid=offset,
            leader=state.leader,
            leader_epoch=state.leader_epoch,
            isr=state.isr,
            controller_epoch=batch.epoch,
            created=before is None,
            version=state.partition_epoch,
            reached=batch.epoch,
            from_ms=now_ms,
            elr=state.elr,
        )
        self._committed.note(newest)
