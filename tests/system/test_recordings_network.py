"""Real processes match real Kafka: every scenario at both versions, by a user's commands.

A run whose timers were late is unknown, so a test plays it again at a lower speed.
"""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec
import psutil
import pytest

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from tests.first_tries import AT_ONCE, first_tries
from tests.punctual import SLOWER, skip_late_test
from tests.system.conftest import GOLDEN, Ended, Faultline, run_command
from tests.system.runs import SCENARIOS, VERSIONS, was_late

pytestmark = [pytest.mark.network]

SPEEDS = (DEFAULT_SPEED, *SLOWER)
ALL = [(scenario, version) for scenario in SCENARIOS for version in VERSIONS]
DUAL_LEADER = ("az-isolated-leader", "2.6")


CASES = [case for case in ALL if case != DUAL_LEADER]
Tries = dict[tuple[str, str], Future[Path]]


def play(scenario: str, version: str, run: Path, speed: float = DEFAULT_SPEED) -> Path:
    words = ("--kafka-version", version, "--speed", str(speed), "--audit", "none", "--out", run)
    played = run_command("run", scenario, *words)
    assert played.code == 0, str(played)
    return run


@pytest.fixture(scope="module")
def tries(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Tries]:
    """All started runs have ended afterwards."""
    folder = tmp_path_factory.mktemp("first")

    def first(scenario: str, version: str) -> Path:
        return play(scenario, version, folder / f"{scenario}-{version}")

    before = set(psutil.Process().children(recursive=True))
    pool = ThreadPoolExecutor(AT_ONCE)
    with first_tries(request, test_a_scenario_equals_a_recording.__name__, pool, first) as begun:
        yield begun
    left = set(psutil.Process().children(recursive=True)) - before
    assert not left, f"left running: {left}"


@pytest.mark.parametrize(("scenario", "version"), CASES)
def test_a_scenario_equals_a_recording(tries: Tries, tmp_path: Path, scenario: str, version: str) -> None:
    golden = GOLDEN / f"{scenario}@{version}"
    run = tries[scenario, version].result()
    for speed in (*SLOWER, None):
        compared = run_command("compare", run, golden)
        if compared.code == 0:
            assert compared.out.startswith(f"{run} equals {golden}")
            return
        assert was_late(run), str(compared)
        if speed is not None:
            run = play(scenario, version, tmp_path / str(speed), speed)
    skip_late_test()


def dual_leader(faultline: Faultline, directory: Path) -> tuple[Path, Ended]:
    """The first run whose timers were punctual, each slower than the one before.

    The others report that they were late, and nothing else.
    """
    for speed in SPEEDS:
        run = directory / str(speed)
        ended = faultline("run", "az-isolated-leader", "--speed", str(speed), "--out", run)
        if ended.code != 3:
            return run, ended
        reasons = msgspec.json.decode((run / "verdict.json").read_bytes())["unknown_because"]
        assert [reason[:17] for reason in reasons] == ["timers were later"], str(ended)
    skip_late_test()


@pytest.mark.spark
def test_the_dual_leader_from_command_to_verdict(faultline: Faultline, tmp_path: Path) -> None:
    """`make demo`: the scenario, its audit with Spark, the report."""
    run, ended = dual_leader(faultline, tmp_path)
    assert ended.code == 0, str(ended)
    verdict = msgspec.json.decode((run / "verdict.json").read_bytes())
    assert verdict["valid"] is True
    violated = {name: check["count"] for name, check in verdict["checks"].items() if check["verdict"] == "violated"}
    assert violated == {"lost-acknowledged": 3, "dual-leader": 1}
    [cut] = verdict["faults"]
    assert (cut["rule"], cut["took_effect"], cut["healed"]) == ("cut az-0", True, True)
    assert "equals real Kafka: az-isolated-leader@2.6/1.json" in ended.out
    assert str(run / "report.html") in ended.out.replace("\n", "")
    page = (run / "report.html").read_text(encoding="utf-8")
    assert "<svg" in page and "lost-acknowledged" in page
    assert 'src="http' not in page and "url(http" not in page, "it opens without a network"
    compared = faultline("compare", run, GOLDEN / "az-isolated-leader@2.6")
    assert compared.code == 0, str(compared)
