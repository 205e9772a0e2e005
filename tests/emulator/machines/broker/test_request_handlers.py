"""Request handlers: their occupation, and requests when all are occupied (semantics 1.6)."""

import pytest

from emulator.machines.broker.request_channel import PIPELINED_MAX
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.messages.groups import FindCoordinatorRequest, OffsetCommitRequest, OffsetFetchRequest
from protocol.messages.leadership_messages import (
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    MetadataRequest,
    MetadataResponse,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EpochRequest,
    FetchPartition,
    FetchRequest,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.messages.transactions import InitProducerIdRequest
from protocol.znodes import Leadership, encode_state
from tests.ids import brokers
from verification.broker_bench import T0, Bench, batch, state

STATE = "/brokers/topics/t/partitions/0/state"
T1 = ("t", 1)
LAG_MS = 10_000


def leader(version: str = "2.6", ibp: str | None = None, num_io_threads: int = 8) -> Bench:
    """Leads t-0, whose follower is silent, and t-1 alone; the session service is out of reach."""
    bench = Bench(version, ibp=ibp, replica_lag_time_max_ms=LAG_MS, num_io_threads=num_io_threads)
    bench.sessions.znodes[STATE] = (
        encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(0, 1), ControllerEpoch(1))),
        0,
    )
    bench.update_metadata()
    bench.leader_and_isr(state(0), state(0, isr=(0,), topic_partition=T1))
    bench.sessions.reachable = False
    return bench


def locked(version: str = "2.6", num_io_threads: int = 8) -> Bench:
    """The same when it has begun to write t-0's ISR; there is a record in it."""
    bench = leader(version, num_io_threads=num_io_threads)
    bench.produce("a")
    while not bench.partition.lock.held:
        bench.advance(100.0)
    return bench


def waits(bench: Bench, connection: int) -> bool:
    return bench.answers(connection) == []


# --- who waits for a lock, by version ---


@pytest.mark.parametrize("version", ("0.11", "1.1", "2.0.1", "2.1", "2.6"))
def test_a_question_about_epochs_waits_for_the_lock(version: str) -> None:
    """Partition.lastOffsetForLeaderEpoch reads under it, in every version that has it."""
    bench = locked(version)
    requested = bench.ask(OffsetForLeaderEpochRequest([EpochRequest(*T0, LeaderEpoch(0))]), 3)
    assert waits(bench, requested)
    bench.session_back()
    (answer,) = bench.answer(requested, OffsetForLeaderEpochResponse).partitions
    assert (answer.error, answer.end_offset) == (0, 1)


@pytest.mark.parametrize(("version", "blocked"), [("0.10.2", False), ("2.0.1", False), ("2.1", True), ("2.6", True)])
def test_list_offsets_waits_for_the_lock_from_2_1(version: str, blocked: bool) -> None:
    """Partition.fetchOffsetForTimestamp; before, the log is asked directly."""
    bench = locked(version)
    requested = bench.ask(ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T0, -2)]))
    assert waits(bench, requested) is blocked
    bench.session_back()
    epoch = LeaderEpoch(0) if bench.context.gates.listed_offsets_have_epochs else EPOCH_UNKNOWN
    assert bench.answer(requested, ListOffsetsResponse).partitions == [ListedOffset(*T0, 0, Offset(0), epoch)]


@pytest.mark.parametrize(("version", "blocked"), [("1.1", False), ("2.0.1", False), ("2.1", True), ("2.6", True)])
def test_a_parked_fetch_that_completes_waits_for_the_lock_from_2_1(version: str, blocked: bool) -> None:
    """DelayedFetch.onComplete reads again. There is one thread for all that expire.
    Others wait behind.
    """
    bench = leader(version)
    parked = other = -1
    while not bench.partition.lock.held:
        parked = bench.fetch(0, wait_ms=300)
        other = bench.ask(FetchRequest(CONSUMER_REPLICA_ID, 320, 1, 1000, [FetchPartition(*T1, Offset(0))]))
        bench.advance(200.0)
    bench.advance(2_000.0)
    assert (waits(bench, parked), waits(bench, other)) == (blocked, blocked)
    bench.session_back()
    assert not waits(bench, parked) and not waits(bench, other)


