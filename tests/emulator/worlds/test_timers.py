"""The heap of due times, and how lateness is counted."""

from emulator.worlds.network.timers import Lateness, TimerHeap


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
    lateness.resumed(5_000.0)
    lateness.add(100.0, 5_002.0)
    report = lateness.report()
    assert report is not None and (report.max_ms, report.buckets) == (2.0, "2:1")


def test_a_stop_that_nobody_announced_is_lateness() -> None:
    """Somebody else's SIGSTOP, or a second one after the injector's."""
    lateness = Lateness()
    lateness.resumed(5_000.0)
    lateness.add(100.0, 5_002.0)
    lateness.announce_pause()
    lateness.resumed(6_000.0)
    lateness.resumed(7_000.0)
    lateness.add(100.0, 7_001.0)
    report = lateness.report()
    assert report is not None and report.max_ms == 4_902.0
    assert report.buckets == "1024:1 5792.62:1"


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
