"""What a machine is: one input and the time go in, effects come out.

A machine never reads a clock, a socket or a random source. Whoever runs it (emulator/worlds) does what the effects
say, in their order: what must be on disk before a message leaves was written, through the injected `Files`, before
the `Send` that speaks of it was returned. A machine cannot tell which world runs it.

Time comes as a pair because Kafka uses both: `mono_ms` for time-outs, `wall_ms` for what is written down.

Inputs and effects are data that never refers back to whoever holds it, as messages and events are; so the collector of
cycles need not know of them (`gc=False`).
"""

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
