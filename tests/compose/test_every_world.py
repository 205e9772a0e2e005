"""Allowed outcomes of scenarios are equal in simulation, processes and containers.

With either driver of cuts. All of section A, at the versions that were recorded: `make test-all PYTEST_ARGS='-m long'`.
One of them is always run: test_runs_on_engine.py. A run that was late to the end is unknown, and is no failure here.
"""

from pathlib import Path

import msgspec
import pytest

from emulator.worlds.packet_filter.rights import missing
from verification import every_world

pytestmark = [pytest.mark.long, pytest.mark.docker, pytest.mark.network, pytest.mark.spark, pytest.mark.timeout(3600)]


@pytest.mark.skipif(bool(missing()), reason="; ".join(missing()))
@pytest.mark.parametrize("scenario", every_world.SECTION_A)
def test_a_scenario_ends_the_same_wherever_its_nodes_live(image: str, scenario: str, tmp_path: Path) -> None:
    results = tmp_path / "results.json"
    code = every_world.main([scenario, "--keep", str(tmp_path / "runs"), "--results", str(results)])
    outcomes = msgspec.json.decode(results.read_bytes(), type=list[every_world.Outcome])
    assert {outcome.world for outcome in outcomes} == set(every_world.WORLDS)
    assert [outcome for outcome in outcomes if not (outcome.equals and outcome.verdict == "held")] == []
    assert code == 0
