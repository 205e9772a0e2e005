"""Simulated quorums whose voters change, and that fetch snapshots."""

import pytest

from controller.quorum.epoch_states import EpochState
from controller.quorum.quorum_inputs import RequestReceived
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId
from protocol.messages.quorum_messages import QuorumRequest
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from tests.controller.quorum.simulated_quorums import LIMIT_MS, append_every, appending, reached
from verification.quorum.quorum_world import QuorumWorld


def state_of(world: QuorumWorld, node: BrokerId) -> EpochState:
    machine = world.nodes[node].machine
    assert machine is not None
    return machine.state


def changed(world: QuorumWorld, request: QuorumRequest) -> ErrorCode:
    """The response of the leader to an administrator."""
    (leader,) = world.leaders()
    before = len(world.answers)
    world.give(leader, RequestReceived(NO_BROKER, 0, request))
    assert world.run_until(world.now_ms + LIMIT_MS, lambda: len(world.answers) > before)
    return ErrorCode(world.answers[-1].error)


def added(world: QuorumWorld, node: int) -> ErrorCode:
    return changed(world, AddRaftVoterRequest(BrokerId(node), world.nodes[BrokerId(node)].directory, f"node-{node}"))


def removed(world: QuorumWorld, node: int) -> ErrorCode:
    return changed(world, RemoveRaftVoterRequest(BrokerId(node), world.nodes[BrokerId(node)].directory))


def voters(world: QuorumWorld) -> list[int]:
    (leader,) = world.leaders()
    machine = world.nodes[leader].machine
    assert machine is not None
    return list(machine.voters)


@pytest.mark.parametrize("version", ["3.9", "4.4"])
def test_a_quorum_is_replaced_voter_by_voter(version: str) -> None:
    world = appending(QuorumWorld(1, 3, 3, [version], dynamic=True, snapshot_records=10))
    for new, old in ((3, 0), (4, 1), (5, 2)):
        assert added(world, new) == ErrorCode.NONE
        assert removed(world, old) == ErrorCode.NONE
        assert world.run_until(world.now_ms + LIMIT_MS, lambda: len(world.leaders()) == 1)
        assert reached(world, world.invariants.committed_end + 5)
    assert voters(world) == [3, 4, 5]
    for old in (0, 1, 2):
        world.kill(BrokerId(old), power_loss=False)
    assert reached(world, world.invariants.committed_end + 5)


def test_a_lost_disk_comes_back_as_a_voter_by_itself_from_4_2_on() -> None:
    world = appending(QuorumWorld(2, 3, 0, ["4.2"], dynamic=True, snapshot_records=10, auto_join=True))
    (leader,) = world.leaders()
    lost = next(node for node in world.nodes if node != leader)
    world.lose_disk(lost)
    world.start(lost)
    wanted = world.nodes[lost].directory

    def is_back() -> bool:
        machine = world.nodes[lost].machine
        voter = machine.voter_history.last.of(lost) if machine is not None else None
        return voter is not None and voter.directory == wanted

    assert world.run_until(world.now_ms + 40_000.0, is_back)
    assert voters(world) == [0, 1, 2]
    assert world.nodes[lost].log.start > 0, "it began with a snapshot"


def test_a_leader_of_two_that_dies_during_its_removal_stops_the_quorum() -> None:
    """A hazard of KIP-853.

    The other voter's log is shorter, and the leader is no voter by its own log.
    """
    world = appending(QuorumWorld(1, 2, 0, ["4.4"], dynamic=True))
    (leader,) = world.leaders()
    (other,) = set(world.nodes) - {leader}
    world.cut = {(leader, other), (other, leader)}
    world.run_until(world.now_ms + 100.0)
    request = RemoveRaftVoterRequest(leader, world.nodes[leader].directory)
    world.give(leader, RequestReceived(NO_BROKER, 0, request))
    world.kill(leader, power_loss=False)
    world.cut.clear()
    world.start(leader)
    committed = world.invariants.committed_end
    world.run_until(world.now_ms + 8000.0)
    assert world.leaders() == [] and world.invariants.committed_end == committed


def test_a_late_observer_begins_with_a_snapshot() -> None:
    world = QuorumWorld(3, 3, 1, ["4.0"], snapshot_records=10)
    late = BrokerId(3)
    world.kill(late, power_loss=False)

    append_every(world, 20.0)
    for node in world.voters:
        world.start(node)
    assert reached(world, 60)
    world.start(late)
    assert reached(world, 80)
    log = world.nodes[late].log
    assert log.start > 0 and log.snapshots
