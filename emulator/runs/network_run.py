"""Runs in the network world: one process per node, the player's machine in this one."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
import trio

from emulator.faults import actions as act
from emulator.machines.node.restarts import Roster, UnusableStart, start_details
from emulator.machines.node.specs import RunSpec
from emulator.regular_files import refuse_foreign_link
from emulator.run_layout import DATA_FOLDER
from emulator.runs.observed import TimedEvent, observations_of
from emulator.runs.resolve import Resolved
from emulator.runs.run_events import event_files, events_in
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.player.player import Player
from emulator.scenario.player.steps import StepFailed
from emulator.storage import inspect
from emulator.storage.disk import DiskFiles
from emulator.storage.files import StorageError
from emulator.storage.inspect import NotSoMany
from emulator.storage.power_loss import cut, surviving_bytes
from emulator.topology import OBSERVER
from emulator.worlds.network.node_supervisor import Cluster, ClusterError, NodeExit
from emulator.worlds.network.spec import MachineSpec
from protocol.chance import Chance
from protocol.events import EVENTS, LEVELS, Event, IsrChangeRequested, LogTruncated, RoleChanged

FACTORY = "emulator.worlds.network.factory:network_machine"
RUN_LIMIT_S = 1800.0
"""Time limit of a run, in real seconds."""
OBSERVED_EVENTS = (LogTruncated, RoleChanged, IsrChangeRequested)


class PlayedNetwork(msgspec.Struct):
    """A finished run. `exits`: processes that ended without a request."""

    observations: Observations
    player: Player
    exits: list[NodeExit]
    ended_ms: float


class FaultExecutor:
    """Carries out the player's actions on a cluster."""

    def __init__(self, cluster: Cluster, run_dir: Path, seed: int, roster: Roster) -> None:
        self._cluster = cluster
        self.roster = roster
        self._run_dir = run_dir
        self._draws = Chance(seed)

    async def do(self, order: act.Act) -> act.ActDone:
        """Carry out one action; a failure is in `error`."""
        try:
            return act.ActDone(order.number, await self._do(order.action))
        except (ClusterError, NotSoMany, StorageError, UnusableStart, OSError) as error:
            return act.ActDone(order.number, {}, str(error))

    def _lose_power(self, files: DiskFiles, batches_kept: int, partition: str) -> None:
        """Cut off unsynced bytes; the seed decides unspecified amounts, as in the simulated world."""

        def survives(path: str, synced: int, size: int) -> int:
            return synced + self._draws.below(size - synced + 1)

        left = surviving_bytes(files, files.synced_bytes, survives, partition=partition, batches=batches_kept)
        cut(files, left)

    async def _do(self, action: act.Action) -> dict[str, object]:
        cluster = self._cluster
        name = getattr(action, "node", "")
        alive = name in cluster.running()
        if why := act.unfit(action, alive=alive, paused=name in cluster.paused()):
            raise ClusterError(why)
        match action:
            case act.Start(node, version, settings):
                if version or settings:
                    self.roster.change(node, version, settings)
                    cluster.specify(node, machine_spec(self.roster.spec, node))
                await cluster.start(node)
            case act.Kill(node):
                if node in cluster.running():  # a stopped node stays stopped
                    await cluster.kill(node)
            case act.Stop(node):
                await cluster.stop(node)
            case act.PauseNode(node):
                await cluster.pause(node)
            case act.ResumeNode(node):
                await cluster.resume(node)
            case act.PowerLoss(node, batches_kept, only):
                if alive:
                    await cluster.kill(node, "power-loss")
                else:
                    cluster.note("power-loss", node)
                kept, of = -1 if batches_kept is None else batches_kept, only or ""
                with_files(self._run_dir, node, lambda files: self._lose_power(files, kept, of))
            case act.LoseUnsynced(node, left, of_partition):
                assert of_partition is not None, "the player names it"
                cluster.note("lose-unsynced", node)
                with_files(self._run_dir, node, partial(inspect.keep_batches, partition=of_partition, count=left))
            case act.LoseDisk(node, directory):
                cluster.replace_disk(node, directory)
                with_files(self._run_dir, node, lambda files: inspect.erase(files, directory))
            case act.HardwareFault():
                await cluster.change_hardware(action)
            case act.ApplyRule(rule):
                await cluster.apply(rule)
            case act.HealRules(rules):
                reports = [report for rule in rules or tuple(cluster.rules) for report in await cluster.heal(rule)]
                return {"frames_stopped": {report.rule: dict(report.frames_stopped) for report in reports}}
            case act.Snapshot(partition, nodes):
                return {n: with_files(self._run_dir, n, lambda f: inspect.read_partition(f, partition)) for n in nodes}
            case act.Batches(partition, nodes):
                return {n: with_files(self._run_dir, n, lambda f: inspect.batches_of(f, partition)) for n in nodes}
            case act.BatchEntries(partition, nodes):
                read = partial(inspect.batch_entries_of, partition=partition)
                return {n: with_files(self._run_dir, n, read) for n in nodes}
            case act.LogSizes(nodes):
                return {n: with_files(self._run_dir, n, inspect.log_sizes) for n in nodes}
            case act.DiskFull(node, directory):
                await cluster.fill_disk(node, directory)
            case act.DiskError(node, directory):
                await cluster.fail_disk(node, directory)
        return {}


