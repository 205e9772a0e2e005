"""A run with a death in real processes: the same plans, SIGKILL, healing at the end.

Healing is a part of the script here: the player heals, starts all nodes and waits, as an operator would. `evidence`
reads the results from the run's directory."""

import contextlib
import random
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

import msgspec
import trio

from emulator.faults import actions as act
from emulator.judging.crash_testing.crash_plan import Plan, resolved_for, step_count
from emulator.judging.crash_testing.crash_process import FACTORY as MORTAL
from emulator.judging.crash_testing.crash_process import tell
from emulator.judging.explain.recoveries import DiskLost
from emulator.judging.oracle.gathering import read_logs
from emulator.judging.oracle.truth import Batch, Truth
from emulator.machines.node.restarts import Roster
from emulator.machines.node.specs import RunSpec
from emulator.runs.network_run import RUN_LIMIT_S, FaultExecutor, machine_specs, with_files
from emulator.runs.resolve import Resolved
from emulator.scenario import scenario_model as m
from emulator.scenario.conditions import AllOf, Condition, IsrRestored, Registered
from emulator.scenario.player.player import Player
from emulator.scenario.player.steps import StepFailed
from emulator.storage.disk import DiskFiles
from emulator.storage.power_loss import cut, surviving_bytes
from emulator.topology import OBSERVER, Topology
from emulator.worlds.network.node_supervisor import Cluster, ClusterError, NodeExit
from emulator.worlds.network.spec import MachineSpec
from protocol.ids import TopicPartition

SETTLE_LIMIT_S = 180.0
STILL_S = 12.0
SETTLED = "settled"
"""Name of the last wait in the timeline."""
AGAIN_S = 3.0


class Left(msgspec.Struct, frozen=True):
    """Contents of a broker's disk at the end of an incarnation."""

    node: str
    incarnation: int
    logs: dict[TopicPartition, list[Batch]]


class DiedOver(msgspec.Struct):
    """A finished run. `alive`: nodes at its end.

    `power_lost`: (time, node); `left` precedes the loss.
    """

    plan: Plan
    resolved: Resolved
    player: Player
    exits: list[NodeExit]
    alive: tuple[str, ...]
    deaths: int
    left: list[Left]
    power_lost: list[tuple[float, str]]
    disk_lost: list[DiskLost]


async def play_network_death(plan: Plan, run_dir: Path, *, speed: float) -> DiedOver:
    """Play a plan with real processes. Raises StepFailed, ClusterError, trio.TooSlowError."""
    resolved = resolved_for(plan.scenario, plan.version)
    spec = resolved.spec
    script = resolved.scenario.steps
    player = Player(
        spec.topology,
        (*script, *mending(script, spec.topology)),
        resolved.record_magic,
        spec.kafka_version,
        steps_may_fail=True,
    )
    order = run_dir / "death"
    cluster = Cluster(run_dir, spec.topology, _specs(resolved, plan.victim, order), speed=speed, seed=plan.seed)
    attended = AttendedExecutor(cluster, run_dir, plan, player, order, step_count(script), spec)
    with trio.fail_after(RUN_LIMIT_S):
        async with cluster, trio.open_nursery() as nursery:
            nursery.start_soon(attended.restart_the_dead)
            nursery.start_soon(attended.kill_as_planned)
            here = await cluster.run_here(OBSERVER, player, attended.do)
            await here.ended.wait()
            nursery.cancel_scope.cancel()
            if here.crashed or not player.finished:
                reason = here.exit.reason if here.exit is not None else "it ended early"
                raise StepFailed(f"the player: {reason}")
            alive = cluster.running()
            exits = list(cluster.exits)
    lost = attended.power_lost, attended.disk_lost
    return DiedOver(plan, resolved, player, exits, alive, attended.deaths, attended.left, *lost)


