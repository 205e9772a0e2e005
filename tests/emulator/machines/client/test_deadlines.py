"""Deadlines: when one has come, and the one timer over many."""

from emulator.machines.client.deadlines import NEVER, PollTimer, is_due
from protocol.machine import CancelTimer, Now, SetTimer, TimerFired
from protocol.outbox import Outbox

KEY = ("producer", "poll")


def at(ms: float) -> Now:
    return Now(ms, 0.0)


def test_a_sum_of_floats_that_misses_its_deadline_by_an_ulp_has_come() -> None:
    assert 0.1 + 0.2 != 0.3
    assert is_due(at(0.3), 0.1 + 0.2)
    assert not is_due(at(0.3), 0.31)
    assert not is_due(at(1e12), NEVER)


def test_it_is_set_for_the_first_deadline_to_come_and_only_when_that_changes() -> None:
    timer, out = PollTimer("producer", lambda now, out: None), Outbox()
    timer.set(at(10), out, [NEVER, 40, 30, 10])
    assert out.take() == [SetTimer(KEY, 20)], "10 is due: it waits for something else than time"
    timer.set(at(15), out, [30])
    assert out.take() == []
    timer.set(at(15), out, [25, 30])
    assert out.take() == [SetTimer(KEY, 10)]
    timer.set(at(15), out, [NEVER])
    assert out.take() == [CancelTimer(KEY)]


def test_once_fired_it_can_be_set_for_the_same_moment() -> None:
    fired: list[float] = []
    timer, out = PollTimer("producer", lambda now, out: fired.append(now.mono_ms)), Outbox()
    timer.set(at(0), out, [20])
    assert out.route(at(19.5), TimerFired(KEY)) and fired == [19.5]
    out.take()
    timer.set(at(19.5), out, [20])
    assert out.take() == [SetTimer(KEY, 0.5)], "fired early"


def test_only_a_timer_that_is_set_is_cancelled() -> None:
    timer, out = PollTimer("producer", lambda now, out: None), Outbox()
    timer.cancel(out)
    assert out.take() == []
    timer.set(at(0), out, [20])
    timer.cancel(out)
    timer.cancel(out)
    assert out.take() == [SetTimer(KEY, 20), CancelTimer(KEY)]
