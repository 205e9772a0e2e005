"""Nodes behind agents, each on a loopback address of its own.

As containers on their networks.
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import trio

from emulator.topology import three_azs
from emulator.worlds.network.agent import NODE_PORT
from emulator.worlds.network.agent_engine import AgentEngine
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.network.spec import Address, MachineSpec
from emulator.worlds.network.supervision import ControlConnection, NodeGone
from protocol.messages.control import RuleCountsRequest
from tests.emulator.worlds.network_world import FACTORY
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.trio, pytest.mark.network]

TOKEN = "a-token-of-the-test"
NET = 9 + int(os.environ.get("PYTEST_XDIST_WORKER", "gw0").removeprefix("gw"))
"""Agents listen on a fixed port: each process of a run of tests has addresses of its own."""
HOSTS = {node.name: f"127.{NET}.{number}.1" for number, node in enumerate(three_azs().nodes)}


Agents = Iterator[dict[str, subprocess.Popen[bytes]]]


@contextmanager
def agents(*nodes: str, token: str = TOKEN, node_host: str | None = None) -> Agents:
    """An agent's process for each; killed at the end.

    `node_host`: see container.py; by default the node's in HOSTS.
    """
    started = {
        node: subprocess.Popen(
            [sys.executable, "-m", "emulator", "agent"],
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join(sys.path),
                "FAULTLINE_NODE": node,
                "FAULTLINE_TOKEN": token,
                "FAULTLINE_CONTROL_HOST": HOSTS[node],
                "FAULTLINE_NODE_HOST": HOSTS[node] if node_host is None else node_host,
            },
        )
        for node in nodes
    }
    try:
        yield started
    finally:
        for agent in started.values():
            agent.kill()
            agent.wait()


def agent_engine(run_dir: Path) -> AgentEngine:
    async def locate(node: str) -> str:
        return HOSTS[node]

    async def revive(node: str) -> None:
        """Restarts an agent; the process that started the agents supervises them."""

    all_nodes = {node: Address(host, NODE_PORT) for node, host in HOSTS.items()}
    return AgentEngine(locate, dict.fromkeys(HOSTS, all_nodes), TOKEN, run_dir=str(run_dir), revive=revive)


def kept_cluster(run_dir: Path) -> Cluster:
    topology = three_azs()
    specs = {node.name: MachineSpec(FACTORY, {}) for node in topology.nodes}
    return Cluster(run_dir, topology, specs, engine=agent_engine(run_dir), token=TOKEN)


async def test_a_node_lives_dies_and_lives_again_behind_its_keeper(tmp_path: Path) -> None:
    with agents("broker-0", "broker-1"):
        async with kept_cluster(tmp_path) as cluster:
            await cluster.start("broker-0", "broker-1")
            assert set(cluster.running()) == {"broker-0", "broker-1"}
            await cluster.kill("broker-0")
            with pytest.raises(OSError, match="connect"):
                await trio.open_tcp_stream(HOSTS["broker-0"], NODE_PORT)
            await cluster.start("broker-0")
            await cluster.pause("broker-1")
            await cluster.resume("broker-1")
            assert await cluster.stop("broker-1") == 0
        assert [(end.node, end.incarnation, end.code, end.expected) for end in cluster.exits] == [
            ("broker-0", 1, -signal.SIGKILL, True),
            ("broker-1", 1, 0, True),
            ("broker-0", 2, 0, True),
        ]


async def test_nodes_that_are_launched_together_are_each_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened, both = ControlConnection.open, trio.Event()
    waiting: list[str] = []

    async def open_together(address: Address, token: str, node: str) -> ControlConnection:
        waiting.append(node)
        if len(waiting) == 2:
            both.set()
        await both.wait()
        return await opened(address, token, node)

    monkeypatch.setattr(ControlConnection, "open", open_together)
    with agents("broker-0", "broker-1"):
        async with kept_cluster(tmp_path) as cluster:
            await cluster.start("broker-0", "broker-1")
            for node, other in (("broker-0", "broker-1"), ("broker-1", "")):
                with trio.fail_after(PATIENCE_S):
                    await cluster.kill(node)
                assert cluster.running() == ((other,) if other else ())
                assert cluster.exits[-1].node == node


async def test_a_machine_that_goes_away_takes_its_node_along(tmp_path: Path) -> None:
    with agents("broker-0") as started:
        async with kept_cluster(tmp_path) as cluster:
            await cluster.start("broker-0")
            started["broker-0"].kill()
            await cluster.wait_exit_change()
            [end] = cluster.unexpected_exits()
            assert (end.node, end.code) == ("broker-0", -signal.SIGKILL)


async def test_when_the_supervisor_is_gone_the_node_ends_and_the_next_one_starts_it(tmp_path: Path) -> None:
    with agents("broker-0"):
        async with kept_cluster(tmp_path / "first") as cluster:
            await cluster.start("broker-0")
            cluster.engine.close()
            await cluster.wait_exit_change()
        async with kept_cluster(tmp_path / "second") as cluster:
            await cluster.start("broker-0")
            assert cluster.running() == ("broker-0",)


async def test_a_second_node_on_one_machine_is_refused(tmp_path: Path) -> None:
    with agents("broker-0"):
        async with kept_cluster(tmp_path) as cluster:
            await cluster.start("broker-0")
            cluster.processes.nodes["broker-0"].pid = None  # as if its end had been missed
            with pytest.raises(ClusterError, match="broker-0 runs already"):
                await cluster.start("broker-0")


async def test_another_token_is_refused(tmp_path: Path) -> None:
    with agents("broker-0", token="of another run"):
        async with kept_cluster(tmp_path) as cluster:
            with pytest.raises(ClusterError, match="its machine went away"):
                await cluster.start("broker-0")


async def test_a_stranger_gives_no_orders_to_the_node(tmp_path: Path) -> None:
    with agents("broker-0"):
        async with kept_cluster(tmp_path) as cluster:
            await cluster.start("broker-0")
            async with await ControlConnection.open(Address(HOSTS["broker-0"], NODE_PORT), "wrong") as stranger:
                with pytest.raises(NodeGone):
                    await stranger.request(RuleCountsRequest())


async def test_orders_are_taken_on_the_control_network_only(tmp_path: Path) -> None:
    """Even with the right token, a peer on an AZ's network has no control."""
    with agents("broker-0", node_host=""):
        async with kept_cluster(tmp_path) as cluster:
            await cluster.start("broker-0")
            elsewhere = Address(HOSTS["broker-1"], NODE_PORT)
            async with await ControlConnection.open(elsewhere, TOKEN) as control:
                with pytest.raises(NodeGone):
                    await control.request(RuleCountsRequest())
