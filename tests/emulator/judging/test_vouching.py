"""Late runs with and without equal recordings, however small the difference."""

import copy
from collections.abc import Callable
from functools import cache
from typing import Any

import msgspec
import pytest

from emulator.judging import lateness_check
from emulator.judging.judged import JudgedRun, play_and_judge
from emulator.judging.lateness_check import RunResults, Vouched, vouch
from emulator.runs.directory import settings_in_force
from emulator.runs.resolve import Resolved, resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.scenario.observations.observation_model import Observations
from tests.patience import PATIENCE_S

LEADER, CONTROLLER = "az-isolated-leader", "az-isolated-controller"
FRESH = 1_000
"""A seed that is not among those that vouch."""


@pytest.fixture(autouse=True)
def few_seeds(monkeypatch: pytest.MonkeyPatch) -> None:
    """All in this process, and all of them however busy the machine is."""
    monkeypatch.setattr(lateness_check, "SEEDS", 5)
    monkeypatch.setattr(lateness_check, "LIMIT_S", PATIENCE_S)


@cache
def played(scenario: str, **overrides: Any) -> tuple[Resolved, JudgedRun]:
    resolved = resolve(find_scenario(scenario), None, {name.replace("_", "."): v for name, v in overrides.items()})
    return resolved, play_and_judge(resolved, FRESH, run="late")


def report_of(run: JudgedRun, **others: Any) -> RunResults:
    acknowledged = sum(one.kind == "produce" and one.outcome == "ok" for one in run.played.operations)
    return msgspec.structs.replace(RunResults.of(run.verdict.checks, run.verdict.expectations, acknowledged), **others)


def vouched(
    resolved: Resolved, run: JudgedRun, change: Callable[[Observations], object] = lambda _: None, **reported: Any
) -> Vouched:
    """As of a late run that says what this one does, but for a change."""
    observations = copy.deepcopy(run.observations)
    change(observations)
    nodes = msgspec.to_builtins(settings_in_force(resolved))
    return vouch(resolved.scenario, observations, nodes, report_of(run, **reported))


def test_a_run_that_equals_a_recording_is_vouched_for_by_it() -> None:
    assert vouched(*played(LEADER)).by == "recording az-isolated-leader@2.6/1.json"


def test_a_run_that_was_never_recorded_is_vouched_for_by_a_seed() -> None:
    resolved, run = played("leader-crash")
    assert vouched(resolved, run).by.startswith("seed ")


def test_recordings_with_other_settings_vouch_for_nothing() -> None:
    """`compare` would call it equal; but no recording shows that it is, with these settings."""
    assert vouched(*played(LEADER, replica_fetch_wait_max_ms=400)).by.startswith("seed ")


def one_state_more(observations: Observations) -> None:
    """A replica is out of the ISR for 0.2 s.
    A recording could lack this (it was sampled).
    """
    states = observations.partition_states
    last = copy.deepcopy(states[-1])
    states[-1] |= {"isr": [2]}
    states.append(last | {"t": last["t"] + 0.2})


def another_log_end(observations: Observations) -> None:
    observations.role_changes[-1]["log_end"] += 1


def another_isr_change(observations: Observations) -> None:
    observations.isr_changes.append(dict(observations.isr_changes[-1]))


def a_session_lost(observations: Observations) -> None:
    observations.live_brokers += [{"t": 90.0, "live": [1, 2]}, {"t": 90.1, "live": [0, 1, 2]}]


def another_answer(observations: Observations) -> None:
    attempt = next(entry for entry in observations.timeline if entry.get("saw") == "attempt")
    attempt["error"] = 7


CHANGES = (one_state_more, another_log_end, another_isr_change, a_session_lost, another_answer)


@pytest.mark.parametrize("change", CHANGES)
def test_a_different_run_is_not_vouched_for(change: Callable[[Observations], object]) -> None:
    resolved, run = played("leader-crash")
    assert vouched(resolved, run, change) == Vouched("", "5 simulated seeds")


def test_a_state_that_was_too_short_to_be_sampled_is_no_recordings_to_vouch_for() -> None:
    resolved, run = played(LEADER)
    assert vouched(resolved, run, one_state_more) == Vouched("", "1 recording of real Kafka and 5 simulated seeds")


def test_what_checks_and_expectations_found_has_to_be_the_same() -> None:
    resolved, run = played("leader-crash")
    checks = report_of(run).checks
    violated = checks | {"high-watermark-regression": ("violated", 1)}
    held = report_of(run).held
    assert vouched(resolved, run, checks=violated).by == ""
    assert vouched(resolved, run, held=(*held[:-1], False)).by == ""
    assert vouched(resolved, run, acknowledged=report_of(run).acknowledged + 1).by == ""


def test_no_recording_vouches_for_a_scenario_that_expects_times() -> None:
    """A late run takes longer, whatever it has in common with real Kafka's."""
    resolved, run = played(LEADER)
    timed = run.played.scenario.expectations[0]
    timed = msgspec.structs.replace(timed, of="measure", what={"name": "time_to_new_leader_ms", "at_most": 60_000})
    scenario = msgspec.structs.replace(resolved.scenario, expectations=(timed,))
    resolved = resolve(scenario)
    run = play_and_judge(resolved, FRESH, run="late")
    assert vouched(resolved, run).by.startswith("seed ")


def test_a_run_whose_settings_are_not_what_its_scenario_gives_is_held_against_nothing() -> None:
    resolved, run = played(LEADER)
    nodes = msgspec.to_builtins(settings_in_force(resolved))
    nodes["broker-0"]["replica.lag.time.max.ms"] += 1
    vouched = vouch(resolved.scenario, run.observations, nodes, report_of(run))
    assert vouched.by == "" and vouched.compared.startswith("nothing")