def _specs(resolved: Resolved, victim: str, order: Path) -> dict[str, MachineSpec]:
    """Machine specs in which the victim's process watches `order`."""
    specs = machine_specs(resolved.spec)
    usual = specs[victim]
    specs[victim] = MachineSpec(MORTAL, {"spec": usual.arguments, "order": str(order)}, usual.versions)
    return specs


def mending(script: tuple[m.AnyStep, ...], topology: Topology) -> tuple[m.AnyStep, ...]:
    """Steps that heal, start all nodes, and wait until the cluster has settled and stays so."""
    brokers = topology.with_role("broker")
    conditions: list[Condition] = [Registered(frozenset(node.number for node in brokers))]
    for step in script:
        if isinstance(step, m.CreateTopic):
            conditions += [IsrRestored(f"{step.topic}-{number}") for number in range(len(step.assignment))]
    paused = [step.node for step in script if isinstance(step, m.PauseNode)]
    all_nodes = dict.fromkeys(n.name for role in ("session", "broker", "controller") for n in topology.with_role(role))
    settled = AllOf(tuple(conditions))
    return (
        m.Heal(),
        *(m.ResumeNode(node=node) for node in paused),
        *(m.Start(node=node) for node in all_nodes),
        m.Wait(until=settled, called="all nodes are back", limit_s=SETTLE_LIMIT_S),
        m.Settle(quiet_s=STILL_S, limit_s=2 * STILL_S),
        m.Wait(until=settled, called=SETTLED, limit_s=STILL_S),
    )


