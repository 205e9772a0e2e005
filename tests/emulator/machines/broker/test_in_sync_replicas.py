"""In-sync replicas: followers' fetches, leaving and joining the ISR.
Semantics 1.2 to 1.4.
"""

from typing import Any

import pytest

from emulator.machines.broker.remote_replica import LONG_AGO_MS, RemoteReplica
from protocol.errors import ErrorCode
from protocol.events import IsrChangeRequested
from protocol.ids import BrokerId, Offset
from protocol.messages.leadership_messages import AlterIsrRequest
from protocol.messages.replication_messages import ProducePartition, ProduceRequest
from verification.broker_bench import Bench, batch, state

DIRECT = ("0.8.2", "0.10.2", "0.11", "1.1", "2.0.0", "2.0.1", "2.3", "2.4", "2.6")
LAG_MS = 10_000


def leader(version: str, *, isr: tuple[int, ...] = (0, 1, 2), records: int = 2, **more: Any) -> Bench:
    """Leads t-0 with some records that every member of the ISR has."""
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS, **more)
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=isr)
    for number in range(records):
        bench.produce(f"v{number}")
    for broker in isr:
        if broker != 0:
            bench.fetch(records, replica=broker)
    return bench


def requested_changes(bench: Bench) -> list[tuple[str, str, str]]:
    return [(event.change, event.was, event.now) for event in bench.events(IsrChangeRequested)]


# --- what a fetch says of the follower (1.2) ---


def test_a_fetch_at_the_log_end_is_caught_up_now() -> None:
    replica = RemoteReplica(BrokerId(1))
    replica.fetched(Offset(5), Offset(5), 1000.0)
    assert (replica.log_end, replica.last_caught_up_ms) == (5, 1000.0)


def test_a_fetch_that_reaches_the_previous_log_end_was_caught_up_then() -> None:
    """KAFKA-4485: it held all that the leader had when it fetched last."""
    replica = RemoteReplica(BrokerId(1))
    replica.fetched(Offset(5), Offset(5), 1000.0)
    replica.fetched(Offset(5), Offset(8), 2000.0)
    assert replica.last_caught_up_ms == 1000.0
    replica.fetched(Offset(8), Offset(12), 3000.0)
    assert replica.last_caught_up_ms == 2000.0
    replica.fetched(Offset(9), Offset(20), 4000.0)
    assert (replica.log_end, replica.last_caught_up_ms) == (9, 2000.0)


def test_caught_up_never_decreases() -> None:
    replica = RemoteReplica(BrokerId(1))
    replica.fetched(Offset(5), Offset(5), 1000.0)
    replica.fetched(Offset(3), Offset(9), 1500.0)
    replica.fetched(Offset(9), Offset(9), 1200.0)
    assert replica.last_caught_up_ms == 1200.0
    replica.fetched(Offset(9), Offset(9), 1100.0)
    assert replica.last_caught_up_ms == 1200.0


def test_a_failed_read_makes_the_position_unknown() -> None:
    """KAFKA-8400: what came before the failure counts for nothing afterwards."""
    replica = RemoteReplica(BrokerId(1))
    replica.fetched(Offset(5), Offset(8), 1000.0)
    replica.read_failed(LONG_AGO_MS)
    assert (replica.log_end, replica.last_caught_up_ms) == (-1, LONG_AGO_MS)
    replica.fetched(Offset(5), Offset(8), 2000.0)
    assert replica.last_caught_up_ms == LONG_AGO_MS


def test_a_new_leader_has_no_state_of_followers_but_keeps_its_isr() -> None:
    """Semantics 1.7: lastCaughtUp = now for members of the ISR, else long ago; log ends unknown."""
    replica = RemoteReplica(BrokerId(1))
    replica.fetched(Offset(5), Offset(5), 1000.0)
    replica.leader_epoch_began(Offset(7), 3000.0, in_isr=True, forgets=False)
    assert (replica.log_end, replica.last_caught_up_ms) == (5, 3000.0)
    replica.leader_epoch_began(Offset(7), 4000.0, in_isr=False, forgets=True)
    assert (replica.log_end, replica.last_caught_up_ms) == (-1, LONG_AGO_MS)


@pytest.mark.parametrize(("version", "log_end"), [("2.3", -1), ("2.4", 2)])
def test_a_refused_fetch_and_the_leaders_state(version: str, log_end: int) -> None:
    """Semantics 1.2, 5."""
    bench = leader(version)
    refused = bench.fetch(77, replica=1)
    assert bench.fetched(refused).error == 1
    assert bench.partition.remotes[BrokerId(1)].log_end == log_end


