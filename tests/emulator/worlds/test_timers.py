"""The heap of due times, and how lateness is counted."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from emulator.worlds.network import timers
from emulator.worlds.network.timers import ExcusedTime, Lateness, TimerHeap


def test_timers_ring_in_order_once_and_only_if_not_cancelled_or_moved() -> None:
    heap = TimerHeap()
    heap.set(("a",), 30.0)
    heap.set(("b",), 20.0)
    heap.set(("c",), 10.0)
    heap.cancel(("c",))
    heap.set(("b",), 40.0)
    rung = heap.due(100.0)
    assert [(key, due_ms) for key, _, due_ms in rung] == [(("a",), 30.0), (("b",), 40.0)]
    (_, number, _), _ = rung
    assert heap.claim(("a",), number) and not heap.claim(("a",), number)
    assert heap.next_ms is None


def test_a_timer_cancelled_after_it_rang_is_not_claimed() -> None:
    heap = TimerHeap()
    heap.set(("a",), 10.0)
    ((key, number, _),) = heap.due(10.0)
    heap.cancel(key)
    assert not heap.claim(key, number)
    heap.set(("a",), 10.0)
    ((_, again, _),) = heap.due(10.0)
    assert not heap.claim(key, number) and heap.claim(key, again)


def test_moved_timers_do_not_pile_up() -> None:
    heap = TimerHeap()
    rung: list[str] = []
    heap.call_at(5.0, lambda: rung.append("deadline"))
    for at_ms in range(10_000):
        heap.set(("a",), 1_000.0 + at_ms)
    assert len(heap._heap) < 200
    assert heap.due(100_000.0)[0][2] == 10_999.0 and rung == ["deadline"]


def test_lateness_leaves_out_the_time_in_which_the_process_was_stopped() -> None:
    lateness = Lateness()
    assert lateness.report() is None
    for late_ms in range(1_000):
        lateness.add(0.0, float(late_ms))
    report = lateness.report()
    assert report is not None
    assert (report.timers, report.p50_ms, report.p999_ms, report.max_ms) == (1_000, 500.0, 999.0, 999.0)
    lateness.announce_pause()
    lateness.add(100.0, 5_002.0)
    assert lateness.report() is None, "nothing is counted before both ends of the pause are known"
    lateness.paused(100.0, 5_000.0)
    report = lateness.report()
    assert report is not None and (report.max_ms, report.buckets) == (2.0, "2:1")


@pytest.mark.parametrize(
    ("stopped", "late_ms"),
    [
        ((0.0, 900.0), 900.0),
        ((1_000.0, 21_000.0), 0.0),
        ((500.0, 21_000.0), 500.0),
        ((1_000.0, 21_400.0), 400.0),
        ((21_000.0, 41_000.0), 20_000.0),
        ((500.0, 41_000.0), 20_500.0),
        ((5_000.0, 6_000.0), 0.0),
    ],
    ids=["long before", "the pause alone", "just before", "just after", "right behind", "around", "within"],
)
def test_the_injectors_pause_excuses_its_own_interval_alone(stopped: tuple[float, float], late_ms: float) -> None:
    """A foreign stop that touches a pause from 1 s to 21 s.

    A timer was due when it began, and fires at its end.
    """
    lateness = Lateness()
    lateness.announce_pause()
    lateness.add(*stopped)
    lateness.paused(1_000.0, 21_000.0)
    report = lateness.report()
    assert report is not None and report.max_ms == late_ms


def test_an_unannounced_stop_is_lateness() -> None:
    """Also one behind the injector's."""
    lateness = Lateness()
    lateness.add(100.0, 5_002.0)
    lateness.announce_pause()
    lateness.paused(5_500.0, 6_000.0)
    lateness.add(100.0, 7_001.0)
    report = lateness.report()
    assert report is not None and report.max_ms == 6_401.0


def test_a_slow_disk_excuses_the_time_for_which_it_holds_a_step() -> None:
    lateness = Lateness()
    lateness.held(1_000.0, 1_300.0)
    lateness.add(1_010.0, 1_302.0)
    report = lateness.report()
    assert report is not None and report.max_ms == 2.0
    lateness.held(2_000.0, 2_300.0)
    lateness.add(2_010.0, 22_000.0)
    report = lateness.report()
    assert report is not None and report.max_ms == 19_700.0, "stopped by others while the disk held it"


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(0, 30)), max_size=12), st.integers(0, 60), st.integers(0, 30))
def test_excused_time_is_that_of_the_union_of_all_intervals(
    spans: list[tuple[int, int]], from_ms: int, lasts_ms: int
) -> None:
    excused = ExcusedTime()
    for start, lasts in spans:
        excused.add(start, start + lasts)
    every = {ms for start, lasts in spans for ms in range(start, start + lasts)}
    assert excused.within(from_ms, from_ms + lasts_ms) == len(every & {*range(from_ms, from_ms + lasts_ms)})


def test_excused_intervals_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(timers, "EXCUSED_MAX", 8)
    excused = ExcusedTime()
    for start in range(0, 1_000, 10):
        excused.add(start, start + 5)
    assert len(excused._starts) <= 8
    assert excused.within(970, 1_000) == 15


def test_cancelled_and_moved_timers_ring_no_alarm() -> None:
    """Each parked request has one; most are answered long before it."""
    heap = TimerHeap()
    heap.set(("a",), 10.0)
    heap.set(("b",), 20.0)
    heap.set(("c",), 25.0)
    heap.cancel(("a",))
    heap.set(("b",), 30.0)
    assert heap.next_ms == 25.0
    heap.call_at(15.0, lambda: None)
    assert heap.next_ms == 15.0
    assert [key for key, _, _ in heap.due(40.0)] == [("c",), ("b",)]
    assert heap.next_ms is None
