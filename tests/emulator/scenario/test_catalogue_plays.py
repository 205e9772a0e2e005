"""Every scenario of the catalogue meets its expectation on each of its versions, simulated.

One seed shows that a file and the rules agree: on the default version in `make test`, on every version in
`make test-all`. Many seeds are a matter of `faultline sim`.
"""

import pytest

from emulator.judging.crash_testing.crash_plan import scenario_of
from emulator.judging.judged import play_and_judge
from emulator.judging.run_outcome import broken_in
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import catalogue
from emulator.scenario.player.steps import StepFailed
from emulator.scenario.scenario_model import Scenario

SEED = 1
CATALOGUE = {name: scenario_of(name) for name in catalogue()}

PLAYS = [
    pytest.param(name, version, marks=() if version == scenario.default_version else pytest.mark.slow)
    for name, scenario in CATALOGUE.items()
    for version in scenario.kafka
]


def why_not(scenario: Scenario, version: str) -> list[str]:
    """The reason why one run is not valid; empty if it is."""
    try:
        verdict = play_and_judge(resolve(scenario, version), SEED, run="1").verdict
    except StepFailed as error:
        return [str(error)]
    return [] if verdict.valid is True else [f"valid: {verdict.valid}", *broken_in(verdict)]


@pytest.mark.parametrize(("name", "version"), PLAYS)
def test_what_a_scenario_expects_happens(name: str, version: str) -> None:
    found = why_not(CATALOGUE[name], version)
    replay = f"faultline run {name} --world sim --kafka-version {version} --seed {SEED}"
    assert not found, f"{replay}: {'; '.join(found)}"
