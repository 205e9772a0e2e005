"""ISR changes through the controller (AlterIsr, KIP-497; semantics 1.6, 11.5, 11.6, 11.8)."""

import pytest

from emulator.machines.broker.controller_channel import LOOK_AGAIN_MS, RETRY_MS
from protocol.errors import ErrorCode
from protocol.events import IsrChangeEnded
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange, IsrChanged
from protocol.messages.replication_messages import FetchPartition, FetchRequest
from tests.ids import brokers
from verification.broker_bench import T0, Bench, batch, state

LAG_MS = 10_000


def leader(isr: tuple[int, ...] = (0, 1), records: int = 1, **settings: int) -> Bench:
    bench = Bench("2.8", replica_lag_time_max_ms=LAG_MS, **settings)  # type: ignore[arg-type]
    bench.update_metadata(state(0))
    bench.lead(isr=isr, zk_version=3)
    for number in range(records):
        bench.produce(f"v{number}")
    return bench


def channel(bench: Bench) -> int:
    """The newest connection to the controller, established."""
    connection = bench.opened("to-controller")[-1]
    bench.establish(connection)
    return connection


def request(bench: Bench, connection: int) -> AlterIsrRequest:
    message = bench.last_sent(connection).message
    assert isinstance(message, AlterIsrRequest)
    return message


def sent(bench: Bench, connection: int) -> int:
    return len(bench.answers(connection))


def done(isr: tuple[int, ...], zk_version: int = 4, epoch: int = 0) -> AlterIsrResponse:
    return AlterIsrResponse(0, [IsrChanged(*T0, 0, BrokerId(0), LeaderEpoch(epoch), list(brokers(*isr)), zk_version)])


def refused(error: ErrorCode) -> AlterIsrResponse:
    return AlterIsrResponse(0, [IsrChanged(*T0, error)])


def test_a_shrink_keeps_the_maximal_isr_until_it_is_answered() -> None:
    bench = leader()
    waiting = bench.produce("x", acks=-1, timeout_ms=60_000)
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    assert request(bench, connection) == AlterIsrRequest(
        BrokerId(0), 100, [IsrChange(*T0, BrokerId(0), LeaderEpoch(0), [BrokerId(0)], 3)]
    )
    assert (bench.partition.isr, bench.partition.maximal_isr, bench.log.high_watermark) == ([0, 1], [0, 1], 0)
    bench.respond(connection, done((0,)))
    assert (bench.partition.isr, bench.partition.partition_epoch, bench.partition.pending) == ([0], 4, None)
    assert bench.log.high_watermark == 0, "KAFKA-13091: it is not checked until the next append"
    bench.produce("y", acks=1)
    assert bench.log.high_watermark == 3
    assert bench.produced(waiting).error == 0


def test_after_a_shrink_a_follower_that_only_stays_level_does_not_move_the_high_watermark() -> None:
    """KAFKA-13091 (recorded on 2.8): an acks=-1 write times out.
    The ISR has shrunk to those that have it all the same.
    """
    bench = leader(isr=(0, 1, 2))
    bench.fetch(1, replica=2)
    waiting = bench.produce("x", acks=-1, timeout_ms=60_000)
    bench.fetch(2, replica=2)
    for _ in range(15):
        bench.advance(1000.0)
        bench.fetch(2, replica=2)
    bench.respond(channel(bench), done((0, 2)))
    bench.fetch(2, replica=2)
    assert (bench.partition.isr, bench.log.high_watermark) == ([0, 2], 0)
    bench.produce("y", acks=1)
    bench.fetch(3, replica=2)
    assert bench.log.high_watermark == 3
    assert bench.produced(waiting).error == 0


def test_an_expansion_counts_from_the_moment_it_is_requested() -> None:
    """Maximal ISR = isr + new: the new member holds the high watermark back at once."""
    bench = leader(isr=(0,))
    bench.advance(11_000.0)
    bench.fetch(1, replica=1)
    assert (bench.partition.isr, bench.partition.maximal_isr) == ([0], [0, 1])
    bench.advance(11_000.0)
    bench.produce("b")
    assert bench.log.high_watermark == 1
    bench.respond(channel(bench), done((0, 1)))
    assert bench.partition.isr == [0, 1]


def test_while_a_shrink_hangs() -> None:
    """HW is pinned, acks=-1 times out, acks 0/1 keep working; the partition is not locked."""
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    waiting = bench.produce("x", acks=-1, timeout_ms=1500)
    assert bench.produced(bench.produce("y", acks=1)).error == 0
    bench.advance(1500.0)
    assert bench.produced(waiting).error == ErrorCode.REQUEST_TIMED_OUT
    assert (bench.log.high_watermark, bench.partition.lock.held) == (0, False)


