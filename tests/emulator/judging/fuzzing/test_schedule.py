"""Faults of a schedule, all of which are mended in the end."""

import random

import pytest

from emulator.faults.machine_fault_kinds import SlowDisk
from emulator.judging.fuzzing.fault_generator import SELDOM, SPACE, USUAL, reset
from emulator.judging.fuzzing.fault_sequences import SEQUENCES
from emulator.judging.fuzzing.generator import BEGIN_S, SETTLE_S, mend
from emulator.judging.fuzzing.mutation import mutated, parted
from emulator.judging.fuzzing.schedule import RETURN_S, Cluster, Schedule
from emulator.scenario import scenario_model as m
from protocol.ids import BrokerId

BROKERS = ("broker-1", "broker-0", "broker-2", "broker-3")
ASSIGNED = (BrokerId(1), BrokerId(0), BrokerId(2), BrokerId(3))
CLUSTER = Cluster(BROKERS, "broker-3", ("session-0", "session-1", "session-2"), (ASSIGNED,), alters=True, space=SPACE)


def schedule(seed: int = 1) -> Schedule:
    return Schedule(random.Random(seed), CLUSTER, BEGIN_S)


@pytest.mark.parametrize("name", [*USUAL, *SELDOM, *SEQUENCES])
def test_each_kind_is_drawn_and_mended(name: str) -> None:
    do = (USUAL | SELDOM | SEQUENCES)[name][0]
    found = 0
    for seed in range(12):
        s = schedule(seed)
        s.dead["broker-2"] = 0.0  # somebody to start, or to lose a disk
        s.add(m.Cut(links=m.PairLinks(between=("broker-0", "broker-1"))))
        before = len(s.steps)
        do(s)
        found += len(s.steps) > before
        mend(s, SETTLE_S)
        assert not (s.dead or s.paused or s.ill or s.failing or s.slow or s.rules)
    assert found


def test_resets_are_of_whole_connections_once_or_at_an_age() -> None:
    s = schedule()
    for _ in range(60):
        reset(s)
    resets = [step for step in s.steps if isinstance(step, m.Reset)]
    assert len(resets) == 60 and not any(step.apis for step in resets)
    assert {step.every_ms > 0 for step in resets} == {True, False}
    assert any(step.purposes for step in resets)


def test_a_dead_broker_is_back_after_its_session() -> None:
    s = schedule()
    s.kill("broker-1")
    assert s.well == ["broker-0", "broker-2", "broker-3"] and not s.back
    s.at_s += RETURN_S
    assert s.back == ["broker-1"]
    s.start("broker-1")
    assert s.well[0] == "broker-1" and isinstance(s.steps[-1], m.Start)


def test_a_start_that_may_wait_is_beside_what_follows() -> None:
    s = schedule()
    s.kill("session-0")
    s.kill("broker-1")
    s.start("broker-1")
    assert isinstance(s.steps[-1], m.Background)


def test_a_slow_disk_without_a_delay_is_as_fast_as_before() -> None:
    s = schedule()
    s.add(SlowDisk(node="broker-0", fsync_ms=5))
    assert s.slow == ["broker-0"]
    s.add(SlowDisk(node="broker-0"))
    assert not s.slow


def test_what_is_changed_begins_alike_and_is_mended() -> None:
    s = schedule(5)
    head = (m.Start(node="broker-3"), m.CreateTopic(topic="t", assignment=(ASSIGNED,)))
    s.kill("broker-1")
    s.pause("broker-0")
    mend(s, SETTLE_S)
    scenario = m.Scenario(id="a", title="a", kafka=("2.8",), steps=(*head, *s.steps))
    assert parted(scenario)[1] == s.steps[:2]
    for seed in range(20):
        changed = mutated(scenario, random.Random(seed), [scenario], frozenset())
        assert changed.steps[:2] == head
        assert isinstance(changed.steps[-1], m.Sleep)
        times = [step.at_s for step in changed.steps if step.at_s is not None]
        assert times == sorted(times)
