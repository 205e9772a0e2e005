"""Types between the shell and its switchboard: letters, and the interface of the shell."""

from typing import Any, NamedTuple, Protocol

import trio

from emulator.worlds.network.clock import Clock
from emulator.worlds.network.connection import Connection
from emulator.worlds.network.event_file import EventFile
from emulator.worlds.network.spec import ShellSettings
from protocol.events import Event
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import ProduceRequest


class Outgoing(NamedTuple):
    """An outgoing frame, with the fields of its events."""

    frame: bytes
    message: Message
    correlation_id: int
    cause: str


class AnsweredHere(Message):
    """A request of another protocol that is answered without the machine.

    `frame`: its answer, whole; empty: there is none, and its connection ends. `error`: Kafka's code, of a produce that
    was refused; `refused`: that produce.
    """

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
    """The shell as the switchboard sees it."""

    name: str
    settings: ShellSettings
    clock: Clock
    events: EventFile
    now: Now

    @property
    def nursery(self) -> trio.Nursery: ...
    @property
    def full(self) -> bool:
        """Whether the mailbox is full: readers wait."""

    async def wait_room(self) -> None: ...
    def look_at_clock(self) -> Now: ...
    def post_letter(self, letter: Letter) -> None: ...
    def emit(self, event: Event, cause: str) -> None: ...
    def call_at(self, due_ms: float, callback: Any) -> None: ...
    def flush(self) -> None: ...