def test_the_check_of_a_parked_fetch_waits_for_all_its_partitions() -> None:
    """Up to 2.6 before the produce that made it look is answered, then after (KAFKA-8334)."""
    for version, ibp, answered in (("2.6", None, False), ("2.7", "2.6", True), ("1.1", None, True)):
        bench = leader(version, ibp)
        fetch = -1
        requested = [FetchPartition(*T0, Offset(0)), FetchPartition(*T1, Offset(0))]
        while not bench.partition.lock.held:
            fetch = bench.ask(FetchRequest(CONSUMER_REPLICA_ID, 60_000, 1, 1000, requested))
            bench.advance(100.0)
        produce = bench.ask(ProduceRequest(1, 1500, [ProducePartition(*T1, batch("x", magic=bench.magic))]))
        assert (waits(bench, produce), waits(bench, fetch)) == (not answered, version != "1.1"), version
        assert bench.broker.requests.occupied == (0 if version == "1.1" else 1)
        bench.session_back()
        assert not waits(bench, produce) and not waits(bench, fetch)


def test_a_produce_to_several_partitions_stops_at_the_one_that_is_locked() -> None:
    """Earlier partitions of the request are in the log already."""
    bench = locked()
    partitions = [ProducePartition(*topic_partition, batch("x")) for topic_partition in (T1, T0)]
    requested = bench.ask(ProduceRequest(1, 1500, partitions))
    ends = [bench.broker.replicas.partitions[topic_partition].the_log.log_end for topic_partition in (T1, T0)]
    assert (waits(bench, requested), ends) == (True, [1, 1])
    bench.session_back()
    assert [one.base_offset for one in bench.answer(requested, ProduceResponse).partitions] == [0, 1]


# --- the handlers ---


def test_requests_that_wait_for_a_lock_use_up_the_handlers() -> None:
    """Then no request of any kind is answered (num.io.threads)."""
    bench = locked(num_io_threads=3)
    writes = [bench.produce(value) for value in "xy"]
    assert not waits(bench, bench.ask(MetadataRequest()))
    writes.append(bench.produce("z"))
    metadata = bench.ask(MetadataRequest())
    other = bench.ask(ProduceRequest(1, 1500, [ProducePartition(*T1, batch("o"))]))
    assert waits(bench, metadata) and waits(bench, other)
    assert (bench.broker.requests.occupied, bench.broker.requests.queued) == (3, 2)
    bench.session_back()
    assert isinstance(bench.answer(metadata, MetadataResponse), MetadataResponse)
    assert sorted(bench.produced(write).base_offset for write in writes) == [1, 2, 3]
    assert (bench.produced(other).base_offset, bench.broker.requests.occupied) == (0, 0)


def test_what_is_parked_occupies_no_handler() -> None:
    bench = Bench(num_io_threads=1)
    bench.lead(isr=(0, 1))
    produce = bench.produce("a", acks=-1, timeout_ms=60_000)
    fetch = bench.fetch(0, wait_ms=60_000)
    assert not waits(bench, bench.ask(MetadataRequest()))
    assert [one.request for one in bench.broker.produces.parked()] == ["Produce"]
    assert [one.waits_for for one in bench.broker.fetches.parked()] == ["1 bytes of t-0:0"]
    assert waits(bench, produce) and waits(bench, fetch)


def test_a_request_whose_client_has_left_occupies_its_handler_all_the_same() -> None:
    bench = locked(num_io_threads=1)
    bench.lose(bench.produce("x"))
    assert waits(bench, bench.ask(MetadataRequest()))
    bench.session_back()
    assert bench.log.log_end == 2


def test_an_isr_that_grows_occupies_the_handler_of_the_fetch() -> None:
    bench = Bench(num_io_threads=1)
    bench.lead(isr=(0,))
    bench.sessions.reachable = False
    bench.fetch(0, replica=1)
    assert waits(bench, bench.ask(MetadataRequest()))
    (waiting,) = bench.context.threads.waiting_tasks()
    assert (waiting.does, waiting.waits_for) == ("Fetch", "the session service")


