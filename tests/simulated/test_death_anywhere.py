"""Death or power loss of a broker between any two of its storage operations.

One broker at a time, acks=all, min.insync.replicas 2, three replicas: what was acknowledged is promised by every
version of the ladder. The broker returns after its session has expired, recovers, and the replicas settle.
"""

import random
from collections.abc import Callable

import pytest

from protocol.events import LogLoaded
from tests.simulated.cluster import Cluster

pytestmark = pytest.mark.slow

VERSIONS = ("0.10.2", "0.11", "1.1", "2.0.0", "2.6", "2.8")
OPERATIONS = 70
"""About as many as the leader makes in the whole script (asserted below)."""
BACK_AFTER_MS = 7_000.0
SETTLE_MS = 30_000.0


def died(cluster: Cluster, name: str) -> bool:
    """Runs until the node is dead (True) or the script is over."""
    cluster.run(lambda: cluster.world.nodes[name].incarnation > 0 and not cluster.alive(name))
    return not cluster.finished


def survivors(draw: random.Random) -> Callable[[str, int, int], int]:
    """Of every file any length from what was synced to what was written."""
    return lambda path, synced, written: draw.randint(synced, written)


def play_with_deaths(version: str, name: str, *operations: int, power_seed: int | None = None) -> Cluster:
    """Life after life, dying before the n-th storage operation of each; then one that lasts."""
    cluster = Cluster(version=version)
    for operation in operations:
        cluster.kill_before(name, operation)
        if not died(cluster, name):
            break
        if power_seed is not None:
            draw = random.Random(power_seed)
            files = cluster.world.nodes[name].files
            kept = draw.randint(0, files.name_changes_pending)
            files.power_loss(survivors(draw), name_changes_kept=kept)
        lives = cluster.world.nodes[name].incarnation
        cluster.spare(name)
        cluster.restart_in(name, BACK_AFTER_MS)
        cluster.run(lambda lives=lives: cluster.world.nodes[name].incarnation > lives)  # type: ignore[misc]
    cluster.spare(name)
    cluster.run()
    cluster.go_on(SETTLE_MS)
    return cluster


def test_the_script_has_so_many_operations() -> None:
    cluster = Cluster(version="2.6")
    operations = cluster.count_operations("broker-0")
    cluster.run()
    cluster.assert_sound()
    assert 0.9 * OPERATIONS <= len(operations) <= OPERATIONS
    assert set(operations) == {"append", "fsync", "make_directory", "read", "rename", "sync_directory", "write"}
    assert cluster.acknowledged() == list("abcdefghi")


@pytest.mark.parametrize("name", ["broker-0", "broker-1"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_death_between_any_two_storage_operations(version: str, name: str) -> None:
    for operation in range(VERSIONS.index(version), OPERATIONS, len(VERSIONS)):
        cluster = play_with_deaths(version, name, operation)
        cluster.assert_sound()


@pytest.mark.parametrize("version", VERSIONS)
def test_a_death_during_recovery(version: str) -> None:
    """The second life dies before its n-th operation: while it loads, or soon after."""
    for operation in range(VERSIONS.index(version) % 4, 24, 4):
        cluster = play_with_deaths(version, "broker-0", 45, operation)
        cluster.assert_sound()
        events = [entry[5] for entry in cluster.world.trace.entries if entry[0] == "broker-0"]
        assert not any(event.clean for event in events if isinstance(event, LogLoaded))


@pytest.mark.parametrize("name", ["broker-0", "broker-1"])
@pytest.mark.parametrize("version", VERSIONS)
def test_a_power_loss_between_any_two_storage_operations(version: str, name: str) -> None:
    """Any unsynced suffix of each file is lost, and any last part of the changed names."""
    for operation in range(VERSIONS.index(version), OPERATIONS, len(VERSIONS)):
        cluster = play_with_deaths(version, name, operation, power_seed=operation)
        cluster.assert_sound()
