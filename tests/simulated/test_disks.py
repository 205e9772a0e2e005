"""Disk losses of a script: exactly the named files are gone."""

import pytest

from emulator.scenario.player.steps import StepFailed
from emulator.storage import inspect
from tests.simulated.cluster import Cluster

BEGIN = """
  - start: 2
  - start: 1
  - start: 0
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b, c], acks: all}
  - sleep: 6
"""


def values(cluster: Cluster, name: str) -> list[str]:
    return [value for _, _, value in cluster.logs()[name]]


@pytest.mark.parametrize("kept", range(4))
@pytest.mark.parametrize("seed", range(1, 4))
def test_a_power_loss_keeps_the_requested_number_of_batches(kept: int, seed: int) -> None:
    """Semantics 3. The seed decides only where the scenario does not."""
    cluster = Cluster(f"{BEGIN}  - power-loss: {{node: 0, batches_kept: {kept}}}\n", seed=seed)
    cluster.run()
    assert values(cluster, "broker-0") == ["a", "b", "c"][:kept]
    assert values(cluster, "broker-1") == ["a", "b", "c"]


def test_a_broker_whose_disk_is_lost_returns_with_nothing_and_fetches_everything() -> None:
    lost = f"{BEGIN}  - kill: 1\n  - lose-disk: 1\n"
    cluster = Cluster(lost)
    cluster.run()
    files = cluster.world.nodes["broker-1"].files
    assert files.list("") == []
    assert inspect.read_partition(files, "t-0")["high_watermark_checkpoint"] is None
    assert values(cluster, "broker-0") == ["a", "b", "c"]

    cluster = Cluster(f"{lost}  - wait: {{until: {{session_expired: 1}}}}\n  - start: 1\n  - wait: isr restored\n")
    cluster.run()
    assert values(cluster, "broker-1") == ["a", "b", "c"]


def test_a_living_broker_keeps_its_disk() -> None:
    cluster = Cluster(f"{BEGIN}  - lose-disk: 1\n")
    with pytest.raises(StepFailed, match="broker-1 runs: its disk cannot be lost under it"):
        cluster.run()
