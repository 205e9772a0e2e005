"""Nodes on separate machines (containers), each with an agent for its process."""

import socket
import sys
from collections import deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final, NamedTuple

import msgspec
import trio

from emulator.worlds.network.agent import AGENT_PORT, NODE_PORT
from emulator.worlds.network.engine import Launched
from emulator.worlds.network.ports import listen_on
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.network.spec import Address, ProcessOrder
from emulator.worlds.network.supervision import ControlConnection
from protocol.framing import FrameDecoder, ProtocolError, decode, encode
from protocol.messages import REGISTRY
from protocol.messages.agents import (
    LaunchRequest,
    LaunchResponse,
    ProcessEnded,
    ProcessHalted,
    SignalRequest,
    SignalResponse,
)
from protocol.messages.control import Hello
from protocol.messages.message_base import RESPONSE, Message
from protocol.purposes import CONTROL

KEEPER_LIMIT_S: Final = 60.0
"""Limit for an agent to listen, from the first try.

Nine that began at once, on two busy cores, needed more than 20 s.
"""
CONNECT_LIMIT_S: Final = 1.5
"""Limit of one try.

To a machine that has just died the kernel may go on sending for minutes.
"""
ANSWER_LIMIT_S: Final = 60.0
"""Limit for an agent to answer an order. On a busy machine it may take long to begin."""
RETRY_S: Final = 0.05
KILLED: Final = -9
PROCESSES_MAX: Final = 100_000
"""Limit of ended processes that one agent has reported: incarnations of its node."""
RUN_DIR: Final = "/faultline/run"

_encode = msgspec.msgpack.Encoder().encode


class _Process(NamedTuple):
    node: str
    pid: int


class CannotRevive(Exception):
    """The machine is dead, and this process cannot start it; the message has the remedy."""


class AgentEngine:
    """Engine of nodes on machines with agents.

    - `locate`: a node's address on the control network; raises LookupError. `routes`: {node: {other: its address}}.
    - `token`: the agents'. `run_dir`: the run's directory on the machines; None: as for the supervisor.
    - `revive`: starts a dead machine, or its agent, again; raises CannotRevive, LookupError.
    - `kafka`: {AZ of clients ("": outside): {broker: address for Kafka clients}}; None: no Kafka listener.
    """

    def __init__(
        self,
        locate: Callable[[str], Awaitable[str]],
        routes: Mapping[str, Mapping[str, Address]],
        token: str,
        *,
        run_dir: str | None = RUN_DIR,
        revive: Callable[[str], Awaitable[None]],
        kafka: Mapping[str, Mapping[str, Address]] | None = None,
    ) -> None:
        self._locate = locate
        self._routes = {node: dict(others) for node, others in routes.items()}
        self._token = token
        self._run_dir = run_dir
        self._revive = revive
        self._kafka = {az: dict(brokers) for az, brokers in (kafka or {}).items()}
        self._keepers: dict[str, _AgentConnection] = {}
        self._processes: dict[int, _Process] = {}
        self._count = 0
        self._nursery: trio.Nursery | None = None
        self._listening = trio.Event()

    @property
    def pid(self) -> int:
        return 0

    @property
    def ports(self) -> dict[str, int]:
        return dict.fromkeys(self._routes, NODE_PORT)

    @property
    def kafka(self) -> dict[str, dict[str, Address]]:
        return self._kafka

    def run_dir_in(self, run_dir: str) -> str:
        return self._run_dir or run_dir

    def routes(self, node: str) -> dict[str, Address]:
        return self._routes[node]

    def listen_here(self, node: str) -> socket.socket:
        return listen_on(0, node)

    async def listen(self) -> None:
        async with trio.open_nursery() as nursery:
            self._nursery = nursery
            self._listening.set()
            await trio.sleep_forever()

    async def reach(self, node: str) -> None:
        await self._keeper(node)

    async def launch(self, order: ProcessOrder, token: str) -> Launched:
        node = order.settings.life.node.name
        agent = await self._keeper(node)
        answer = await agent.ask(LaunchRequest(order=_encode(order)))
        if not isinstance(answer, LaunchResponse):
            raise ClusterError(f"{node}: its machine went away while the node was started")
        if answer.problem:
            raise ClusterError(answer.problem)
        self._count += 1
        number = self._count  # other launches may run while this one waits
        self._processes[number] = _Process(node, answer.pid)
        with trio.move_on_after(ANSWER_LIMIT_S):
            control = await ControlConnection.open(Address(agent.host, NODE_PORT), token, node)
            return Launched(number, control)
        raise ClusterError(f"{node}: its machine died while the node was started")

    async def send_signal(self, pid: int, number: int) -> bool:
        node, remote = self._processes[pid]
        answer = await self._keepers[node].ask(SignalRequest(pid=remote, number=number))
        return isinstance(answer, SignalResponse) and answer.alive

    async def wait_ended(self, pid: int) -> int:
        node, remote = self._processes[pid]
        return await self._keepers[node].wait_ended(remote)

    async def wait_halted(self, pid: int, halted: bool = True) -> None:
        node, remote = self._processes[pid]
        await self._keepers[node].wait_halted(remote, halted)

    def close(self) -> None:
        """Close the connections to the agents. The machines stay; their agents then end the nodes."""
        for agent in self._keepers.values():
            agent.close()

    async def _keeper(self, node: str) -> "_AgentConnection":
        """The connection to the node's agent. Raises ClusterError."""
        line = self._keepers.get(node)
        if line is not None and not line.gone:
            return line
        await self._listening.wait()
        assert self._nursery is not None
        why = "it was not tried"
        with trio.move_on_after(KEEPER_LIMIT_S):
            while True:
                try:
                    host = await self._locate(node)
                    line = await _AgentConnection.open(host, self._token)
                except (OSError, LookupError) as error:  # no machine, or its agent does not listen yet
                    why = str(error) or why
                else:
                    self._keepers[node] = line
                    self._nursery.start_soon(line.listen)
                    return line
                try:
                    await self._revive(node)
                except CannotRevive as error:
                    if node in self._keepers:  # it was there; else it may be about to start
                        raise ClusterError(f"{node}: {error}") from None
                    why = str(error)
                except LookupError as error:
                    why = str(error)
                await trio.sleep(RETRY_S)
        raise ClusterError(f"{node}: no agent answered on the control network within {KEEPER_LIMIT_S:g} s: {why}")


