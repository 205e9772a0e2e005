"""Between the shell and its switchboard: the letters that pass, and what one asks of the other."""

from typing import Any, NamedTuple, Protocol

import trio

from emulator.worlds.network.clock import Clock
from emulator.worlds.network.connection import Connection
from emulator.worlds.network.event_file import EventFile
from emulator.worlds.network.spec import ShellSettings
from protocol.events import Event
from protocol.machine import Now
from protocol.messages.base import Message
from protocol.messages.replication import ProduceRequest


class Outgoing(NamedTuple):
    """A frame on its way out, with what its events need."""

    frame: bytes
    message: Message
    correlation_id: int
    cause: str


class AnsweredHere(Message):
    """A request of another protocol that the machine has no part in. `frame`: its answer, whole; empty: there is none,
    and its connection ends. `error`: Kafka's code, of a produce that was refused; `refused`: that produce."""

    API_NAME = "Kafka"
    frame: bytes = b""
    error: int = 0
    refused: ProduceRequest | None = None


class Letter(NamedTuple):
    """One input in the mailbox. `timer`: (number, due ms) of a TimerFired."""

    event: Any
    cause: str
    connection: Connection | None = None
    payload: bytes | None = None
    timer: tuple[int, float] | None = None


class Host(Protocol):
    """What the switchboard asks of its shell."""

    name: str
    settings: ShellSettings
    clock: Clock
    events: EventFile
    now: Now

    @property
    def nursery(self) -> trio.Nursery: ...
    @property
    def full(self) -> bool:
        """The mailbox takes no more: readers wait."""

    async def wait_room(self) -> None: ...
    def look_at_clock(self) -> Now: ...
    def post_letter(self, letter: Letter) -> None: ...
    def emit(self, event: Event, cause: str) -> None: ...
    def call_at(self, due_ms: float, callback: Any) -> None: ...
    def flush(self) -> None: ...
