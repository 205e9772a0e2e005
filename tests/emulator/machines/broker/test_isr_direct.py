"""ISR changes written straight to the session service (semantics 1.6, IBP below 2.7)."""

import pytest

from protocol.events import IsrChangeEnded, PartitionBlocked
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.messages.session_messages import SetData
from protocol.znodes import Leadership, decode_partitions, decode_state, encode_state
from tests.ids import brokers
from verification.broker_bench import T0, Bench, batch, state

STATE = "/brokers/topics/t/partitions/0/state"
LAG_MS = 10_000


def leader(
    version: str = "2.6", isr: tuple[int, ...] = (0, 1), *, ibp: str | None = None, zk_version: int = 3
) -> Bench:
    bench = Bench(version, ibp=ibp, replica_lag_time_max_ms=LAG_MS)
    bench.sessions.znodes[STATE] = (
        encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(*isr), ControllerEpoch(1))),
        zk_version,
    )
    bench.lead(isr=isr, zk_version=zk_version)
    bench.produce("a")
    return bench


def held(bench: Bench) -> Leadership:
    data, version = bench.sessions.znodes[STATE]
    return decode_state(*T0, data, version)


def ended(bench: Bench) -> list[tuple[str, str, int]]:
    return [(event.isr, event.result, event.zk_version) for event in bench.events(IsrChangeEnded)]


def writes(bench: Bench) -> int:
    return len([op for op in bench.sessions.asked if isinstance(op, SetData)])


@pytest.mark.parametrize("version", ["0.10.2", "0.11", "1.1", "2.1", "2.6"])
def test_the_write_is_conditional_and_never_bumps_the_leader_epoch(version: str) -> None:
    bench = leader(version)
    bench.advance(1.5 * LAG_MS)
    assert held(bench) == Leadership(BrokerId(0), LeaderEpoch(0), brokers(0), ControllerEpoch(1), 4)
    assert (bench.partition.isr, bench.partition.partition_epoch, bench.partition.leader_epoch) == ([0], 4, 0)
    assert ended(bench) == [("0", "done", 4)]


def test_the_stored_controller_epoch_is_that_of_the_last_decision() -> None:
    bench = leader()
    bench.leader_and_isr(state(0, 1, (0, 1), 3, controller_epoch=7), controller_epoch=9)
    bench.advance(1.5 * LAG_MS)
    assert held(bench).controller_epoch == 7


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.6"])
def test_a_stuck_zk_version_fails_every_cycle_for_ever(version: str) -> None:
    """KAFKA-2729: the controller wrote v+1, its LeaderAndIsr never came.
    The dead member pins the high watermark.
    """
    bench = leader(version)
    bench.sessions.znodes[STATE] = (
        encode_state(Leadership(BrokerId(0), LeaderEpoch(1), brokers(0, 1), ControllerEpoch(2))),
        4,
    )
    bench.advance(6 * LAG_MS)
    assert len(ended(bench)) >= 8
    assert set(ended(bench)) == {("0", "bad-version", -1)}
    assert (bench.partition.isr, bench.partition.partition_epoch, bench.log.high_watermark) == ([0, 1], 3, 0)
    bench.lead(1, isr=(0, 1), zk_version=4)
    bench.advance(1.5 * LAG_MS)
    assert (bench.partition.isr, bench.log.high_watermark) == ([0], 1)


def test_2_8_with_an_older_protocol_tries_once_and_stays_pending() -> None:
    """Semantics 1.6: INVALID_UPDATE_VERSION.
    No further attempt until a LeaderAndIsr with a higher epoch.
    """
    bench = leader("2.8", ibp="2.6")
    bench.sessions.znodes[STATE] = (
        encode_state(Leadership(BrokerId(0), LeaderEpoch(1), brokers(0, 1), ControllerEpoch(2))),
        4,
    )
    bench.advance(6 * LAG_MS)
    assert (ended(bench), writes(bench)) == ([("0", "bad-version", -1)], 1)
    assert bench.partition.pending is not None
    bench.lead(1, isr=(0, 1), zk_version=4)
    bench.advance(1.5 * LAG_MS)
    assert bench.partition.isr == [0]


