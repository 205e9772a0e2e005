"""Partitions that a task could elect a leader of (until 3.9).

They are kept up to date with each record. A look at all partitions after every write would make the cost of one ISR
change grow with the cluster.

Source: ReplicationControlManager.imbalancedPartitions, BrokersToIsrs.noLeader.
"""

from controller.kraft.election_requests import has_preferred_leader
from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from protocol.ids import NO_LEADER
from protocol.records.metadata_records import (
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
)


class OpenElections:
    """Of one image: partitions without their preferred leader, and partitions without a leader."""

    def __init__(self) -> None:
        self._imbalanced: dict[tuple[str, int], None] = {}
        self._leaderless: dict[tuple[str, int], None] = {}

    @property
    def any_imbalanced(self) -> bool:
        return bool(self._imbalanced)

    @property
    def any_leaderless(self) -> bool:
        return bool(self._leaderless)

    def begin(self, image: MetadataImage) -> None:
        """Look at all partitions: a controller claims."""
        self._imbalanced.clear()
        self._leaderless.clear()
        for topic, number, state in image.partitions():
            self._note((topic.topic_id, number), state)

    def removed(self, image: MetadataImage, record: MetadataRecord) -> None:
        """Forget the partitions of a topic that the record removes.

        Call it before the record is applied.
        """
        if isinstance(record, RemoveTopicRecord):
            name = image.topic_names.get(record.topic_id)
            for number in image.topics[name].partitions if name is not None else ():
                self._imbalanced.pop((record.topic_id, number), None)
                self._leaderless.pop((record.topic_id, number), None)

    def applied(self, image: MetadataImage, record: MetadataRecord) -> None:
        """Note the partition that an applied record has changed."""
        if isinstance(record, PartitionRecord | PartitionChangeRecord):
            topic = image.topics[image.topic_names[record.topic_id]]
            self._note((record.topic_id, record.partition), topic.partitions[record.partition])

    def _note(self, place: tuple[str, int], state: PartitionRegistration) -> None:
        if has_preferred_leader(state):
            self._imbalanced.pop(place, None)
        else:
            self._imbalanced[place] = None
        if state.leader == NO_LEADER:
            self._leaderless[place] = None
        else:
            self._leaderless.pop(place, None)
