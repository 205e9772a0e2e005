"""Silent strangers and too few descriptors.

Clients with the token are served, and no node ends.
"""

import os
import resource
from pathlib import Path
from types import SimpleNamespace

import pytest
import trio

from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Answer, AnyAsk, Status
from emulator.cluster.control_server import UNAUTHENTICATED_MAX, ControlServer
from emulator.identity import mine
from emulator.worlds.network import arrivals, handshake
from emulator.worlds.network.accepting import accept_all
from emulator.worlds.network.agent import AGENT_PORT
from emulator.worlds.network.arrivals import Arrivals
from emulator.worlds.network.spec import LOOPBACK
from emulator.worlds.network.unauthenticated_connections import UnauthenticatedConnections
from protocol.events import FrameRefused
from protocol.messages.agents import LaunchRequest, LaunchResponse
from protocol.messages.control import Hello
from protocol.messages.session_messages import PingRequest, PingResponse
from tests.attack.strangers import PROMPT_S, exchange, until_closed
from tests.emulator.worlds.network_world import NetworkWorld, network_world
from tests.emulator.worlds.test_agent_engine import HOSTS, TOKEN, agents, kept_cluster
from verification.attack.silent_sockets import closed, silent

pytestmark = [pytest.mark.trio, pytest.mark.network]


def hello(world: NetworkWorld) -> Hello:
    return Hello("broker-1", 1, 1, "client", world.cluster.token)


async def test_a_node_with_a_thousand_silent_strangers_serves_a_new_connection_at_once(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        address = (LOOPBACK, world.cluster.ports["broker-0"])
        with silent(address, 1_000, b"\x00\x00\x00") as there:
            answer, after_s = await trio.to_thread.run_sync(exchange, address, hello(world), PingRequest())
            assert isinstance(answer, PingResponse) and after_s < PROMPT_S
            await world.until(lambda: closed(there) >= 700)  # the newest may stay until their time is over
        assert world.cluster.running() == ("broker-0",)
        reasons = {event["reason"] for event in world.events("broker-0", "frame_refused")}
        assert any("others needed the room" in reason for reason in reasons)


async def test_a_node_without_descriptors_takes_connections_when_it_has_some_again(tmp_path: Path) -> None:
    async with network_world(tmp_path) as world:
        await world.spawn("broker-0", {})
        pid = world.cluster.processes.nodes["broker-0"].pid
        assert pid is not None
        held = len(os.listdir(f"/proc/{pid}/fd"))
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (held + 20, hard))
        address = (LOOPBACK, world.cluster.ports["broker-0"])
        with silent(address, 60) as there:
            await world.until(lambda: closed(there) >= 20)
            answer, after_s = await trio.to_thread.run_sync(exchange, address, hello(world), PingRequest())
            assert isinstance(answer, PingResponse) and after_s < PROMPT_S
        assert world.cluster.running() == ("broker-0",)


