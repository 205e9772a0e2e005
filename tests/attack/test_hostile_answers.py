"""Answers from machines that are not friends: a node's control connection, an agent's line."""

import socket
from collections.abc import Callable

import pytest
import trio

from emulator.worlds.network.agent import AGENT_PORT
from emulator.worlds.network.agent_engine import AgentEngine
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.network.supervision import ControlConnection, NodeGone
from protocol.framing import FrameDecoder, encode
from protocol.messages.agents import LaunchResponse, ProcessEnded, ProcessHalted, SignalResponse
from protocol.messages.control import FlushResponse, Hello, PauseRequest, PauseResponse
from protocol.messages.message_base import Message
from protocol.messages.status_messages import StatusRequest
from tests.patience import PATIENCE_S

pytestmark = [pytest.mark.trio, pytest.mark.network]  # agents have a port of their own, one address a machine

NOT_UTF_8 = bytes.fromhex("0000001295cd051402000081a46e6f6465a4fffefdfc")
DEEP = (3000).to_bytes(4, "big") + b"\x91" * 3000
BAD_FRAMES = {
    "not UTF-8": NOT_UTF_8,
    "deep": DEEP,
    "oversized": b"\xff\xff\xff\xff",
    "empty": b"\x00\x00\x00\x00",
    "no msgpack": b"\x00\x00\x00\x05hello",
    "deep below its place": (3006).to_bytes(4, "big") + bytes.fromhex("9505000000") + b"\x81" + b"\x91" * 3000,
}


def pair() -> tuple[trio.SocketStream, trio.SocketStream]:
    ours, theirs = socket.socketpair()
    return tuple(trio.SocketStream(trio.socket.from_stdlib_socket(one)) for one in (ours, theirs))  # type: ignore[return-value]


@pytest.mark.parametrize(
    "output",
    [
        *BAD_FRAMES.values(),
        encode(FlushResponse()),
        encode(PauseRequest()),
        encode(PauseResponse()) * 2,
        encode(Hello("x", 1, 1, "control", "t")),
    ],
)
async def test_a_node_that_sends_no_valid_response_counts_as_gone(
    output: bytes, capsys: pytest.CaptureFixture[str]
) -> None:
    ours, theirs = pair()
    async with ControlConnection(ours, "broker-0") as control, theirs:
        await theirs.send_all(output)
        for message in (PauseRequest(), StatusRequest()):
            with trio.fail_after(PATIENCE_S), pytest.raises(NodeGone):
                await control.request(message)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("broker-0: closed after an invalid answer: ")


class HostileAgent:
    """Listens where an agent does, and answers the first order with `said`."""

    def __init__(self, output: bytes) -> None:
        self._said = output
        self.orders: list[bytes] = []

    async def serve(self, stream: trio.SocketStream) -> None:
        decoder = FrameDecoder()
        async with stream:
            while len(self.orders) < 2:
                data = await stream.receive_some()
                if not data:
                    return
                self.orders += decoder.feed(data)
            await stream.send_all(self._said)
            while await stream.receive_some():
                pass


def frames(*messages: Message) -> bytes:
    return b"".join(encode(message) for message in messages)


@pytest.mark.parametrize(
    "output",
    [
        *BAD_FRAMES.values(),
        frames(SignalResponse(alive=True)),
        frames(PauseResponse()),
        frames(LaunchResponse(pid=1, problem="no"), LaunchResponse(pid=2)),
        frames(*(ProcessEnded(pid=pid, code=0) for pid in range(30))),
        frames(*(ProcessHalted(pid=pid, halted=True) for pid in range(30))),
    ],
    ids=[*BAD_FRAMES, "no signal sent", "no pause", "two answers", "thirty unknown ends", "thirty unknown halts"],
)
async def test_an_agent_with_an_invalid_message_counts_as_gone(
    output: bytes, monkeypatch: pytest.MonkeyPatch, make_order: Callable[[], object]
) -> None:
    monkeypatch.setattr("emulator.worlds.network.agent_engine.PROCESSES_MAX", 20)
    agent = HostileAgent(output)

    async def locate(node: str) -> str:
        return "127.9.200.1"

    async def revive(node: str) -> None:
        """It lives."""

    engine = AgentEngine(locate, {"broker-0": {}}, "token", revive=revive)
    async with trio.open_nursery() as nursery:
        listeners = await trio.open_tcp_listeners(AGENT_PORT, host="127.9.200.1")
        nursery.start_soon(trio.serve_listeners, agent.serve, listeners)
        nursery.start_soon(engine.listen)
        with trio.fail_after(PATIENCE_S), pytest.raises(ClusterError):
            await engine.launch(make_order(), "token")  # type: ignore[arg-type]
        assert len(agent.orders) == 2
        nursery.cancel_scope.cancel()
    engine.close()
