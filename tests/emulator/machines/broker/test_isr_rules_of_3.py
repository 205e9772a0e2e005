"""Rules of ISR and high watermark of 3.0 to 3.7 (semantics 1.3 to 1.8).

Each is tested on both sides.
"""

import pytest
from msgspec.structs import replace

from protocol.errors import ErrorCode
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    IsrChanged,
    StoppedPartition,
    StopReplicaRequest,
    StopReplicaResponse,
)
from tests.emulator.machines.broker.test_isr_alter import LAG_MS, channel, done, refused, request, sent
from verification.broker_bench import T0, Bench, state


def leader(version: str, isr: tuple[int, ...] = (0, 1), records: int = 1, **settings: int) -> Bench:
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS, **settings)  # type: ignore[arg-type]
    bench.update_metadata(state(0))
    bench.lead(isr=isr, zk_version=3)
    for number in range(records):
        bench.produce(f"v{number}")
    return bench


# --- high watermark (1.5) ---


@pytest.mark.parametrize(("version", "reached"), [("3.6", 1), ("3.7", 0), ("3.9", 0)])
def test_an_isr_below_min_insync_stops_the_high_watermark_from_3_7(version: str, reached: int) -> None:
    """KAFKA-15583: acks=1 appends, and no consumer sees it."""
    bench = leader(version, isr=(0,), records=0, min_insync_replicas=2)
    assert bench.produced(bench.produce("a", acks=1)).error == 0
    assert bench.log.high_watermark == reached


@pytest.mark.parametrize(("version", "error"), [("3.6", 20), ("3.7", 7)])
def test_a_write_that_waits_while_the_isr_shrinks_times_out_from_3_7(version: str, error: int) -> None:
    bench = leader(version, isr=(0, 1), records=0, min_insync_replicas=2)
    waiting = bench.produce("a", acks=-1, timeout_ms=30_000)
    bench.advance(1.5 * LAG_MS)
    bench.respond(channel(bench), done((0,)))
    bench.advance(30_000.0)
    assert bench.produced(waiting).error == error


@pytest.mark.parametrize(("version", "error"), [("3.6", 19), ("3.7", 0)])
def test_min_insync_above_the_number_of_replicas_counts_as_that_from_3_7(version: str, error: int) -> None:
    bench = Bench(version, min_insync_replicas=2)
    bench.update_metadata(state(0, replicas=(0,), isr=(0,)))
    bench.leader_and_isr(state(0, replicas=(0,), isr=(0,)))
    assert bench.produced(bench.produce("a", acks=-1)).error == error


@pytest.mark.parametrize(("version", "reached"), [("3.5", 0), ("3.6", 1)])
def test_a_dead_replica_outside_the_isr_holds_the_high_watermark_back_up_to_3_5(version: str, reached: int) -> None:
    """KAFKA-15021: it was caught up recently, and cannot join."""
    bench = leader(version, isr=(0, 1), records=0)
    bench.update_metadata(state(0, isr=(0,)), live=(0, 2))
    bench.lead(1, isr=(0, 2), zk_version=4)
    bench.partition.remotes[BrokerId(1)].last_caught_up_ms = bench.now_ms
    bench.produce("a", acks=1)
    bench.fetch(1, replica=2)
    assert bench.log.high_watermark == reached


@pytest.mark.parametrize(("version", "reached"), [("3.0", 0), ("3.1", 1)])
def test_a_confirmed_shrink_moves_the_high_watermark_from_3_1(version: str, reached: int) -> None:
    """KAFKA-13091."""
    bench = leader(version)
    waiting = bench.produce("x", acks=-1, timeout_ms=60_000)
    bench.advance(1.5 * LAG_MS)
    bench.respond(channel(bench), done((0,)))
    assert (bench.log.high_watermark, len(bench.answers(waiting))) == (2 * reached, reached)


# --- who may join, who leaves (1.3, 1.4) ---


@pytest.mark.parametrize(("version", "joins"), [("3.2", True), ("3.3", False)])
def test_a_follower_that_is_not_alive_in_metadata_does_not_join_from_3_3(version: str, joins: bool) -> None:
    bench = leader(version, isr=(0,), records=0)
    bench.update_metadata(state(0, isr=(0,)), live=(0, 2))
    bench.fetch(0, replica=1)
    assert (bench.partition.maximal_isr == [0, 1]) is joins
    bench.update_metadata(state(0, isr=(0,)), live=(0, 1, 2))
    bench.fetch(0, replica=1)
    assert bench.partition.maximal_isr == [0, 1]


@pytest.mark.parametrize(("version", "isr"), [("2.8", None), ("3.0", [0, 1])])
def test_an_unassigned_member_leaves_at_the_next_check_from_3_0(version: str, isr: list[int] | None) -> None:
    """KAFKA-9672: up to 2.8 the check ends there."""
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS)
    bench.update_metadata(state(0))
    bench.leader_and_isr(state(0, replicas=(0, 1), isr=(0, 1, 2), zk_version=3))
    bench.advance(0.5 * LAG_MS)
    pending = bench.partition.pending
    assert (pending.isr if pending is not None else None) == isr


