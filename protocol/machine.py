"""Interface of a machine: one input and the time go in, effects come out.

A machine never reads a clock, a socket or a random source. Its world (emulator/worlds) carries out the effects in their
order. Data that must be on disk before a message leaves is written through the injected `Files` before the machine
returns the `Send`. A machine cannot tell which world runs it.

Time comes as a pair because Kafka uses both: `mono_ms` for time-outs, `wall_ms` for stored timestamps.

Inputs and effects, like messages and events, are data without references to their holder; so the collector of cycles
need not track them (`gc=False`).
"""

from enum import StrEnum
from typing import Protocol, runtime_checkable

import msgspec

from protocol.events import Event
from protocol.kinds import ExitKind
from protocol.messages.message_base import Message
from protocol.messages.status_messages import NodeStatus

TimerKey = tuple[str | int, ...]
"""A timer's name, its owner's first: ("isr-shrink",), ("fetch-wait", 17). A reset moves it."""


class Now(msgspec.Struct, frozen=True, gc=False):
    """The time of an input.

    Scenario milliseconds: a clock that runs N times faster is invisible here.
    """

    mono_ms: float
    wall_ms: float


# --- inputs: facts, in the past tense -------------------------------------------------------------------------------


class Started(msgspec.Struct, frozen=True, gc=False, tag="started"):
    """First input of an incarnation. `seed` is a machine's only source of randomness."""

    seed: int
    incarnation: int


class ConnectionAccepted(msgspec.Struct, frozen=True, gc=False, tag="accepted"):
    """`peer` opened a connection to us, for `purpose`. `connection` is negative."""

    connection: int
    peer: str
    purpose: str


class ConnectionOpened(msgspec.Struct, frozen=True, gc=False, tag="opened"):
    """An outgoing connection (`Open`) was established."""

    connection: int


class Loss(StrEnum):
    """Reason why a connection is lost. The value is the text without further details."""

    REFUSED = "connection refused"
    """No process listens at the peer."""
    TIMED_OUT = "connection timed out"
    """TCP has given up."""
    CLOSED = "closed by peer"
    """The peer closed an established connection, or sent bytes that are no frame."""
    RESET = "connection reset"
    """A fault reset it here; the peer sees CLOSED."""


class ConnectionLost(msgspec.Struct, frozen=True, gc=False, tag="lost"):
    """A connection was refused, closed by the peer, or torn.

    Never sent after our own `Close`. No further input comes from this connection. `reason`: for people.
    """

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
    """A timer fired. Never sent after a cancellation or move, however long this input waited."""

    key: TimerKey


class StopRequested(msgspec.Struct, frozen=True, gc=False, tag="stop"):
    """SIGTERM: stop in order (controlled shutdown, checkpoints, marker), then `Exit(0)`."""


Input = Started | ConnectionAccepted | ConnectionOpened | ConnectionLost | MessageReceived | TimerFired | StopRequested

# --- effects: orders ------------------------------------------------------------------------------------------------


class Open(msgspec.Struct, frozen=True, gc=False, tag="open"):
    """Open a connection to node `to`; ConnectionOpened or ConnectionLost follows.

    `connection` is positive and new.
    """

    connection: int
    to: str
    purpose: str


class Close(msgspec.Struct, frozen=True, gc=False, tag="close"):
    """Close a connection after earlier frames have left. No input follows for it.

    `refuses`: of one just accepted, whose port is not bound yet: in the simulated world the opener sees a refusal.
    """

    connection: int
    refuses: bool = False


class Send(msgspec.Struct, frozen=True, gc=False, tag="send"):
    """Send on an established connection; on a lost one the frame is dropped."""

    connection: int
    correlation_id: int
    version: int
    message: Message


class SetTimer(msgspec.Struct, frozen=True, gc=False, tag="set-timer"):
    """TimerFired(key) once, `after_ms` from now. Replaces a timer of the same key."""

    key: TimerKey
    after_ms: float


class CancelTimer(msgspec.Struct, frozen=True, gc=False, tag="cancel-timer"):
    """Cancel a timer: no TimerFired(key) after this, not even one already due."""

    key: TimerKey


class Emit(msgspec.Struct, frozen=True, gc=False, tag="emit"):
    """Write an event. The world adds the envelope (cause: the input being handled)."""

    event: Event


class Exit(msgspec.Struct, frozen=True, gc=False, tag="exit"):
    """End the process, after the earlier effects. `code` 0: requested. `reason`: for people."""

    code: int
    reason: str
    kind: ExitKind = ExitKind.REQUESTED


Effect = Open | Close | Send | SetTimer | CancelTimer | Emit | Exit


class Machine(Protocol):
    """Interface that a world runs."""

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input. The caller owns the list."""
        ...


@runtime_checkable
class ReportsStatus(Protocol):
    """A machine that reports its status, also before its first input. Reading changes nothing."""

    def status(self, now: Now) -> NodeStatus: ...


ConnectionEvent = ConnectionOpened | ConnectionLost | MessageReceived
