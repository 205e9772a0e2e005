"""The supervisor's control connection to one node, and what it knows of that node's processes."""

from dataclasses import dataclass, field

import trio

from emulator.world.network.spec import Address
from protocol.framing import FrameDecoder, decode, encode
from protocol.messages.base import Message
from protocol.messages.control import Hello
from protocol.purposes import CONTROL


class NodeGone(Exception):
    """The node ended before it answered."""


class ControlConnection:
    """Requests to a node, one after the other.

    Answers come in the same order. Whoever gives up waiting for one leaves it to the next request, which first waits
    for it: nothing piles up at a node that does not answer, and no answer is taken for another."""

    def __init__(self, stream: trio.SocketStream) -> None:
        self._stream = stream
        self._decoder = FrameDecoder()
        self._answers: list[Message] = []
        self._owed = 0
        self._lock = trio.Lock()

    @classmethod
    async def open(cls, address: Address, token: str) -> "ControlConnection":
        """To a socket that listens already, whether or not its process runs yet."""
        stream = await trio.open_tcp_stream(*address)
        hello = Hello(node="injector", incarnation=1, connection=1, purpose=CONTROL, token=token)
        await stream.send_all(encode(hello))
        return cls(stream)

    async def request(self, message: Message) -> Message:
        """The node's answer. Raises NodeGone."""
        async with self._lock:
            try:
                while self._owed:
                    await self._next_answer()
                await self._stream.send_all(encode(message))
                self._owed += 1
                return await self._next_answer()
            except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
                raise NodeGone from error

    async def _next_answer(self) -> Message:
        while not self._answers:
            data = await self._stream.receive_some()
            if not data:
                raise NodeGone
            self._answers += [decode(payload).message for payload in self._decoder.feed(data)]
        self._owed -= 1
        return self._answers.pop(0)

    async def __aenter__(self) -> "ControlConnection":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        await trio.aclose_forcefully(self._stream)


@dataclass(slots=True)
class Supervised:
    """One node. `pid` None: it does not run."""

    incarnation: int = 0
    pid: int | None = None
    control: ControlConnection | None = None
    halted: bool = False
    end_expected: bool = False
    ended: trio.Event = field(default_factory=trio.Event)
