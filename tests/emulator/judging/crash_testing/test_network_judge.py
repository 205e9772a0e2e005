"""The end of a run as the judge of network deaths sees it."""

from types import SimpleNamespace
from typing import Any, cast

import pytest

from emulator.judging.crash_testing.crash_network import DiedOver
from emulator.judging.crash_testing.crash_plan import Plan, resolved_for
from emulator.judging.crash_testing.network_judge import judge_network_death
from emulator.judging.explain.stuck import UNREGISTERED


@pytest.mark.parametrize(("version", "allowed"), [("1.0", True), ("2.8", False)])
def test_a_broker_that_lives_on_unregistered_is_why_it_does_not_settle(
    version: str, allowed: bool, tmp_path: Any
) -> None:
    """KAFKA-7165: up to 2.1 the broker is not registered again; later versions would have."""
    resolved = resolved_for("leader-crash", version)
    waited = [{"until": "everything settled", "saw": "not-reached"}]
    timeline = SimpleNamespace(entries=waited, live_brokers=[{"live": [0, 1, 2]}, {"live": [0, 2]}])
    alive = tuple(node.name for node in resolved.spec.topology.nodes)
    plan = Plan(seed=1, scenario="leader-crash", version=version, victim="broker-1", step=1)
    player = SimpleNamespace(timeline=timeline)
    died = cast(
        DiedOver,
        SimpleNamespace(
            plan=plan, resolved=resolved, player=player, exits=[], alive=alive, left=[], power_lost=[], disk_lost=[]
        ),
    )
    (tmp_path / "events").mkdir()
    judged = judge_network_death(died, tmp_path)
    why = "not every broker and every ISR was back within the limit"
    assert [one.text for one in judged.failed] == ([] if allowed else [why])
    assert list(judged.allowed) == ([UNREGISTERED] if allowed else [])