class AttendedExecutor(FaultExecutor):
    """Executor of the player's actions that restarts dead nodes, by the rules of `crash_driver`."""

    def __init__(
        self, cluster: Cluster, run_dir: Path, plan: Plan, player: Player, order: Path, script_steps: int, spec: RunSpec
    ) -> None:
        super().__init__(cluster, run_dir, plan.seed, Roster(spec))
        self.plan = plan
        self.deaths = 0
        self.left: list[Left] = []
        self.power_lost: list[tuple[float, str]] = []
        self.disk_lost: list[DiskLost] = []
        self._player = player
        self._stepped = trio.Event()
        player.on_step = self._step_began
        self._order = order
        self._script_steps = script_steps
        self._wanted: set[str] = set()
        self._starting = trio.Lock()
        self._looked = self._noticed = 0
        self._draw = random.Random(f"power {plan.seed}")
        self._speed = cluster.clock.speed

    async def _do(self, action: act.Action) -> dict[str, object]:
        running = self._cluster.running()
        match action:
            case act.Start(node):
                self._wanted.add(node)
                await self._start(node)
                return {}
            case act.Kill(node) | act.Stop(node):
                self._wanted.discard(node)
                if node not in running:
                    return {}
            case act.PowerLoss(node, batches_kept):
                self._wanted.discard(node)
                if node in running:
                    await self._cluster.kill(node, "power-loss")
                self._note_left()
                self._lose(node, -1 if batches_kept is None else batches_kept)
                return {}
            case act.LoseUnsynced(node):
                self._note_left()
                self.power_lost.append((self._cluster.now_ms(), node))
            case act.LoseDisk(node, directory) if node not in running:
                self._note_left()
                lost = partial(DiskLost.of, self._cluster.now_ms(), node, directory)
                self.disk_lost.append(with_files(self._run_dir, node, lost))
            case act.PauseNode(node) | act.ResumeNode(node) if node not in running:
                return {}
            case _:
                pass
        return await super()._do(action)

    async def _start(self, node: str) -> None:
        async with self._starting:
            if node not in self._cluster.running():
                self._note_left()
                await self._cluster.start(node)

    # --- the dead ---

    async def restart_the_dead(self) -> None:
        """Restart every wanted node that has died, until it stays."""
        async with trio.open_nursery() as nursery:
            while True:
                await self._cluster.wait_exit_change()
                self._note_left()
                ends, self._noticed = self._cluster.exits[self._noticed :], len(self._cluster.exits)
                for end in ends:
                    if end.node in self._wanted:
                        nursery.start_soon(self._start_later, end.node, self._back_s(end))

    def _back_s(self, end: NodeExit) -> float:
        planned = end.node == self.plan.victim and end.code < 0  # others end by themselves, with a code
        return (self.plan.back_ms / 1000.0 if planned else AGAIN_S) / self._speed

    async def _start_later(self, node: str, after_s: float) -> None:
        await trio.sleep(after_s)
        if node in self._wanted:
            with contextlib.suppress(ClusterError):
                # A death at the start is an exit like any other, and is handled as such.
                await self._start(node)

    def _note_left(self) -> None:
        """Read the disks of the brokers that have died since the last call."""
        ends, self._looked = self._cluster.exits[self._looked :], len(self._cluster.exits)
        for end in ends:
            if not end.node.startswith("broker"):
                continue
            truth = Truth()
            with_files(self._run_dir, end.node, partial(read_logs, truth, ""))
            logs = {topic_partition: logs[""] for topic_partition, logs in truth.logs.items()}
            self.left.append(Left(end.node, end.incarnation, logs))
            if self.plan.power and end.node == self.plan.victim and end.code < 0 and not end.expected:
                self._lose(end.node, -1)

    def _lose(self, node: str, batches_kept: int) -> None:
        """Remove unsynced records from every log; -1: a random part."""

        def lose(files: DiskFiles) -> None:
            def survives(path: str, synced: int, size: int) -> int:
                return self._draw.randint(synced, size)

            cut(files, surviving_bytes(files, files.synced_bytes, survives, batches=batches_kept))

        self.power_lost.append((self._cluster.now_ms(), node))
        if node.startswith("broker"):
            with_files(self._run_dir, node, lose)

    # --- the planned death ---

    async def kill_as_planned(self) -> None:
        """Kill the victim when the step has begun, and again after its return if so planned."""
        plan = self.plan
        await self._until_step(plan.step)
        await trio.sleep(plan.later_ms / 1000.0 / self._speed)
        lives = len(self._ends())
        if plan.operations < 0 and plan.victim in self._cluster.running():
            await self._kill()
        else:
            tell(self._order, max(0, plan.operations))
            await self._until_dead(lives)
        if plan.again >= 0 and self._player.step_number <= self._script_steps:
            lives = len(self._ends())
            tell(self._order, plan.again)
            await self._until_dead(lives)

    async def _until_step(self, step: int) -> None:
        while self._player.step_number < step:
            await self._stepped.wait()

    def _step_began(self) -> None:
        self._stepped.set()
        self._stepped = trio.Event()

    async def _until_dead(self, lives: int) -> None:
        """Wait for the victim's death; kill it after the script if it makes too few operations."""
        while len(self._ends()) == lives:
            if self._player.step_number > self._script_steps:
                self._order.unlink(missing_ok=True)
                if self.deaths == 0 and self.plan.victim in self._cluster.running():
                    await self._kill()
                return
            await self._exit_or_step()
        self.deaths += 1

    async def _exit_or_step(self) -> None:
        async with trio.open_nursery() as nursery:

            async def first_of(wait: Callable[[], Awaitable[None]]) -> None:
                await wait()
                nursery.cancel_scope.cancel()

            nursery.start_soon(first_of, self._cluster.wait_exit_change)
            nursery.start_soon(first_of, self._stepped.wait)

    async def _kill(self) -> None:
        self.deaths += 1
        victim = self.plan.victim
        await self._cluster.kill(victim, "power-loss" if self.plan.power else "kill")
        if self.plan.power:
            self._note_left()
            self._lose(victim, -1)

    def _ends(self) -> list[NodeExit]:
        """Deaths of the victim that the plan caused."""
        ends = self._cluster.exits
        return [end for end in ends if end.node == self.plan.victim and end.code < 0 and not end.expected]