def test_a_follower_receives_an_error_where_its_joining_is_cut_short_by_the_session() -> None:
    """1.1 on: the exception reaches the handler of the request."""
    bench = Bench("2.6")
    bench.lead(isr=(0,))
    bench.sessions.reachable = False
    fetch = bench.fetch(0, replica=1)
    bench.session_expires()
    assert bench.fetched(fetch).error == ErrorCode.UNKNOWN_SERVER_ERROR
    assert (bench.partition.isr, bench.partition.lock.held, bench.broker.requests.occupied) == ([0], False, 0)


def test_orders_of_the_controller_wait_for_their_turn_and_occupy_handlers() -> None:
    bench = locked(num_io_threads=3)
    first = bench.leader_and_isr(state(0, 1))
    second = bench.update_metadata()
    assert waits(bench, first) and waits(bench, second)
    assert [one.waits_for for one in bench.context.threads.waiting_tasks()] == [
        "the session service",
        "t-0's lock",
        "its turn among the controller's orders",
    ]
    bench.session_back()
    assert not waits(bench, first) and not waits(bench, second)


@pytest.mark.parametrize(("version", "occupies"), [("0.10.2", True), ("0.11", False), ("2.6", False)])
def test_controlled_shutdown_occupies_a_handler_up_to_0_10_2(version: str, occupies: bool) -> None:
    """From 0.11 the controller has a thread of its own (KAFKA-5028)."""
    bench = Bench(version, num_io_threads=1)
    requested = bench.ask(ControlledShutdownRequest(BrokerId(1)))
    metadata = bench.ask(MetadataRequest())
    assert waits(bench, metadata) is occupies
    ((_, reply),) = bench.for_controller
    bench.do(lambda: reply(ControlledShutdownResponse()))
    assert not waits(bench, requested) and not waits(bench, metadata)


# --- a long line on one connection ---

EACH_KIND = (
    ProduceRequest(1, 1500, [ProducePartition(*T1, batch("x"))]),
    FetchRequest(CONSUMER_REPLICA_ID, 0, 1, 1000, [FetchPartition(*T1, Offset(0))]),
    ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*T1, -1)]),
    OffsetForLeaderEpochRequest([EpochRequest(*T1, LeaderEpoch(0))]),
    MetadataRequest(),
    InitProducerIdRequest(),
    FindCoordinatorRequest("g"),
    OffsetCommitRequest("g", []),
    OffsetFetchRequest("g", []),
    LeaderAndIsrRequest(BrokerId(2), ControllerEpoch(1), [], []),
    UpdateMetadataRequest(BrokerId(2), ControllerEpoch(1), [], []),
    StopReplicaRequest(BrokerId(2), ControllerEpoch(1), []),
)


@pytest.mark.parametrize("request_", EACH_KIND, ids=lambda one: type(one).__name__)
def test_a_long_line_behind_one_that_waits_is_answered_in_order(request_: object) -> None:
    """However long: nothing is answered from inside another answer."""
    bench = Bench(offsets_topic_replication_factor=5)  # the offsets topic cannot be made: found out at once
    bench.update_metadata()
    bench.leader_and_isr(state(0), state(0, isr=(0,), topic_partition=T1))
    connection = bench.connect()
    bench.send(connection, ProduceRequest(-1, 60_000, [ProducePartition(*T0, batch("first"))]))
    for _ in range(PIPELINED_MAX):
        bench.send(connection, request_)  # type: ignore[arg-type]
    assert bench.answers(connection) == []
    bench.fetch(1, replica=1)
    answers = bench.answers(connection)
    assert isinstance(answers[0], ProduceResponse) and answers[0].partitions[0].error == 0
    assert len(answers) == PIPELINED_MAX + 1 and len({type(answer) for answer in answers[1:]}) == 1


def test_a_long_line_of_writes_that_wait_is_answered_in_order() -> None:
    bench = Bench()
    bench.lead(isr=(0, 1))
    connection = bench.connect()
    for _ in range(PIPELINED_MAX):
        bench.send(connection, ProduceRequest(-1, 60_000, [ProducePartition(*T0, batch("x"))]))
    offset = 0
    while len(bench.answers(connection)) < PIPELINED_MAX:
        offset += 1
        bench.fetch(offset, replica=1)
    answers = [answer for answer in bench.answers(connection) if isinstance(answer, ProduceResponse)]
    assert [answer.partitions[0].base_offset for answer in answers] == list(range(PIPELINED_MAX))
