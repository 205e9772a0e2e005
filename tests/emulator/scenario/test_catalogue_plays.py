"""Every scenario of the catalogue meets its expectation on each of its versions, simulated.

One seed shows that a file and the rules agree: on the default version in `make test`, on every version and with a
second seed in `make test-all`. Many seeds are a matter of `faultline sim`.
"""

from pathlib import Path

import pytest

from emulator.judging.judged import play_and_judge
from emulator.judging.run_outcome import broken_in
from emulator.runs.resolve import resolve
from emulator.scenario.load import load_scenario
from emulator.scenario.player.steps import StepFailed
from emulator.scenario.scenario_model import Scenario

ROOT = Path(__file__).parents[3]
SEEDS = (1, pytest.param(2, marks=pytest.mark.slow))

CATALOGUE = {
    path.stem: load_scenario(path.read_text(), str(path)) for path in sorted((ROOT / "scenarios").glob("*.yaml"))
}

PLAYS = [
    pytest.param(name, version, marks=() if version == scenario.default_version else pytest.mark.slow)
    for name, scenario in CATALOGUE.items()
    for version in scenario.kafka
]


def why_not(scenario: Scenario, version: str, seed: int) -> list[str]:
    """The reason why one run is not valid; empty if it is."""
    try:
        verdict = play_and_judge(resolve(scenario, version), seed, run=str(seed)).verdict
    except StepFailed as error:
        return [str(error)]
    return [] if verdict.valid is True else [f"valid: {verdict.valid}", *broken_in(verdict)]


@pytest.mark.parametrize(("name", "version"), PLAYS)
@pytest.mark.parametrize("seed", SEEDS)
def test_what_a_scenario_expects_happens(name: str, version: str, seed: int) -> None:
    found = why_not(CATALOGUE[name], version, seed)
    replay = f"faultline run {name} --world sim --kafka-version {version} --seed {seed}"
    assert not found, f"{replay}: {'; '.join(found)}"
