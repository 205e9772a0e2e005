"""The incarnations of one run's nodes, from the order to an engine to the exit code.

The player's shell, which runs in this process, is here, too.
"""

import contextlib
import os
import signal
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import msgspec
import trio

from emulator.regular_files import open_regular
from emulator.topology import Topology
from emulator.worlds.network.clock import Clock
from emulator.worlds.network.engine import Engine, LinkDriver
from emulator.worlds.network.in_process import InProcess
from emulator.worlds.network.reports import ClusterError, NodeExit
from emulator.worlds.network.rule_board import RuleBoard
from emulator.worlds.network.shell import ExtraEffects, NodeShell
from emulator.worlds.network.spec import Life, MachineSpec, ProcessOrder, ShellSettings
from emulator.worlds.network.supervision import ControlConnection, NodeGone, Supervised
from protocol.events import Event, MachineFault
from protocol.hardware import SOUND, Hardware
from protocol.machine import Machine
from protocol.messages.control import BeginRequest, BeginResponse, EndRequest

BEGIN_LIMIT_S: Final = 20.0
END_LIMIT_S: Final = 3.0
OVER: Final = "the run is over"
DYING_BYTES: Final = 4096
"""Bytes of a process's last output that are searched for its last line."""


class RunOrders(msgspec.Struct, frozen=True):
    """Input that every incarnation of a run gets."""

    run: str
    run_dir: Path
    topology: Topology
    token: str
    clock: Clock
    seed: int
    levels: tuple[str, ...]
    record_inputs: bool


