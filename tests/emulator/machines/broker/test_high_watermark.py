"""The high watermark (semantics 1.5), and the two rounds that it takes.
Scenario two-round-high-watermark.
"""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from protocol.events import HighWatermarkMoved
from protocol.ids import BrokerId, Offset
from verification.broker_bench import Bench

VERSIONS = ("0.10.2", "0.11", "1.0", "1.1", "2.0.1", "2.3", "2.4", "2.6", "2.8")


def leader(version: str = "2.6", isr: tuple[int, ...] = (0, 1), **more: int) -> Bench:
    bench = Bench(version, replica_lag_time_max_ms=10_000) if not more else Bench(version, **more)  # type: ignore[arg-type]
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=isr)
    return bench


@pytest.mark.parametrize("version", VERSIONS)
def test_the_leaders_side_of_the_two_rounds(version: str) -> None:
    """Scenario two-round-high-watermark, n=3 and m=2, as a follower that never parks sees it.

    The immediate answer carries the high watermark of before the fetch (semantics 1.2.4).
    """
    bench = leader(version)
    for number in range(3):
        bench.produce(f"n{number}")
    assert (bench.log.log_end, bench.log.high_watermark, bench.partition.remotes[BrokerId(1)].log_end) == (3, 0, -1)
    first = bench.fetched(bench.fetch(0, replica=1))
    assert (len(first.records) > 0, first.high_watermark) == (True, 0)
    assert (bench.log.log_end, bench.log.high_watermark, bench.partition.remotes[BrokerId(1)].log_end) == (3, 0, 0)
    for number in range(2):
        bench.produce(f"m{number}")
    second = bench.fetched(bench.fetch(3, replica=1))
    assert (bench.log.log_end, bench.log.high_watermark, bench.partition.remotes[BrokerId(1)].log_end) == (5, 3, 3)
    assert second.high_watermark == 0
    third = bench.fetched(bench.fetch(5, replica=1))
    assert (bench.log.high_watermark, bench.partition.remotes[BrokerId(1)].log_end) == (5, 5)
    assert third.high_watermark == 3
    assert bench.fetched(bench.fetch(5, replica=1)).high_watermark == 5


@pytest.mark.parametrize("version", VERSIONS)
def test_a_fetch_parked_before_the_records_came_brings_the_new_high_watermark(version: str) -> None:
    """A parked fetch re-reads when it completes (semantics 1.2.4)."""
    bench = leader(version)
    for number in range(3):
        bench.produce(f"n{number}")
    bench.fetch(0, replica=1)
    parked = bench.fetch(3, replica=1, wait_ms=500)
    if version == "2.4":
        # 2.4, 2.5: the follower was told 0 and this fetch makes it 3: it is read again at once (DelayedFetch, case H),
        # and once more by the next, for what was noted as told is what was read first (updateFollowerFetchState).
        for _ in range(2):
            assert (bench.fetched(parked).records, bench.fetched(parked).high_watermark) == (b"", 3)
            parked = bench.fetch(3, replica=1, wait_ms=500)
    assert bench.answers(parked) == []
    bench.produce("m")
    assert (len(bench.fetched(parked).records) > 0, bench.fetched(parked).high_watermark) == (True, 3)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_idle_follower_learns_it_within_the_fetch_wait(version: str) -> None:
    """Its fetch parks for replica.fetch.wait.max.ms.
    It returns empty with the high watermark of that moment.
    """
    bench = leader(version)
    bench.produce("a")
    bench.fetch(0, replica=1)
    idle = bench.fetch(1, replica=1, wait_ms=500)
    bench.advance(500.0)
    answer = bench.fetched(idle)
    assert (answer.records, answer.high_watermark) == (b"", 1)


def test_a_recently_caught_up_replica_outside_the_isr_holds_it_back() -> None:
    """Semantics 1.5."""
    bench = Bench("2.6", replica_lag_time_max_ms=10_000)
    bench.lead(isr=(0,))
    bench.fetch(0, replica=2)
    assert bench.partition.isr == [0], "the write of the ISR failed, so 2 stays outside"
    bench.produce("a")
    assert bench.log.high_watermark == 0
    bench.advance(10_001.0)
    bench.produce("b")
    assert bench.log.high_watermark == 2


