"""Quorum of three controllers in the simulated world, under faults (kraft-semantics 1.5)."""

from collections.abc import Callable
from typing import Any

import pytest

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, Node, node_name, three_azs
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import ControllerChanged, Event
from protocol.records.metadata_records import MetadataBatch
from tests.emulator.machines.node.idle_controller import IdleController

NAMES = ("controller-0", "controller-1", "controller-2")
VERSIONS = ("3.3", "3.6", "3.7", "3.9", "4.0", "4.1", "4.4")
SEEDS = range(5)


class Quorum:
    """Controllers of one version; brokers and clients do not start."""

    def __init__(self, version: str, seed: int) -> None:
        self.topology = three_azs(metadata=KRAFT)
        self._version = version
        self.world = SimulatedWorld(self.topology, self._machine, seed)
        self._rules = 0

    def _machine(self, node: Node, files: MemoryFiles) -> KraftControllerNode:
        return KraftControllerNode(node, self.topology, {}, self._version, files, IdleController)

    def start(self, *names: str) -> "Quorum":
        for name in names or NAMES:
            self.world.start(name)
        return self

    def until(self, condition: Callable[[], bool], limit_ms: float = 60_000.0) -> float:
        """Let time pass until it holds; the time it took."""
        began_ms = self.world.now_ms
        self._tick(began_ms + limit_ms)
        self.world.run(lambda: condition() or self.world.now_ms >= began_ms + limit_ms)
        assert condition(), f"not within {limit_ms:.0f} ms"
        return self.world.now_ms - began_ms

    def go_on(self, ms: float) -> None:
        end_ms = self.world.now_ms + ms
        self._tick(end_ms)
        self.world.run(lambda: self.world.now_ms >= end_ms)

    def _tick(self, limit_ms: float) -> None:
        if self.world.now_ms < limit_ms:
            self.world.at(min(self.world.now_ms + 10.0, limit_ms), lambda: self._tick(limit_ms))

    def cut(self, words: str) -> str:
        self._rules += 1
        rule = rule_of(self.topology, f"rule-{self._rules}", parse(f"cut {words}".split()))
        self.world.apply(rule)
        return rule.rule

    # --- views ---

    def node(self, name: str) -> KraftControllerNode | None:
        machine = self.world.nodes[name].machine
        assert machine is None or isinstance(machine, KraftControllerNode)
        return machine

    def active(self) -> list[str]:
        """Controllers that are active by their own view."""
        return [name for name in NAMES if (node := self.node(name)) is not None and node.part.active]

    def leader(self) -> str:
        """The active one of the highest epoch."""
        return max(self.active(), key=lambda name: self._alive(name).member.epoch)

    def _alive(self, name: str) -> KraftControllerNode:
        node = self.node(name)
        assert node is not None, name
        return node

    def agreed(self, *names: str) -> bool:
        """Whether these controllers follow one active controller among them, with its high watermark known."""
        nodes = [self.node(name) for name in names or NAMES]
        views = {(node.member.epoch, node.member.leader) for node in nodes if node is not None}
        if len(views) != 1 or None in nodes:
            return False
        [(_, leader)] = views
        return leader >= 0 and node_name(leader) in self.active() and node_name(leader) in (names or NAMES)

    def events(self, name: str, kind: type[Event]) -> list[Any]:
        return [entry[5] for entry in self.world.trace.entries if entry[0] == name and isinstance(entry[5], kind)]

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
