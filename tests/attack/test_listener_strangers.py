"""Idle connections at a broker's Kafka listener keep out neither new nor connected clients."""

import contextlib
import socket
import struct
from collections.abc import AsyncIterator, Callable
from contextlib import ExitStack, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
import trio

from emulator.faults.enforcement import LinkState
from emulator.worlds.network.clock import Clock
from emulator.worlds.network.kafka_listener import kafka_listeners as listeners_module
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.kafka_listeners import KafkaListeners
from emulator.worlds.network.kafka_listener.unended_frames import UnendedFrames
from emulator.worlds.network.spec import LOOPBACK, Address
from protocol.events import FrameRefused
from protocol.gates import gates_for
from protocol.ids import BrokerId
from tests.attack.strangers import until_closed
from tests.patience import PATIENCE_S
from verification.attack.silent_sockets import silent

pytestmark = [pytest.mark.trio, pytest.mark.network]

DESCRIPTORS = 256
"""Of the listener's process, as the test says: 32 strangers, 64 clients of each of two AZs."""
CLIENTS_OF_AN_AZ = 64
API_VERSIONS = struct.pack(">ihhih", 10, 18, 0, 7, 0)
ANSWER = struct.pack(">i", 7)
HALF_A_FRAME = struct.pack(">ihhih", 1 << 20, 18, 0, 7, 0) + bytes(100)


class Switchboard:
    """Answers each request at once with its correlation id, and knows who is connected."""

    def __init__(self) -> None:
        self.connected: list[str] = []
        self.left = trio.Event()

    def accepted_in_translation(self, name: str, peer: str, sock: socket.socket, client: Any) -> Any:
        self.connected.append(name)
        return SimpleNamespace(id=len(self.connected), name=name, sock=sock, client=client)

    def offer_in_translation(self, connection: Any, arrived: Any, client_id: str) -> None:
        connection.sock.send(struct.pack(">i", arrived.correlation_id))
        connection.client.written()

    def lost(self, connection: Any, reason: str) -> None:
        connection.sock.close()
        self.connected.remove(connection.name)
        self.left.set()


async def _has_come(condition: Callable[[], bool]) -> None:
    assert condition()


class Listener:
    def __init__(self, sockets: list[socket.socket]) -> None:
        life = SimpleNamespace(node=SimpleNamespace(name="broker-0"), incarnation=1)
        self.refused: list[str] = []
        self.switchboard = Switchboard()
        self.addresses = [one.getsockname() for one in sockets]
        shell: Any = SimpleNamespace(
            settings=SimpleNamespace(life=life), full=False, switchboard=self.switchboard, emit=self._emit,
            links=LinkState("broker-0", 1),
            look_at_clock=lambda: None, until=_has_come, clock=Clock(0.0, 0.0, 1_000.0), turn=contextlib.nullcontext(),
        )  # fmt: skip
        startup: Any = SimpleNamespace(listens=True, reads_requests=True, knows_cluster=True)
        at = {"broker-0": Address(LOOPBACK, 1)}
        places = [Place(az, "client-0", at, {"broker-0": 0}, "run") for az in ("a", "b")]
        self.kafka_listener = KafkaListeners(shell, startup, gates_for("2.8"), BrokerId(0), places, sockets)

    def _emit(self, event: FrameRefused, cause: str) -> None:
        self.refused.append(event.reason)


@asynccontextmanager
async def listener(monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Listener]:
    monkeypatch.setattr(listeners_module, "descriptors", lambda: DESCRIPTORS)
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.create_server((LOOPBACK, 0), backlog=1024)) for _ in range(2)]
        there = Listener(sockets)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(there.kafka_listener.serve)
            yield there
            nursery.cancel_scope.cancel()


async def served(address: tuple[str, int]) -> trio.SocketStream:
    """A new client's connection after its first response.

    A listener does not close silent strangers by time.
    """
    with trio.fail_after(PATIENCE_S):
        stream = await trio.open_tcp_stream(*address)
        await requests(stream)
    return stream


async def requests(stream: trio.SocketStream) -> None:
    with trio.fail_after(PATIENCE_S):
        await stream.send_all(API_VERSIONS)
        assert await stream.receive_some(4) == ANSWER


@pytest.mark.parametrize("first_bytes", [b"", b"\x00", HALF_A_FRAME], ids=["silent", "a byte", "half a frame"])
async def test_a_thousand_idle_strangers_lock_no_client_out(
    monkeypatch: pytest.MonkeyPatch, first_bytes: bytes
) -> None:
    async with listener(monkeypatch) as there:
        before = await served(there.addresses[0])
        with silent(there.addresses[0], 1_000, first_bytes) as strangers:
            for address in there.addresses:
                for _ in range(5):
                    await (await served(address)).aclose()
                await requests(before)
            await until_closed(strangers[:900])
        await before.aclose()
    assert any("others needed the room" in reason for reason in there.refused)


async def test_clients_are_counted_from_their_first_request_on(monkeypatch: pytest.MonkeyPatch) -> None:
    async with listener(monkeypatch) as there:
        with silent(there.addresses[0], 200):
            clients = [await served(there.addresses[0]) for _ in range(CLIENTS_OF_AN_AZ)]
            one_more = await trio.open_tcp_stream(*there.addresses[0])
            await one_more.send_all(API_VERSIONS)
            with trio.fail_after(PATIENCE_S), contextlib.suppress(trio.BrokenResourceError):
                assert await one_more.receive_some(4) == b""
            await one_more.aclose()
            await (await served(there.addresses[1])).aclose()  # of another AZ
            for client in clients:
                await requests(client)
            await clients.pop().aclose()
            with trio.fail_after(PATIENCE_S):
                await there.switchboard.left.wait()
            await (await served(there.addresses[0])).aclose()
            for client in clients:
                await client.aclose()
    assert "64 Kafka clients of this AZ are connected, and there is room for no more" in there.refused


async def test_clients_that_drip_bytes_serve_others_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    """A frame that comes byte by byte is no request yet: its sender is the first to go."""
    async with listener(monkeypatch) as there:
        slow = await trio.open_tcp_stream(*there.addresses[0])
        for at in range(10):
            await slow.send_all(API_VERSIONS[at : at + 1])
            await (await served(there.addresses[0])).aclose()
        await slow.send_all(API_VERSIONS[10:])
        with trio.fail_after(PATIENCE_S):
            assert await slow.receive_some(4) == ANSWER
        await slow.aclose()


@pytest.mark.parametrize("sizes", [[10, 60, 40], [101], [50, 51]])
async def test_of_unended_frames_the_first_that_began_is_let_go(sizes: list[int]) -> None:
    frames, scopes = UnendedFrames(100), [trio.CancelScope() for _ in sizes]
    for number, (size, scope) in enumerate(zip(sizes, scopes, strict=True)):
        frames.hold(number, size, scope)
    assert [scope.cancel_called for scope in scopes] == [True] + [False] * (len(sizes) - 1)
    for number, scope in enumerate(scopes):
        frames.hold(number, 0, scope)
    fresh = trio.CancelScope()
    frames.hold(99, 100, fresh)
    assert not fresh.cancel_called
