"""The supervisor: starts and breaks the processes of one run, and applies rules to them.

    async with Cluster(run_dir, topology, specs, speed=10.0) as cluster:
        await cluster.start("broker-0")
        await cluster.apply(rule)
        await cluster.kill("broker-0")

No cut touches its control connections. As node `injector` it writes events of requests (FaultRequested, MachineFault);
each node writes the rules in force there. When the block ends normally, running nodes flush their files and exit. When
it ends otherwise, or the supervisor is killed, the kernel ends them with it.
"""

import contextlib
import secrets
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from types import TracebackType
from typing import Final

import msgspec
import trio

from emulator.faults.machine_fault_kinds import HardwareFault
from emulator.topology import INJECTOR, Topology
from emulator.worlds.network.clock import Clock
from emulator.worlds.network.engine import Engine, LinkDriver
from emulator.worlds.network.event_file import EventFile
from emulator.worlds.network.in_process import InProcess
from emulator.worlds.network.local_engine import LocalEngine
from emulator.worlds.network.processes import OVER, Processes, RunOrders
from emulator.worlds.network.reports import AppliedReport, ClusterError, HealReport, NodeExit, only
from emulator.worlds.network.shell import ExtraEffects
from emulator.worlds.network.spec import Life, MachineSpec
from emulator.worlds.network.supervision import NodeGone
from protocol.events import LEVELS, Event, FaultRequested, HardwareChanged, MachineFault, NodeStopped
from protocol.events.fault_events import UNRESPONSIVE
from protocol.kinds import ExitKind
from protocol.link_rules import LinkRule
from protocol.machine import Machine
from protocol.messages.control import (
    BreakDiskRequest,
    BreakDiskResponse,
    FlushRequest,
    PausedRequest,
    PauseRequest,
    SetHardwareRequest,
)
from protocol.messages.status_messages import NodeStatus

FLUSH_LIMIT_S: Final = 0.2