def with_files(run_dir: Path, node: str, use: Callable[[DiskFiles], Any]) -> Any:
    """Use a node's log directory, opened for one look. Raises StorageError.

    It also raises if the directory is not where it should be: a node in a container may put a link in its place.
    """
    folder = run_dir / DATA_FOLDER
    if folder.is_symlink():
        refuse_foreign_link(folder)
    files = DiskFiles(folder / node)
    try:
        return use(files)
    finally:
        files.close()


def machine_specs(spec: RunSpec) -> dict[str, MachineSpec]:
    """{node: specification of its machine}, of every node that is a process."""
    arguments = msgspec.to_builtins(spec)
    return {node.name: _made(spec, node.name, arguments) for node in spec.topology.nodes if node.name != OBSERVER}


def machine_spec(spec: RunSpec, node: str) -> MachineSpec:
    """Specification of one node's machine."""
    return _made(spec, node, msgspec.to_builtins(spec))


def _made(spec: RunSpec, node: str, arguments: dict[str, Any]) -> MachineSpec:
    binary, protocol, settings = start_details(spec, node)
    return MachineSpec(FACTORY, arguments, (binary, protocol), settings)


async def play_network(
    resolved: Resolved,
    run_dir: Path,
    *,
    seed: int,
    speed: float,
    levels: tuple[str, ...] = LEVELS,
    record_inputs: bool = False,
    began: Callable[[Cluster], None] | None = None,
    make_cluster: Callable[..., Cluster] = Cluster,
) -> PlayedNetwork:
    """One run in `run_dir`. Raises StepFailed, ClusterError, PortInUse, trio.TooSlowError.

    `make_cluster`: Cluster, or a substitute with the same arguments (such as a relay between its nodes).
    """
    spec = resolved.spec
    player = Player(spec.topology, resolved.scenario.steps, resolved.record_magic, spec.kafka_version)
    specs = machine_specs(resolved.spec)
    cluster = make_cluster(
        run_dir, spec.topology, specs, speed=speed, seed=seed, levels=levels, record_inputs=record_inputs
    )
    with trio.fail_after(RUN_LIMIT_S):
        async with cluster:
            if began is not None:
                began(cluster)
            actions = FaultExecutor(cluster, run_dir, seed, Roster(spec))
            here = await cluster.run_here(OBSERVER, player, actions.do)
            await here.ended.wait()
            if here.crashed or not player.finished:
                reason = here.exit.reason if here.exit is not None else "it ended early"
                raise player.failed or StepFailed(f"the player: {reason}")
            ended_ms = cluster.now_ms()
    happened = sorted(observed_events(run_dir), key=lambda entry: entry[4])
    observations = observations_of(resolved, player.timeline, happened, ended_ms)
    return PlayedNetwork(observations, player, cluster.unexpected_exits(), ended_ms)


def observed_events(run_dir: Path) -> Iterator[TimedEvent]:
    """The replica events for observations.json, from the nodes' files."""
    wanted = {cls.NAME: cls for cls in OBSERVED_EVENTS}
    for path in event_files(run_dir):
        if path.name.startswith("broker-"):
            for fields in events_in(path, wanted):  # a line torn by a kill is none; the audit counts it
                yield as_happened(fields, wanted[fields["event"]])


def as_happened(fields: dict[str, Any], cls: type[Event]) -> TimedEvent:
    """A line of an event file, as the simulated world's trace holds it."""
    event = cls(**{name: fields[name] for name in cls.__struct_fields__ if name in fields})
    envelope = (fields["node"], fields["incarnation"], fields["seq"], fields.get("cause", ""), fields["at_ms"])
    return (*envelope, event)


assert all(cls.NAME in EVENTS for cls in OBSERVED_EVENTS)