# --- responses (1.6) ---


@pytest.mark.parametrize(("version", "pends"), [("2.8", True), ("3.0", True), ("3.1", False), ("3.2", True)])
def test_an_unexpected_error(version: str, pends: bool) -> None:
    """It pends up to 3.0, is forgotten in 3.1, and is sent again from 3.2 on."""
    bench = leader(version)
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    bench.respond(connection, refused(ErrorCode.UNKNOWN_SERVER_ERROR))
    assert (bench.partition.pending is not None) is pends
    assert sent(bench, connection) == (2 if version == "3.2" else 1)


@pytest.mark.parametrize("error", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_the_controller_did_not_attempt_can_be_requested_again(error: ErrorCode) -> None:
    bench = leader("3.9", isr=(0,))
    bench.fetch(1, replica=1)
    assert bench.partition.maximal_isr == [0, 1]
    bench.respond(channel(bench), refused(error))
    assert (bench.partition.pending, bench.partition.maximal_isr) == (None, [0])
    bench.fetch(1, replica=1)
    assert bench.partition.maximal_isr == [0, 1], "at once: the next fetch requests it again"


def test_a_partition_error_of_a_former_controller_repeats_the_request() -> None:
    bench = leader("3.9")
    bench.advance(1.5 * LAG_MS)
    first = channel(bench)
    bench.respond(first, refused(ErrorCode.NOT_CONTROLLER))
    assert bench.closed(first)
    assert bench.partition.pending is not None


@pytest.mark.parametrize(("version", "queued"), [("2.8", 1), ("3.0", 0)])
def test_a_queued_change_outlives_a_new_epoch_from_3_0(version: str, queued: int) -> None:
    """Then the leader can request no other one until its response; it has dropped the other one."""
    bench = leader(version)
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    bench.lead(1, isr=(0,), zk_version=5)
    bench.fetch(1, replica=1)
    assert len(bench.partition.maximal_isr) == 1 + queued
    bench.respond(connection, refused(ErrorCode.FENCED_LEADER_EPOCH))
    bench.fetch(1, replica=1)
    assert bench.partition.maximal_isr == [0, 1]
    assert sent(bench, connection) == (1 if version == "2.8" else 2)


@pytest.mark.parametrize(
    ("binary", "ibp", "version", "with_id"),
    [
        ("2.8", "2.8", 0, False),
        ("3.2", "3.2", 1, False),
        ("3.3", "3.3", 2, True),
        ("3.9", "3.9", 3, True),
        ("3.9", "2.7", 1, False),
    ],
)
def test_the_version_of_a_request(binary: str, ibp: str, version: int, with_id: bool) -> None:
    bench = Bench(binary, ibp=ibp, replica_lag_time_max_ms=LAG_MS)
    bench.update_metadata(state(0))
    bench.leader_and_isr(replace(state(0, isr=(0, 1), zk_version=3), topic_id="an-id"))
    bench.produce("a")
    bench.advance(1.5 * LAG_MS + 50.0)
    connection = channel(bench)
    message = bench.last_sent(connection)
    assert isinstance(message.message, AlterIsrRequest)
    assert (message.version, message.message.partitions[0].topic_id) == (version, "an-id" if with_id else "")


def test_a_response_about_another_partition_is_no_response() -> None:
    bench = leader("3.9")
    bench.advance(1.5 * LAG_MS)
    connection = channel(bench)
    others = [IsrChanged("t", 7, 0, BrokerId(0), LeaderEpoch(0), [BrokerId(0)], 4)]
    bench.respond(connection, AlterIsrResponse(0, others))
    assert [change.partition for change in request(bench, connection).partitions] == [T0[1]]
    assert sent(bench, connection) == 2


# --- StopReplica (1.7) ---


@pytest.mark.parametrize(("version", "deleted"), [("3.3", False), ("3.4", True)])
def test_an_order_to_delete_with_the_replicas_own_epoch_is_refused_up_to_3_3(version: str, deleted: bool) -> None:
    """KAFKA-13972."""
    bench = leader(version)
    bench.lead(1, isr=(0, 1), zk_version=4)
    orders = [StoppedPartition(*T0, True, LeaderEpoch(1))]
    answer = bench.answer(
        bench.ask(StopReplicaRequest(BrokerId(2), ControllerEpoch(1), orders, 100)), StopReplicaResponse
    )
    (result,) = answer.partitions
    assert result.error == (0 if deleted else ErrorCode.FENCED_LEADER_EPOCH)
    assert (T0 in bench.broker.replicas.logs) is not deleted
