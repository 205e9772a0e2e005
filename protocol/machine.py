"""What a machine is: one input and the time go in, effects come out.

A machine never reads a clock, a socket or a random source. Whoever runs it (emulator/worlds) does what the effects
say, in their order: what must be on disk before a message leaves was written, through the injected `Files`, before
the `Send` that speaks of it was returned. A machine cannot tell which world runs it.

Time comes as a pair because Kafka uses both: `mono_ms` for time-outs, `wall_ms` for what is written down.

Inputs and effects are data that never refers back to whoever holds it, as messages and events are; so the collector of
cycles need not know of them (`gc=False`).
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from protocol.events import Event
from protocol.kinds import ExitKind
from protocol.messages.base import Message
from protocol.messages.status import NodeStatus

TimerKey = tuple[str | int, ...]
"""A timer's name, its owner's first: ("isr-shrink",), ("fetch-wait", 17). Setting it again moves it."""


class Now(msgspec.Struct, frozen=True, gc=False):
    """The time of an input. Scenario milliseconds: a clock that runs N times faster is invisible here."""

    mono_ms: float
    wall_ms: float


# --- inputs: facts, in the past tense -------------------------------------------------------------------------------


class Started(msgspec.Struct, frozen=True, gc=False, tag="started"):
    """First input of a life. `seed` is the only chance a machine ever gets."""

    seed: int
    incarnation: int


class ConnectionAccepted(msgspec.Struct, frozen=True, gc=False, tag="accepted"):
    """`peer` opened a connection to us, for `purpose`. `connection` is negative."""

    connection: int
    peer: str
    purpose: str


class ConnectionOpened(msgspec.Struct, frozen=True, gc=False, tag="opened"):
    """What we asked for with `Open` stands."""

    connection: int


class Loss(StrEnum):
    """Why a connection is lost. The value says it in words, where there is nothing more to say."""

    REFUSED = "connection refused"
    """Nobody listens there."""
    TIMED_OUT = "connection timed out"
    """TCP has given up."""
    CLOSED = "closed by peer"
    """It stood, and the peer has ended it, or what came was no frame."""


class ConnectionLost(msgspec.Struct, frozen=True, gc=False, tag="lost"):
    """Refused, closed by the peer, or torn. Never sent after our own `Close`. Nothing more comes from this
    connection. `reason`: for people."""

    connection: int
    reason: str
    loss: Loss = Loss.CLOSED


class MessageReceived(msgspec.Struct, frozen=True, gc=False, tag="message"):
    """A frame of the peer, decoded and validated."""

    connection: int
    correlation_id: int
    version: int
    message: Message


class TimerFired(msgspec.Struct, frozen=True, gc=False, tag="timer"):
    """Never sent after the timer was cancelled or moved, however long this input has waited."""

    key: TimerKey


class StopRequested(msgspec.Struct, frozen=True, gc=False, tag="stop"):
    """SIGTERM: stop in an orderly way (controlled shutdown, checkpoints, marker), then `Exit(0)`."""


Input = Started | ConnectionAccepted | ConnectionOpened | ConnectionLost | MessageReceived | TimerFired | StopRequested

# --- effects: orders ------------------------------------------------------------------------------------------------


class Open(msgspec.Struct, frozen=True, gc=False, tag="open"):
    """Open a connection to node `to`; answered by ConnectionOpened or ConnectionLost. `connection` is positive and
    new."""

    connection: int
    to: str
    purpose: str


class Close(msgspec.Struct, frozen=True, gc=False, tag="close"):
    """What was sent before still leaves. No input follows for this connection."""

    connection: int


class Send(msgspec.Struct, frozen=True, gc=False, tag="send"):
    """Send on a connection that stands; on one that is gone it is dropped (its loss is on its way)."""

    connection: int
    correlation_id: int
    version: int
    message: Message


class SetTimer(msgspec.Struct, frozen=True, gc=False, tag="set-timer"):
    """TimerFired(key) once, `after_ms` from now. Replaces a timer of the same key."""

    key: TimerKey
    after_ms: float


class CancelTimer(msgspec.Struct, frozen=True, gc=False, tag="cancel-timer"):
    """No TimerFired(key) after this, not even one already due."""

    key: TimerKey


class Emit(msgspec.Struct, frozen=True, gc=False, tag="emit"):
    """Write an event. The world adds the envelope (cause: the input being handled)."""

    event: Event


class Exit(msgspec.Struct, frozen=True, gc=False, tag="exit"):
    """The process ends, after the effects before this one. `code` 0: asked for. `reason`: for people."""

    code: int
    reason: str
    kind: ExitKind = ExitKind.ASKED


Effect = Open | Close | Send | SetTimer | CancelTimer | Emit | Exit


class Machine(Protocol):
    """Anything that can be run by a world."""

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input. The list is the caller's."""
        ...