@pytest.mark.parametrize(
    "error",
    [
        ErrorCode.FENCED_LEADER_EPOCH,
        ErrorCode.INVALID_UPDATE_VERSION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_SERVER_ERROR,
    ],
)
def test_errors_after_which_it_stays_pending(error: ErrorCode) -> None:
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    bench.respond(connection, refused(error))
    bench.advance(10 * LAG_MS)
    assert sent(bench, connection) == 1
    assert bench.partition.pending is not None
    assert [event.result for event in bench.events(IsrChangeEnded)] == [f"refused: {error.name}"]


@pytest.mark.parametrize("version", ["2.7", "2.8"])
def test_changes_answered_behind_an_unexpected_error_are_sent_again(version: str) -> None:
    """Partition.handleAlterIsrResponse asks again and finds its own change still queued.
    An exception, which ends the whole answer. 2.7 sends what is left with its task, 2.8 with the next change.
    """
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS)
    others = [("t", 1), ("t", 2)]
    bench.update_metadata(state(0), *(state(0, topic_partition=one) for one in others))
    bench.leader_and_isr(state(0, zk_version=3), state(0, zk_version=3, topic_partition=others[0]))
    bench.leader_and_isr(state(0, zk_version=3, isr=(0,), topic_partition=others[1]))
    for topic_partition in (T0, others[0]):
        bench.broker.replicas.logs[topic_partition].append_as_leader(batch("a"), LeaderEpoch(0))
    bench.advance(1.5 * LAG_MS + 50.0)
    connection = channel(bench)
    bench.respond(connection, AlterIsrResponse(ErrorCode.STALE_BROKER_EPOCH))
    bench.advance(50.0)
    assert [change.partition for change in request(bench, connection).partitions] == [0, 1]
    answers = [IsrChanged("t", 1, 0, BrokerId(0), LeaderEpoch(0), [BrokerId(0)], 4)]
    bench.respond(connection, AlterIsrResponse(0, [IsrChanged(*T0, ErrorCode.UNKNOWN_SERVER_ERROR), *answers]))
    assert bench.broker.replicas.partitions["t", 1].pending is not None
    bench.advance(1_000.0)
    if version == "2.8":
        assert sent(bench, connection) == 2
        bench.ask(FetchRequest(BrokerId(1), 0, 1, 1_000, [FetchPartition(*others[1], Offset(0))]))
    requested = [change.partition for change in request(bench, connection).partitions]
    assert (sent(bench, connection), requested) == (3, [1, 2] if version == "2.8" else [1])


def test_2_7_sends_with_a_task_that_runs_every_50_ms() -> None:
    bench = Bench("2.7", replica_lag_time_max_ms=LAG_MS)
    bench.update_metadata(state(0))
    bench.lead(isr=(0,), zk_version=3)
    bench.produce("a")
    bench.advance(20.0)
    bench.fetch(1, replica=1)
    assert bench.opened("to-controller") == []
    bench.advance(29.0)
    assert bench.opened("to-controller") == []
    bench.advance(1.0)
    assert len(bench.opened("to-controller")) == 1


def test_a_top_level_error_is_tried_again_after_50_ms() -> None:
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    bench.respond(connection, AlterIsrResponse(ErrorCode.STALE_BROKER_EPOCH))
    bench.advance(49.0)
    assert sent(bench, connection) == 1
    bench.advance(1.0)
    assert sent(bench, connection) == 2


def test_one_request_is_in_flight_per_broker() -> None:
    bench = leader()
    bench.leader_and_isr(*(state(0, topic_partition=("t", number), isr=(0, 1, 2)) for number in (1, 2)))
    for number in (1, 2):
        bench.broker.replicas.partitions["t", number].the_log.append_as_leader(
            bench.log.read(Offset(0), Offset(1), 1000), LeaderEpoch(0)
        )
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    first = request(bench, connection)
    assert len(first.partitions) == 1
    bench.respond(connection, done((0,)))
    assert sorted(change.partition for change in request(bench, connection).partitions) == [1, 2]
    assert sent(bench, connection) == 2


def test_not_controller_and_lost_connections_repeat_the_request_to_the_next_controller() -> None:
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    first = channel(bench)
    bench.respond(first, AlterIsrResponse(ErrorCode.NOT_CONTROLLER))
    assert bench.closed(first)
    bench.update_metadata(state(0), controller=1, controller_epoch=2)
    bench.advance(RETRY_MS)
    second = channel(bench)
    assert bench.opens[second].to == "broker-1"
    bench.lose(second)
    bench.advance(RETRY_MS)
    third = channel(bench)
    bench.respond(third, done((0,)))
    assert bench.partition.isr == [0]