class Cluster:
    """All processes of one run.

    `specs`: {node: specification of its machine} for nodes that will be processes. `engine`: makes them; by default a
    LocalEngine, with `ports` and `dialled` as it takes them. `token`: the run's; by default a new one. `links`: driver
    that cuts links in the nodes' place, at speed 1. `kafka`: brokers listen for Kafka clients, too; with the default
    engine alone, and at speed 1, for such clients have a clock of their own.
    """

    def __init__(
        self,
        run_dir: Path,
        topology: Topology,
        specs: Mapping[str, MachineSpec],
        *,
        run: str = "",
        speed: float = 1.0,
        seed: int = 0,
        levels: Sequence[str] = LEVELS,
        record_inputs: bool = False,
        ports: Mapping[str, int] | None = None,
        dialled: Mapping[str, int] | None = None,
        engine: Engine | None = None,
        token: str = "",
        links: LinkDriver | None = None,
        kafka: bool = False,
    ) -> None:
        for spec in specs.values():
            spec.load()
        assert not kafka or (engine is None and speed == 1.0), "Kafka clients come to processes here, at speed 1"
        assert links is None or speed == 1.0, "the kernel driver needs speed 1"
        self.run_dir = run_dir
        self.topology = topology
        self.token = token or secrets.token_hex(16)
        modules = sorted({spec.factory.partition(":")[0] for spec in specs.values()})
        self.engine: Engine = engine or LocalEngine(
            topology, modules, ports=ports, dialled=dialled, kafka=kafka
        )
        self.clock = Clock(time.monotonic(), time.time() * 1000.0, speed)
        run = run or run_dir.name
        orders = RunOrders(run, run_dir, topology, self.token, self.clock, seed, tuple(levels), record_inputs)
        self.processes = Processes(orders, specs, self.engine, links, self._write)
        self._events = EventFile(run_dir, run, INJECTOR, 1, levels)
        self._links = links
        self._nursery_manager: AbstractAsyncContextManager[trio.Nursery] | None = None

    async def __aenter__(self) -> "Cluster":
        self._nursery_manager = trio.open_nursery()
        self.processes.nursery = await self._nursery_manager.__aenter__()
        self.processes.nursery.start_soon(self.engine.listen)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> bool | None:
        assert self.processes.nursery is not None and self._nursery_manager is not None
        try:
            if kind is None:
                await self.processes.end_all()
                self._write(NodeStopped(0, OVER, ExitKind.REQUESTED))
        finally:
            self.processes.nursery.cancel_scope.cancel()
            try:
                suppressed = await self._nursery_manager.__aexit__(kind, error, trace)
            except BaseExceptionGroup as errors:
                raise only(errors) from None
            finally:
                self.engine.close()
                self._events.close()
        return suppressed

    def now_ms(self) -> float:
        """Scenario time."""
        return self.clock.now_ms()

    @property
    def ports(self) -> dict[str, int]:
        return self.engine.ports

    def running(self) -> tuple[str, ...]:
        """Nodes with a living process (or shell in this process), paused ones included."""
        return self.processes.running()

    def paused(self) -> tuple[str, ...]:
        """Running nodes that are paused."""
        return tuple(name for name, node in self.processes.nodes.items() if node.halted)

    def incarnations(self) -> dict[str, int]:
        """{node: its present or last incarnation; 0: none yet}."""
        return {name: node.incarnation for name, node in self.processes.nodes.items()}

    @property
    def exits(self) -> list[NodeExit]:
        """All ends of processes, in order."""
        return self.processes.exits

    def unexpected_exits(self) -> list[NodeExit]:
        """Nodes that died by themselves."""
        return [end for end in self.exits if not end.expected]

    async def wait_exit_change(self) -> None:
        """Wait until one more process has ended."""
        await self.processes.wait_exit_change()

    def specify(self, name: str, spec: MachineSpec) -> None:
        """Set the specification of the node's next incarnations. Raises SpecError, ClusterError."""
        self.processes.specify(name, spec)

    # --- processes ---------------------------------------------------------------------------------------------------

    async def start(self, *names: str) -> None:
        """Start nodes, all at once; return when their machines have begun. Raises ClusterError.

        A node that ran before gets its next incarnation.
        """
        for name in names:
            self.processes.require_startable(name)
        try:
            async with trio.open_nursery() as nursery:
                for name in names:
                    nursery.start_soon(self.processes.start, name)
        except BaseExceptionGroup as errors:
            raise only(errors) from None

    def note(self, what: str, name: str) -> None:
        """Record a fault of a node that another part carried out (on its files, for example)."""
        self.processes.node(name)
        self._write(MachineFault(what=what, target=name))

    async def kill(self, name: str, what: str = "kill") -> None:
        """SIGKILL; return when the kernel has closed its sockets.

        First the node flushes its events, so that an audit need not be "unknown"; a node that does not answer is killed
        all the same.
        """
        node = self.processes.living(name)
        self._write(MachineFault(what=what, target=name, life=node.incarnation))
        if node.control is not None and not node.halted:
            with trio.move_on_after(FLUSH_LIMIT_S) as limit, contextlib.suppress(NodeGone):
                await node.control.request(FlushRequest())
            if limit.cancelled_caught:
                self._write(MachineFault(what=UNRESPONSIVE, target=name, life=node.incarnation))
        if node.pid is not None:
            await self.processes.end(node, signal.SIGKILL)

    async def stop(self, name: str) -> int:
        """SIGTERM; return the exit code when the node has ended by itself."""
        node = self.processes.living(name)
        if node.halted:
            raise ClusterError(f"{name} is paused and cannot stop; resume or kill it")
        self._write(MachineFault(what="stop", target=name))
        return await self.processes.end(node, signal.SIGTERM)

    async def pause(self, name: str) -> None:
        """SIGSTOP; return when it is stopped. The kernel goes on accepting for it."""
        node = self.processes.living(name)
        assert node.pid is not None
        if node.control is None:
            raise ClusterError(f"{name} has not begun yet and cannot be paused")
        if node.halted:
            raise ClusterError(f"{name} is paused already")
        async with self.processes.board.unchanging():  # otherwise a rule could be sent to a node that is stopped
            self._write(MachineFault(what="pause", target=name))
            try:
                await node.control.request(PauseRequest())
            except NodeGone:
                raise ClusterError(f"{name} ended before it could be paused") from None
            node.halted, node.paused_ms = True, self.clock.now_ms()
            await self.engine.send_signal(node.pid, signal.SIGSTOP)
            await self.engine.wait_halted(node.pid)

    async def resume(self, name: str) -> None:
        """SIGCONT; return when it runs and has the present rules."""
        node = self.processes.living(name)
        assert node.pid is not None
        if not node.halted:
            raise ClusterError(f"{name} is not paused")
        self._write(MachineFault(what="resume", target=name))
        resumed_ms = self.clock.now_ms()
        await self.engine.send_signal(node.pid, signal.SIGCONT)
        await self.engine.wait_halted(node.pid, halted=False)
        node.halted = False
        if node.control is not None:
            with contextlib.suppress(NodeGone):
                await node.control.request(PausedRequest(node.paused_ms, resumed_ms))
        await self.processes.board.catch_up(node)

    async def fill_disk(self, name: str, directory: str = "") -> int:
        """Fill its disk, or that log directory, for this incarnation; return the bytes on the disk."""
        return await self._break_disk(name, directory, fails=False)

    async def fail_disk(self, name: str, directory: str = "") -> None:
        """Fail every operation on its disk, or that log directory, until `replace_disk`.

        The node may be dead.
        """
        if name in self.running():
            await self._break_disk(name, directory, fails=True)
        else:
            self._write(MachineFault("disk-error", name, directory))
        self.processes.failing_folders[name].add(directory)

    async def _break_disk(self, name: str, directory: str, *, fails: bool) -> int:
        node = self.processes.living(name)
        if node.control is None:
            raise ClusterError(f"{name} has not begun yet: its disk cannot be broken")
        if node.halted:
            raise ClusterError(f"{name} is paused: resume it, then break its disk")
        self._write(MachineFault("disk-error" if fails else "disk-full", name, directory))
        try:
            answer = await node.control.request(BreakDiskRequest(directory, fails))
        except NodeGone:
            raise ClusterError(f"{name} ended before its disk was broken") from None
        assert isinstance(answer, BreakDiskResponse)
        return answer.used_bytes

    async def change_hardware(self, fault: HardwareFault) -> None:
        """Change the node's machine in this incarnation and later ones; the node may be dead."""
        name = fault.node
        node = self.processes.node(name)
        if name in self.running() and node.control is None:
            raise ClusterError(f"{name} has not begun yet: its machine cannot be changed")
        hardware = self.processes.hardware[name] = fault.of(self.processes.hardware[name])
        self._write(MachineFault(what=fault.VERB, target=name))
        self._write(HardwareChanged(name, *msgspec.structs.astuple(hardware)))
        if node.control is not None:
            with contextlib.suppress(NodeGone):  # its next incarnation gets it
                await node.control.request(SetHardwareRequest(hardware))

    def replace_disk(self, name: str, directory: str = "") -> None:
        """Record that a dead node's disk, or that log directory, is replaced; the caller erases it."""
        if name in self.running():
            raise ClusterError(f"{name} runs: its disk cannot be lost under it")
        self._write(MachineFault("lose-disk", name, directory))
        if directory:
            self.processes.failing_folders[name].discard(directory)
        else:
            self.processes.failing_folders[name].clear()

    def life(self, name: str) -> Life:
        """Input of the node's next incarnation."""
        return self.processes.next_life(name)

    async def run_here(self, name: str, machine: Machine, extra_effects: ExtraEffects | None = None) -> InProcess:
        """Run a node's machine in this process (the scenario's player). Rules reach it like others."""
        return await self.processes.run_here(name, machine, extra_effects)

    # --- rules -------------------------------------------------------------------------------------------------------

    @property
    def rules(self) -> dict[str, LinkRule]:
        """In force, by id."""
        return self.processes.board.rules

    async def apply(self, rule: LinkRule) -> AppliedReport:
        """Put a rule in force everywhere; return when every running node has confirmed it.

        Raises ClusterError, RuleError.
        """
        if self._links is not None:
            self._links.require_possible(rule)
        self._write(FaultRequested(rule=rule.rule, what=rule.what, expects_traffic=rule.expects_traffic))
        return await self.processes.board.apply(rule)

    async def heal(self, rule_id: str | None = None) -> list[HealReport]:
        """Lift a rule, or all (None). Raises ClusterError for a rule that is not in force."""
        for rule in self.rules.values():
            if rule_id in (None, rule.rule):
                healed = f"heal {rule.what}"
                self._write(FaultRequested(rule=rule.rule, what=healed, expects_traffic=rule.expects_traffic))
        return await self.processes.board.heal(rule_id)

    async def frames_stopped(self) -> dict[str, dict[str, int]]:
        """{rule: {node: frames and SYNs stopped so far}}, of living incarnations."""
        return await self.processes.board.frames_stopped()

    # --- status of the nodes -----------------------------------------------------------------------------------------

    async def statuses(self) -> dict[str, NodeStatus]:
        """Each running, unpaused node's own view; nodes that take longer than a second are left out."""
        return await self.processes.board.statuses()

    def _write(self, event: Event) -> None:
        self._events.write(event, "command", self.clock.now())
        self._events.flush()


__all__ = ["INJECTOR", "AppliedReport", "Cluster", "ClusterError", "HealReport", "InProcess", "NodeExit"]
