"""The player's actions, carried out on real processes and files: what `emulator.world.actions` orders.

`acting(cluster)` is the `extra_effects` of the player's shell.
"""

import random
from collections.abc import Awaitable
from pathlib import Path
from typing import Any

from emulator.storage import inspect
from emulator.storage.disk import DiskFiles
from emulator.storage.files import Files, StorageError
from emulator.world import actions as act
from emulator.world.network.cluster import Cluster
from emulator.world.network.reports import ClusterError
from emulator.world.network.shell import ExtraEffects


def acting(cluster: Cluster) -> ExtraEffects:
    """Orders of the player to the world; each is answered by an ActDone."""
    chance = random.Random(cluster.seed)

    def extra(effect: Any) -> Awaitable[act.ActDone]:
        assert isinstance(effect, act.Act), effect
        return _answer(cluster, chance, effect)

    return extra


async def _answer(cluster: Cluster, chance: random.Random, order: act.Act) -> act.ActDone:
    """What cannot be done is an answer, not a crash: the player's scenario says what then."""
    try:
        return act.ActDone(order.number, await _carry_out(cluster, chance, order.action))
    except (ClusterError, StorageError, OSError, ValueError) as error:
        return act.ActDone(order.number, {}, str(error))


async def _carry_out(cluster: Cluster, chance: random.Random, action: act.Action) -> dict[str, object]:
    match action:
        case act.StartNode(name):
            await cluster.start(name)
        case act.KillNode(name):
            if name in cluster.running():  # a dead node stays dead
                await cluster.kill(name)
        case act.StopNode(name):
            await cluster.stop(name)
        case act.PauseNode(name):
            await cluster.pause(name)
        case act.ResumeNode(name):
            await cluster.resume(name)
        case act.PowerLoss(name, batches_kept):
            if name in cluster.running():
                await cluster.kill(name, "power-loss")
            _lose_power(node_files(cluster, name), batches_kept, chance)
        case act.LoseUnsynced(name, partition, batches_kept):
            inspect.keep_batches(node_files(cluster, name), partition, batches_kept)
            cluster.note("lose-unsynced", name)
        case act.DiskFull(name):
            raise ClusterError(f"{name}: a full disk is not simulated by processes yet")
        case act.ApplyRule(rule):
            report = await cluster.apply(rule)
            return {"in_force_ms": report.in_force_ms}
        case act.HealRules(rules):
            reports = (
                [report for rule in rules for report in await cluster.heal(rule)] if rules else await cluster.heal()
            )
            return {"frames_stopped": {report.rule: report.frames_stopped for report in reports}}
        case act.Snapshot(partition, names):
            return {name: inspect.read_partition(node_files(cluster, name), partition) for name in names}
        case act.Batches(partition, names):
            return {name: inspect.batches_of(node_files(cluster, name), partition) for name in names}
    return {}


def node_files(cluster: Cluster, name: str) -> DiskFiles:
    """A node's log directory, dead or alive."""
    return DiskFiles(Path(cluster.run_dir) / "data" / name)


def _lose_power(files: Files, batches_kept: int, chance: random.Random) -> None:
    """Of each log everything past its recovery point may be lost: how much, the caller says or the seed."""
    for directory in files.list(""):
        if "-" not in directory or not files.list(directory):
            continue
        durable, written = inspect.durable_batches(files, directory), len(inspect.batches_of(files, directory))
        kept = batches_kept if batches_kept >= 0 else chance.randint(durable, max(durable, written))
        inspect.keep_batches(files, directory, kept)
