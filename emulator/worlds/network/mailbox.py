"""The mailbox of a shell, and types between the shell and its switchboard."""

from collections import deque
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any, Final, NamedTuple, Protocol

import trio

from emulator.worlds.network.clock import Clock
from emulator.worlds.network.connection import Connection
from emulator.worlds.network.event_file import EventFile
from emulator.worlds.network.spec import ShellSettings
from protocol.events import Event
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import ProduceRequest

MAILBOX_MAX: Final = 1024
"""Limit of waiting inputs; readers pause above it."""


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


class Mailbox:
    """Inputs that wait for the machine, in their order. A full one blocks the readers."""

    __slots__ = ("_readers_wait", "_room", "_wake", "in_turn", "letters")

    def __init__(self) -> None:
        self.letters: deque[Letter] = deque()
        self.in_turn = False
        """A reader takes what it posts itself: the shell's task sleeps on."""
        self._wake = trio.Event()
        self._room = trio.Event()
        self._room.set()
        self._readers_wait = False

    def post(self, letter: Letter) -> None:
        self.letters.append(letter)
        if not self.in_turn:
            self._wake.set()

    def wake(self) -> None:
        """Wake the shell's task, which may have something to do besides letters."""
        self._wake.set()

    async def wait(self) -> None:
        """Wait for a letter, or for `wake`."""
        self._wake = trio.Event()
        await self._wake.wait()

    @property
    def full(self) -> bool:
        """Whether readers should wait."""
        return len(self.letters) >= MAILBOX_MAX

    async def wait_room(self) -> None:
        """Return when there is room again: backpressure for readers."""
        if self.full and not self._readers_wait:
            self._readers_wait, self._room = True, trio.Event()
        await self._room.wait()

    def let_readers_go_on(self) -> None:
        """Wake the readers that wait, if there is room again."""
        if self._readers_wait and len(self.letters) < MAILBOX_MAX // 2:
            self._readers_wait = False
            self._room.set()


class Turn(AbstractContextManager[None, None]):
    """Block of a reader that posts letters.

    `take` handles them at its end, in the reader's task.
    """

    __slots__ = ("_mailbox", "_take")

    def __init__(self, mailbox: Mailbox, take: Callable[[], None]) -> None:
        self._mailbox = mailbox
        self._take = take

    def __enter__(self) -> None:
        self._mailbox.in_turn = True

    def __exit__(self, *_raised: object) -> None:
        try:
            self._take()
        finally:
            self._mailbox.in_turn = False


class Host(Protocol):
    """The shell as the switchboard sees it."""

    name: str
    settings: ShellSettings
    clock: Clock
    events: EventFile
    now: Now

    @property
    def turn(self) -> AbstractContextManager[None, None]:
        """Block of a reader that posts letters.

        At its end the machine has handled them, and the frames are written.
        """

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
