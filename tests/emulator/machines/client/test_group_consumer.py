"""A consumer of a group: its start offset and its commits (semantics 6)."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import (
    UnusableSetting,
    consumer_settings,
    old_consumer_settings,
)
from emulator.machines.client.client_state import FetchedEntry
from emulator.machines.client.consumer import Consumer
from emulator.machines.client.consumer_position import ReadProblem
from emulator.machines.client.coordinator_offsets import CoordinatorOffsets
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.groups import OffsetCommitRequest, OffsetFetchRequest
from protocol.messages.replication_messages import ListOffsetsRequest, OffsetForLeaderEpochRequest
from protocol.outbox import Outbox
from protocol.records.format import encode
from tests.emulator.machines.client.fake_cluster import FakeCluster

T0 = ("t", 0)


class Bench:
    def __init__(self, version: str = "2.8", *, cluster: FakeCluster | None = None, **options: Any) -> None:
        self.cluster = cluster or FakeCluster(2)
        given = {"group.id": "g", "auto.offset.reset": "earliest"}
        settings = consumer_settings(version, given | {name.replace("_", "."): v for name, v in options.items()})
        operations, brokers = OperationLog("client-0", 1), ["broker-0", "broker-1"]
        self.read: list[tuple[int, bytes]] = []
        self.problems: list[ReadProblem] = []
        self.resets: list[ReadProblem] = []
        self.left: list[int | str] = []
        self.consumer = Consumer(
            "consumer",
            brokers,
            operations,
            settings,
            Chance(3),
            self._on_records,
            lambda now, out, problem: self.problems.append(problem),
            lambda now, out, problem: self.resets.append(problem),
            CoordinatorOffsets("offsets", brokers, operations, settings, Chance(4)),
        )
        self.log = self.cluster.partitions.get(T0) or self.cluster.add()

    def _on_records(self, now: Now, out: Outbox, key: tuple[str, int], entries: list[FetchedEntry]) -> None:
        self.read += [(record.offset, record.value) for entry in entries for record in entry.records]

    def fill(self, *values: bytes) -> None:
        for value in values:
            self.log.append(encode([value], magic=2, timestamp_ms=0))

    def assign(self) -> None:
        self.consumer.assign(self.cluster.now, self.cluster.out, {T0: None})
        self.cluster.flush()

    def leave(self) -> None:
        self.consumer.leave(self.cluster.now, self.cluster.out, lambda now, out, error: self.left.append(error))
        self.cluster.flush()

    def run(self, ms: float = 500) -> None:
        self.cluster.run(self.cluster.now.mono_ms + ms)

    def requests_of(self, kind: type) -> int:
        return sum(isinstance(message, kind) for _, _, message in self.cluster.requests)

    @property
    def committed(self) -> tuple[int, int] | None:
        return self.cluster.committed.get(("g", *T0))


@pytest.mark.parametrize("version", ["2.2", "2.3", "2.4", "2.8"])
def test_a_committed_epoch_newer_than_metadata_waits_for_newer_metadata(version: str) -> None:
    """A stale broker names the leader of epoch 5.
    The group has read in epoch 7 (ConsumerCoordinator .refreshCommittedOffsetsIfNeeded). Nothing is asked of the old
    leader.
    """
    bench = Bench(version)
    bench.fill(b"a", b"b")
    bench.log.epoch = 5
    bench.cluster.committed["g", *T0] = (Offset(1), LeaderEpoch(7))
    bench.cluster.group_codes = [14, 14, 14]
    bench.assign()
    bench.run(5_000)
    requested = [type(message).__name__ for _, _, message in bench.cluster.requests]
    assert bench.read == [] and not {"FetchRequest", "OffsetForLeaderEpochRequest"} & set(requested)
    assert requested.count("MetadataRequest") > 10
    bench.log.epoch = 7
    bench.run(2_000)
    assert bench.read == [(1, b"b")]


def test_a_group_that_has_committed_nothing_begins_by_the_policy() -> None:
    bench = Bench()
    bench.fill(b"a", b"b")
    bench.assign()
    bench.run()
    assert (bench.requests_of(OffsetFetchRequest), bench.requests_of(ListOffsetsRequest)) == (1, 1)
    assert bench.read == [(0, b"a"), (1, b"b")]
    assert bench.consumer.committed(*T0) is None


def test_it_goes_on_from_the_committed_offset_and_requests_nothing_else() -> None:
    bench = Bench("2.2")
    bench.fill(b"a", b"b", b"c")
    bench.cluster.committed["g", "t", 0] = (Offset(2), EPOCH_UNKNOWN)
    bench.assign()
    bench.run()
    assert bench.read == [(2, b"c")]
    assert bench.consumer.committed(*T0) == 2
    assert bench.requests_of(ListOffsetsRequest) == bench.requests_of(OffsetForLeaderEpochRequest) == 0


def test_without_a_policy_and_without_an_offset_it_reads_nothing() -> None:
    bench = Bench(auto_offset_reset="none")
    bench.assign()
    bench.run()
    assert [problem.error for problem in bench.problems] == ["NoOffsetForPartitionException"]


def test_a_committed_offset_is_not_checked_before_the_first_fetch() -> None:
    """Semantics 6: OFFSET_OUT_OF_RANGE, then the policy."""
    bench = Bench("2.2")
    bench.fill(b"a", b"b")
    bench.cluster.committed["g", "t", 0] = (Offset(7), EPOCH_UNKNOWN)
    bench.assign()
    bench.run()
    assert [(reset.error, reset.offset) for reset in bench.resets] == [("OffsetOutOfRangeException", 7)]
    assert bench.read == [(0, b"a"), (1, b"b")]
    bench = Bench("2.2", auto_offset_reset="none")
    bench.cluster.committed["g", "t", 0] = (Offset(7), EPOCH_UNKNOWN)
    bench.assign()
    bench.run()
    assert [(p.error, p.offset) for p in bench.problems] == [("OffsetOutOfRangeException", 7)]
    assert bench.resets == []


def unclean(version: str, **options: Any) -> Bench:
    """Committed: 3, read in epoch 0.
    The leader of epoch 1 has only the first two records, and others after them.
    """
    bench = Bench(version, **options)
    bench.fill(b"a", b"b", b"c")
    bench.log.truncate(2)
    bench.log.epoch = 1
    bench.fill(b"x", b"y")
    bench.cluster.committed["g", "t", 0] = (Offset(3), LeaderEpoch(0))
    bench.assign()
    bench.run()
    return bench


def test_from_2_3_its_leader_epoch_shows_that_the_history_is_another() -> None:
    """KIP-320 (`consumer_epoch_validation`): with a policy it goes to where they part."""
    bench = unclean("2.3")
    (reset,) = bench.resets
    assert (reset.error, reset.offset, reset.diverging_offset) == ("LogTruncationException", 3, 2)
    assert bench.read == [(2, b"x"), (3, b"y")]
    bench = unclean("2.6", auto_offset_reset="none")
    assert [(p.error, p.diverging_offset) for p in bench.problems] == [("LogTruncationException", 2)]
    assert bench.read == []


def test_before_it_reads_on_as_if_nothing_had_happened() -> None:
    for version in ("1.1", "2.2"):
        bench = unclean(version, auto_offset_reset="none")
        assert (bench.read, bench.resets, bench.problems) == ([(3, b"y")], [], [])


# --- committing ---


def test_it_commits_every_interval_with_the_epoch_of_what_it_read_from_2_3() -> None:
    """auto.commit.interval.ms; KIP-320."""
    for version, epoch in (("2.2", -1), ("2.3", 0)):
        bench = Bench(version, auto_commit_interval_ms=1000)
        bench.fill(b"a", b"b")
        bench.assign()
        bench.run(990)
        assert (bench.committed, bench.requests_of(OffsetCommitRequest)) == (None, 0)
        bench.run(20)
        assert bench.committed == (2, epoch)
        bench.fill(b"c")
        bench.run(3000)
        assert bench.committed == (3, epoch)
        assert bench.requests_of(OffsetCommitRequest) == 4


def test_a_position_of_the_policy_is_committed_without_an_epoch() -> None:
    """Fetcher.resetOffsetIfNeeded."""
    bench = Bench(auto_offset_reset="latest", auto_commit_interval_ms=1000)
    bench.fill(b"a", b"b")
    bench.assign()
    bench.run(1_100)
    assert (bench.read, bench.committed) == ([], (2, -1))


def test_a_commit_that_failed_is_made_up_for_after_the_backoff() -> None:
    bench = Bench(auto_commit_interval_ms=10_000, retry_backoff_ms=100)
    bench.fill(b"a")
    bench.assign()
    bench.run()
    bench.cluster.group_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS]
    bench.run(9_550)
    assert (bench.committed, bench.requests_of(OffsetCommitRequest)) == (None, 1)
    bench.run(100)
    assert (bench.committed, bench.requests_of(OffsetCommitRequest)) == ((1, 0), 2)


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.8"])
@pytest.mark.parametrize("error", [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.OFFSET_METADATA_TOO_LARGE])
def test_a_commit_that_was_refused_for_good_waits_for_the_next_interval(version: str, error: ErrorCode) -> None:
    """ConsumerCoordinator.doAutoCommitOffsetsAsync: only a RetriableException shortens the wait."""
    bench = Bench(version, auto_commit_interval_ms=1000, retry_backoff_ms=100)
    bench.fill(b"a")
    bench.assign()
    bench.cluster.group_codes = [ErrorCode.NONE, error]
    bench.run(1_900)
    assert (bench.committed, bench.requests_of(OffsetCommitRequest)) == (None, 1)
    bench.run(200)
    assert bench.requests_of(OffsetCommitRequest) == 2
    assert bench.committed is not None


def test_it_commits_once_more_when_it_leaves_and_is_closed_then() -> None:
    bench = Bench()
    bench.fill(b"a", b"b")
    bench.assign()
    bench.run()
    bench.leave()
    assert (bench.left, bench.consumer.closed) == ([], False)
    bench.run()
    assert (bench.left, bench.committed, bench.consumer.closed) == ([0], (2, 0), True)
    assert bench.cluster.open_connections() == 0
    assert all(event.outcome == "ok" for _, event in bench.cluster.ended())


def test_what_it_has_not_read_when_it_leaves_it_leaves_to_the_next() -> None:
    """However long its last commit takes, and whatever is answered meanwhile."""
    bench = Bench(retry_backoff_ms=1000)
    bench.fill(b"a")
    bench.assign()
    bench.run()
    bench.cluster.group_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 2
    bench.leave()
    bench.fill(b"b")
    bench.run(5000)
    assert (bench.left, bench.committed, bench.read) == ([0], (1, 0), [(0, b"a")])


def test_an_automatic_commit_that_fails_while_it_leaves_is_not_made_up_for() -> None:
    """The last one is there already."""
    bench = Bench(auto_commit_interval_ms=1000)
    bench.fill(b"a")
    bench.assign()
    bench.run(990)
    bench.cluster.group_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 3
    bench.run(11)
    bench.leave()
    bench.run(5000)
    assert bench.left == [0]
    assert len({event.operation for _, event in bench.cluster.ended() if event.kind == "commit"}) == 2


def test_the_last_commit_is_tried_for_30_seconds() -> None:
    bench = Bench(retry_backoff_ms=1000)
    bench.fill(b"a")
    bench.assign()
    bench.run()
    bench.cluster.group_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 100
    bench.leave()
    bench.run(29_900)
    assert bench.left == []
    bench.run(200)
    assert bench.left == ["TimeoutException"]
    assert bench.consumer.closed


def test_without_automatic_commits_it_never_commits() -> None:
    bench = Bench(enable_auto_commit=False, auto_commit_interval_ms=100)
    bench.fill(b"a")
    bench.assign()
    bench.run(5000)
    bench.leave()
    bench.run()
    assert (bench.left, bench.committed, bench.requests_of(OffsetCommitRequest)) == ([0], None, 0)


def test_an_unknown_position_is_not_committed() -> None:
    """Of a partition whose offset is still being looked up."""
    bench = Bench(auto_commit_interval_ms=100)
    bench.cluster.group_codes = [ErrorCode.COORDINATOR_LOAD_IN_PROGRESS] * 1000
    bench.assign()
    bench.run(2000)
    bench.leave()
    bench.run()
    assert (bench.left, bench.requests_of(OffsetCommitRequest)) == ([0], 0)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=6), st.integers(0, 3))
@settings(deadline=None)
def test_what_one_consumer_committed_the_next_goes_on_from_and_nothing_is_skipped(sizes: list[int], seed: int) -> None:
    """Consumers one after another read everything once, as long as each leaves in peace."""
    cluster = FakeCluster(2)
    read: list[tuple[int, bytes]] = []
    written = 0
    for size in sizes:
        bench = Bench(cluster=cluster)
        bench.fill(*(b"%d" % number for number in range(written, written + size)))
        written += size
        bench.assign()
        bench.run(400 + seed)
        bench.leave()
        bench.run()
        assert bench.left == [0]
        read += bench.read
    assert read == [(number, b"%d" % number) for number in range(written)]


# --- settings ---


def test_the_old_consumer_has_its_own_names_and_ended_with_1_1() -> None:
    settings = old_consumer_settings("1.1", {"group.id": "g", "auto.commit.enable": False})
    assert (settings.offsets_storage, settings.auto_offset_reset) == ("zookeeper", "largest")
    assert (settings.enable_auto_commit, settings.auto_commit_interval_ms) == (False, 60_000.0)
    assert not settings.validates_epochs
    assert (settings.retry_backoff_ms, consumer_settings("1.1").retry_backoff_ms) == (200, 100)
    with pytest.raises(UnusableSetting, match=r"the old consumer was removed in Kafka 2\.0; there is none in 2\.0\.0"):
        old_consumer_settings("2.0.0", {"group.id": "g"})
    with pytest.raises(UnusableSetting, match=r"offsets\.storage=kafka is not modelled"):
        old_consumer_settings("1.1", {"offsets.storage": "kafka"})


def test_the_new_consumer_came_with_0_9() -> None:
    with pytest.raises(UnusableSetting, match=r"Kafka 0\.9 or later, or the old one: not 0\.8\.2"):
        consumer_settings("0.8.2", {"group.id": "g"})
    with pytest.raises(UnusableSetting, match=r"offsets\.storage=zookeeper is the old consumer's"):
        consumer_settings("0.10.2", {"offsets.storage": "zookeeper"})
    assert consumer_settings("0.10.2", {"group.id": "g"}).enable_auto_commit
