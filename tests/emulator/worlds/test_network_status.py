"""Nodes' states, from processes.

All at once, within a bound, without those that do not answer.
"""

import signal
import socket
from pathlib import Path

import msgspec
import pytest
import trio
import trio.testing

from emulator.machines.node.specs import RunSpec
from emulator.topology import three_azs
from emulator.worlds.network import rule_board
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.spec import MachineSpec
from emulator.worlds.network.supervision import ControlConnection, NodeGone
from protocol.framing import FrameDecoder, decode, encode
from protocol.messages.control import PauseRequest, PauseResponse
from protocol.messages.status_messages import StatusRequest, StatusResponse
from tests.emulator.worlds.network_world import FACTORY, network_world
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.trio, pytest.mark.network]
SERVERS = ("session-0", "session-1", "session-2")


def ensemble(run_dir: Path) -> Cluster:
    """Session servers and a client, at a speed at which an election is over at once."""
    topology = three_azs()
    arguments = msgspec.to_builtins(RunSpec(topology, "2.6", {}))
    spec = MachineSpec("emulator.worlds.network.factory:network_machine", arguments)
    return Cluster(run_dir, topology, {name: spec for name in (*SERVERS, "client-0")}, speed=20.0)


async def test_every_running_node_reports_its_view(tmp_path: Path) -> None:
    async with ensemble(tmp_path) as cluster:
        assert await cluster.statuses() == {}
        await cluster.start(*SERVERS, "client-0")
        with trio.fail_after(PATIENCE_S):
            while True:
                reported = await cluster.statuses()
                roles = [
                    it.ensemble.role for it in reported.values() if it.ensemble is not None and it.ensemble.serving
                ]
                if len(roles) == 3:
                    break
        assert sorted(roles) == ["following", "following", "leading"]
        assert set(reported) == {*SERVERS, "client-0"}
        await cluster.kill("session-0")
        await cluster.pause("session-1")
        assert set(await cluster.statuses()) == {"session-2", "client-0"}
        await cluster.resume("session-1")
        assert set(await cluster.statuses()) == {"session-1", "session-2", "client-0"}


async def test_a_node_that_does_not_answer_is_left_out_and_answers_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A foreign process stopped it, so the supervisor does not know."""
    monkeypatch.setattr(rule_board, "STATUS_LIMIT_S", 0.2)
    async with ensemble(tmp_path) as cluster:
        await cluster.start("session-0", "client-0")
        pid = cluster.processes.nodes["session-0"].pid
        assert pid is not None
        await cluster.engine.send_signal(pid, signal.SIGSTOP)
        await cluster.engine.wait_halted(pid)
        for _ in range(3):
            assert set(await cluster.statuses()) == {"client-0"}
        with trio.fail_after(PATIENCE_S):
            assert await cluster.frames_stopped() == {}
        await cluster.engine.send_signal(pid, signal.SIGCONT)
        with trio.fail_after(PATIENCE_S):
            while set(await cluster.statuses()) != {"client-0", "session-0"}:
                pass
        assert await cluster.frames_stopped() == {}, "its answers are still those to what was asked"


async def test_a_silent_machine_is_left_out(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        world.cluster.specify("broker-0", MachineSpec(FACTORY, {}))
        await world.cluster.start("broker-0")
        assert await world.cluster.statuses() == {}


async def test_an_answer_without_a_waiter_is_not_taken_for_the_next() -> None:
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    theirs.setblocking(False)
    node = trio.SocketStream(trio.socket.from_stdlib_socket(theirs))
    decoder = FrameDecoder()

    async def next_requested() -> list[str]:
        return [decode(payload).message.API_NAME for payload in decoder.feed(await node.receive_some())]

    async with ControlConnection(trio.SocketStream(trio.socket.from_stdlib_socket(ours))) as control:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(control.request, StatusRequest())
            assert await next_requested() == ["Status"]
            nursery.cancel_scope.cancel()
        answers: list[str] = []

        async def ask() -> None:
            answers.append((await control.request(PauseRequest())).API_NAME)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            with pytest.raises(BlockingIOError):
                theirs.recv(1)  # the second waits for the first one's answer before it is sent
            await node.send_all(encode(StatusResponse()))
            assert await next_requested() == ["Pause"]
            await node.send_all(encode(PauseResponse()))
        assert answers == ["Pause"]
        await node.aclose()
        with pytest.raises(NodeGone):
            await control.request(StatusRequest())
