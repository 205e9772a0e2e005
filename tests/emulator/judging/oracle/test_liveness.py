"""Longest stall of a request in a quiescent period, from the brokers' settings."""

import pytest

from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from verification.mutants.table import IN_PEACE as LEFT_IN_PEACE


@pytest.mark.parametrize(
    ("version", "scenario", "stalled_ms"),
    [("2.6", LEFT_IN_PEACE, 0), ("2.8", LEFT_IN_PEACE, 9_000), ("2.6", "az-isolated-follower", 11_000)],
)
def test_how_long_anything_may_stall(version: str, scenario: str, stalled_ms: int) -> None:
    given = {"request.timeout.ms": 9_000, "replica.socket.timeout.ms": 11_000}
    run = play_and_judge(resolve(find_scenario(scenario), version, given), 1, run="r")
    assert run.truth.quiescent is not None
    assert run.truth.quiescent.stalled_ms == stalled_ms
