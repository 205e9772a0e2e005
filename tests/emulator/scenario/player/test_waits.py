"""Waiting for conditions, on a grid of 50 ms; and steps written as if they blocked."""

from typing import Any

import pytest

from emulator.scenario.conditions import (
    AllOf,
    CaughtUp,
    Condition,
    Controller,
    Isr,
    Leader,
    NewController,
    NewLeader,
    Not,
    Quiet,
    Registered,
)
from emulator.scenario.player.observing import Observing
from emulator.scenario.player.tasks import Order, StepFailed, Steps, together
from emulator.scenario.player.wait_steps import SAMPLE, SAMPLE_EVERY_MS, Waits, quiet_times_s
from emulator.topology import three_azs
from protocol.chance import Chance
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.machine import Now, SetTimer
from protocol.outbox import Outbox
from protocol.work import Runner
from protocol.znodes import Leadership
from tests.ids import brokers


class Waiting:
    """Waits with a clock that jumps to its timer."""

    def __init__(self, seed: int = 1) -> None:
        self.out = Outbox()
        self.seen = Observing(three_azs(), lambda now, what: None)
        self.waits = Waits(self.seen, self.out)
        self.waits.start(Chance(seed))
        self.waits.first = "t-0"
        self.seen.assignments["t-0"] = brokers(0, 1, 2)
        self.now_ms = 1000.0
        self.due_ms: float | None = None
        self.told: list[tuple[float, bool]] = []

    def wait(self, condition: Condition, limit_s: float = 10.0) -> None:
        self.waits.wait(self.now, condition, limit_s, lambda held: self.told.append((self.now_ms, held)))
        self._timers()

    def change(self, leader: int = 0, isr: tuple[int, ...] = (0, 1, 2), epoch: int = 0) -> None:
        self.seen.states["t-0"] = Leadership(BrokerId(leader), LeaderEpoch(epoch), brokers(*isr), ControllerEpoch(1))
        self.waits.changed(self.now)
        self._timers()

    @property
    def now(self) -> Now:
        return Now(self.now_ms, 0.0)

    def _timers(self) -> None:
        for effect in self.out.take():
            assert isinstance(effect, SetTimer) and effect.key == SAMPLE
            self.due_ms = self.now_ms + effect.after_ms

    def run(self, until_ms: float) -> None:
        while self.due_ms is not None and self.due_ms <= until_ms:
            self.now_ms, self.due_ms = self.due_ms, None
            self.waits.sample(self.now, self.out)
            self._timers()
        self.now_ms = until_ms


def on_grid(waiting: Waiting, at_ms: float) -> bool:
    steps = (at_ms - waiting.waits._phase_ms) / SAMPLE_EVERY_MS
    return abs(steps - round(steps)) < 1e-6


@pytest.mark.parametrize("seed", range(5))
def test_a_change_is_seen_at_the_next_point_of_the_grid(seed: int) -> None:
    waiting = Waiting(seed)
    waiting.wait(Leader(1))
    waiting.run(3_210.0)
    assert waiting.told == []
    waiting.change(leader=1)
    waiting.run(9_000.0)
    ((at_ms, held),) = waiting.told
    assert held and 3_210.0 < at_ms <= 3_260.0 and on_grid(waiting, at_ms)


def test_what_holds_already_is_seen_at_the_next_point_too() -> None:
    waiting = Waiting()
    waiting.change(leader=1)
    waiting.wait(Leader(1))
    waiting.run(2_000.0)
    ((at_ms, held),) = waiting.told
    assert held and 1_000.0 < at_ms <= 1_050.0


def test_a_limit_that_passes() -> None:
    waiting = Waiting()
    waiting.wait(Leader(1), limit_s=2.0)
    waiting.run(60_000.0)
    ((at_ms, held),) = waiting.told
    assert not held and 3_000.0 <= at_ms <= 3_050.0 and on_grid(waiting, at_ms)
    assert waiting.due_ms is None, "no condition is polled without a wait"


def test_stillness_counts_from_the_last_change() -> None:
    waiting = Waiting()
    waiting.change()
    waiting.wait(Quiet(3.0), limit_s=60.0)
    waiting.run(3_500.0)
    waiting.change(isr=(0, 1))
    waiting.run(60_000.0)
    ((at_ms, held),) = waiting.told
    assert held and 6_500.0 <= at_ms <= 6_550.0


def test_a_wait_begun_by_the_end_of_another_is_looked_at_at_once() -> None:
    """Not only at its own limit, when it holds already and nothing changes any more."""
    waiting = Waiting()
    waiting.change(leader=1)
    waiting.waits.wait(waiting.now, Leader(1), 90.0, lambda held: waiting.wait(Isr(frozenset({0, 1, 2})), 90.0))
    waiting._timers()
    waiting.run(120_000.0)
    ((at_ms, held),) = waiting.told
    assert held and at_ms <= 1_100.0