def test_a_lost_answer_of_our_own_write_is_success() -> None:
    """BADVERSION, re-read: equal content is what was intended."""
    bench = leader()
    bench.sessions.znodes[STATE] = (
        encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(0), ControllerEpoch(1))),
        4,
    )
    bench.advance(1.5 * LAG_MS)
    assert (ended(bench), bench.partition.isr, bench.partition.partition_epoch) == ([("0", "done", 4)], [0], 4)


@pytest.mark.parametrize("version", ["1.1", "2.6", "2.8"])
def test_an_expired_session_gives_the_change_up_until_the_next_check(version: str) -> None:
    """2.8 does not: a pending change stays so until a newer leader epoch.
    ZkIsrManager.submit throws.
    """
    bench = leader(version, ibp=None if version != "2.8" else "2.6")
    bench.sessions.reachable = False
    bench.advance(1.5 * LAG_MS)
    assert bench.partition.lock.held
    bench.session_expires()
    assert (ended(bench), bench.partition.lock.held, bench.partition.isr) == (
        [("0", "session-expired", -1)],
        False,
        [0, 1],
    )
    bench.sessions.reachable = True
    bench.advance(LAG_MS)
    assert bench.partition.isr == ([0, 1] if version == "2.8" else [0])


def test_a_run_over_many_partitions_goes_on_when_each_answer_is_there_at_once() -> None:
    """Semantics 1.3: as when the session has expired, and every write fails before it is sent."""
    many = 1_000
    bench = Bench("1.1", replica_lag_time_max_ms=LAG_MS)
    bench.update_metadata()
    bench.leader_and_isr(*(state(0, 0, (0, 1), 0, topic_partition=("t", number)) for number in range(many)))
    for number in range(many):
        path = f"/brokers/topics/t/partitions/{number}/state"
        bench.sessions.znodes[path] = (
            encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(0, 1), ControllerEpoch(1))),
            0,
        )
    bench.advance(1.5 * LAG_MS)
    assert ended(bench) == [("0", "done", 1)] * many
    assert writes(bench) == many


# --- the lock ---


def test_out_of_reach_the_write_waits_and_blocks_all_requests() -> None:
    """Semantics 1.6, az-isolated-leader on 2.6.
    Produce, follower fetch and (2.1+) every fetch block behind it.
    """
    bench = leader()
    bench.advance(LAG_MS - 1.0)
    bench.sessions.reachable = False
    assert bench.produced(bench.produce("b")).error == 0
    bench.advance(LAG_MS / 2 + 1.0)
    produce, fetch, follower = bench.produce("c"), bench.fetch(0), bench.fetch(2, replica=2)
    order = bench.leader_and_isr(state(0, 1))
    assert [bench.answers(c) for c in (produce, fetch, follower, order)] == [[], [], [], []]
    bench.advance(600_000.0)
    assert bench.answers(produce) == [], "it waits without limit"
    bench.session_back()
    assert bench.produced(produce).base_offset == 2
    assert len(bench.answers(order)) == 1
    assert (bench.fetched(fetch).error, bench.fetched(follower).error) == (0, 0)
    assert bench.partition.leader_epoch == 1


def test_the_lock_is_reported_when_taken_and_released_with_its_waiters() -> None:
    """Semantics 1.6."""
    bench = leader()
    bench.sessions.reachable = False
    bench.advance(1.5 * LAG_MS)
    assert bench.events(PartitionBlocked) == [PartitionBlocked(*T0, blocked=True, waiting=0)]
    bench.produce("b")
    bench.fetch(0)
    bench.session_back()
    assert bench.events(PartitionBlocked)[1:] == [PartitionBlocked(*T0, blocked=False, waiting=2)]


