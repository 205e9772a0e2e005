"""The supervisor's control connection to one node, and its state of that node's processes."""

import sys
from collections import deque
from dataclasses import dataclass, field

import trio

from emulator.worlds.network.spec import Address
from protocol.framing import FrameDecoder, ProtocolError, decode, encode
from protocol.messages import REGISTRY
from protocol.messages.control import Hello
from protocol.messages.message_base import RESPONSE, Message
from protocol.purposes import CONTROL


class NodeGone(Exception):
    """The node ended before it answered, or broke the protocol."""


class ControlConnection:
    """Requests to a node, one after the other.

    Answers come in the same order. A request that is given up leaves its answer to the next request, which first waits
    for it: nothing piles up at a node that does not answer, and answers are not mixed up. An invalid answer ends the
    connection, and standard error has the reason: the node's machine is not trusted.
    """

    def __init__(self, stream: trio.SocketStream, node: str = "a node") -> None:
        self._stream = stream
        self._node = node
        self._decoder = FrameDecoder()
        self._answers: deque[Message] = deque()
        self._pending: deque[type[Message]] = deque()
        """Pending answers, in order."""
        self._lock = trio.Lock()

    @classmethod
    async def open(cls, address: Address, token: str, node: str = "a node") -> "ControlConnection":
        """Connect to a socket that listens already, whether or not its process runs yet."""
        stream = await trio.open_tcp_stream(*address)
        hello = Hello(node="injector", incarnation=1, connection=1, purpose=CONTROL, token=token)
        await stream.send_all(encode(hello))
        return cls(stream, node)

    async def request(self, message: Message) -> Message:
        """The node's answer, of the type that answers `message`. Raises NodeGone."""
        async with self._lock:
            try:
                while self._pending:
                    await self._next_answer()
                await self._stream.send_all(encode(message))
                self._pending.append(REGISTRY[message.API_KEY, RESPONSE])
                return await self._next_answer()
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                raise NodeGone from error
            except ProtocolError as error:
                print(f"{self._node}: closed after an invalid answer: {error}", file=sys.stderr, flush=True)
                await self.close()
                raise NodeGone from error

    async def _next_answer(self) -> Message:
        """Raises ProtocolError, NodeGone."""
        while not self._answers:
            data = await self._stream.receive_some()
            if not data:
                raise NodeGone
            self._answers += [decode(payload).message for payload in self._decoder.feed(data)]
            if len(self._answers) > len(self._pending):
                raise ProtocolError(f"{self._answers[-1].API_NAME}, which is no answer to a pending request")
        answer, expected = self._answers.popleft(), self._pending.popleft()
        if type(answer) is not expected:
            raise ProtocolError(f"{type(answer).__name__} where {expected.__name__} was due")
        return answer

    async def __aenter__(self) -> "ControlConnection":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await trio.aclose_forcefully(self._stream)


@dataclass(slots=True)
class Supervised:
    """One node. `pid` None: it does not run. `paused_ms`: scenario time of its last pause."""

    incarnation: int = 0
    pid: int | None = None
    control: ControlConnection | None = None
    halted: bool = False
    paused_ms: float = 0.0
    end_expected: bool = False
    ended: trio.Event = field(default_factory=trio.Event)