class Processes:
    """`specs`: {node: specification of its machine} for nodes that will be processes.

    `write`: writes an event of the supervisor. `nursery`, which awaits their ends, is set before anything is started.
    """

    def __init__(
        self,
        orders: RunOrders,
        specs: Mapping[str, MachineSpec],
        engine: Engine,
        links: LinkDriver | None,
        write: Callable[[Event], None],
    ) -> None:
        self.nodes = {node.name: Supervised() for node in orders.topology.nodes}
        self.exits: list[NodeExit] = []
        """All ends of processes, in order."""
        self.nursery: trio.Nursery | None = None
        self.shells: dict[str, NodeShell] = {}
        """Of nodes that run in this process."""
        self.failing_folders: dict[str, set[str]] = {name: set() for name in self.nodes}
        """{node: failing folders of its disk}; "": all of it."""
        self.hardware: dict[str, Hardware] = dict.fromkeys(self.nodes, SOUND)
        self.board = RuleBoard(self.nodes, self.shells, orders.clock.now_ms, links)
        self._here: dict[str, InProcess] = {}
        self._orders = orders
        self._specs = dict(specs)
        self._engine = engine
        self._links = links
        self._write = write
        self._exited = trio.Event()

    def node(self, name: str) -> Supervised:
        """Raises ClusterError."""
        if name not in self.nodes:
            raise ClusterError(f"no node {name!r}; there is {', '.join(self.nodes)}")
        return self.nodes[name]

    def living(self, name: str) -> Supervised:
        """A node with a process. Raises ClusterError."""
        node = self.node(name)
        if node.pid is None:
            raise ClusterError(f"{name} does not run")
        return node

    def running(self) -> tuple[str, ...]:
        """Nodes with a living process (or shell in this process), paused ones included."""
        return tuple(name for name, node in self.nodes.items() if node.pid is not None or name in self.shells)

    async def wait_exit_change(self) -> None:
        """Wait until one more process has ended."""
        await self._exited.wait()

    def specify(self, name: str, spec: MachineSpec) -> None:
        """Set the specification of the node's next incarnations. Raises SpecError, ClusterError."""
        self.node(name)
        spec.load()
        self._specs[name] = spec

    def next_life(self, name: str) -> Life:
        """Input of the node's next incarnation."""
        orders, incarnation = self._orders, self.node(name).incarnation + 1
        seed = orders.seed * 1_000_003 + zlib.crc32(f"{name}.{incarnation}".encode())
        return Life(orders.run, orders.topology.node(name), orders.topology, incarnation, seed)

    def require_startable(self, name: str) -> None:
        """Raises ClusterError."""
        self._idle(name)
        if name not in self._specs:
            raise ClusterError(f"{name} has no machine to run as a process")

    async def start(self, name: str) -> None:
        """Start a node; return when its machine has begun. Raises ClusterError."""
        node = self.node(name)
        settings = self._settings(self.next_life(name), self._engine.run_dir_in(str(self._orders.run_dir)))
        self._write(MachineFault(what="start", target=name, life=node.incarnation + 1))
        await self._engine.reach(name)
        if self._links is not None:
            await self._links.returned(name)
        pid, control = await self._engine.launch(ProcessOrder(settings, self._specs[name]), self._orders.token)
        node.incarnation += 1
        node.pid, node.halted, node.end_expected = pid, False, False
        node.ended = trio.Event()
        assert self.nursery is not None
        self.nursery.start_soon(self._await_end, name, node, pid, control)
        async with self.board.unchanging():
            rules = tuple(self.board.rules.values())
            with trio.move_on_after(BEGIN_LIMIT_S):
                try:
                    answer = await control.request(BeginRequest(rules=rules))
                except NodeGone:
                    await node.ended.wait()
                    raise ClusterError(f"{name} died at its start: {self._dying_words(name, node)}") from None
                assert isinstance(answer, BeginResponse)
                node.control = control
                return
        raise ClusterError(f"{name} did not begin within {BEGIN_LIMIT_S:g} s")

    async def end(self, node: Supervised, number: signal.Signals) -> int:
        """Signal its process; return the exit code when it has ended."""
        assert node.pid is not None
        node.end_expected = True
        pid = node.pid
        await self._engine.send_signal(pid, number)
        code = await self._engine.wait_ended(pid)
        await node.ended.wait()
        return code

    async def run_here(self, name: str, machine: Machine, extra_effects: ExtraEffects | None) -> InProcess:
        """Run a node's machine in this process. Raises ClusterError."""
        node = self._idle(name)
        settings = self._settings(self.next_life(name), str(self._orders.run_dir))
        shell = NodeShell(settings, machine, self._engine.listen_here(name), extra_effects)
        node.incarnation += 1
        self.shells[name] = shell
        here = self._here[name] = InProcess(shell)
        assert self.nursery is not None
        self.nursery.start_soon(self._run_shell, name, here)
        async with self.board.unchanging():
            shell.begin(tuple(self.board.rules.values()))
        return here

    async def end_all(self) -> None:
        """End the run: nodes flush their files."""
        for node in self.nodes.values():
            node.end_expected = True
        for shell in self.shells.values():
            shell.end(OVER)
        with trio.move_on_after(END_LIMIT_S):
            await self.board.tell_all(EndRequest())
            for node in self.nodes.values():
                if node.pid is not None and not node.halted:
                    await node.ended.wait()
            for here in self._here.values():
                await here.ended.wait()

    def _idle(self, name: str) -> Supervised:
        """A node that does not run. Raises ClusterError."""
        node = self.node(name)
        if name in self.running():
            raise ClusterError(f"{name} runs already")
        return node

    def _settings(self, life: Life, run_dir: str) -> ShellSettings:
        orders, spec = self._orders, self._specs.get(life.node.name)
        return ShellSettings(
            life=life,
            run_dir=run_dir,
            token=orders.token,
            routes=self._engine.routes(life.node.name),
            epoch_s=orders.clock.epoch_s,
            wall_epoch_ms=orders.clock.wall_epoch_ms,
            speed=orders.clock.speed,
            levels=orders.levels,
            record_inputs=orders.record_inputs,
            versions=spec.versions if spec is not None else ("", ""),
            settings=spec.settings if spec is not None else "",
            failing_folders=tuple(sorted(self.failing_folders.get(life.node.name, ()))),
            hardware=self.hardware[life.node.name],
            kafka=self._engine.kafka,
        )

    async def _await_end(self, name: str, node: Supervised, pid: int, control: ControlConnection) -> None:
        async with control:
            code = await self._engine.wait_ended(pid)
        end = NodeExit(name, node.incarnation, code, node.end_expected, self._orders.clock.now_ms())
        self.exits.append(end)
        node.pid, node.control, node.halted = None, None, False
        if not end.expected:
            self._write(MachineFault(what="died", target=name))
        node.ended.set()
        self._exited.set()
        self._exited = trio.Event()

    async def _run_shell(self, name: str, here: InProcess) -> None:
        try:
            await here.run()
        finally:
            self.shells.pop(name, None)
            here.ended.set()

    def _dying_words(self, name: str, node: Supervised) -> str:
        """The last line of a dead process's output."""
        output = self._orders.run_dir / "output" / f"{name}.{node.incarnation}.txt"
        lines: list[str] = []
        with contextlib.suppress(OSError), open_regular(output) as file:  # the file may be missing
            file.seek(max(0, os.fstat(file.fileno()).st_size - DYING_BYTES))
            lines = file.read(DYING_BYTES).decode(errors="replace").strip().splitlines()
        return lines[-1] if lines else f"exited with code {self.exits[-1].code} and no output (see its events)"
