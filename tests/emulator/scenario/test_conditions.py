"""The conditions of waits: each true and false."""

import pytest

from emulator.scenario import conditions as c
from emulator.scenario.conditions import Before, Condition, Needs, PartitionView, View, described, holds, needs

ABC = (0, 1, 2)
THREE = frozenset(ABC)


def view(leader: int = 0, isr: tuple[int, ...] = ABC, **other: object) -> View:
    parts = {
        "t-0": PartitionView(leader, isr, assignment=ABC),
        "t-1": PartitionView(1, (1, 2), assignment=(2, 1)),
    }
    known: dict[str, object] = {
        "controller": 2,
        "controller_epoch": 1,
        "live": THREE,
        "before": Before({"t-0": 0, "t-1": 1}, 2, 1),
    }
    return View(first="t-0", partitions=parts, **{**known, **other})  # type: ignore[arg-type]


CASES: list[tuple[Condition, View, View]] = [
    (c.Leader(1), view(leader=1), view()),
    (c.Leader(-1), view(leader=-1), view()),
    (c.Leader(1, "t-1"), view(), View(first="t-0")),
    (c.NewLeader(), view(leader=1), view()),
    (c.NewLeader(), view(leader=1), view(leader=-1)),
    (c.NewLeader(), view(leader=0, before=Before()), view(leader=-1, before=Before())),
    (c.PreferredLeader(), view(), view(leader=1)),
    (c.PreferredLeader(), view(), View(first="t-0", partitions={"t-0": PartitionView(0, ABC)})),
    (c.Isr(frozenset({0, 2})), view(isr=(2, 0)), view()),
    (c.InIsr(1), view(), view(isr=(0, 2))),
    (c.IsrShrunk(), view(isr=(0, 2)), view(isr=(2, 1, 0))),
    (c.IsrRestored(), view(isr=(0, 2, 1)), view(isr=(0, 2))),
    (
        c.IsrShrunk("t-1"),
        view(isr=(0,)).__class__(partitions={"t-1": PartitionView(1, (1,), 0, (2, 1))}),
        view(),
    ),
    (c.NewController(), view(controller=1, controller_epoch=2), view()),
    (c.NewController(), view(controller=2, controller_epoch=2), view(controller=None, controller_epoch=2)),
    (c.Controller(2), view(), view(controller=None)),
    (c.Registered(frozenset({0, 1})), view(), view(live=frozenset({1, 2}))),
    (c.SessionsExpired(frozenset({0, 1})), view(live=frozenset({2})), view(live=frozenset({1, 2}))),
    (c.LeadsInView(1, of=1), view(broker_views={1: {"t-0": 1}}), view(broker_views={1: {"t-0": 0}})),
    (c.LeadsInView(1, of=1), view(broker_views={1: {"t-0": 1}}), view(broker_views={2: {"t-0": 1}})),
    (c.CaughtUp(), view(log_ends={"t-0": {0: 3, 1: 3}}), view(log_ends={"t-0": {0: 3, 1: 2}})),
    (c.CaughtUp(), view(log_ends={"t-0": {0: 3}}), view()),
    (c.Every(c.IsrRestored()), view().__class__(partitions={"t-0": PartitionView(0, ABC, 0, ABC)}), view(isr=(0,))),
    (c.Every(c.Not(c.Leader(0))), view(leader=1), view()),
    (c.Every(c.PreferredLeader()), view().__class__(partitions={"t-0": PartitionView(0, ABC, 0, ABC)}), View()),
    (c.Quiet(3), view(unchanged_s=3.0), view(unchanged_s=2.9)),
    (c.Not(c.Leader(0)), view(leader=1), view()),
    (c.AllOf((c.Leader(1), c.Isr(frozenset({1})))), view(leader=1, isr=(1,)), view(leader=1)),
]


@pytest.mark.parametrize(("condition", "true_in", "false_in"), CASES)
def test_condition(condition: Condition, true_in: View, false_in: View) -> None:
    assert holds(condition, true_in)
    assert not holds(condition, false_in)


def test_before_is_what_a_view_held() -> None:
    assert view(leader=1, controller=None).as_before() == Before({"t-0": 1, "t-1": 1}, None, 1)


@pytest.mark.parametrize(
    ("condition", "requested"),
    [
        (c.Leader(1), Needs()),
        (c.Not(c.LeadsInView(1, of=2)), Needs(frozenset({2}))),
        (c.AllOf((c.LeadsInView(1, of=0), c.CaughtUp())), Needs(frozenset({0}), log_ends=True)),
        (c.Every(c.CaughtUp()), Needs(log_ends=True)),
    ],
)
def test_only_needed_state_is_requested(condition: Condition, requested: Needs) -> None:
    assert needs(condition) == requested


def test_every_condition_has_words() -> None:
    words = [described(condition) for condition, _, _ in CASES]
    assert all(words)
    assert described(c.Every(c.IsrRestored())) == "every partition: isr restored"
    assert described(c.Not(c.AllOf((c.InIsr(1), c.Quiet(2.5))))) == "not broker-1 in isr and nothing changed for 2.5 s"
