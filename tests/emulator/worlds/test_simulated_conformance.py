"""The simulated world does what both worlds must do."""

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.faults.machine_fault_kinds import HardwareFault
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import Node, three_azs
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.messages.session_messages import PingRequest
from tests.emulator.worlds.conformance import *  # noqa: F403
from tests.emulator.worlds.conformance import LIMIT_MS, SLACK_MS, Sighting, numbers, seen, texts
from tests.emulator.worlds.scripted import JOURNAL, Script, ScriptedMachine

pytestmark = pytest.mark.trio


class Simulated:
    """The suite's adapter; its methods are coroutines only as the suite's verbs are.

    Nothing waits.
    """

    def __init__(self, seed: int) -> None:
        self._scripts: dict[str, Script] = {}
        self._topology = three_azs()
        self._world = SimulatedWorld(self._topology, self._make, seed)
        self._rules = 0

    def _make(self, node: Node, files: MemoryFiles) -> ScriptedMachine:
        return ScriptedMachine(self._scripts[node.name], files)

    async def spawn(self, name: str, script: dict[str, Any]) -> None:
        self._scripts[name] = msgspec.convert(script, Script)
        self._world.start(name)

    async def respawn(self, name: str) -> None:
        self._world.start(name)

    async def cut(self, words: str) -> str:
        return await self.impose(f"cut {words}")

    async def limit(self, words: str) -> str:
        return await self.impose(f"bandwidth {words}")

    async def impose(self, words: str) -> str:
        self._rules += 1
        rule = rule_of(self._topology, f"rule-{self._rules}", parse(words.split()))
        self._world.apply(rule)
        return rule.rule

    async def heal(self, rule: str) -> dict[str, int]:
        return self._world.heal(rule)

    @property
    def slack_ms(self) -> float:
        return SLACK_MS

    async def kill(self, name: str) -> None:
        self._world.kill(name)

    async def stop(self, name: str) -> None:
        self._world.stop(name)
        await self.until(lambda: not self._world.nodes[name].alive)

    async def pause(self, name: str) -> None:
        self._world.pause(name)

    async def resume(self, name: str) -> None:
        self._world.resume(name)

    async def change(self, fault: HardwareFault) -> None:
        self._world.change_hardware(fault)

    async def lose_power(self, name: str, kept_bytes: int) -> None:
        self._world.kill(name, "power-loss")
        self._world.nodes[name].files.power_loss({JOURNAL: kept_bytes})

    async def until(self, condition: Callable[[], bool], limit_ms: float = LIMIT_MS) -> None:
        limit_at_ms = self.now_ms() + limit_ms
        self._tick(limit_at_ms)
        self._world.run(lambda: condition() or self.now_ms() >= limit_at_ms)
        assert condition(), f"not within {limit_ms:.0f} ms of virtual time"

    def _tick(self, limit_at_ms: float) -> None:
        """Time passes even when nothing happens."""
        if self.now_ms() < limit_at_ms:
            self._world.at(self.now_ms() + 100.0, lambda: self._tick(limit_at_ms))

    def sightings(self, name: str) -> list[Sighting]:
        return [Sighting(event["at_ms"], event["text"]) for event in self.events(name, "scenario_step")]

    def events(self, name: str, event: str) -> list[dict[str, Any]]:
        entries = self._world.trace.entries
        return [self._world.trace.line(e, "run", 0.0) for e in entries if e[0] == name and event == e[5].NAME]

    def now_ms(self) -> float:
        return self._world.now_ms


@pytest.fixture(params=[1, 2, 3])
def world(request: pytest.FixtureRequest) -> Simulated:
    return Simulated(request.param)


@pytest.mark.parametrize(("api", "meant"), [(PingRequest.API_NAME, True), ("Produce", False)])
async def test_a_rule_for_some_frames_meets_those_in_flight(world: Simulated, api: str, meant: bool) -> None:
    """At the receiver's end, as over the network.

    The last message had left its sender when the rule came.
    """
    await world.spawn("broker-1", {})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 100.0})
    await seen(world, "broker-0", "answer 3")
    count = len(texts(world, "broker-0", "said"))
    last = int((await seen(world, "broker-0", "said", count + 1)).text.split()[1])
    assert last not in numbers(world, "broker-1", "got"), "it is on its way"
    await world.cut(f"broker-0 broker-1 --only {api}")
    await seen(world, "broker-0", "said", count + 20)
    assert (last in numbers(world, "broker-1", "got")) is not meant