async def test_strangers_beyond_the_reported_ones_write_no_events(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(arrivals, "REFUSALS_WRITTEN_MAX", 5)
    reported: list[FrameRefused] = []
    shell = SimpleNamespace(emit=lambda event, cause: reported.append(event))
    coming = Arrivals(shell)  # type: ignore[arg-type]
    for number in range(20):
        coming._refuse("127.0.0.1:1", f"refusal {number}")
    assert len(reported) == 5 and reported[-1].reason.startswith("refusal 4; the 5th refusal of this life, the last")


async def test_askers_are_answered_behind_any_number_of_silent_strangers() -> None:
    async def answer(what: AnyAsk, wait_s: float) -> Answer:
        return Answer(result={"asked": True})

    async with trio.open_nursery() as nursery:
        server = ControlServer(TOKEN, answer)
        port: int = await nursery.start(server.serve)
        at = Registration("c", mine(), 1, LOOPBACK, port, TOKEN)
        with silent((LOOPBACK, port), 500, b"GET /v1/st") as there:
            for _ in range(3):
                began = trio.current_time()
                assert await trio.to_thread.run_sync(ask, at, Status(), PROMPT_S) == Answer(result={"asked": True})
                assert trio.current_time() - began < PROMPT_S
            assert len(server.unauthenticated) <= UNAUTHENTICATED_MAX and closed(there) >= 500 - UNAUTHENTICATED_MAX
        nursery.cancel_scope.cancel()


async def test_a_stranger_has_its_time_and_no_more(autojump_clock: trio.abc.Clock) -> None:
    strangers, began = UnauthenticatedConnections(2, limit_s=10.0), trio.current_time()
    with strangers.one() as scope:
        await trio.sleep(11.0)
    assert (scope.cancelled_caught, trio.current_time() - began, len(strangers)) == (True, 10.0, 0)


async def test_accepting_goes_on_after_errors_of_the_machine_and_of_peers(autojump_clock: trio.abc.Clock) -> None:
    import errno
    import socket

    class Listener(socket.socket):
        failures = [errno.EMFILE, errno.ECONNABORTED, errno.ENOBUFS, errno.EPROTO]

        def accept(self) -> tuple[socket.socket, tuple[str, int]]:
            if self.failures:
                raise OSError(self.failures.pop(0), "as the test says")
            return super().accept()

    taken: list[str] = []
    exhausted: list[int] = []
    with Listener() as listener:
        listener.bind((LOOPBACK, 0))
        listener.listen()
        with socket.create_connection(listener.getsockname()):
            async with trio.open_nursery() as nursery:

                def take(sock: socket.socket, address: str) -> None:
                    sock.close()
                    taken.append(address)
                    nursery.cancel_scope.cancel()

                nursery.start_soon(accept_all, listener, take, lambda: exhausted.append(1))
    assert len(taken) == 1 and len(exhausted) == 2 and not Listener.failures


async def test_a_keeper_serves_its_supervisor_despite_other_connections(tmp_path: Path) -> None:
    address = (HOSTS["broker-0"], AGENT_PORT)
    not_utf_8 = bytes.fromhex("0000001295cd051402000081a46e6f6465a4fffefdfc")
    deep = (1_000).to_bytes(4, "big") + b"\x91" * 1_000
    with agents("broker-0") as started:
        async with kept_cluster(tmp_path / "first") as cluster:
            await cluster.start("broker-0")
        agent = started["broker-0"]
        with silent(address, 150), silent(address, 20, not_utf_8), silent(address, 20, deep), silent(address, 50):
            began = trio.current_time()
            async with kept_cluster(tmp_path / "second") as cluster:
                await cluster.start("broker-0")
                assert trio.current_time() - began < PROMPT_S
                with silent(address, 2 * handshake.UNAUTHENTICATED_MAX) as there:
                    await until_closed(there[: handshake.UNAUTHENTICATED_MAX])
                assert cluster.running() == ("broker-0",)
                assert agent.poll() is None
                node = cluster.processes.nodes["broker-0"].pid
                assert node is not None
                await cluster.kill("broker-0")


async def test_a_keeper_without_descriptors_goes_on(tmp_path: Path) -> None:
    address = (HOSTS["broker-0"], AGENT_PORT)
    with agents("broker-0") as started:
        async with kept_cluster(tmp_path / "first") as cluster:
            await cluster.start("broker-0")
        pid = started["broker-0"].pid
        _, hard = resource.prlimit(pid, resource.RLIMIT_NOFILE)
        resource.prlimit(pid, resource.RLIMIT_NOFILE, (len(os.listdir(f"/proc/{pid}/fd")) + 10, hard))
        with silent(address, 60) as there:
            await until_closed(there[:40])
        async with kept_cluster(tmp_path / "second") as cluster:
            await cluster.start("broker-0")
            assert cluster.running() == ("broker-0",)


async def test_a_launch_that_is_no_order_is_answered(tmp_path: Path) -> None:
    with agents("broker-0"):
        async with kept_cluster(tmp_path) as cluster:  # until it listens
            await cluster.start("broker-0")
        address = (HOSTS["broker-0"], AGENT_PORT)
        mine = Hello("injector", 1, 1, "control", TOKEN)
        for order in (b"", b"\xa1\xff", b"\x91" * 5_000):
            answer, _ = exchange(address, mine, LaunchRequest(order))
            assert isinstance(answer, LaunchResponse) and answer.problem.startswith("broker-0: ")
