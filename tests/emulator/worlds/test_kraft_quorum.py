"""Quorum of three controllers in the simulated world, under faults (kraft-semantics 1.5)."""

from itertools import pairwise

import pytest

from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.storage.files import NodeKilled
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, Node, node_name, three_azs
from protocol.chance import Chance
from protocol.events import ControllerChanged, NodeStopped, QuorumStateChanged
from protocol.kinds import ExitKind
from protocol.records.metadata_records import MetadataBatch
from tests.emulator.machines.node.idle_controller import IdleController
from tests.emulator.machines.node.kraft_world import KraftWorld

NAMES = ("controller-0", "controller-1", "controller-2")
VERSIONS = ("3.3", "3.6", "3.7", "3.9", "4.0", "4.4")
SEEDS = range(2)


class Quorum(KraftWorld):
    """Controllers of one version; brokers and clients do not start."""

    LIMIT_MS = 60_000.0

    def __init__(self, version: str, seed: int, controllers: int = 3) -> None:
        super().__init__(three_azs(metadata=KRAFT, controllers=controllers), self._machine, seed)
        self._version = version

    def _machine(self, node: Node, files: MemoryFiles) -> KraftControllerNode:
        return KraftControllerNode(node, self.topology, {}, self._version, files, IdleController)

    def start(self, *names: str) -> "Quorum":
        for name in names or NAMES:
            self.world.start(name)
        return self

    # --- views ---

    def node(self, name: str) -> KraftControllerNode | None:
        machine = self.world.nodes[name].machine
        assert machine is None or isinstance(machine, KraftControllerNode)
        return machine

    def active(self) -> list[str]:
        """Controllers that are active by their own view."""
        nodes = {name: self.node(name) for name in NAMES if name in self.world.nodes}
        return [name for name, node in nodes.items() if node is not None and node.part.active]

    def leader(self) -> str:
        """The active one of the highest epoch."""
        return max(self.active(), key=lambda name: self._alive(name).member.epoch)

    def _alive(self, name: str) -> KraftControllerNode:
        node = self.node(name)
        assert node is not None, name
        return node

    def agreed(self, *names: str) -> bool:
        """Whether these controllers follow one active controller among them.

        Its high watermark is known.
        """
        nodes = [self.node(name) for name in names or NAMES]
        views = {(node.member.epoch, node.member.leader) for node in nodes if node is not None}
        if len(views) != 1 or None in nodes:
            return False
        [(_, leader)] = views
        return leader >= 0 and node_name(leader) in self.active() and node_name(leader) in (names or NAMES)

    def committed(self, name: str) -> list[MetadataBatch]:
        controller = self._alive(name).part._controller
        assert isinstance(controller, IdleController)
        return controller.batches


def others(name: str) -> list[str]:
    return [one for one in NAMES if one != name]


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_three_controllers_elect_one(version: str, seed: int) -> None:
    quorum = Quorum(version, seed).start()
    assert quorum.until(quorum.agreed) < 4_000
    quorum.go_on(3_000)
    assert quorum.agreed() and quorum.active() == [quorum.leader()]
    [claim] = quorum.events(quorum.leader(), ControllerChanged)
    assert claim.active
    logs = [[(batch.base_offset, batch.epoch) for batch in quorum.committed(name)] for name in NAMES]
    shortest = min(map(len, logs))
    assert shortest > 4 and len({tuple(log[:shortest]) for log in logs}) == 1


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_leader_has_a_successor_and_returns_as_its_follower(version: str, seed: int) -> None:
    quorum = Quorum(version, seed).start()
    quorum.until(quorum.agreed)
    quorum.go_on(2_000)
    old = quorum.leader()
    epoch = quorum._alive(old).member.epoch
    quorum.world.kill(old)
    assert 1_500 <= quorum.until(lambda: quorum.agreed(*others(old))) <= 4_500
    new = quorum.leader()
    assert quorum._alive(new).member.epoch > epoch
    quorum.world.start(old)
    quorum.until(quorum.agreed, 15_000)
    quorum.go_on(1_000)
    assert quorum.leader() != old or version < "3.9", "it begins as resigned; before 4.0 it may campaign"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_isolated_leader_is_replaced_and_joins_again(version: str, seed: int) -> None:
    quorum = Quorum(version, seed).start()
    quorum.until(quorum.agreed)
    quorum.go_on(2_000)
    old = quorum.leader()
    rule = quorum.cut(old.replace("controller", "az"))
    assert quorum.until(lambda: quorum.agreed(*others(old))) <= 5_000
    quorum.go_on(8_000)
    resigns = quorum.active() == [quorum.leader()]
    assert resigns is (version not in ("3.3", "3.6")), "KAFKA-15489: it leads by its own view until the heal"
    epoch = quorum._alive(quorum.leader()).member.epoch
    quorum.world.heal(rule)
    quorum.until(quorum.agreed, 30_000)
    quorum.go_on(2_000)
    raised = quorum._alive(quorum.leader()).member.epoch > epoch
    assert raised is (version in ("3.7", "3.9")), "without pre-votes it has campaigned, and deposes the new leader"


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_leader_that_was_paused_leads_no_more(version: str, seed: int) -> None:
    quorum = Quorum(version, seed).start()
    quorum.until(quorum.agreed)
    quorum.go_on(2_000)
    old = quorum.leader()
    quorum.world.pause(old)
    quorum.until(lambda: quorum.agreed(*others(old)))
    quorum.go_on(2_000)
    quorum.world.resume(old)
    quorum.until(quorum.agreed, 15_000)
    assert [event.active for event in quorum.events(old, ControllerChanged)][:2] == [True, False]