@pytest.mark.parametrize(("version", "log_end"), [("0.8.2", -1), ("0.10.2", 2), ("2.6", 2)])
def test_a_new_epoch_of_the_same_leader_and_its_state(version: str, log_end: int) -> None:
    """Semantics 1.7: 0.8.2 forgets in every epoch where followers are."""
    bench = leader(version, isr=(0, 1))
    assert bench.partition.remotes[BrokerId(1)].log_end == 2
    bench.lead(1, isr=(0, 1), zk_version=1)
    assert bench.partition.remotes[BrokerId(1)].log_end == log_end


# --- leaving (1.3) ---


@pytest.mark.parametrize("version", DIRECT[1:])
def test_a_silent_follower_leaves_after_one_to_one_and_a_half_times_the_lag(version: str) -> None:
    """The check runs every half of replica.lag.time.max.ms."""
    bench = leader(version)
    bench.advance(1000.0)
    bench.produce("more")
    bench.fetch(3, replica=2)
    fetched_at_ms = bench.now_ms
    while not requested_changes(bench):
        assert bench.now_ms - fetched_at_ms <= 1.5 * LAG_MS
        bench.advance(500.0)
        if bench.now_ms < 10_500.0:
            bench.fetch(3, replica=2)
    assert requested_changes(bench)[0] == ("shrink", "0,1,2", "0,2")
    assert bench.now_ms > LAG_MS
    assert bench.partition.isr == [0, 2]


@pytest.mark.parametrize(("version", "shrinks"), [("2.0.1", True), ("2.1", False), ("2.3", False), ("2.8", False)])
def test_an_idle_partition_with_equal_log_ends(version: str, shrinks: bool) -> None:
    """From 2.1 a follower at the leader's log end never leaves by time.
    Not even if it is unreachable.
    """
    bench = leader(version)
    bench.advance(4 * LAG_MS)
    assert bool(requested_changes(bench)) is shrinks
    assert bench.partition.isr == ([0] if shrinks else [0, 1, 2])


@pytest.mark.parametrize("version", DIRECT)
def test_the_leader_never_leaves_its_own_isr(version: str) -> None:
    bench = leader(version, isr=(1, 0))
    bench.produce("more")
    bench.advance(4 * LAG_MS)
    assert requested_changes(bench) == [("shrink", "1,0", "0")]
    assert bench.partition.isr == [0]


def test_several_leave_in_one_change_and_the_order_stays() -> None:
    """Semantics 11.3."""
    bench = leader("2.6", isr=(2, 0, 1))
    bench.produce("more")
    bench.advance(2 * LAG_MS)
    assert requested_changes(bench) == [("shrink", "2,0,1", "0")]


def test_by_messages_in_0_8_2() -> None:
    """A burst of more than replica.lag.max.messages removes a healthy follower.
    The instant is that of the check.
    """
    bench = leader("0.8.2", isr=(0, 1), replica_lag_max_messages=4)
    bench.advance(9_000.0)
    for number in range(5):
        bench.produce(f"burst{number}")
    bench.advance(1_000.0)
    assert requested_changes(bench) == [("shrink", "0,1", "0")]
    bench.fetch(7, replica=1)
    assert requested_changes(bench)[1:] == [("expand", "0", "0,1")]


def test_a_silent_follower_in_0_8_2() -> None:
    """Its log end was not refreshed for replica.lag.time.max.ms.
    At first the time counts from the election.
    """
    bench = leader("0.8.2", isr=(0, 1), records=0)
    bench.produce("a")
    bench.advance(LAG_MS - 1.0)
    assert requested_changes(bench) == []
    bench.advance(LAG_MS + 1.0)
    assert requested_changes(bench) == [("shrink", "0,1", "0")]


@pytest.mark.parametrize(("version", "left"), [("0.8.2", []), ("0.10.2", [("shrink", "0,1", "0")])])
def test_a_refused_fetch_counts_as_a_sign_of_life_in_0_8_2(version: str, left: list[tuple[str, str, str]]) -> None:
    """Its log end is set to unknown, and that is a change of it (semantics 1.3)."""
    bench = leader(version, isr=(0, 1))
    for _ in range(3):
        bench.advance(LAG_MS / 2)
        bench.fetch(77, replica=1)
    assert requested_changes(bench) == left


def test_by_messages_no_longer() -> None:
    bench = leader("0.10.2", isr=(0, 1), replica_lag_max_messages=4)
    bench.advance(4_000.0)
    for number in range(50):
        bench.produce(f"burst{number}")
    bench.advance(1_000.0)
    assert requested_changes(bench) == []


# --- joining (1.4) ---