def test_new_is_relative_to_the_last_fault() -> None:
    waiting = Waiting()
    waiting.change(leader=0)
    waiting.seen.controller, waiting.seen.controller_epoch = BrokerId(2), 4
    waiting.waits.fault_begins(waiting.now_ms)
    waiting.wait(NewLeader())
    waiting.wait(NewController())
    waiting.change(leader=-1, epoch=1)
    waiting.run(2_000.0)
    assert waiting.told == [], "no leader is no new leader"
    waiting.change(leader=1, epoch=2)
    waiting.run(2_100.0)
    assert len(waiting.told) == 1
    waiting.seen.controller, waiting.seen.controller_epoch = BrokerId(0), 5
    waiting.waits.changed(waiting.now)
    waiting._timers()
    waiting.run(2_200.0)
    assert [held for _, held in waiting.told] == [True, True]


def test_conditions_of_several_kinds() -> None:
    waiting = Waiting()
    waiting.seen.live = frozenset(brokers(0, 1))
    waiting.seen.controller = BrokerId(1)
    waiting.change(isr=(1, 0))
    for condition in (
        Registered(frozenset({0, 1})), Controller(1), Isr(frozenset({0, 1})), Not(Isr(frozenset({0}))),
        AllOf((Leader(0), Controller(1))),
    ):  # fmt: skip
        waiting.wait(condition)
    waiting.wait(Not(Leader(0)), limit_s=1.0)
    waiting.run(1_050.0)
    assert [held for _, held in waiting.told] == [True] * 5
    waiting.run(5_000.0)
    assert waiting.told[-1][1] is False


def test_what_is_not_known_does_not_hold() -> None:
    waiting = Waiting()
    waiting.wait(Leader(0, "u-0"), limit_s=1.0)
    waiting.wait(CaughtUp(), limit_s=1.0)
    waiting.run(5_000.0)
    assert [held for _, held in waiting.told] == [False, False]


def test_stillness_is_found_inside_other_conditions() -> None:
    assert quiet_times_s(AllOf((Not(Quiet(2.0)), Leader(0), Quiet(5.0)))) in ([2.0, 5.0], [5.0, 2.0])
    assert quiet_times_s(Leader(0)) == []


# --- steps that wait ---


def runner() -> Runner:
    return Runner(lambda: 0.0, at_once=True)


def at_once(value: Any) -> Order:
    return Order("a value", lambda done: done(value))


def test_a_task_goes_on_with_what_its_orders_bring() -> None:
    later: list[Any] = []
    got: list[Any] = []
    ended: list[str] = []

    def steps() -> Steps:
        got.append((yield at_once("now")))
        got.append((yield Order("later", later.append)))
        for number in range(2_000):
            got.append((yield at_once(number)))

    player = runner()
    player.start("script", "play", steps(), lambda result: ended.append("end"))
    assert [one.waits_for for one in player.waiting_tasks()] == ["later"]
    assert (got, ended) == (["now"], [])
    later.pop()("then")
    assert got == ["now", "then", *range(2_000)], "answers at once do not deepen the stack"
    assert ended == ["end"]


def test_a_task_that_fails_reports_it_to_its_resumer() -> None:
    def steps() -> Steps:
        yield at_once(1)
        raise LookupError("no such thing")

    with pytest.raises(LookupError, match="no such thing"):
        runner().start("script", "play", steps())


def test_a_step_failed_as_the_outcome_is_raised_in_the_step() -> None:
    caught: list[str] = []

    def steps() -> Steps:
        try:
            yield at_once(StepFailed("it cannot be"))
        except StepFailed as failed:
            caught.append(str(failed))

    runner().start("script", "play", steps())
    assert caught == ["it cannot be"]


def test_concurrent_tasks_are_awaited_together_and_the_first_failure_is_reported() -> None:
    later: list[Any] = []
    got: list[Any] = []
    player = runner()

    def part() -> Steps:
        outcome = yield Order("later", later.append)
        if outcome:
            raise StepFailed(outcome)

    def steps() -> Steps:
        yield together(player, [])
        try:
            yield together(player, [part(), part(), part()])
        except StepFailed as failed:
            got.append(str(failed))

    player.start("script", "play", steps())
    assert [(one.who, one.does) for one in player.waiting_tasks()] == [
        *(("together", f"part {number} of 3") for number in (1, 2, 3)),
        ("script", "play"),
    ]
    later[2]("the last")
    later[0](None)
    assert got == []
    later[1]("the middle one")
    assert got == ["the last"] and player.waiting_tasks() == []
