"""Controller orders and fetchers: waits, and fetches of what follows (semantics 1.7)."""

import pytest

from protocol.errors import ErrorCode
from protocol.events import FetcherChanged
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, ControllerEpoch, Offset
from protocol.machine import Close
from protocol.messages.leadership_messages import StoppedPartition, StopReplicaRequest, StopReplicaResponse
from protocol.messages.replication_messages import (
    EpochEnd,
    FetchedPartition,
    FetchRequest,
    FetchResponse,
    ListedOffset,
    ListOffsetsRequest,
    ListOffsetsResponse,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from protocol.messages.session_messages import GetData
from verification.broker_bench import T0, Bench, batch, state

T1 = ("t", 1)


def follower_out_of_range(version: str) -> tuple[Bench, int]:
    """A follower of broker-1 in t-0 and t-1 that asks for the leader's log end of t-0.
    It received OFFSET_OUT_OF_RANGE in t-0.
    """
    bench = Bench(version)
    bench.update_metadata()
    bench.leader_and_isr(state(1), state(1, topic_partition=T1))
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    if bench.gates.epoch_request_version == 0:  # asks even where it knows no epoch
        bench.respond(
            connection,
            OffsetForLeaderEpochResponse(
                [EpochEnd(*topic_partition, 0, EPOCH_UNKNOWN, NO_OFFSET) for topic_partition in (T0, T1)]
            ),
        )
    results = [FetchedPartition(*T0, ErrorCode.OFFSET_OUT_OF_RANGE), FetchedPartition(*T1)]
    bench.respond(connection, FetchResponse(results))
    assert isinstance(bench.last_sent(connection).message, ListOffsetsRequest)
    return bench, connection


@pytest.mark.parametrize("version", ("0.10.2", "1.1", "2.6", "2.8"))
def test_an_order_waits_while_a_fetcher_requests_offsets(version: str) -> None:
    """Kafka's fetcher holds its map of partitions meanwhile (processFetchRequest).
    Every order takes them all.
    """
    bench, connection = follower_out_of_range(version)
    order = bench.leader_and_isr(state(0, 1, topic_partition=T1))
    other = bench.update_metadata()
    assert bench.answers(order) == [] and bench.answers(other) == []
    assert [one.waits_for for one in bench.context.threads.waiting_tasks()] == [
        "the fetcher from broker-1",
        "its turn among the controller's orders",
    ]
    bench.respond(connection, ListOffsetsResponse([ListedOffset(*T0, 0, Offset(5))]))
    bench.respond(connection, ListOffsetsResponse([ListedOffset(*T0, 0, Offset(0))]))
    assert bench.answers(order) and bench.answers(other)
    assert bench.broker.replicas.partitions[T1].leads


@pytest.mark.parametrize("version", ("0.10.2", "2.6"))
def test_unanswered_offsets_end_the_wait_and_delay_that_partition_alone(version: str) -> None:
    bench, connection = follower_out_of_range(version)
    order = bench.leader_and_isr(state(2, 1, topic_partition=("t", 2)))
    bench.lose(connection)
    assert bench.answers(order)
    delayed = [(event.partition, event.change) for event in bench.events(FetcherChanged) if event.change == "delayed"]
    assert delayed == [(0, "delayed")]
    bench.advance(0.0)
    again = bench.opened("fetcher")[1]
    bench.establish(again)
    request = bench.last_sent(again).message
    assert isinstance(request, FetchRequest) and [one.partition for one in request.partitions] == [1]


def test_nothing_is_fetched_any_more_by_a_stopping_broker() -> None:
    """makeFollowers: "Skipped the adding-fetcher step ... since it is shutting down".
    No leader may find it in sync again while it waits for its leave.
    """
    bench = Bench("2.6")
    bench.lead(isr=(0, 1))
    bench.context.stopping = True
    bench.follow(leader=1, epoch=1)
    bench.advance(10_000.0)
    assert (bench.partition.leader, bench.opened("fetcher")) == (1, [])


@pytest.mark.parametrize(("version", "lookups"), [("0.10.2", 2), ("1.1", 2), ("2.5", 2), ("2.6", 1), ("2.8", 1)])
def test_a_topics_configuration_is_requested_where_its_log_is_there_up_to_2_5(version: str, lookups: int) -> None:
    """getOrCreateReplica up to 2.3, createLog up to 2.5.
    Before they look whether there is a log. Once in each life.
    """
    first = Bench(version)
    first.lead()
    second = Bench(version, files=first.files)
    second.lead()
    second.lead(epoch=1)
    requested = [op for bench in (first, second) for op in bench.sessions.asked if isinstance(op, GetData)]
    assert [op.path for op in requested] == ["/config/topics/t"] * lookups


# --- who is asked for first, and who is delayed (2.4) ---


def follows_three(version: str) -> tuple[Bench, int]:
    """Follows broker-1 in t-0, t-1, t-2, and has settled every question."""
    bench = Bench(version)
    bench.update_metadata()
    three = [("t", number) for number in range(3)]
    bench.leader_and_isr(*(state(1, topic_partition=one) for one in three))
    bench.advance(0.0)
    (connection,) = bench.opened("fetcher")
    bench.establish(connection)
    if isinstance(bench.last_sent(connection).message, OffsetForLeaderEpochRequest):
        bench.respond(connection, OffsetForLeaderEpochResponse([EpochEnd(*one) for one in three]))
    return bench, connection


def in_order(bench: Bench, connection: int) -> list[int]:
    message = bench.last_sent(connection).message
    assert isinstance(message, FetchRequest), message
    return [one.partition for one in message.partitions]


@pytest.mark.parametrize("version", ("0.8.2", "0.10.2", "1.1", "2.6", "2.8"))
def test_a_partition_with_records_or_a_delay_comes_last_in_the_next_request(version: str) -> None:
    """PartitionStates.updateAndMoveToEnd, from 0.10.1.
    No partition starves where an answer does not hold all.
    """
    bench, connection = follows_three(version)
    assert in_order(bench, connection) == [0, 1, 2]
    records = batch("a", magic=bench.magic, epoch=0)
    brought = FetchedPartition(*T0, 0, Offset(0), Offset(0), None, records)
    bench.respond(connection, FetchResponse([brought, FetchedPartition(*T1), FetchedPartition("t", 2)]))
    moves = version != "0.8.2"
    assert in_order(bench, connection) == ([1, 2, 0] if moves else [0, 1, 2])
    bench.respond(connection, FetchResponse([FetchedPartition(*T1, ErrorCode.UNKNOWN_SERVER_ERROR)]))
    assert in_order(bench, connection) == ([2, 0] if moves else [0, 2])
    bench.advance(1_000.0)
    bench.respond(connection, FetchResponse([]))
    assert in_order(bench, connection) == ([2, 0, 1] if moves else [0, 1, 2])


@pytest.mark.parametrize("version", ("0.11", "1.1", "2.6"))
def test_a_question_without_an_answer_delays_those_it_was_about(version: str) -> None:
    """fetchEpochEndOffsets makes an error of it for each.
    The turn goes on with the others (doWork).
    """
    bench, connection = follows_three(version)
    bench.lead(1)  # leads t-0 once, so that there is an epoch to ask about
    bench.produce("a")
    bench.respond(connection, FetchResponse([]))
    bench.follow(leader=1, epoch=2)
    bench.respond(connection, FetchResponse([]))
    assert isinstance(bench.last_sent(connection).message, OffsetForLeaderEpochRequest)
    bench.lose(connection)
    again = bench.opened("fetcher")[-1]
    assert again != connection, "the others are fetched at once"
    bench.establish(again)
    assert in_order(bench, again) == [1, 2]
    delayed = [(e.partition, e.change) for e in bench.events(FetcherChanged) if e.change == "delayed"]
    assert delayed == [(0, "delayed")]
    bench.advance(1_000.0)
    bench.respond(again, FetchResponse([]))
    assert isinstance(bench.last_sent(again).message, OffsetForLeaderEpochRequest)


@pytest.mark.parametrize("version", ("0.8.2", "1.0", "2.2", "2.8"))
def test_a_stop_replica_ends_a_fetcher_without_partitions(version: str) -> None:
    """KafkaApis.handleStopReplicaRequest, when the controller has been told.
    So a fetcher that died (up to 2.2) is another one when a partition comes back.
    """
    bench, connection = follows_three(version)
    stopped = [StoppedPartition("t", number, False) for number in range(3)]
    order = bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), stopped))
    assert bench.answer(order, StopReplicaResponse).error == 0
    if bench.gates.fetcher_shutdown_waits:
        assert not bench.closed(connection)
        bench.respond(connection, FetchResponse([]))
    assert Close(connection) in bench.effects
    bench.lead(1)  # or the leader would be the same, whom up to 2.0.0 an order does not make it follow again
    bench.follow(leader=1, epoch=2)
    bench.advance(0.0)
    assert len(bench.opened("fetcher")) == 2