@dataclass(slots=True)
class _Pending:
    """A pending answer."""

    expected: type[Message]
    answer: Message | None = None


class _AgentConnection:
    """The supervisor's connection to one agent.

    Orders go one after the other; reports come between. If an agent breaks the protocol, the connection is closed, and
    standard error has the reason: its machine counts as gone.
    """

    def __init__(self, host: str, stream: trio.SocketStream) -> None:
        self.host = host
        self.gone = False
        self._stream = stream
        self._lock = trio.Lock()
        self._pending: deque[_Pending] = deque()
        """Pending answers, in order; a request may have been given up meanwhile."""
        self._ends: dict[int, int] = {}
        """{process id: its exit code}; see PROCESSES_MAX."""
        self._halted: set[int] = set()
        self._changed = trio.Event()

    @classmethod
    async def open(cls, host: str, token: str) -> "_AgentConnection":
        """Raises OSError."""
        with trio.move_on_after(CONNECT_LIMIT_S):
            return await cls._open(host, token)
        raise TimeoutError(f"no answer from {host} within {CONNECT_LIMIT_S:g} s")

    @classmethod
    async def _open(cls, host: str, token: str) -> "_AgentConnection":
        stream = await trio.open_tcp_stream(host, AGENT_PORT)
        hello = Hello(node="injector", incarnation=1, connection=1, purpose=CONTROL, token=token)
        try:
            await stream.send_all(encode(hello))
        except trio.BrokenResourceError as error:
            raise OSError("the agent closed the connection") from error
        return cls(host, stream)

    async def listen(self) -> None:
        """Handle the agent's messages until it is gone: then all its processes are."""
        decoder = FrameDecoder()
        try:
            while data := await self._stream.receive_some():
                for payload in decoder.feed(data):
                    self._take(decode(payload).message)
                    self._tell()
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            pass  # as its end of stream: the machine died
        except ProtocolError as error:
            print(f"agent at {self.host}: closed after an invalid message: {error}", file=sys.stderr, flush=True)
        finally:
            self.gone = True
            self._tell()
            await trio.aclose_forcefully(self._stream)

    def _take(self, message: Message) -> None:
        """Raises ProtocolError."""
        match message:
            case ProcessEnded(pid=pid, code=code):
                self._ends[pid] = code
                if len(self._ends) > PROCESSES_MAX:
                    raise ProtocolError(f"more than {PROCESSES_MAX} processes have ended there")
                self._halted.discard(pid)
            case ProcessHalted(halted=True) if len(self._halted) >= PROCESSES_MAX:
                raise ProtocolError(f"more than {PROCESSES_MAX} processes are stopped there")
            case ProcessHalted(pid=pid, halted=True):
                self._halted.add(pid)
            case ProcessHalted(pid=pid):
                self._halted.discard(pid)
            case _ if self._pending and type(message) is self._pending[0].expected:
                self._pending.popleft().answer = message
            case _:
                raise ProtocolError(f"{message.API_NAME}, which is no answer to a pending order")

    def _tell(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def ask(self, order: Message) -> Message | None:
        """Send an order; None: the agent is gone, or too slow, which has the same effect.

        An agent whose connection closes ends its node.
        """
        async with self._lock:
            pending = _Pending(REGISTRY[order.API_KEY, RESPONSE])
            self._pending.append(pending)
            with trio.move_on_after(ANSWER_LIMIT_S):
                try:
                    await self._stream.send_all(encode(order))
                except (trio.BrokenResourceError, trio.ClosedResourceError):
                    return None
                while pending.answer is None and not self.gone:
                    await self._changed.wait()
                return pending.answer
            await trio.aclose_forcefully(self._stream)
            return None

    async def wait_ended(self, pid: int) -> int:
        while pid not in self._ends and not self.gone:
            await self._changed.wait()
        return self._ends.get(pid, KILLED)

    async def wait_halted(self, pid: int, halted: bool) -> None:
        while (pid in self._halted) is not halted and pid not in self._ends and not self.gone:
            await self._changed.wait()

    def close(self) -> None:
        self._stream.socket.close()
