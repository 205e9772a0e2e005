"""Machines of a cluster that stays, broken and mended one command at a time.

What is done is what a scenario does (`emulator.runs.network.Actions`); here is what a person must be told who asks for
it twice, or of the wrong node.
"""

from collections.abc import Callable
from typing import Any, Final

import msgspec

from emulator.live.requests import MachineFault, Refused
from emulator.live.words import node_named
from emulator.runs.layout import EVENTS_FOLDER
from emulator.runs.network import Actions, with_files
from emulator.storage import inspect
from emulator.storage.disk import DiskFiles
from emulator.world import actions as act
from emulator.world.network.cluster import Cluster

LAST_BYTES: Final = 16_384
"""Of an event file, in which a life's last words are."""
ACTIONS: Final[dict[MachineFault, Callable[[str], act.Action]]] = {
    "kill": act.KillNode,
    "stop": act.StopNode,
    "pause": act.PauseNode,
    "resume": act.ResumeNode,
    "start": act.StartNode,
    "disk-full": act.DiskFull,
}
"""A power loss is more than one."""
ALREADY_DEAD: Final = ("kill", "stop", "pause", "resume", "power-loss", "disk-full")


class MachineFaults:
    """`paused`: nodes that a command has stopped with a signal."""

    def __init__(self, cluster: Cluster, actions: Actions) -> None:
        self._cluster = cluster
        self._actions = actions
        self._starting: set[str] = set()
        self._stopping: set[str] = set()
        self._paused: set[str] = set()
        self._orders = 0

    def paused(self) -> tuple[str, ...]:
        return tuple(name for name in self._cluster.running() if name in self._paused)

    def check_serves(self, name: str) -> str:
        """The node, if it can be asked something now. Raises Refused."""
        if name not in self._cluster.running():
            raise Refused(f"{name} does not run; start it with: faultline start {name}")
        if name in self.paused():
            raise Refused(f"{name} is paused; it goes on with: faultline resume {name}")
        return name

    async def do(self, fault: MachineFault, given: str, batches_kept: int) -> dict[str, Any]:
        """Carried out when this returns. Raises Refused."""
        cluster = self._cluster
        name = node_named(cluster.topology, given).name
        self._check(fault, name)
        asked_ms = cluster.now_ms()
        if fault in ("start", "stop"):
            (self._starting if fault == "start" else self._stopping).add(name)
        try:
            await self._carry_out(fault, name, batches_kept)
        finally:
            (self._starting if fault == "start" else self._stopping).discard(name)
        if fault == "pause":
            self._paused.add(name)
        elif fault != "disk-full":
            self._paused.discard(name)
        done_ms = cluster.now_ms()
        return {
            "fault": fault,
            "node": name,
            "asked_ms": round(asked_ms, 3),
            "done_ms": round(done_ms, 3),
            "after_ms": round((done_ms - asked_ms) / cluster.clock.speed, 3),
            "running": name in cluster.running(),
        }

    async def _carry_out(self, fault: MachineFault, name: str, batches_kept: int) -> None:
        """Raises Refused, ClusterError."""
        if fault == "power-loss":  # a person need not know how long each log is: no more is kept than there is
            await self._cluster.kill(name, "power-loss")
            with_files(self._cluster.run_dir, name, lambda files: _lose_unsynced(files, batches_kept))
            return
        self._orders += 1
        done = await self._actions.do(act.Act(self._orders, ACTIONS[fault](name)))
        if done.error:
            raise Refused(done.error)

    def _check(self, fault: str, name: str) -> None:
        running = name in self._cluster.running()
        if not running:
            self._paused.discard(name)
        if fault == "start" and name in self._starting:
            raise Refused(f"{name} is starting already")
        if fault == "start" and running:
            raise Refused(f"{name} runs already")
        if fault in ALREADY_DEAD and not running:
            raise Refused(f"{name} does not run; start it with: faultline start {name}")
        if fault == "stop" and name in self._stopping:
            raise Refused(f"{name} is stopping already; kill it if you cannot wait")
        if fault == "pause" and name in self._paused:
            raise Refused(f"{name} is paused already")
        if fault == "resume" and name not in self._paused:
            raise Refused(f"{name} is not paused")
        if fault in ("stop", "disk-full") and name in self._paused:
            raise Refused(f"{name} is paused; resume it first" + (", or kill it" if fault == "stop" else ""))


def _lose_unsynced(files: DiskFiles, batches_kept: int) -> None:
    inspect.lose_unsynced(
        files, lambda partition, durable: min(max(durable, batches_kept), len(inspect.batches_of(files, partition)))
    )


def last_word(cluster: Cluster, name: str) -> str:
    """Why the node's last life ended, as it wrote itself."""
    end = next(end for end in reversed(cluster.exits) if end.node == name)
    path = cluster.run_dir / EVENTS_FOLDER / f"{name}.{end.incarnation}.jsonl"
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - LAST_BYTES))
        lines = file.read().splitlines()
    for line in reversed(lines):
        if b'"node_stopped"' in line:
            return str(msgspec.json.decode(line)["reason"])
    return f"exit code {end.code}, and no word"
