"""Real processes match real Kafka, by a user's commands.

tests/recordings plays the other recordings.

A run whose timers were late is unknown, so the test plays it again at a lower speed.
"""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from tests.punctual import SLOWER, skip_late_test
from tests.system.conftest import GOLDEN, Ended, Faultline

pytestmark = [pytest.mark.network]

SPEEDS = (DEFAULT_SPEED, *SLOWER)


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