@runtime_checkable
class TellsStatus(Protocol):
    """A machine that says what it thinks, also before its first input. Asking changes nothing."""

    def status(self, now: Now) -> NodeStatus: ...


ConnectionEvent = ConnectionOpened | ConnectionLost | MessageReceived
Owner = Callable[[Now, ConnectionEvent, "Outbox"], None]
"""Is told what becomes of a connection."""
Due = Callable[[Now, "Outbox"], None]
"""Is told that a timer has fired."""


class Outbox:
    """Collects the effects of one step, so that the parts of a machine need not pass lists around; and knows who
    asked for what: whoever opens a connection or sets a timer is told what becomes of it.

    `connection()` numbers the connections that this life of the node opens. """

    __slots__ = ("_effects", "_next_connection", "_owners", "_timers")

    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self._next_connection = 1
        self._owners: dict[int, Owner] = {}
        self._timers: dict[TimerKey, Due] = {}

    def open(self, to: str, purpose: str, owner: Owner) -> int:
        """Order a connection; returns its id. All that comes of it is `owner`'s."""
        connection = self._next_connection
        self._next_connection += 1
        self._owners[connection] = owner
        self._effects.append(Open(connection, to, purpose))
        return connection

    def own(self, connection: int, owner: Owner) -> None:
        """All that comes of a connection that stands is `owner`'s from now on: one that was accepted, or handed on."""
        self._owners[connection] = owner

    def close(self, connection: int) -> None:
        self._owners.pop(connection, None)
        self._effects.append(Close(connection))

    def send(self, connection: int, message: Message, correlation_id: int = 0, version: int = 0) -> None:
        self._effects.append(Send(connection, correlation_id, version, message))

    def set_timer(self, key: TimerKey, after_ms: float, due: Due) -> None:
        """`due` is called when it fires."""
        assert after_ms >= 0, (key, after_ms)
        self._timers[key] = due
        self._effects.append(SetTimer(key, after_ms))

    def cancel_timer(self, key: TimerKey) -> None:
        self._timers.pop(key, None)
        self._effects.append(CancelTimer(key))

    def emit(self, event: Event) -> None:
        self._effects.append(Emit(event))

    def exit(self, code: int, reason: str, kind: ExitKind = ExitKind.ASKED) -> None:
        self._effects.append(Exit(code, reason, kind))

    def route(self, now: Now, event: Input) -> bool:
        """Give an input to its owner. False: it has none, or none any more (whoever owned the connection has closed
        it in the same instant)."""
        if isinstance(event, MessageReceived):  # most are: on the path of every input, so no pattern matching
            owner = self._owners.get(event.connection)
        elif isinstance(event, TimerFired):
            due = self._timers.pop(event.key, None)
            if due is None:
                return False
            due(now, self)
            return True
        elif isinstance(event, ConnectionOpened):
            owner = self._owners.get(event.connection)
        elif isinstance(event, ConnectionLost):
            owner = self._owners.pop(event.connection, None)
        else:
            return False
        if owner is None:
            return False
        owner(now, event, self)
        return True

    def take(self) -> list[Effect]:
        """The effects so far; the outbox is empty afterwards."""
        effects = self._effects
        self._effects = []
        return effects
