"""KRaft cluster of real processes.

It starts without ZooKeeper, and outlives its active controller.
"""

from pathlib import Path
from typing import Any

import pytest
import trio

from emulator.machines.node.specs import RunSpec
from emulator.runs.network_run import machine_specs
from emulator.settings.in_force import resolve_settings
from emulator.topology import KRAFT, Topology, three_azs
from emulator.worlds.network.node_supervisor import Cluster
from tests.emulator.worlds.network_world import DirectoryWatch, EventFiles
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio


def run_spec(topology: Topology, version: str) -> RunSpec:
    names = [node.name for node in topology.nodes if {"broker", "controller"} & set(node.roles)]
    return RunSpec(topology, version, {name: dict(resolve_settings(version, {}, metadata=KRAFT)) for name in names})


class Seen:
    """Events of the run's nodes."""

    def __init__(self, run_dir: Path) -> None:
        self._files = EventFiles(run_dir)
        self._watch = DirectoryWatch(run_dir / "events")

    def last(self, node: str, event: str) -> dict[str, Any]:
        found = [line for line in self._files.of(node) if line["event"] == event]
        return found[-1] if found else {}

    async def until_running(self, brokers: list[str]) -> None:
        def states() -> set[str]:
            return {self.last(name, "broker_lifecycle_changed").get("state", "") for name in brokers}

        await self._until(states, {"running"})

    async def until_another_leads(self, names: list[str], epoch: int) -> str:
        """The new leader's name, once its controller is active."""
        claims: list[dict[str, Any]] = []

        def newer() -> bool:
            claims[:] = [self.last(name, "controller_changed") for name in names]
            return any(claim.get("active") and claim["controller_epoch"] > epoch for claim in claims)

        await self._until(newer, True)
        return str(max(claims, key=lambda claim: claim.get("controller_epoch", -1))["node"])

    async def _until(self, view: Any, wanted: object) -> None:
        with trio.fail_after(PATIENCE_S):
            while view() != wanted:
                await self._watch.wait_change()


@pytest.mark.parametrize(("version", "combined"), [("3.9", False), ("4.4", False), ("4.1", True)])
async def test_a_cluster_starts_and_another_controller_follows_a_killed_one(
    tmp_path: Path, version: str, combined: bool
) -> None:
    topology = three_azs(metadata=KRAFT, clients=0, combined=combined)
    voters = sorted(topology.voters.values())
    brokers = [node.name for node in topology.with_role("broker")]
    cluster = Cluster(tmp_path, topology, machine_specs(run_spec(topology, version)), speed=5.0)
    async with cluster:
        seen = Seen(tmp_path)
        for name in sorted({*voters, *brokers}, reverse=True):
            await cluster.start(name)
        await seen.until_running(brokers)
        active = await seen.until_another_leads(voters, 0)
        epoch = seen.last(active, "controller_changed")["controller_epoch"]
        await cluster.kill(active)
        others = [name for name in voters if name != active]
        assert await seen.until_another_leads(others, epoch) in others
        views = await cluster.statuses()
        leaders = {view.controller for name, view in views.items() if name in voters}
        assert leaders == {name for name, view in views.items() if view.is_controller}
        await cluster.start(active)
        await seen.until_running(brokers)
        for name in sorted(cluster.running() if not combined else ()):
            await cluster.stop(name)
    assert [end for end in cluster.unexpected_exits() if end.node != active] == []
