"""The consumer: where it begins, what it reads, and what it does when the ground moves."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emulator.machines.client.client_operations import OperationLog
from emulator.machines.client.client_settings import consumer_settings, old_consumer_settings
from emulator.machines.client.client_state import FetchedEntry
from emulator.machines.client.consumer import Consumer
from emulator.machines.client.consumer_position import ReadProblem
from protocol.chance import Chance
from protocol.events import OperationEnded, OperationInvoked, PositionLeft, RecordsRead
from protocol.ids import NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import ConnectionOpened, Emit, MessageReceived, Now, Open, Send, SetTimer
from protocol.messages.leadership_messages import BrokerEndpoint, MetadataRequest, MetadataResponse, PartitionMetadata
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
)
from protocol.outbox import Outbox
from protocol.records.format import encode, place, read_header
from tests.emulator.machines.client.fake_cluster import FakeCluster, Partition


def batch(*values: bytes) -> bytes:
    return encode(values, magic=2, timestamp_ms=0)


def fill(log: Partition, *values: bytes) -> None:
    for value in values:
        log.append(batch(value))


class Bench:
    def __init__(self, version: str = "2.8", brokers: int = 2, **options: Any) -> None:
        self.cluster = FakeCluster(brokers)
        self.read: list[tuple[int, bytes]] = []
        self.problems: list[ReadProblem] = []
        given = {name.replace("_", "."): value for name, value in options.items()}
        self.consumer = Consumer(
            "consumer",
            ["broker-0", "broker-1"],
            OperationLog("client-0", 1),
            consumer_settings(version, given),
            Chance(3),
            self.on_records,
            lambda now, out, problem: self.problems.append(problem),
        )
        self.log = self.cluster.add()

    def on_records(self, now: Now, out: Outbox, key: tuple[str, int], entries: list[FetchedEntry]) -> None:
        self.read += [(record.offset, record.value) for entry in entries for record in entry.records]

    def assign(self, offset: int | None = 0) -> None:
        start = None if offset is None else Offset(offset)
        self.consumer.assign(self.cluster.now, self.cluster.out, {("t", 0): start})
        self.cluster.flush()

    def run(self, ms: float = 500) -> None:
        self.cluster.run(self.cluster.now.mono_ms + ms)

    def left(self) -> list[PositionLeft]:
        return [event for _, event in self.cluster.events if isinstance(event, PositionLeft)]

    def requests_of(self, kind: type) -> int:
        return sum(isinstance(message, kind) for _, _, message in self.cluster.requests)

    @property
    def position(self) -> int:
        return self.consumer.position("t", 0)


def test_it_finds_the_leader_and_reads_from_the_offset_it_was_given() -> None:
    out, now = Outbox(), Now(10.0, 0.0)
    read: list[list[FetchedEntry]] = []
    consumer = Consumer(
        "c",
        ["broker-7"],
        OperationLog("client-0", 1),
        consumer_settings("2.8", {"socket.connection.setup.timeout.max.ms": 10_000}),
        Chance(1),
        lambda now, out, key, entries: read.append(entries),
        lambda *_: None,
    )
    consumer.assign(now, out, {("t", 0): Offset(1)})
    assert out.take() == [
        Emit(OperationInvoked("client-0.1:1", "fetch", "t", 0, 0, "", -1, 1)),
        Open(1, "broker-7", "client"),
        SetTimer(("c", "poll"), 10_000.0),
    ]
    assert out.route(now, ConnectionOpened(1))
    assert out.take() == [Send(1, 1, 9, MetadataRequest(["t"])), SetTimer(("c", "poll"), 30_000.0)]
    answer = MetadataResponse(
        BrokerId(0),
        [BrokerEndpoint(BrokerId(7), "broker-7")],
        [PartitionMetadata("t", 0, 0, BrokerId(7), LeaderEpoch(4))],
    )
    assert out.route(now, MessageReceived(1, 1, 9, answer))
    wanted = FetchPartition("t", 0, Offset(1), 1_048_576, current_leader_epoch=LeaderEpoch(4))
    assert out.take() == [Send(1, 2, 12, FetchRequest(CONSUMER_REPLICA_ID, 500, 1, 52_428_800, [wanted]))]
    entry = place(batch(b"a", b"b"), Offset(0), LeaderEpoch(3))
    result = FetchedPartition("t", 0, 0, Offset(2), Offset(0), None, entry)
    assert out.route(now, MessageReceived(1, 2, 12, FetchResponse([result])))
    again = FetchPartition("t", 0, Offset(2), 1_048_576, current_leader_epoch=LeaderEpoch(4))
    assert out.take() == [
        Emit(RecordsRead("client-0.1:1", "t", 0, 1, 1, 3, read_header(entry).crc, 2, 7)),
        Send(1, 3, 12, FetchRequest(CONSUMER_REPLICA_ID, 500, 1, 52_428_800, [again])),
    ]
    assert [record.value for entries in read for each in entries for record in each.records] == [b"b"]
    consumer.close(now, out)
    assert Emit(OperationEnded("client-0.1:1", "fetch", "ok", 0, "t", 0, 2, 3, 0, 0)) in out.take()


@pytest.mark.parametrize(("version", "sent"), [("0.8.2", 0), ("0.10.2", 10)])
def test_the_old_consumer_of_0_8_2_stops_at_a_message_larger_than_it_requests(version: str, sent: int) -> None:
    """ConsumerIterator.makeNext; from 0.10.1 a fetch brings one whole (KIP-74)."""
    out, now = Outbox(), Now(10.0, 0.0)
    problems: list[ReadProblem] = []
    settings = old_consumer_settings(version, {"max.partition.fetch.bytes": 100})
    log, report_problem = OperationLog("client-0", 1), problems.append
    consumer = Consumer(
        "c", ["b"], log, settings, Chance(1), lambda *_: None, lambda now, out, problem: report_problem(problem)
    )
    consumer.assign(now, out, {("t", 0): Offset(1)})
    assert out.route(now, ConnectionOpened(1))
    known = MetadataResponse(
        BrokerId(0), [BrokerEndpoint(BrokerId(7), "b")], [PartitionMetadata("t", 0, 0, BrokerId(7))]
    )
    assert out.route(now, MessageReceived(1, 1, 9, known))
    fetch = out.take()[-1]
    assert isinstance(fetch, Send) and isinstance(fetch.message, FetchRequest)
    assert (fetch.version, fetch.message.partitions) == (sent, [FetchPartition("t", 0, Offset(1), 100)])
    nothing_whole = FetchResponse([FetchedPartition("t", 0, 0, Offset(3), incomplete=True)])
    assert out.route(now, MessageReceived(1, 2, sent, nothing_whole))
    assert problems == [ReadProblem("t", 0, "MessageSizeTooLargeException", Offset(1), NO_OFFSET)]
    assert not any(isinstance(effect, Send) for effect in out.take())


@pytest.mark.parametrize(
    ("policy", "expected"), [("earliest", b"abcd"), ("smallest", b"abcd"), ("latest", b"d"), ("largest", b"d")]
)
def test_without_an_offset_the_policy_determines_where_to_begin(policy: str, expected: bytes) -> None:
    bench = Bench(auto_offset_reset=policy)
    fill(bench.log, b"a", b"b", b"c")
    bench.assign(None)
    assert bench.position == -1
    bench.run()
    fill(bench.log, b"d")
    bench.run()
    assert b"".join(value for _, value in bench.read) == expected
    assert bench.position == 4
    assert bench.consumer.high_watermark("t", 0) == 4


def test_without_an_offset_and_a_policy_it_stops() -> None:
    bench = Bench(auto_offset_reset="none")
    bench.assign(None)
    bench.run()
    assert bench.problems == [ReadProblem("t", 0, "NoOffsetForPartitionException", NO_OFFSET)]
    assert [event.outcome for _, event in bench.cluster.ended()] == ["failed"]


@pytest.mark.parametrize("version", ["0.10.2", "2.8"])
def test_out_of_range_goes_to_the_policy(version: str) -> None:
    """Semantics 6, and the end of incident-disk-full: both logs empty, the committed offset 7."""
    bench = Bench(version, auto_offset_reset="earliest")
    fill(bench.log, b"a")
    bench.assign(7)
    bench.run()
    assert bench.read == [(0, b"a")]
    assert bench.requests_of(ListOffsetsRequest) == 1
    left = PositionLeft("client-0.1:1", "t", 0, 7, "OffsetOutOfRangeException", False, -1)
    assert bench.left() == [left]


def test_out_of_range_without_a_policy_stops_until_a_seek() -> None:
    bench = Bench(auto_offset_reset="none")
    fill(bench.log, b"a")
    bench.assign(7)
    bench.run()
    assert bench.problems == [ReadProblem("t", 0, "OffsetOutOfRangeException", Offset(7))]
    assert bench.left() == [PositionLeft("client-0.1:1", "t", 0, 7, "OffsetOutOfRangeException", True, -1)]
    requests = len(bench.cluster.requests)
    bench.run()
    assert len(bench.cluster.requests) == requests, "a stopped partition is left alone"
    bench.consumer.seek(bench.cluster.now, bench.cluster.out, "t", 0, Offset(0))
    bench.run()
    assert bench.read == [(0, b"a")]
    assert len(bench.cluster.invoked()) == 2, "reading again is another operation"


@pytest.mark.parametrize(("version", "blocks"), [("0.10.2", True), ("1.0", True), ("1.1", False)])
def test_up_to_1_0_a_partition_without_a_leader_that_needs_an_offset_blocks_all(version: str, blocks: bool) -> None:
    """`client_resets_block_poll`, semantics 6.
    t-0 has its offset, t-1 its leader, and t-2 neither.
    """
    bench = Bench(version, auto_offset_reset="latest", fetch_max_wait_ms=100)
    fill(bench.log, b"a")
    second, third = bench.cluster.add(partition=1, leader=1), bench.cluster.add(partition=2, leader=-1)
    bench.consumer.assign(
        bench.cluster.now, bench.cluster.out, {("t", 0): Offset(0), ("t", 1): None, ("t", 2): None}
    )
    bench.cluster.flush()
    bench.run(1_000)
    assert bench.read == ([] if blocks else [(0, b"a")])
    assert bench.requests_of(ListOffsetsRequest) == (0 if blocks else 1)
    fill(second, b"b")
    bench.run(200)
    third.leader = 0
    bench.run(1_000)
    assert bench.requests_of(ListOffsetsRequest) == 2
    assert bench.read == ([(0, b"a")] if blocks else [(0, b"a"), (0, b"b")]), "the end of t-1 was asked for later"


@pytest.mark.parametrize(("version", "blocks"), [("1.0", True), ("1.1", False)])
def test_up_to_1_0_what_was_fetched_waits_for_a_partition_that_is_out_of_range(version: str, blocks: bool) -> None:
    bench = Bench(version, auto_offset_reset="latest", fetch_max_wait_ms=100)
    other = bench.cluster.add(partition=1, leader=1)
    bench.consumer.assign(bench.cluster.now, bench.cluster.out, {("t", 0): Offset(7), ("t", 1): Offset(0)})
    bench.cluster.flush()

    def check() -> None:
        if bench.requests_of(ListOffsetsRequest):
            bench.cluster.silent.add("broker-0")

    bench.cluster.checks.append(check)
    bench.cluster.at(50, lambda: fill(other, b"b"))
    bench.run(800)
    assert bench.read == ([] if blocks else [(0, b"b")])
    assert bench.requests_of(FetchRequest) == 2 or not blocks, "no more is asked"
    bench.cluster.checks.clear()
    bench.cluster.silent.clear()
    bench.cluster.lose_connections("broker-0")
    bench.run(800)
    assert bench.read == [(0, b"b")]


def test_a_moved_leader_is_followed() -> None:
    bench = Bench()
    fill(bench.log, b"a")
    bench.assign()
    bench.run()
    bench.log.leader, bench.log.epoch = 1, 1
    fill(bench.log, b"b")
    bench.run(1000)
    assert bench.read == [(0, b"a"), (1, b"b")]
    nodes = {node for _, node, message in bench.cluster.requests if isinstance(message, FetchRequest)}
    assert nodes == {"broker-0", "broker-1"}


def test_a_leader_with_the_history_that_was_read_is_trusted() -> None:
    bench = Bench()
    fill(bench.log, b"a", b"b")
    bench.assign()
    bench.run()
    bench.log.leader, bench.log.epoch = 1, 1
    fill(bench.log, b"c")
    bench.run(1000)
    assert bench.requests_of(OffsetForLeaderEpochRequest) == 1
    assert [offset for offset, _ in bench.read] == [0, 1, 2]


def cut_history(bench: Bench) -> None:
    """b was read and is lost; the new leader writes x and y in its place."""
    fill(bench.log, b"a", b"b")
    bench.assign()
    bench.run()
    bench.log.truncate(1)
    bench.log.leader, bench.log.epoch = 1, 1
    fill(bench.log, b"x", b"y")
    bench.run(1000)


def test_a_cut_log_is_noticed_and_read_from_the_divergence() -> None:
    """KIP-320: end offset 1 of epoch 0 lies below the position 2."""
    bench = Bench(auto_offset_reset="earliest")
    cut_history(bench)
    assert bench.read == [(0, b"a"), (1, b"b"), (1, b"x"), (2, b"y")]
    assert bench.problems == []
    assert bench.left() == [PositionLeft("client-0.1:1", "t", 0, 2, "LogTruncationException", False, 1)]


def test_a_cut_log_without_a_policy_is_a_problem() -> None:
    bench = Bench(auto_offset_reset="none")
    cut_history(bench)
    assert bench.problems == [ReadProblem("t", 0, "LogTruncationException", Offset(2), Offset(1))]
    assert bench.read == [(0, b"a"), (1, b"b")]


@pytest.mark.parametrize("version", ["2.3", "2.5"])
def test_from_2_3_to_2_5_a_cut_log_without_a_policy_is_not_reported(version: str) -> None:
    """`client_reports_truncation`, AsyncClient.sendAsyncRequest.
    `future.complete` calls the listener that throws, and what is caught is dropped, as the future is done.
    """
    bench = Bench(version, auto_offset_reset="none", request_timeout_ms=5000, metadata_max_age_ms=2000)
    cut_history(bench)
    bench.run(3000)
    assert (bench.problems, bench.left(), bench.position) == ([], [], 2)
    assert bench.read == [(0, b"a"), (1, b"b")]
    assert bench.requests_of(OffsetForLeaderEpochRequest) == 1
    bench.run(3000)
    assert bench.requests_of(OffsetForLeaderEpochRequest) == 2, "request.timeout.ms after the first"
    bench.log.leader, bench.log.epoch = 0, 2
    bench.run(2500)
    assert bench.requests_of(OffsetForLeaderEpochRequest) == 3, "it has heard of another leader"
    assert (bench.problems, bench.position) == ([], 2)


def test_before_2_3_a_cut_log_is_read_on_as_if_nothing_had_happened() -> None:
    bench = Bench("2.2", auto_offset_reset="none")
    cut_history(bench)
    assert bench.read == [(0, b"a"), (1, b"b"), (2, b"y")], "x is never seen"
    assert bench.requests_of(OffsetForLeaderEpochRequest) == 0


@pytest.mark.parametrize("version", ["2.3", "2.8"])
def test_a_position_of_the_policy_has_no_history_to_check(version: str) -> None:
    """Fetcher.resetOffsetIfNeeded: the position has no epoch (2.3.1 to 2.8.2).
    x is never seen, and no caller gets an error.
    """
    bench = Bench(version, auto_offset_reset="latest")
    fill(bench.log, b"a", b"b")
    bench.assign(None)
    bench.run()
    bench.log.truncate(1)
    bench.log.leader, bench.log.epoch = 1, 1
    fill(bench.log, b"x", b"y")
    bench.run(1000)
    assert (bench.read, bench.left()) == ([(2, b"y")], [])
    assert bench.requests_of(OffsetForLeaderEpochRequest) == 0


def test_an_unknown_history_goes_to_the_policy() -> None:
    bench = Bench(auto_offset_reset="earliest")
    fill(bench.log, b"a", b"b")
    bench.assign()
    bench.run()
    bench.log.truncate(0)
    bench.log.leader, bench.log.epoch = 1, 3
    fill(bench.log, b"x")
    bench.run(1000)
    assert bench.read[-1] == (0, b"x")


def test_a_silent_leader_is_given_up_for_another() -> None:
    bench = Bench(request_timeout_ms=2000)
    fill(bench.log, b"a")
    bench.assign()
    bench.run()
    bench.cluster.silent.add("broker-0")
    bench.run(100)
    bench.log.leader, bench.log.epoch = 1, 1
    fill(bench.log, b"b")
    bench.run(20_000)
    assert bench.read == [(0, b"a"), (1, b"b")]


def test_a_paused_partition_is_not_fetched() -> None:
    bench = Bench()
    bench.assign()
    bench.run()
    bench.consumer.pause("t", 0)
    bench.run(10)
    fill(bench.log, b"a")
    requests = len(bench.cluster.requests)
    bench.run()
    assert bench.read == []
    assert len(bench.cluster.requests) == requests
    bench.consumer.resume(bench.cluster.now, bench.cluster.out, "t", 0)
    bench.run()
    assert bench.read == [(0, b"a")]


def test_a_fatal_error_stops_the_partition() -> None:
    bench = Bench()
    bench.assign()
    bench.run(50)
    (connection,) = (number for number, node in bench.cluster.connections.items() if node == "broker-0")
    correlation = len(bench.cluster.requests)
    answer = FetchResponse([FetchedPartition("t", 0, 35)])
    message = MessageReceived(connection, correlation, 12, answer)
    assert bench.cluster.out.route(bench.cluster.now, message)
    assert bench.problems == [ReadProblem("t", 0, "IllegalStateException", Offset(0))]


def damaged(bench: Bench) -> None:
    """a and c are whole, and a byte of b is not what it was."""
    fill(bench.log, b"a", b"bbbb", b"c")
    broken = bytearray(bench.log.entries[1])
    broken[-3] ^= 1
    bench.log.entries[1] = bytes(broken)
    bench.assign()
    bench.run(20_000)


@pytest.mark.parametrize(("version", "read"), [("0.10.2", []), ("0.11", [(0, b"a")]), ("2.8", [(0, b"a")])])
def test_a_damaged_batch_stops_the_partition(version: str, read: list[tuple[int, bytes]]) -> None:
    """Semantics 6, `client_gives_what_precedes_damage`.
    Fetcher.PartitionRecords.maybeEnsureValid throws KafkaException; in 0.10.2 parseCompletedFetch does, which reads a
    whole answer at once.
    """
    bench = Bench(version)
    damaged(bench)
    assert bench.read == read
    assert bench.problems == [ReadProblem("t", 0, "KafkaException", Offset(len(read)))]


def test_any_error_of_a_list_offsets_request_is_retried() -> None:
    """Fetcher.handleListOffsetResponse (0.10.2.2 to 2.8.2): "unexpected exception.
    {}, retrying".
    """
    bench = Bench(auto_offset_reset="earliest")
    fill(bench.log, b"a")
    bench.cluster.listing_codes = [35, -1]
    bench.assign(None)
    bench.run(1000)
    assert bench.requests_of(ListOffsetsRequest) == 3
    assert (bench.read, bench.problems) == ([(0, b"a")], [])


def test_an_unknown_leader_epoch_requests_no_metadata() -> None:
    """Fetcher.initializeCompletedFetch: "Received unknown leader epoch error in fetch".
    The leader will hear of it.
    """
    bench = Bench(metadata_max_age_ms=300_000)
    bench.assign()
    bench.run(50)
    metadata, fetches = bench.requests_of(MetadataRequest), bench.requests_of(FetchRequest)
    (connection,) = (number for number, node in bench.cluster.connections.items() if node == "broker-0")
    answer = FetchResponse([FetchedPartition("t", 0, 75)])
    message = MessageReceived(connection, len(bench.cluster.requests), 12, answer)
    assert bench.cluster.out.route(bench.cluster.now, message)
    bench.run(200)
    assert (bench.requests_of(MetadataRequest), bench.requests_of(FetchRequest)) == (metadata, fetches + 1)
    assert bench.problems == []


def test_an_unknown_error_is_retried() -> None:
    """Fetcher warns of -1 and goes on.
    A broker up to 0.9 sends it to a reader between high watermark and log end.
    """
    bench = Bench()
    bench.assign()
    bench.run(50)
    (connection,) = (number for number, node in bench.cluster.connections.items() if node == "broker-0")
    answer = FetchResponse([FetchedPartition("t", 0, -1)])
    message = MessageReceived(connection, len(bench.cluster.requests), 12, answer)
    assert bench.cluster.out.route(bench.cluster.now, message)
    fill(bench.log, b"a")
    bench.run(1000)
    assert (bench.problems, bench.read) == ([], [(0, b"a")])


def test_assigning_twice_is_an_error() -> None:
    bench = Bench()
    bench.assign()
    with pytest.raises(ValueError, match="t-0 is assigned already"):
        bench.assign()
    with pytest.raises(ValueError, match="at most 10000 partitions"):
        bench.consumer.assign(
            bench.cluster.now, bench.cluster.out, {("u", number): Offset(0) for number in range(10_000)}
        )


CHANGES = st.lists(
    st.tuples(st.sampled_from(["append", "move", "silence", "wake", "restart"]), st.integers(0, 4000)), max_size=20
)


@given(changes=CHANGES, version=st.sampled_from(["0.10.2", "2.2", "2.8"]))
@settings(max_examples=80, deadline=None)
def test_whatever_moves_every_record_is_read_once_and_in_order(changes: list[tuple[str, int]], version: str) -> None:
    """Nothing is cut here: leaders move, fall silent and restart with their data."""
    bench = Bench(version, request_timeout_ms=2000)
    bench.assign()
    cluster, count = bench.cluster, 0
    for change, pause_ms in changes:
        bench.run(pause_ms)
        node = f"broker-{bench.log.leader}"
        match change:
            case "append":
                fill(bench.log, b"%d" % count)
                count += 1
            case "move":
                bench.log.leader, bench.log.epoch = 1 - bench.log.leader, bench.log.epoch + 1
            case "silence":
                cluster.silent.add(node)
            case "wake":
                cluster.wake()
            case "restart":
                cluster.lose_connections(node)
    cluster.wake()
    # A silenced broker loses what was under way: the requests' time-out and the pauses after it must pass.
    bench.run(30_000)
    assert bench.read == [(offset, b"%d" % offset) for offset in range(count)]
    assert bench.problems == []
    bench.consumer.close(cluster.now, cluster.out)
    cluster.flush()
    assert [event.outcome for _, event in cluster.ended()] == ["ok"]
    assert cluster.open_connections() == 0
