"""Arrivals: connections that others open to a node, and the supervisor's control among them.

The first frame must be a Hello of this run. Anything else (truncated, oversized, not msgpack, another run's
token, an unknown node) costs its sender the connection and us one event; the node lives on.
"""

import socket

import trio

from emulator.world.network.connection import receive, receive_first_payload
from emulator.world.network.shell import NodeShell
from protocol.events import FrameRefused
from protocol.framing import FrameDecoder, ProtocolError, decode, encode
from protocol.messages.base import Message
from protocol.messages.control import (
    ApplyRuleRequest,
    ApplyRuleResponse,
    BeginRequest,
    BeginResponse,
    BreakDiskRequest,
    BreakDiskResponse,
    EndRequest,
    EndResponse,
    FlushRequest,
    FlushResponse,
    HealRuleRequest,
    HealRuleResponse,
    Hello,
    PauseRequest,
    PauseResponse,
    RuleCountsRequest,
    RuleCountsResponse,
)
from protocol.messages.status import StatusRequest, StatusResponse
from protocol.purposes import ALL, CONTROL

HELLO_LIMIT_REAL_S = 10.0
ARRIVALS_MAX = 256
"""Connections that have not said Hello yet; beyond it the kernel keeps them waiting."""


class Arrivals:
    """Accepts for one shell. `control_lost` is set when the supervisor's connection ends."""

    def __init__(self, shell: NodeShell) -> None:
        self._shell = shell
        self._limit = trio.CapacityLimiter(ARRIVALS_MAX)
        self.control_lost = trio.Event()

    async def accept_all(self) -> None:
        """Until cancelled."""
        listener = self._shell.listener
        listener.setblocking(False)
        async with trio.open_nursery() as nursery:
            while True:
                await trio.lowlevel.wait_readable(listener)
                try:
                    sock, address = listener.accept()
                except (BlockingIOError, ConnectionAbortedError):
                    continue
                sock.setblocking(False)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                await self._limit.acquire_on_behalf_of(sock)
                nursery.start_soon(self._receive_one, sock, f"{address[0]}:{address[1]}")

    async def _receive_one(self, sock: socket.socket, address: str) -> None:
        try:
            hello = await self._hello(sock, address)
        finally:
            self._limit.release_on_behalf_of(sock)
        if hello is None:
            return
        if hello.purpose == CONTROL:
            with sock:
                await Control(self._shell).serve(sock)
            self.control_lost.set()
            return
        await self._shell.begun.wait()
        connection = self._shell.switchboard.accepted(hello, sock)
        await self._shell.switchboard.read(connection, sock)

    async def _hello(self, sock: socket.socket, address: str) -> Hello | None:
        """None: refused, closed and written down."""
        reason = f"no Hello within {HELLO_LIMIT_REAL_S:g} s"
        try:
            with trio.move_on_after(HELLO_LIMIT_REAL_S):
                message = decode(await receive_first_payload(sock)).message
                reason = self._objection(message, sock.getsockname()[0])
                if not reason:
                    assert isinstance(message, Hello)
                    return message
        except ProtocolError as error:
            reason = str(error)
        except OSError as error:
            reason = f"lost before its Hello: {error}"
        except BaseException:
            sock.close()
            raise
        sock.close()
        self._shell.emit(FrameRefused(connection="", peer=address, reason=reason), "wire")
        return None

    def _objection(self, message: Message, host: str) -> str:
        """Why this first frame is refused; "" if it is not."""
        settings = self._shell.settings
        if not isinstance(message, Hello):
            return f"the first frame is {message.API_NAME}, not Hello"
        if message.token != settings.token:
            return f"Hello of {message.node} carries another run's token"
        if message.purpose not in ALL:
            return f"Hello of {message.node}: no purpose {message.purpose!r}; there is {', '.join(ALL)}"
        if message.purpose == CONTROL and settings.control_host not in ("", host):
            return f"orders are taken at {settings.control_host}, not at {host}"
        if message.purpose != CONTROL and message.node not in settings.routes:
            return f"Hello of {message.node!r}, which is no node of this run"
        return ""


class Control:
    """The supervisor's orders to one node; each is answered once it is done."""

    def __init__(self, shell: NodeShell) -> None:
        self._shell = shell

    async def serve(self, sock: socket.socket) -> None:
        """Until the supervisor is gone."""
        decoder = FrameDecoder()
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock.dup()))
        async with stream:
            while True:
                try:
                    data = await receive(sock)
                    if not data:
                        return
                    for payload in decoder.feed(data):
                        frame = decode(payload)
                        await stream.send_all(encode(self._answer(frame.message), frame.correlation_id))
                except ProtocolError as error:
                    self._shell.emit(FrameRefused(connection="", peer="control", reason=str(error)), "wire")
                    return
                except (OSError, trio.BrokenResourceError):
                    return

    def _answer(self, message: Message) -> Message:
        shell = self._shell
        match message:
            case BeginRequest():
                if shell.begun.is_set():
                    raise ProtocolError("a second Begin")
                shell.begin(message.rules)
                return BeginResponse(began_ms=shell.clock.now_ms())
            case ApplyRuleRequest():
                in_force_ms = shell.apply(message.rule)
                return ApplyRuleResponse(rule=message.rule.rule, in_force_ms=in_force_ms)
            case HealRuleRequest():
                healed_ms, known = shell.heal(message.rule, message.packets_dropped)
                return HealRuleResponse(
                    rule=message.rule,
                    healed_ms=healed_ms,
                    was_in_force=known,
                    frames_stopped=shell.links.frames_stopped.get(message.rule, 0),
                )
            case RuleCountsRequest():
                return RuleCountsResponse(frames_stopped=dict(shell.links.frames_stopped))
            case StatusRequest():
                return StatusResponse(status=shell.status())
            case PauseRequest():
                shell.announce_pause()
                return PauseResponse()
            case BreakDiskRequest():
                broken_ms, used_bytes = shell.break_disk(message.folder, fails=message.fails)
                return BreakDiskResponse(broken_ms=broken_ms, used_bytes=used_bytes)
            case FlushRequest():
                shell.flush()
                return FlushResponse()
            case EndRequest():
                shell.end("the run is over")
                return EndResponse()
        raise ProtocolError(f"{message.API_NAME} is no order of the supervisor")
