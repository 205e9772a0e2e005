"""`settle` looks at the logs, too: what followers copy meanwhile is no stillness."""

from __future__ import annotations

from typing import Any

import pytest

from tests.simulated.cluster import BEGIN, Cluster

QUIET_S = 2.0
LOOK_S = 0.2


def settled_s(*before: str, seed: int = 1) -> float:
    """The duration of the settle behind these steps."""
    steps = "".join(f"  - {step}\n" for step in (*before, f"settle: {{quiet_s: {QUIET_S}, limit_s: 20}}", "sleep: 0.1"))
    cluster = Cluster(BEGIN + "  - sleep: 2\n" + steps, version="2.6", seed=seed)
    cluster.run()
    assert cluster.finished
    script: list[dict[str, Any]] = [entry for entry in cluster.player.timeline.entries if "do" in entry]
    (number,) = [n for n, entry in enumerate(script) if entry["do"] == "settle"]
    return float(script[number + 1]["t"] - script[number]["t"])


@pytest.mark.parametrize("seed", range(1, 6))
def test_nothing_changes_after_a_write_that_all_replicas_have(seed: int) -> None:
    write = "produce: {broker: 0, values: [c], acks: all}"
    assert QUIET_S <= settled_s(write, seed=seed) < QUIET_S + LOOK_S / 2


def test_a_follower_that_copies_late_is_waited_for() -> None:
    """Its fetches are a second under way, each way."""
    slow = "delay: {link: [0, 1], delay_ms: 500}"
    took_s = settled_s(slow, "sleep: 2", "produce: {broker: 0, values: [c], acks: 1}")
    assert QUIET_S + LOOK_S < took_s < QUIET_S + 2.0


def test_a_limit_ends_it() -> None:
    """A follower is still copying: the limit counts, not the stillness."""
    steps = BEGIN + "  - sleep: 2\n  - settle: {quiet_s: 5, limit_s: 1}\n  - sleep: 0.1\n"
    cluster = Cluster(steps, version="2.6")
    cluster.run()
    settle, pause = [entry for entry in cluster.player.timeline.entries if entry.get("do") in ("settle", "pause")][-2:]
    assert 1.0 <= pause["t"] - settle["t"] < 1.0 + 2 * LOOK_S