def test_a_request_that_is_not_answered_in_time_is_sent_again() -> None:
    """A queued change survives a cut (semantics 11.8)."""
    bench = leader(controller_socket_timeout_ms=35_000, request_timeout_ms=20_000)
    bench.advance(1.5 * LAG_MS)
    first = channel(bench)
    bench.advance(39_999.0)
    assert not bench.closed(first), "its thread wakes every request.timeout.ms (NetworkClient.poll)"
    bench.advance(1.0)
    assert bench.closed(first)
    bench.advance(RETRY_MS)
    bench.respond(channel(bench), done((0,)))
    assert bench.partition.isr == [0]


@pytest.mark.parametrize(("request_timeout_ms", "noticed_ms"), [(30_000, 30_000), (4_000, 12_000)])
def test_connecting_is_given_up_when_its_thread_wakes(request_timeout_ms: int, noticed_ms: int) -> None:
    """socket.connection.setup.timeout.ms is 10 s, and it does not wake the thread.
    Source: ClusterConnectionStates.connectionDelay.
    """
    bench = leader(request_timeout_ms=request_timeout_ms)
    bench.advance(1.5 * LAG_MS)
    (first,) = bench.opened("to-controller")
    bench.advance(noticed_ms - 1.0)
    assert not bench.closed(first)
    bench.advance(1.0)
    assert bench.closed(first)


def test_without_a_known_controller_it_waits() -> None:
    bench = Bench("2.8", replica_lag_time_max_ms=LAG_MS)
    bench.lead(isr=(0, 1))
    bench.produce("a")
    bench.advance(3 * LAG_MS)
    assert bench.opened("to-controller") == []
    bench.update_metadata(state(0))
    bench.advance(LOOK_AGAIN_MS)
    assert [bench.opens[c].to for c in bench.opened("to-controller")] == ["broker-2"]


def test_a_higher_epoch_discards_what_is_pending() -> None:
    """Semantics 11.5; a late answer for the old epoch changes nothing."""
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    bench.lead(1, isr=(0, 1), zk_version=5)
    assert bench.partition.pending is None
    bench.respond(connection, done((0,), 4))
    assert (bench.partition.isr, bench.partition.partition_epoch) == ([0, 1], 5)
    bench.advance(1.5 * LAG_MS)
    assert request(bench, connection).partitions == [IsrChange(*T0, BrokerId(0), LeaderEpoch(1), [BrokerId(0)], 5)]


def test_an_answer_with_an_older_version_is_ignored() -> None:
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    bench.respond(channel(bench), done((0,), 2))
    assert (bench.partition.isr, bench.partition.pending is None) == ([0, 1], False)


def test_a_former_leader_sends_no_change_it_still_had() -> None:
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    bench.follow(leader=1, epoch=1)
    connection = bench.opened("to-controller")[-1]
    bench.establish(connection)
    assert bench.partition.pending is None
    bench.respond(connection, refused(ErrorCode.FENCED_LEADER_EPOCH))
    assert bench.events(IsrChangeEnded) == []


def test_a_late_answer_takes_the_change_that_waits_by_then_with_it() -> None:
    """Found in recordings of 2.8: asked of an isolated controller, refused much later.
    The expansion that was queued meanwhile is never sent, stays pending and holds back acks=-1 until the next
    LeaderAndIsr.
    """
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    bench.lead(1, isr=(0,), zk_version=5)
    bench.fetch(1, replica=1)
    assert bench.partition.maximal_isr == [0, 1]
    bench.respond(connection, refused(ErrorCode.FENCED_LEADER_EPOCH))
    bench.advance(10 * LAG_MS)
    assert sent(bench, connection) == 1
    assert (bench.partition.isr, bench.partition.maximal_isr) == ([0], [0, 1])
    waiting = bench.produce("x", acks=-1, timeout_ms=1500)
    bench.advance(1500.0)
    assert bench.produced(waiting).error == ErrorCode.REQUEST_TIMED_OUT


def test_the_controller_known_first_receives_requests_until_it_fails() -> None:
    """A leader that has heard of a new controller goes on asking the old one."""
    bench = leader()
    bench.update_metadata(state(0), controller=1, controller_epoch=2)
    bench.advance(1.5 * LAG_MS)
    first = channel(bench)
    assert bench.opens[first].to == "broker-2"
    bench.lose(first)
    bench.advance(RETRY_MS)
    assert bench.opens[channel(bench)].to == "broker-1"