@pytest.mark.parametrize("version", ["2.7", "2.8"])
def test_a_change_through_the_controller_takes_no_lock(version: str) -> None:
    """Semantics 1.6: the partition is not locked."""
    bench = Bench(version, replica_lag_time_max_ms=LAG_MS)
    bench.lead(isr=(0, 1))
    bench.advance(2 * LAG_MS)
    assert bench.partition.pending is not None
    assert bench.events(PartitionBlocked) == []


@pytest.mark.parametrize(("version", "blocks"), [("1.1", False), ("2.0.1", False), ("2.1", True), ("2.6", True)])
def test_consumer_fetches_block_from_2_1(version: str, blocks: bool) -> None:
    bench = leader(version)
    bench.sessions.reachable = False
    bench.advance(1.5 * LAG_MS)
    assert bench.partition.lock.held
    assert (bench.answers(bench.fetch(0)) == []) is blocks
    assert bench.answers(bench.fetch(1, replica=2)) == []


def test_other_partitions_are_served_but_their_checks_wait() -> None:
    """There is one checking task."""
    bench = Bench("2.6", replica_lag_time_max_ms=LAG_MS)
    bench.leader_and_isr(state(0), state(0, topic_partition=("t", 1)))
    bench.produce("a")
    other = bench.broker.replicas.partitions["t", 1]
    other.the_log.append_as_leader(batch("x"), LeaderEpoch(0))
    bench.sessions.reachable = False
    bench.advance(3 * LAG_MS)
    assert (bench.partition.lock.held, other.lock.held) == (True, False)
    assert writes(bench) == 1


def test_an_expansion_holds_up_the_answer_of_the_fetch_that_caused_it() -> None:
    bench = leader(isr=(0,))
    bench.sessions.reachable = False
    fetch = bench.fetch(1, replica=1)
    assert bench.answers(fetch) == []
    bench.session_back()
    assert (bench.fetched(fetch).error, bench.partition.isr) == (0, [0, 1])


# --- notifications ---


def test_the_controller_is_notified_after_five_quiet_seconds() -> None:
    """A look every 2.5 s; told when no change happened for 5 s."""
    bench = leader()
    bench.advance(LAG_MS + 1.0)
    while bench.partition.isr != [0]:
        bench.advance(1.0)
    changed_ms = bench.now_ms
    while not bench.sessions.created:
        bench.advance(1.0)
    assert 5_000.0 < bench.now_ms - changed_ms <= 7_501.0
    ((path, data),) = bench.sessions.created
    assert path == "/isr_change_notification/isr_change_"
    assert decode_partitions(path, data) == [T0]
    bench.advance(120_000.0)
    assert len(bench.sessions.created) == 1


def test_the_controller_is_notified_after_sixty_seconds_in_any_case() -> None:
    bench = leader("2.6", isr=(0,))
    reported_ms: list[float] = []
    for round_ in range(70):
        # A change a second: 1 joins, and is thrown out by a new epoch's ISR.
        bench.fetch(1, replica=1)
        _, version = bench.sessions.znodes[STATE]
        bench.lead(round_ + 1, isr=(0,), zk_version=version)
        bench.advance(1_000.0)
        if len(bench.sessions.created) > len(reported_ms):
            reported_ms.append(bench.now_ms)
    assert len(reported_ms) == 1 and 60_000.0 < reported_ms[0] <= 63_500.0


def test_a_notification_that_failed_is_repeated() -> None:
    bench = leader()
    bench.advance(1.5 * LAG_MS)
    bench.sessions.reachable = False
    bench.advance(8_000.0)
    bench.session_expires()
    bench.sessions.reachable = True
    assert bench.sessions.created == []
    bench.advance(70_000.0)
    assert [path for path, _ in bench.sessions.created] == ["/isr_change_notification/isr_change_"]
