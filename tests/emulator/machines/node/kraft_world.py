"""Simulated world of a KRaft topology whose time a test lets pass."""

from collections.abc import Callable
from typing import TypeVar

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import Node, Topology
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import Event
from protocol.machine import Machine

E = TypeVar("E", bound=Event)
LOOK_MS = 10.0
"""Interval of looks at a condition."""


class KraftWorld:
    """Base of clusters for tests. `machine`: the machine of a node's incarnation."""

    LIMIT_MS = 30_000.0
    """Limit of `until` by default."""

    def __init__(self, topology: Topology, machine: Callable[[Node, MemoryFiles], Machine], seed: int) -> None:
        self.topology = topology
        self.world = SimulatedWorld(topology, machine, seed)
        self._rules = 0

    def until(self, condition: Callable[[], bool], limit_ms: float | None = None) -> float:
        """Let time pass until it holds; the time it took."""
        limit_ms = self.LIMIT_MS if limit_ms is None else limit_ms
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
            self.world.at(min(self.world.now_ms + LOOK_MS, limit_ms), lambda: self._tick(limit_ms))

    def cut(self, words: str) -> str:
        """Begin a cut; returns its rule."""
        self._rules += 1
        rule = rule_of(self.topology, f"rule-{self._rules}", parse(f"cut {words}".split()))
        self.world.apply(rule)
        return rule.rule

    def events(self, name: str, kind: type[E]) -> list[E]:
        """Events of a node."""
        return [entry[5] for entry in self.world.trace.entries if entry[0] == name and isinstance(entry[5], kind)]
