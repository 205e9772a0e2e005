"""Orderly stop of a broker between any two steps of a catalogue scenario, and a start.
Settings in force, roles and answers are as in Kafka (semantics 3, 4.2, 7).

`python -m verification.kill_anywhere --orderly` plays thousands."""

from typing import Any

import pytest

from emulator.judging.crash_testing.crash_plan import Plan, mortal_scenarios
from emulator.judging.crash_testing.crash_run import play_death
from emulator.judging.crash_testing.crash_seeds import DeathsOptions, play_seed, replay_command
from emulator.machines.broker.replica_manager import Replicas
from protocol.events import NodeStopped

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scenario", mortal_scenarios())
def test_an_orderly_stop_between_any_two_steps(scenario: str) -> None:
    requested = DeathsOptions((scenario,), orderly=True)
    result = play_seed(requested.plan(1))
    assert result.good, (result.plan.text, result.error, result.failed, replay_command(requested, 1))


def stopped(**changed: Any) -> Plan:
    plan = {"scenario": "topic-allows-unclean", "version": "2.6", "victim": "broker-1", "step": 6, "orderly": True}
    return Plan(seed=1, **{**plan, **changed})


def test_the_victim_ends_by_its_own_will_and_lives_again() -> None:
    died = play_death(stopped())
    ends = [e[5] for e in died.world.trace.entries if e[0] == "broker-1" and isinstance(e[5], NodeStopped)]
    assert [(end.code, end.reason) for end in ends] == [(0, "stopped")]
    assert died.world.nodes["broker-1"].incarnation == 2
    assert not died.unsettled


def test_settings_that_are_not_read_again_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A broker that begins its life without what topics say of themselves."""
    monkeypatch.setattr(Replicas, "settings_of", lambda self, topic: self.context.settings)
    result = play_seed(stopped())
    assert result.failed and result.failed[0].startswith("settled: "), (result.failed, result.error)
    assert "goes by other settings than" in result.failed[0]


def test_an_orderly_stop_needs_no_excuse_of_a_power_loss() -> None:
    for step in range(6, 10):
        result = play_seed(stopped(scenario="rolling-restart", step=step))
        assert result.good and not [rule for rule in result.allowed if "power" in rule], result