@pytest.mark.parametrize("version", VERSIONS)
def test_without_a_majority_no_controller_leads(version: str) -> None:
    quorum = Quorum(version, 1).start("controller-0")
    quorum.go_on(20_000)
    assert quorum.active() == []
    quorum.start("controller-1")
    quorum.until(lambda: quorum.agreed("controller-0", "controller-1"), 15_000)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_an_orderly_stop_of_the_leader_hands_over_at_once(version: str, seed: int) -> None:
    quorum = Quorum(version, seed).start()
    quorum.until(quorum.agreed)
    quorum.go_on(2_000)
    old = quorum.leader()
    quorum.world.stop(old)
    assert quorum.until(lambda: quorum.agreed(*others(old))) <= 2_500
    quorum.until(lambda: not quorum.world.nodes[old].alive)
    [stopped] = quorum.events(old, NodeStopped)
    assert (stopped.code, stopped.kind) == (0, ExitKind.REQUESTED)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("seed", SEEDS)
def test_power_losses_and_kills_between_writes_contradict_no_committed_batch(version: str, seed: int) -> None:
    """Each controller dies before a storage operation, loses unsynced bytes, and starts again."""
    quorum = Quorum(version, seed).start()
    chance = Chance(seed)
    seen: dict[int, int] = {}

    def look() -> None:
        for name in NAMES:
            node = quorum.node(name)
            if node is not None and node.member.started:
                for batch in quorum.committed(name):
                    assert seen.setdefault(batch.base_offset, batch.epoch) == batch.epoch, (name, batch)

    for _ in range(12):
        victim = NAMES[chance.below(3)]
        left = [chance.below(12)]

        def before(operation: str, path: str, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] < 0:
                raise NodeKilled(f"before {operation} {path}")

        quorum.world.watch_storage(victim, before)
        quorum.go_on(chance.between(500.0, 6_000.0))
        look()
        quorum.world.watch_storage(victim, None)
        quorum.world.kill(victim)
        files = quorum.world.nodes[victim].files
        files.power_loss(lambda path, synced, size: synced + chance.below(size - synced + 1))
        quorum.go_on(chance.between(0.0, 3_000.0))
        quorum.world.start(victim)
    quorum.until(quorum.agreed, 30_000)
    quorum.go_on(3_000)
    look()
    assert not any(quorum.events(name, NodeStopped) for name in NAMES)
    assert len(seen) > 20


@pytest.mark.parametrize("version", ["3.9", "4.4"])
def test_a_full_disk_ends_the_process_by_name(version: str) -> None:
    quorum = Quorum(version, 1).start()
    quorum.until(quorum.agreed)
    leader = quorum.leader()
    quorum.world.fill_disk(leader)
    quorum.until(lambda: not quorum.world.nodes[leader].alive)
    [stopped] = quorum.events(leader, NodeStopped)
    assert (stopped.code, stopped.kind) == (1, ExitKind.METADATA_LOG_FAILED)
    assert "metadata log" in stopped.reason
    quorum.until(lambda: quorum.agreed(*others(leader)))
    quorum.world.start(leader)
    quorum.until(quorum.agreed, 15_000)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_lost_disk_is_filled_again_by_the_others(version: str) -> None:
    quorum = Quorum(version, 2).start()
    quorum.until(quorum.agreed)
    quorum.go_on(3_000)
    follower = next(iter(others(quorum.leader())))
    quorum.world.kill(follower)
    quorum.world.replace_disk(follower)
    quorum.world.start(follower)
    quorum.until(quorum.agreed, 15_000)
    quorum.go_on(3_000)
    [log, other] = [quorum.committed(name) for name in (follower, quorum.leader())]
    shared = min(len(log), len(other))
    assert shared > 5 and log[:shared] == other[:shared]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_single_controller_leads_at_once(version: str) -> None:
    quorum = Quorum(version, 1, controllers=1).start("controller-0")
    assert quorum.until(lambda: quorum.active() == ["controller-0"]) < 100
    quorum.go_on(10_000)
    assert len(quorum.committed("controller-0")) > 10


def test_a_state_is_emitted_once() -> None:
    quorum = Quorum("4.1", 1).start()
    quorum.go_on(20_000)
    for name in NAMES:
        states = [(e.state, e.epoch, e.leader) for e in quorum.events(name, QuorumStateChanged)]
        assert states and all(one != other for one, other in pairwise(states))
