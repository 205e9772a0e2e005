"""Nodes of a KRaft cluster that handle recorded inputs again, with the same effects."""

from dataclasses import dataclass, field

import pytest

from emulator.judging.fuzzing.fuzz_search import HuntOptions
from emulator.machines.node.specs import machine_for
from emulator.runs.resolve import resolve
from emulator.runs.simulated import play_script
from emulator.scenario.player.player import Player
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, OBSERVER, Node
from emulator.worlds.replay import effect_bytes
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.machine import Effect, Input, Machine, Now


@dataclass
class Recorder:
    """A machine that notes its inputs, and the bytes of their effects."""

    machine: Machine
    inputs: list[tuple[Now, Input]] = field(default_factory=list)
    effects: list[list[bytes]] = field(default_factory=list)

    def step(self, now: Now, event: Input) -> list[Effect]:
        effects = self.machine.step(now, event)
        self.inputs.append((now, event))
        self.effects.append([effect_bytes(effect) for effect in effects])
        return effects


@pytest.mark.parametrize(("version", "number"), [("3.3", 1), ("3.9", 2), ("4.4", 0), ("4.4", 5)])
def test_a_first_life_is_replayed_to_identical_bytes(version: str, number: int) -> None:
    resolved = resolve(HuntOptions(version, metadata=KRAFT).scenario(number))
    spec = resolved.spec
    player = Player(spec.topology, resolved.scenario.steps, resolved.record_magic, version, steps_may_fail=True)
    recorders: dict[str, Recorder] = {}

    def machine(node: Node, files: MemoryFiles) -> Machine:
        if node.name == OBSERVER:
            return player
        made = machine_for(spec, node, files, player.operations)
        if "client" in node.roles or node.name in recorders:
            return made
        recorders[node.name] = Recorder(made)
        return recorders[node.name]

    world = SimulatedWorld(spec.topology, machine, number)
    play_script(world, player)
    assert sum(len(recorded.inputs) for recorded in recorders.values()) > 1_000
    for name, recorded in recorders.items():
        fresh = machine_for(spec, spec.topology.node(name), MemoryFiles(), player.operations)
        for (now, event), expected in zip(recorded.inputs, recorded.effects, strict=True):
            try:
                found = [effect_bytes(effect) for effect in fresh.step(now, event)]
            except Exception as error:
                raise AssertionError(f"{name} at {now.mono_ms}: {event}") from error
            assert found == expected, f"{name} at {now.mono_ms}: {event}"
