"""The oracle's states of a KRaft cluster, from committed batches of the metadata log."""

from emulator.judging.oracle.committed_metadata import CommittedMetadata
from emulator.judging.oracle.committed_records import Committed
from emulator.judging.oracle.partition_incarnations import Incarnations
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from protocol.records.metadata_records import (
    UNCHANGED,
    ClearElrRecord,
    MetadataBatch,
    MetadataRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)

ALL = (BrokerId(0), BrokerId(1), BrokerId(2))


def partition(topic_id: str = "A") -> PartitionRecord:
    return PartitionRecord(
        topic_id=topic_id, partition=0, replicas=ALL, isr=ALL, leader=BrokerId(0), leader_epoch=LeaderEpoch(0),
        partition_epoch=0,
    )  # fmt: skip


class History:
    """Batches of one record each, a second apart."""

    def __init__(self, *records: MetadataRecord) -> None:
        self.committed = Committed(Incarnations())
        self.incarnations = Incarnations()
        self.metadata = CommittedMetadata(self.committed, self.incarnations)
        self.removed: list[str] = []
        for offset, record in enumerate(records):
            batch = MetadataBatch(offset, offset + 1, LeaderEpoch(1), (record,))
            for _ in range(2):  # a second controller reads it as well
                for topic in self.metadata.catch_up([batch], 1_000.0 * offset):
                    self.removed.append(topic)
                    self.incarnations.ended(topic, 0)


def change(**fields: object) -> PartitionChangeRecord:
    return PartitionChangeRecord(topic_id="A", partition=0, **fields)  # type: ignore[arg-type]


def test_a_change_of_a_partition_is_a_state() -> None:
    history = History(TopicRecord("t", "A"), partition(), change(isr=ALL[1:], leader=BrokerId(1)))
    first, second = history.committed.states
    assert (first.zxid, first.created, first.from_ms, first.until_ms) == (1, True, 1_000.0, 2_000.0)
    assert (second.zxid, second.leader, second.leader_epoch, second.isr) == (2, 1, 1, (1, 2))
    assert (second.version, second.created, second.until_ms) == (1, False, None)
    assert history.metadata.assignments() == {("t", 0): ALL}


def test_a_removed_topic_and_its_successor_are_two_incarnations() -> None:
    removal = RemoveTopicRecord("A")
    history = History(TopicRecord("t", "A"), partition(), removal, TopicRecord("t", "B"), partition("B"))
    assert history.removed == ["t"]
    states = [(state.topic_partition, state.created, state.until_ms) for state in history.committed.states]
    assert states == [(("t", 0), True, 2_000.0), (("t#2", 0), True, None)]


def test_a_leader_from_the_eligible_replicas_is_elected_cleanly() -> None:
    records: list[MetadataRecord] = [
        TopicRecord("t", "A"), partition(),
        change(isr=(), leader=NO_BROKER, elr=(BrokerId(1),)), change(isr=(BrokerId(1),), leader=BrokerId(1), elr=()),
    ]  # fmt: skip
    assert not History(*records).committed.elected_uncleanly(("t", 0), 2)
    records[3] = change(isr=(BrokerId(2),), leader=BrokerId(2))
    assert History(*records).committed.elected_uncleanly(("t", 0), 2)


def test_a_new_assignment_counts_from_its_record() -> None:
    moved = change(replicas=(BrokerId(1), BrokerId(2)), leader=UNCHANGED)
    history = History(TopicRecord("t", "A"), partition(), change(isr=ALL[:2], leader=UNCHANGED), moved)
    assert history.committed.assigned_ms == {"t": 3_000.0}


def test_a_cleared_elr_is_a_state() -> None:
    eligible = change(isr=ALL[:1], leader=UNCHANGED, elr=(BrokerId(1),))
    history = History(TopicRecord("t", "A"), partition(), eligible, ClearElrRecord("t"))
    assert [state.elr for state in history.committed.states] == [(), (1,), ()]