def test_a_removed_replica_holds_nothing_back_in_0_8_2() -> None:
    """Semantics 1.5: it is the ISR's minimum alone, however recently the other was caught up."""
    bench = Bench("0.8.2", replica_lag_time_max_ms=10_000, replica_lag_max_messages=1)
    bench.sessions.znodes["/brokers/topics/t/partitions/0/state"] = (b"{}", 0)
    bench.lead(isr=(0, 1))
    bench.advance(9_999.0)
    bench.fetch(0, replica=1)
    bench.produce("a")
    waiting = bench.produce("b", acks=-1, timeout_ms=60_000)
    assert bench.answers(waiting) == []
    bench.advance(1.0)
    assert (bench.partition.isr, bench.log.high_watermark) == ([0], 2)
    assert (bench.produced(waiting).error, bench.produced(waiting).base_offset) == (0, 1)


def test_it_advances_when_the_isr_shrinks() -> None:
    """Semantics 1.5: evaluated after an ISR shrink."""
    bench = leader()
    bench.fetch(0, replica=1)
    waiting = bench.produce("a", acks=-1, timeout_ms=60_000)
    bench.advance(15_000.0)
    assert (bench.partition.isr, bench.log.high_watermark) == ([0], 1)
    assert (bench.produced(waiting).error, bench.produced(waiting).base_offset) == (0, 0)


def test_a_leader_alone_in_its_isr_advances_at_once() -> None:
    """Semantics 1.7: makeLeader tries, which suffices if ISR = {self}."""
    bench = Bench("2.6", number=1)
    bench.become(1, 0, (1, 2))
    bench.produce("a")
    assert bench.log.high_watermark == 0
    bench.become(1, 1, (1,))
    assert bench.log.high_watermark == 1


def test_a_follower_clamps_the_received_high_watermark() -> None:
    """Semantics 1.5: clamp(high watermark in the answer, log start, log end); it may decrease."""
    bench = Bench("2.6")
    bench.follow(leader=1)
    for reported, held in ((5, 0), (-1, 0)):
        bench.do(lambda reported=reported: bench.partition.follow_high_watermark(reported))  # type: ignore[misc]
        assert bench.log.high_watermark == held
    bench.log.log_end = Offset(4)
    for reported, held in ((5, 4), (3, 3), (0, 0)):
        bench.do(lambda reported=reported: bench.partition.follow_high_watermark(reported))  # type: ignore[misc]
        assert bench.log.high_watermark == held
    moved = [(event.previous, event.high_watermark) for event in bench.events(HighWatermarkMoved)]
    assert moved == [(0, 4), (4, 3), (3, 0)]


action = st.one_of(
    st.tuples(st.just("produce"), st.integers(1, 3)),
    st.tuples(st.sampled_from(["fetch 1", "fetch 2"]), st.integers(0, 12)),
    st.tuples(st.just("wait"), st.integers(100, 9_000)),
)


@given(st.lists(action, max_size=40))
def test_it_is_the_smallest_log_end_of_those_that_count(actions: list[tuple[str, int]]) -> None:
    """Against a naive model: min over own log end, ISR members and the recently caught up.
    Never backwards.
    """
    bench = leader("2.8", isr=(0, 1), replica_lag_time_max_ms=10_000)
    log_ends = {1: -1, 2: -1}
    caught_up_ms = {1: 0.0, 2: -1e15}
    fetched: dict[int, tuple[float, int]] = {}
    expected, log_end = 0, 0

    def advance() -> None:
        nonlocal expected
        counting = [r for r in (1, 2) if r in bench.partition.maximal_isr or bench.now_ms - caught_up_ms[r] <= 10_000]
        expected = max(expected, min([log_end, *(log_ends[r] for r in counting)]))

    for what, number in actions:
        if what == "produce":
            for _ in range(number):
                bench.produce("v")
                log_end += 1
                advance()
        elif what == "wait":
            bench.advance(float(number))
        elif number <= log_end:
            follower = int(what[-1])
            bench.fetch(number, replica=follower)
            if number >= log_end:
                caught_up_ms[follower] = bench.now_ms
            elif follower in fetched and number >= fetched[follower][1]:
                caught_up_ms[follower] = max(caught_up_ms[follower], fetched[follower][0])
            log_ends[follower] = number
            fetched[follower] = (bench.now_ms, log_end)
            advance()
        assert bench.log.high_watermark == expected


def test_it_is_reported_only_when_it_moves_and_only_forward() -> None:
    bench = leader()
    for offset in (0, 0, 1, 1, 0, 2, 2):
        if offset > bench.log.log_end - 1:
            bench.produce("v")
        bench.fetch(offset, replica=1)
    moved = [(event.previous, event.high_watermark, event.leading) for event in bench.events(HighWatermarkMoved)]
    assert moved == [(0, 1, True), (1, 2, True)]
