"""The group coordinator: offsets committed to a replicated topic.
Semantics 6, "Committed offsets".
"""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.machines.broker.group_coordinator import LOAD_BYTES
from emulator.machines.broker.offset_cache import OffsetCache
from protocol.errors import ErrorCode
from protocol.events import GroupCoordinatorChanged
from protocol.ids import EPOCH_DURING_DELETE, EPOCH_UNKNOWN, BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.messages.groups import (
    CommittedPartition,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
    GroupPartition,
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
    OffsetToCommit,
)
from protocol.messages.leadership_messages import PartitionError, StoppedPartition, StopReplicaRequest
from protocol.messages.replication_messages import (
    FetchPartition,
    FetchRequest,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.records.format import encode, iter_headers, read_records
from protocol.records.group_metadata import StoredGroup, encode_group, encode_group_key
from protocol.records.offset_commits import (
    OFFSETS_TOPIC,
    CommittedOffset,
    GroupKey,
    OffsetKey,
    decode_key,
    decode_value,
    encode_key,
    encode_value,
    hash_partition,
)
from verification.broker_bench import T0, Bench, batch, state

OFFSETS = (OFFSETS_TOPIC, 0)
WALL_MS = 1_600_000_000_000
MINUTE_MS = 60_000


class Coordinator(Bench):
    """Leads the one partition of the offsets topic, and has loaded it."""

    def __init__(self, version: str = "2.6", *, isr: tuple[int, ...] = (0, 1), load: bool = True, **more: Any) -> None:
        super().__init__(version, **more)
        self.update_metadata(state(0, topic_partition=OFFSETS), state(0, topic_partition=T0))
        self.elect(0, isr)
        if load:
            self.advance(0)

    def elect(self, epoch: int, isr: tuple[int, ...] = (0, 1), leader: int = 0) -> None:
        self.leader_and_isr(state(leader, epoch, isr, topic_partition=OFFSETS))

    def commit(self, offset: int, *, epoch: int = -1, group: str = "g", topic_partition: tuple[str, int] = T0) -> int:
        return self.ask(
            OffsetCommitRequest(group, [OffsetToCommit(*topic_partition, Offset(offset), LeaderEpoch(epoch))])
        )

    def commit_error(self, connection: int) -> int:
        (result,) = self.answer(connection, OffsetCommitResponse).partitions
        return result.error

    def committed(self, group: str = "g", topic_partition: tuple[str, int] = T0) -> CommittedPartition:
        answer = self.answer(
            self.ask(OffsetFetchRequest(group, [GroupPartition(*topic_partition)])), OffsetFetchResponse
        )
        assert answer.error == 0
        (found,) = answer.partitions
        return found

    def group_error(self) -> int:
        return self.answer(self.ask(OffsetFetchRequest("g", [GroupPartition(*T0)])), OffsetFetchResponse).error

    def replicate(self, offset: int) -> None:
        """broker-1 holds everything below."""
        requested = FetchPartition(*OFFSETS, Offset(offset))
        self.ask(FetchRequest(BrokerId(1), 0, 1, 1_000_000, [requested]))

    def records(self) -> list[tuple[OffsetKey | GroupKey, CommittedOffset]]:
        log = self.broker.replicas.partitions[OFFSETS].the_log
        data = log.read(Offset(0), log.log_end, 1_000_000)
        entries = [record for position, _ in iter_headers(data) for record in read_records(data, position)]
        return [(decode_key(record.key or b""), decode_value(record.value or b"")) for record in entries]


# --- who coordinates ---


def found(bench: Bench, group: str = "g") -> FindCoordinatorResponse:
    return bench.answer(bench.ask(FindCoordinatorRequest(group)), FindCoordinatorResponse)


def test_the_coordinator_is_the_leader_of_the_groups_partition_by_this_brokers_metadata() -> None:
    """Semantics 6. Its node must be alive, too."""
    bench = Bench()
    states = [state(number % 3, topic_partition=(OFFSETS_TOPIC, number)) for number in range(5)]
    bench.update_metadata(*states)
    for group in ("a", "b", "hello", "polygenelubricants", ""):
        leader = hash_partition(group, 5) % 3
        assert found(bench, group) == FindCoordinatorResponse(0, BrokerId(leader), f"broker-{leader}")
    bench.update_metadata(*states, live=(1, 2))
    assert found(bench, "polygenelubricants") == FindCoordinatorResponse(ErrorCode.COORDINATOR_NOT_AVAILABLE)


@pytest.mark.parametrize("version", ["0.10.2", "2.6"])
def test_the_first_request_has_the_offsets_topic_made_and_is_to_be_repeated(version: str) -> None:
    """Semantics 6: it is there when the metadata say so."""
    bench = Bench(version, offsets_topic_num_partitions=4, offsets_topic_replication_factor=2)
    bench.update_metadata()
    requested = bench.ask(FindCoordinatorRequest("g"))
    (made,) = bench.created
    assert made[:3] == (OFFSETS_TOPIC, 4, 2)
    assert made[3] == {"cleanup.policy": "compact", "segment.bytes": "104857600", "compression.type": "producer"}
    assert bench.answers(requested) == []
    bench.do(made[4])
    assert bench.answer(requested, FindCoordinatorResponse).error == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_fewer_brokers_than_replicas_make_no_offsets_topic_from_0_11() -> None:
    """KIP-115 (`offsets_topic_needs_all_brokers`); before, it is made with fewer replicas."""
    for version, replicas in (("0.10.2", [2]), ("0.11", [])):
        bench = Bench(version, offsets_topic_replication_factor=3)
        bench.update_metadata(live=(0, 1))
        requested = bench.ask(FindCoordinatorRequest("g"))
        assert [made[2] for made in bench.created] == replicas
        assert bool(bench.answers(requested)) == (not replicas)
    bench = Bench("0.10.2")
    assert found(bench).error == ErrorCode.COORDINATOR_NOT_AVAILABLE  # it knows of no broker at all
    assert bench.created == []


def test_0_8_2_does_not_serve_groups() -> None:
    bench = Bench("0.8.2")
    connection = bench.ask(FindCoordinatorRequest("g"))
    assert bench.answers(connection) == []
    assert bench.closed(connection)


# --- committing ---


def test_a_commit_is_answered_and_counts_when_the_in_sync_replicas_have_it() -> None:
    """Semantics 6, 1.8: acks=all."""
    bench = Coordinator()
    connection = bench.commit(5, epoch=2)
    assert bench.answers(connection) == []
    assert bench.committed().offset == -1
    bench.replicate(1)
    assert bench.answer(connection, OffsetCommitResponse) == OffsetCommitResponse([PartitionError(*T0)])
    assert bench.committed() == CommittedPartition(*T0, Offset(5), LeaderEpoch(2))
    assert bench.committed("other").offset == -1


def test_its_record_is_kafkas() -> None:
    """Semantics 6: value version 1 until 2.0, with the end of its life.
    3 from 2.1, with the leader epoch.
    """
    bench = Coordinator("2.8", isr=(0,))
    bench.commit(5, epoch=2)
    assert bench.records() == [(OffsetKey("g", *T0), CommittedOffset(Offset(5), LeaderEpoch(2), "", WALL_MS))]
    for version in ("0.10.2", "1.1", "2.0.1"):
        bench = Coordinator(version, isr=(0,), offsets_retention_minutes=10)
        bench.commit(5, epoch=2)
        expire_ms = WALL_MS + 10 * MINUTE_MS
        assert bench.records() == [
            (OffsetKey("g", *T0), CommittedOffset(Offset(5), EPOCH_UNKNOWN, "", WALL_MS, expire_ms))
        ]
        assert bench.committed() == CommittedPartition(*T0, Offset(5))


def test_a_commit_of_several_partitions_is_one_batch() -> None:
    bench = Coordinator(isr=(0,))
    bench.update_metadata(state(0, topic_partition=OFFSETS), state(0), state(0, topic_partition=("t", 1)))
    partitions = [
        OffsetToCommit("t", 0, Offset(3)),
        OffsetToCommit("t", 1, Offset(7)),
        OffsetToCommit("u", 0, Offset(1)),
    ]
    answer = bench.answer(bench.ask(OffsetCommitRequest("g", partitions)), OffsetCommitResponse)
    assert [(p.topic, p.partition, p.error) for p in answer.partitions] == [
        ("t", 0, 0),
        ("t", 1, 0),
        ("u", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert [bench.committed(topic_partition=("t", number)).offset for number in (0, 1)] == [3, 7]
    assert (
        len(list(iter_headers(bench.broker.replicas.partitions[OFFSETS].the_log.read(Offset(0), Offset(2), 1_000_000))))
        == 1
    )


def test_a_commit_that_is_not_replicated_in_time_is_7_and_may_count_later() -> None:
    """Semantics 6: `offsets.commit.timeout.ms`.
    The record stays, and the next coordinator that loads the log has it.
    """
    bench = Coordinator(offsets_commit_timeout_ms=5000)
    connection = bench.commit(5)
    bench.advance(4999)
    assert bench.answers(connection) == []
    bench.advance(1)
    assert bench.commit_error(connection) == ErrorCode.REQUEST_TIMED_OUT
    bench.replicate(1)
    assert bench.committed().offset == -1
    bench.elect(1, leader=1)
    bench.elect(2)
    bench.advance(0)
    assert bench.committed().offset == 5


def test_an_append_error_is_mapped_to_the_coordinators_error() -> None:
    """Semantics 6: 19 and 20 become 15, 6 becomes 16, 10 becomes 28."""
    bench = Coordinator(min_insync_replicas=3)
    assert bench.commit_error(bench.commit(1)) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    bench = Coordinator(min_insync_replicas=2)
    connection = bench.commit(1)
    bench.elect(1, isr=(0,))
    assert bench.commit_error(connection) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    bench = Coordinator()
    connection = bench.commit(1)
    bench.elect(1, leader=1)
    assert bench.commit_error(connection) == ErrorCode.NOT_COORDINATOR
    bench = Coordinator(isr=(0,), message_max_bytes=80)
    assert bench.commit_error(bench.commit(1)) == ErrorCode.INVALID_COMMIT_OFFSET_SIZE


def test_a_text_that_is_too_long_is_refused_and_a_short_one_kept() -> None:
    bench = Coordinator(isr=(0,), offset_metadata_max_bytes=3)
    for text, error, kept in (("ab", 0, "ab"), ("äö", ErrorCode.OFFSET_METADATA_TOO_LARGE, "ab")):
        answer = bench.ask(OffsetCommitRequest("g", [OffsetToCommit(*T0, Offset(1), metadata=text)]))
        assert bench.commit_error(answer) == error
        assert bench.committed().metadata == kept


def test_required_acks_of_1_waits_for_no_replica() -> None:
    bench = Coordinator(offsets_commit_required_acks=1)
    assert bench.commit_error(bench.commit(5)) == 0
    assert bench.committed().offset == 5


def test_clients_cannot_write_to_the_offsets_topic() -> None:
    bench = Coordinator(isr=(0,))
    produce = ProduceRequest(1, 1000, [ProducePartition(*OFFSETS, batch("x"))])
    (result,) = bench.answer(bench.ask(produce), ProduceResponse).partitions
    assert (result.error, result.base_offset) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
    assert bench.records() == []


# --- loading ---


def test_while_the_log_is_read_nothing_is_answered_but_that() -> None:
    """Semantics 6: COORDINATOR_LOAD_IN_PROGRESS."""
    bench = Coordinator(load=False)
    assert bench.group_error() == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert bench.commit_error(bench.commit(1)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    bench.advance(0)
    assert bench.group_error() == 0


def test_another_broker_is_not_the_coordinator() -> None:
    bench = Bench()
    bench.update_metadata(state(1, topic_partition=OFFSETS), state(0))
    connection = bench.ask(OffsetCommitRequest("g", [OffsetToCommit(*T0, Offset(1))]))
    (result,) = bench.answer(connection, OffsetCommitResponse).partitions
    assert result.error == ErrorCode.NOT_COORDINATOR
    fetched = bench.ask(OffsetFetchRequest("g", [GroupPartition(*T0)]))
    assert bench.answer(fetched, OffsetFetchResponse) == OffsetFetchResponse(ErrorCode.NOT_COORDINATOR)


def test_a_new_coordinator_has_what_is_in_its_replica_and_the_last_of_a_key_counts() -> None:
    """Semantics 6: also after a restart, and in pieces of the log.
    Without a value an offset is forgotten.
    """
    first = Coordinator(isr=(0,), load=True)
    for offset in (1, 2, 3):
        first.commit(offset)
    first.commit(9, group="h")
    log = first.broker.replicas.partitions[OFFSETS].the_log
    forgotten = encode([(encode_key(OffsetKey("h", *T0)), None, ())], magic=2, timestamp_ms=0)
    of_group = encode_group(StoredGroup("consumer", 1, None, None), 3)
    members = encode([(encode_group_key("g"), of_group, ())], magic=2, timestamp_ms=0)
    for data in (forgotten, members):
        log.append_as_leader(data, LeaderEpoch(0))
    second = Coordinator(files=first.files, isr=(0,))
    assert second.committed().offset == 3
    assert second.committed("h").offset == -1
    changes = [(event.change, event.offsets) for event in second.events(GroupCoordinatorChanged)]
    assert changes == [("loading", 0), ("loaded", 1)]


@pytest.mark.parametrize(("version", "offset"), [("0.10.2", -1), ("0.11", 5), ("2.8", 5)])
def test_up_to_0_10_it_is_read_to_the_high_watermark_only(version: str, offset: int) -> None:
    """`offsets_loaded_to_log_end`: a follower may lead before it knows the high watermark.
    It lacks what was acknowledged, until it is elected again.
    """
    bench = Bench(version)
    bench.update_metadata(state(1, topic_partition=OFFSETS), state(0))
    value = encode_value(CommittedOffset(Offset(5)), bench.gates.offset_commit_value_version)
    data = encode([(encode_key(OffsetKey("g", *T0)), value, ())], magic=bench.magic, timestamp_ms=0)
    bench.leader_and_isr(state(1, 0, topic_partition=OFFSETS))
    bench.broker.replicas.partitions[OFFSETS].the_log.append_as_follower(data)
    bench.leader_and_isr(state(0, 1, topic_partition=OFFSETS))
    bench.advance(0)
    answer = bench.answer(bench.ask(OffsetFetchRequest("g", [GroupPartition(*T0)])), OffsetFetchResponse)
    assert [found.offset for found in answer.partitions] == [offset]


@pytest.mark.parametrize(("version", "stops"), [("2.0.0", True), ("2.0.1", False)])
def test_a_batch_larger_than_the_load_buffer_stops_loading_up_to_2_0_0(version: str, stops: bool) -> None:
    """KAFKA-7286, `large_batch_stops_loading`: one thread loads all partitions.

    The loop ends when the broker resigns (GroupMetadataManager.doLoadGroupsAndOffsets).
    """
    bench = Coordinator(version, isr=(0,), load=False, message_max_bytes=2 * LOAD_BYTES)
    value = encode_value(CommittedOffset(Offset(5), metadata="m" * 30_000), bench.gates.offset_commit_value_version)
    records = [(encode_key(OffsetKey("g", "t", number)), value, ()) for number in range(LOAD_BYTES // 30_000 + 1)]
    log = bench.broker.replicas.partitions[OFFSETS].the_log
    log.append_as_leader(encode(records, magic=2, timestamp_ms=0), LeaderEpoch(0))
    bench.advance(1000)
    bench.leader_and_isr(state(0, 0, (0,), topic_partition=(OFFSETS_TOPIC, 1)))
    bench.advance(1000)
    assert bench.group_error() == (ErrorCode.COORDINATOR_LOAD_IN_PROGRESS if stops else ErrorCode.NONE)
    bench.elect(1, leader=1)
    bench.advance(0)
    changes = [(event.partition, event.change) for event in bench.events(GroupCoordinatorChanged)]
    stopped = [(0, "loading"), (1, "loading"), (0, "resigned"), (1, "loaded")]
    ended = [(0, "loading"), (0, "loaded"), (1, "loading"), (1, "loaded"), (0, "resigned")]
    assert changes == (stopped if stops else ended)


COMMITS = st.lists(st.tuples(st.sampled_from("gh"), st.integers(0, 2), st.integers(0, 99)), max_size=30)


@given(COMMITS, st.sampled_from(["0.10.2", "1.1", "2.8"]), st.integers(1, 4))
@settings(deadline=None)
def test_what_is_read_from_the_log_is_what_was_kept_in_memory(
    commits: list[tuple[str, int, int]], version: str, lives: int
) -> None:
    """Semantics 6: with any coordinator, and however often it changed.
    Segments roll meanwhile.
    """
    settings: dict[str, Any] = {"isr": (0,), "log_segment_bytes": 300}
    bench = Coordinator(version, **settings)
    expected: dict[tuple[str, int], int] = {}
    share = max(1, len(commits) // lives)
    for index, (group, partition, offset) in enumerate(commits):
        bench.update_metadata(
            *(state(0, topic_partition=("t", number)) for number in range(3)), state(0, topic_partition=OFFSETS)
        )
        bench.commit(offset, group=group, topic_partition=("t", partition))
        expected[group, partition] = offset
        if index % share == 0:
            bench.broker.replicas.checkpoint_high_watermarks()
            bench = Coordinator(version, files=bench.files, **settings)
    for group in "gh":
        for partition in range(3):
            assert bench.committed(group, ("t", partition)).offset == expected.get((group, partition), -1)


def test_a_resigning_coordinator_drops_what_was_loaded() -> None:
    """Semantics 6: by following another leader, or because the replica is deleted.
    While it was being loaded too.
    """
    bench = Coordinator(isr=(0,))
    bench.commit(5)
    bench.elect(1, leader=1)
    assert bench.group_error() == ErrorCode.NOT_COORDINATOR
    bench.elect(2)
    bench.ask(
        StopReplicaRequest(BrokerId(2), ControllerEpoch(1), [StoppedPartition(*OFFSETS, True, EPOCH_DURING_DELETE)])
    )
    assert bench.group_error() == ErrorCode.NOT_COORDINATOR
    assert not [key for key in bench.timers if key[0] == "offsets-load"]
    changes = [event.change for event in bench.events(GroupCoordinatorChanged)]
    assert changes == ["loading", "loaded", "resigned", "loading", "resigned"]


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_what_is_committed_of_a_deleted_topic_goes_and_stays_gone(version: str) -> None:
    """Semantics 6, `forgets_offsets_of_deleted_topics`.
    Of all groups, and for each coordinator that reads the log later.
    """
    bench = Coordinator(version, isr=(0,))
    bench.commit(5)
    bench.commit(6, group="h")
    bench.commit(7, topic_partition=("u", 0))
    bench.update_metadata(state(-2, topic_partition=T0))
    assert [bench.committed(group).offset for group in "gh"] == [-1, -1]
    bench.elect(1, leader=1)
    bench.elect(2, isr=(0,))
    bench.advance(0)
    assert [bench.committed(group).offset for group in "gh"] == [-1, -1]


def test_a_new_epoch_for_the_same_leader_keeps_what_was_loaded() -> None:
    bench = Coordinator(isr=(0,))
    bench.commit(5)
    bench.elect(1, isr=(0, 1))
    assert bench.committed().offset == 5
    assert [event.change for event in bench.events(GroupCoordinatorChanged)] == ["loading", "loaded"]


def test_an_answer_that_comes_after_resigning_and_another_election_is_not_mixed_in() -> None:
    """The log that is read holds what was appended before."""
    bench = Coordinator()
    connection = bench.commit(5)
    bench.elect(1, leader=1)
    assert bench.commit_error(connection) == ErrorCode.NOT_COORDINATOR
    bench.elect(2, isr=(0,))
    bench.advance(0)
    assert bench.committed().offset == 5


def test_of_two_records_of_a_key_the_later_one_counts_whichever_is_noticed_first() -> None:
    """Semantics 6: answers to appends may come in another order than the appends."""
    key, cache = OffsetKey("g", *T0), OffsetCache(Offset(0))
    cache.committed(key, CommittedOffset(Offset(7)), at=Offset(2))
    cache.committed(key, CommittedOffset(Offset(5)), at=Offset(1))
    assert cache.get(key) == CommittedOffset(Offset(7))
    cache.committed(key, CommittedOffset(Offset(3)), at=Offset(3))
    assert cache.get(key) == CommittedOffset(Offset(3))


@given(st.lists(st.tuples(st.sampled_from("gh"), st.integers(0, 2), st.booleans()), max_size=30))
def test_the_offsets_of_a_group_are_those_of_its_keys(changes: list[tuple[str, int, bool]]) -> None:
    """Commits and deletions in any order; a status reads groups one by one."""
    cache, expected = OffsetCache(Offset(0)), dict[OffsetKey, CommittedOffset]()
    for at, (group, partition, commits) in enumerate(changes):
        key, committed = OffsetKey(group, "t", partition), CommittedOffset(Offset(at))
        if commits:
            expected[key] = committed
            cache.committed(key, committed, at=Offset(at))
        else:
            expected.pop(key, None)
            cache.drop_keys([key])
    assert cache.names() == {key.group for key in expected}
    for group in "gh":
        keys = sorted((key for key in expected if key.group == group), key=lambda key: key.partition)
        assert cache.of_group(group) == [(key, expected[key]) for key in keys]


def test_all_commits_of_a_group_are_listed_without_naming_partitions() -> None:
    """OffsetFetch from version 2 on (KIP-88)."""
    bench = Coordinator(isr=(0,))
    bench.commit(5)
    bench.commit(7, group="other")
    answer = bench.answer(bench.ask(OffsetFetchRequest("g", [], everything=True)), OffsetFetchResponse)
    assert [(one.topic, one.partition, one.offset) for one in answer.partitions] == [(*T0, 5)]