@pytest.mark.parametrize("version", DIRECT)
def test_a_follower_at_the_high_watermark_joins_at_the_end_of_the_isr(version: str) -> None:
    """Semantics 11.3: an expansion appends; lag time is not consulted."""
    bench = leader(version, isr=(2, 0))
    assert bench.log.high_watermark == 2
    bench.fetch(1, replica=1)
    assert requested_changes(bench) == []
    bench.fetch(2, replica=1)
    assert requested_changes(bench) == [("expand", "2,0", "2,0,1")]
    assert bench.partition.isr == [2, 0, 1]
    bench.fetch(2, replica=1)
    assert len(requested_changes(bench)) == 1


@pytest.mark.parametrize(("version", "joins"), [("2.0.0", True), ("2.0.1", False), ("2.6", False)])
def test_below_the_leader_epochs_start(version: str, joins: bool) -> None:
    """KAFKA-7128: from 2.0.1 a follower joins only at or beyond the start of the leader's epoch."""
    bench = Bench(version, number=1)
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.become(1, 0, (1,))
    for number in range(10):
        bench.produce(f"v{number}")
    bench.follow(leader=0, epoch=1)
    bench.log.high_watermark = Offset(5)
    bench.become(1, 2, (1, 2), 0)
    assert (bench.partition.epoch_start, bench.log.high_watermark) == (10, 5)
    bench.fetch(5, replica=0)
    assert bool(requested_changes(bench)) is joins


def test_only_replicas_join() -> None:
    """Semantics 1.4: r is assigned."""
    bench = leader("2.6", isr=(0,))
    stranger = bench.fetch(2, replica=9)
    assert bench.fetched(stranger).error == ErrorCode.NONE, "it is told nothing of it (semantics 1.2)"
    assert requested_changes(bench) == []


def test_no_second_change_while_one_is_in_flight() -> None:
    """E4 (semantics 1.4)."""
    bench = leader("2.8", isr=(0,))
    bench.update_metadata(state(0, 0, (0,)))
    bench.fetch(2, replica=1)
    bench.fetch(2, replica=2)
    bench.advance(LAG_MS)
    assert requested_changes(bench) == [("expand", "0", "0,1")]
    (connection,) = bench.opened("to-controller")
    bench.establish(connection)
    request = bench.last_sent(connection).message
    assert isinstance(request, AlterIsrRequest)
    assert [change.isr for change in request.partitions] == [[0, 1]]


# --- a member that is not assigned (KAFKA-9672) ---


def moved_away(version: str) -> Bench:
    """t-0 and u-0 have a record each, and no follower fetches.
    Broker 1 of the ISR of t-0 is assigned no more.
    """
    bench = leader(version, isr=(0, 1), records=0)
    bench.sessions.znodes["/brokers/topics/u/partitions/0/state"] = (b"{}", 0)
    bench.leader_and_isr(
        state(0, 1, (0, 1, 2), replicas=(0, 2)), state(0, 0, (0, 2), replicas=(0, 2), topic_partition=("u", 0))
    )
    bench.fetch(0, replica=2)
    bench.produce("a")
    records = batch("a", magic=bench.magic)
    bench.ask(ProduceRequest(1, 1_500, [ProducePartition("u", 0, records)]))
    return bench


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.1", "2.0.1", "2.3"])
def test_a_member_that_is_not_assigned_is_removed_when_it_lags(version: str) -> None:
    bench = moved_away(version)
    bench.advance(2.5 * LAG_MS)
    assert ("shrink", "0,1,2", "0") in requested_changes(bench)
    assert ("shrink", "0,2", "0") in requested_changes(bench), "and so are later partitions with lagging followers"


@pytest.mark.parametrize("version", ["2.4", "2.6", "2.8"])
def test_a_member_that_is_not_assigned_ends_each_run(version: str) -> None:
    bench = moved_away(version)
    bench.advance(5 * LAG_MS)
    assert requested_changes(bench) == []


@pytest.mark.parametrize("version", ["2.3", "2.4", "2.8"])
def test_runs_go_on_once_the_isr_is_assigned_again(version: str) -> None:
    bench = moved_away(version)
    bench.leader_and_isr(state(0, 2, (0, 2), replicas=(0, 2)))
    bench.advance(2.5 * LAG_MS)
    assert [(change, now) for change, _, now in requested_changes(bench)] == [("shrink", "0"), ("shrink", "0")]


def test_a_member_that_is_not_assigned_does_not_hold_the_high_watermark() -> None:
    """Only assigned replicas count there (Partition.maybeIncrementLeaderHW)."""
    bench = moved_away("2.3")
    bench.fetch(1, replica=2)
    assert bench.log.high_watermark == 1
