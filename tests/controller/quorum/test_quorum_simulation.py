"""Simulated quorums: plays of Kafka's RaftEventSimulationTest, seeds of drawn faults."""

import pytest

from controller.quorum.quorum_inputs import ShutdownRequested
from protocol.ids import BrokerId, LeaderEpoch
from tests.controller.quorum.simulated_quorums import LIMIT_MS, appending, reached
from verification.quorum.quorum_seeds import play_quorum_seed
from verification.quorum.quorum_world import QuorumWorld

RELEASES = ("3.3", "3.9", "4.4")


def of_version(version: str, voters: int = 3, observers: int = 1, seed: int = 1) -> QuorumWorld:
    """A cluster that appends."""
    return appending(QuorumWorld(seed, voters, observers, [version]))


def others(world: QuorumWorld, node: BrokerId) -> list[BrokerId]:
    return [other for other in world.nodes if other != node]


def isolate(world: QuorumWorld, node: BrokerId) -> None:
    for other in others(world, node):
        world.cut |= {(node, other), (other, node)}


def epoch_of(world: QuorumWorld, node: BrokerId) -> LeaderEpoch:
    return world.nodes[node].view.election.epoch


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize(("voters", "observers"), [(1, 0), (2, 2), (3, 1), (4, 0), (5, 2)])
def test_an_initial_leader_is_elected(version: str, voters: int, observers: int) -> None:
    world = of_version(version, voters, observers)
    assert len(world.leaders()) == 1


@pytest.mark.parametrize("version", RELEASES)
@pytest.mark.parametrize("orderly", [False, True])
def test_a_new_leader_follows_a_leader_that_stops_or_dies(version: str, orderly: bool) -> None:
    world = of_version(version)
    (leader,) = world.leaders()
    if orderly:
        world.give(leader, ShutdownRequested(5000))
        began_ms = world.now_ms
        assert world.run_until(began_ms + 3000.0, lambda: bool(set(world.leaders()) - {leader}))
        assert world.now_ms - began_ms < 1000.0, "an orderly stop hands over in under a second"
    else:
        world.kill(leader, power_loss=True)
    assert reached(world, 30, others(world, leader))
    world.start(leader)
    assert reached(world, 50)


@pytest.mark.parametrize("version", RELEASES)
def test_a_majority_recovers_after_all_nodes_have_died(version: str) -> None:
    world = of_version(version, voters=5)
    committed = world.invariants.committed_end
    for node in world.nodes:
        world.kill(node, power_loss=True)
    for node in world.voters[:3]:
        world.start(node)
    assert reached(world, committed + 10)


@pytest.mark.parametrize("version", RELEASES)
def test_an_isolated_leader_is_replaced(version: str) -> None:
    """Before 3.7 it stays leader until it sees a higher epoch (KAFKA-15489)."""
    world = of_version(version)
    (leader,) = world.leaders()
    isolate(world, leader)
    cut_ms = world.now_ms
    assert world.run_until(cut_ms + LIMIT_MS, lambda: bool(set(world.leaders()) - {leader}))
    assert 1500.0 < world.now_ms - cut_ms < 5000.0, "the fetch timeout, and an election or two"
    assert reached(world, 30, others(world, leader))
    world.run_until(cut_ms + 8000.0)
    assert (leader in world.leaders()) is (version == "3.3")
    world.cut.clear()
    assert reached(world, world.invariants.committed_end + 10)
    assert len(world.leaders()) == 1


@pytest.mark.parametrize(("version", "deposes"), [("3.8", True), ("3.9", True), ("4.0", False), ("4.4", False)])
def test_a_rejoining_voter_deposes_a_healthy_leader_before_pre_votes(version: str, deposes: bool) -> None:
    world = of_version(version)
    (leader,) = world.leaders()
    follower = next(node for node in world.voters if node != leader)
    epoch = epoch_of(world, leader)
    isolate(world, follower)
    world.run_until(world.now_ms + 12_000.0)
    assert (epoch_of(world, follower) > epoch) is deposes
    world.cut.clear()
    world.run_until(world.now_ms + 8000.0)
    assert (epoch_of(world, leader) > epoch) is deposes
    assert reached(world, world.invariants.committed_end + 10)


@pytest.mark.parametrize("version", RELEASES)
def test_progress_with_a_reachable_majority(version: str) -> None:
    world = of_version(version, voters=5, observers=0)
    minority, majority = world.voters[:2], world.voters[2:]
    world.cut |= {(a, b) for a in minority for b in majority} | {(b, a) for a in minority for b in majority}
    assert reached(world, world.invariants.committed_end + 20, majority)
    assert max(world.nodes[node].log.high_watermark for node in minority) < world.invariants.committed_end
    world.cut.clear()
    assert reached(world, world.invariants.committed_end + 20)


@pytest.mark.parametrize("version", RELEASES)
def test_progress_after_one_leader_after_another_fails(version: str) -> None:
    world = of_version(version)
    (first,) = world.leaders()
    isolate(world, first)
    assert world.run_until(world.now_ms + LIMIT_MS, lambda: bool(set(world.leaders()) - {first}))
    (second,) = set(world.leaders()) - {first}
    world.cut.clear()
    isolate(world, second)
    assert reached(world, world.invariants.committed_end + 10, others(world, second))


@pytest.mark.parametrize("version", RELEASES)
def test_a_voter_returns_without_its_disk(version: str) -> None:
    world = of_version(version)
    (leader,) = world.leaders()
    world.lose_disk(leader)
    assert reached(world, world.invariants.committed_end + 10, others(world, leader))
    world.start(leader)
    assert reached(world, world.invariants.committed_end + 10)
    assert world.failed == []


@pytest.mark.parametrize("version", RELEASES)
def test_no_leader_without_a_majority(version: str) -> None:
    world = of_version(version, voters=3, observers=0)
    (leader,) = world.leaders()
    for node in others(world, leader):
        world.kill(node, power_loss=False)
    world.run_until(world.now_ms + 100.0)  # what is under way
    committed = world.invariants.committed_end
    world.run_until(world.now_ms + 30_000.0)
    assert world.invariants.committed_end == committed
    assert bool(world.leaders()) is (version == "3.3")
    assert (epoch_of(world, leader) > 5) is (version == "3.9"), "the epoch rises only without pre-votes"


@pytest.mark.parametrize(("version", "least", "most"), [("3.9", 11, 17), ("4.4", 1, 3)])
def test_epochs_after_30_s_without_a_quorum(version: str, least: int, most: int) -> None:
    """Real clusters with all nodes isolated reached epoch 16 in 3.9.2, and 2 or 3 in 4.4.0."""
    world = of_version(version, observers=0)
    for node in world.voters:
        isolate(world, node)
    world.run_until(world.now_ms + 30_000.0)
    assert least <= max(epoch_of(world, node) for node in world.voters) <= most


@pytest.mark.parametrize("first", range(1, 31, 10))
def test_seeds_of_drawn_faults(first: int) -> None:
    for seed in range(first, first + 10):
        result = play_quorum_seed(seed)
        assert not result.broken, result


def test_a_seed_plays_alike_twice() -> None:
    assert play_quorum_seed(3) == play_quorum_seed(3)
