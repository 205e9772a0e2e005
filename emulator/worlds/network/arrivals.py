"""Incoming connections of a node, the supervisor's control connection among them.

The first frame must be a Hello of this run. Anything else (truncated, oversized, not msgpack, another run's token, an
unknown node) costs its sender the connection and the node one event; the node lives on.
"""

import hmac
import socket

import trio

from emulator.worlds.network.accepting import accept_all
from emulator.worlds.network.connection import receive, receive_first_payload
from emulator.worlds.network.shell import NodeShell
from emulator.worlds.network.unauthenticated_connections import UnauthenticatedConnections, descriptors
from protocol.events import FrameRefused
from protocol.framing import FrameDecoder, ProtocolError, decode, decode_hello, encode
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
    PausedRequest,
    PausedResponse,
    PauseRequest,
    PauseResponse,
    RuleCountsRequest,
    RuleCountsResponse,
    SetHardwareRequest,
    SetHardwareResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.status_messages import StatusRequest, StatusResponse
from protocol.purposes import ALL, CONTROL

REFUSALS_WRITTEN_MAX = 1_000
"""Limit of refusal events of one incarnation: repeated attempts do not fill the disk."""


class Arrivals:
    """Accepts for one shell. `control_lost` is set when the supervisor's connection ends."""

    def __init__(self, shell: NodeShell) -> None:
        self._shell = shell
        self._unauthenticated = UnauthenticatedConnections()
        self._known = 0
        self._known_max = max(1, descriptors() // 2)
        """Limit of authenticated connections.

        With the unauthenticated ones it leaves descriptors for the node's own use.
        """
        self._refused = 0
        self.control_lost = trio.Event()

    async def accept_all(self) -> None:
        """Accept until cancelled."""
        async with trio.open_nursery() as nursery:

            def take(sock: socket.socket, address: str) -> None:
                nursery.start_soon(self._receive_one, sock, address)

            await accept_all(self._shell.listener, take, self._unauthenticated.close_oldest)

    async def _receive_one(self, sock: socket.socket, address: str) -> None:
        hello = await self._hello(sock, address)
        if hello is None:
            return
        if self._known >= self._known_max and hello.purpose != CONTROL:
            sock.close()
            self._refuse(address, f"{self._known_max} connections are open, the limit")
            return
        self._known += 1
        try:
            if hello.purpose == CONTROL:
                with sock:
                    began_here = await Control(self._shell).serve(sock)
                if began_here or not self._shell.begun.is_set():
                    self.control_lost.set()
                return
            await self._shell.begun.wait()
            connection = self._shell.switchboard.accepted(hello, sock)
            await self._shell.switchboard.read(connection, sock)
        finally:
            self._known -= 1

    async def _hello(self, sock: socket.socket, address: str) -> Hello | None:
        """The Hello of a connection; None: refused, closed and reported."""
        try:
            with self._unauthenticated.one() as scope:
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                hello = decode_hello(await receive_first_payload(sock))
                reason = self._objection(hello, sock.getsockname()[0])
                if not reason:
                    return hello
            if scope.cancelled_caught:
                in_time = trio.current_time() < scope.deadline
                reason = "no Hello yet when others needed the room" if in_time else "no Hello in time"
        except ProtocolError as error:
            reason = str(error)
        except OSError as error:
            reason = f"lost before its Hello: {error}"
        except BaseException:
            sock.close()
            raise
        sock.close()
        self._refuse(address, reason)
        return None

    def _refuse(self, address: str, reason: str) -> None:
        self._refused += 1
        if self._refused > REFUSALS_WRITTEN_MAX:
            return
        if self._refused == REFUSALS_WRITTEN_MAX:
            reason += f"; the {REFUSALS_WRITTEN_MAX}th refusal of this life, the last that is written down"
        self._shell.emit(FrameRefused(connection="", peer=address, reason=reason), "wire")

    def _objection(self, hello: Hello, host: str) -> str:
        """Reason why this Hello is refused; "" if it is not."""
        settings = self._shell.settings
        if not hmac.compare_digest(hello.token.encode(), settings.token.encode()):
            return f"Hello of {hello.node} carries another run's token"
        if hello.purpose not in ALL:
            return f"Hello of {hello.node}: no purpose {hello.purpose!r}; there is {', '.join(ALL)}"
        if hello.purpose == CONTROL and settings.control_host not in ("", host):
            return f"orders are taken at {settings.control_host}, not at {host}"
        if hello.purpose != CONTROL and hello.node not in settings.routes:
            return f"Hello of {hello.node!r}, which is no node of this run"
        return ""


class Control:
    """The supervisor's orders to one node; each is answered once it is done."""

    def __init__(self, shell: NodeShell) -> None:
        self._shell = shell
        self._began = False

    async def serve(self, sock: socket.socket) -> bool:
        """Serve until the supervisor is gone; return whether it ordered the node to begin."""
        decoder = FrameDecoder()
        stream = trio.SocketStream(trio.socket.from_stdlib_socket(sock.dup()))
        async with stream:
            while True:
                try:
                    data = await receive(sock)
                    if not data:
                        return self._began
                    for payload in decoder.feed(data):
                        frame = decode(payload)
                        await stream.send_all(encode(self._answer(frame.message), frame.correlation_id))
                except ProtocolError as error:
                    self._shell.emit(FrameRefused(connection="", peer="control", reason=str(error)), "wire")
                    return self._began
                except (OSError, trio.BrokenResourceError):
                    return self._began

    def _answer(self, message: Message) -> Message:
        shell = self._shell
        match message:
            case BeginRequest():
                if shell.begun.is_set():
                    raise ProtocolError("a second Begin")
                shell.begin(message.rules)
                self._began = True
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
            case PausedRequest(from_ms=from_ms, to_ms=to_ms):
                shell.paused(from_ms, to_ms)
                return PausedResponse()
            case BreakDiskRequest():
                broken_ms, used_bytes = shell.break_disk(message.folder, fails=message.fails)
                return BreakDiskResponse(broken_ms=broken_ms, used_bytes=used_bytes)
            case SetHardwareRequest(hardware=hardware):
                return SetHardwareResponse(since_ms=shell.set_hardware(hardware))
            case FlushRequest():
                shell.report_and_flush()
                return FlushResponse()
            case EndRequest():
                shell.end("the run is over")
                return EndResponse()
        raise ProtocolError(f"{message.API_NAME} is no order of the supervisor")
