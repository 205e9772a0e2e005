"""The conformance suite's adapter to the network world; event waits without sleeping."""

import ctypes
import json
import os
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.faults.machine_fault_kinds import HardwareFault
from emulator.topology import three_azs
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.reports import NodeExit
from emulator.worlds.network.spec import MachineSpec
from tests.emulator.worlds.conformance import LIMIT_MS, SLACK_MS, Sighting
from tests.emulator.worlds.scripted import JOURNAL
from tests.patience import PATIENCE_S

FACTORY = "tests.emulator.worlds.scripted:build"
IN_MODIFY_OR_CREATE = 0x2 | 0x100
LOOK_AGAIN_REAL_S = 0.02
LATE_STEPS = 5
"""Steps between an event and its sighting, each of which a busy machine delays."""
"""Conditions may be about time alone."""
_libc = ctypes.CDLL(None, use_errno=True)


class DirectoryWatch:
    """Wakes when a file in a directory grows (inotify)."""

    def __init__(self, directory: Path) -> None:
        self._fd = _libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        assert self._fd >= 0
        assert _libc.inotify_add_watch(self._fd, os.fsencode(directory), IN_MODIFY_OR_CREATE) >= 0

    async def wait_change(self) -> None:
        with trio.move_on_after(LOOK_AGAIN_REAL_S):
            await trio.lowlevel.wait_readable(self._fd)
            os.read(self._fd, 65536)

    def close(self) -> None:
        os.close(self._fd)


class EventFiles:
    """Reads what has been written so far, whole lines only."""

    def __init__(self, run_dir: Path) -> None:
        self._directory = run_dir / "events"
        self._read: dict[Path, tuple[int, list[dict[str, Any]]]] = {}

    def of(self, node: str) -> list[dict[str, Any]]:
        events: list[dict[str, Any]] = []
        for path in self._directory.glob(f"{node}.*.jsonl"):
            position, known = self._read.get(path, (0, []))
            with path.open("rb") as file:
                file.seek(position)
                new = file.read()
            whole = new[: new.rfind(b"\n") + 1]
            known += map(json.loads, whole.splitlines())
            self._read[path] = (position + len(whole), known)
            events += known
        return sorted(events, key=lambda event: (event["incarnation"], event["seq"]))


class NetworkWorld:
    """Scripted machines as processes."""

    def __init__(self, run_dir: Path, speed: float, **options: Any) -> None:
        self.run_dir = run_dir
        self.topology = three_azs()
        self.cluster = Cluster(run_dir, self.topology, {}, speed=speed, **options)
        self.files = EventFiles(run_dir)
        self.watch = DirectoryWatch(run_dir / "events")
        self._rules = 0
        self._speed = speed
        self._late_real_s = 0.0

    @property
    def slack_ms(self) -> float:
        """As late as this process was, any node may have been, at each of a few steps."""
        return SLACK_MS + LATE_STEPS * self._late_real_s * 1_000.0 * self._speed

    async def spawn(self, name: str, script: dict[str, Any]) -> None:
        self.cluster.specify(name, MachineSpec(FACTORY, script))
        await self.cluster.start(name)

    async def respawn(self, name: str) -> None:
        await self.cluster.start(name)

    async def cut(self, words: str) -> str:
        return await self.impose(f"cut {words}")

    async def limit(self, words: str) -> str:
        return await self.impose(f"bandwidth {words}")

    async def impose(self, words: str) -> str:
        self._rules += 1
        rule = rule_of(self.topology, f"rule-{self._rules}", parse(words.split()))
        await self.cluster.apply(rule)
        return rule.rule

    async def heal(self, rule: str) -> dict[str, int]:
        (report,) = await self.cluster.heal(rule)
        return report.frames_stopped

    async def kill(self, name: str) -> None:
        await self.cluster.kill(name)

    async def stop(self, name: str) -> None:
        await self.cluster.stop(name)

    async def pause(self, name: str) -> None:
        await self.cluster.pause(name)

    async def resume(self, name: str) -> None:
        await self.cluster.resume(name)

    async def change(self, fault: HardwareFault) -> None:
        await self.cluster.change_hardware(fault)

    async def lose_power(self, name: str, kept_bytes: int) -> None:
        await self.cluster.kill(name, "power-loss")
        os.truncate(self.run_dir / "data" / name / JOURNAL, kept_bytes)

    async def exit_of(self, name: str) -> NodeExit:
        """The end of the node's process, once it has come."""
        await self.until(lambda: name not in self.cluster.running())
        return next(end for end in reversed(self.cluster.exits) if end.node == name)

    async def until(self, condition: Callable[[], bool], limit_ms: float = LIMIT_MS) -> None:
        """Wait for it. The simulated world holds `limit_ms`; here it is 3 s of a machine's time."""
        with trio.fail_after(PATIENCE_S):
            while not condition():
                began = trio.current_time()
                await self.watch.wait_change()
                late_real_s = trio.current_time() - began - LOOK_AGAIN_REAL_S
                self._late_real_s = max(self._late_real_s, late_real_s)

    def sightings(self, name: str) -> list[Sighting]:
        return [Sighting(event["at_ms"], event["text"]) for event in self.events(name, "scenario_step")]

    def events(self, name: str, event: str) -> list[dict[str, Any]]:
        return [line for line in self.files.of(name) if line["event"] == event]

    def now_ms(self) -> float:
        return self.cluster.now_ms()


@asynccontextmanager
async def network_world(run_dir: Path, speed: float = 20.0, **options: Any) -> AsyncIterator[NetworkWorld]:
    """A world with no node started."""
    world = NetworkWorld(run_dir, speed, **options)
    try:
        async with world.cluster:
            yield world
    finally:
        world.watch.close()
