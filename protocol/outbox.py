"""Effects of a machine's parts, and the owners of connections and timers."""

from collections.abc import Callable

from protocol.events import Event
from protocol.kinds import ExitKind
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionEvent,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Exit,
    Input,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
    TimerKey,
)
from protocol.messages.message_base import Message

Owner = Callable[[Now, ConnectionEvent, "Outbox"], None]
"""Callback for inputs of a connection."""
Due = Callable[[Now, "Outbox"], None]
"""Callback for a fired timer."""


class Outbox:
    """Collects the effects of one step, and routes inputs to their owners.

    The part of a machine that opens a connection or sets a timer receives its inputs.

    `connection()` numbers the connections that this incarnation of the node opens.
    """

    __slots__ = ("_effects", "_next_connection", "_owners", "_timers")

    def __init__(self) -> None:
        self._effects: list[Effect] = []
        self._next_connection = 1
        self._owners: dict[int, Owner] = {}
        self._timers: dict[TimerKey, Due] = {}

    def open(self, to: str, purpose: str, owner: Owner) -> int:
        """Open a connection; returns its id. Its inputs go to `owner`."""
        connection = self._next_connection
        self._next_connection += 1
        self._owners[connection] = owner
        self._effects.append(Open(connection, to, purpose))
        return connection

    def own(self, connection: int, owner: Owner) -> None:
        """Route inputs of an established connection to `owner`: an accepted one, or one handed over."""
        self._owners[connection] = owner

    def close(self, connection: int) -> None:
        self._owners.pop(connection, None)
        self._effects.append(Close(connection))

    def refuse(self, connection: int) -> None:
        """Close a connection that was just accepted, as if nothing listened."""
        self._effects.append(Close(connection, refuses=True))

    def send(self, connection: int, message: Message, correlation_id: int = 0, version: int = 0) -> None:
        self._effects.append(Send(connection, correlation_id, version, message))

    def set_timer(self, key: TimerKey, after_ms: float, due: Due) -> None:
        """Set a timer; `due` is called when it fires."""
        assert after_ms >= 0, (key, after_ms)
        self._timers[key] = due
        self._effects.append(SetTimer(key, after_ms))

    def cancel_timer(self, key: TimerKey) -> None:
        self._timers.pop(key, None)
        self._effects.append(CancelTimer(key))

    def keep_only(self, connection: int, key: str) -> None:
        """Drop all connections and timers but one connection, and the timers with this key prefix.

        The machine is about to end. Other connections that it opened are closed; accepted ones end with it.
        """
        for number in [number for number in self._owners if number != connection]:
            if number > 0:
                self.close(number)
            else:
                del self._owners[number]
        for timer in [timer for timer in self._timers if timer[0] != key]:
            self.cancel_timer(timer)

    def cancel_timers_but(self, prefixes: tuple[str, ...]) -> None:
        """Cancel all timers but those whose name begins with one of these prefixes."""
        for timer in [timer for timer in self._timers if not str(timer[0]).startswith(prefixes)]:
            self.cancel_timer(timer)

    def emit(self, event: Event) -> None:
        self._effects.append(Emit(event))

    def exit(self, code: int, reason: str, kind: ExitKind = ExitKind.REQUESTED) -> None:
        self._effects.append(Exit(code, reason, kind))

    def route(self, now: Now, event: Input) -> bool:
        """Route an input to its owner. False: it has none (any more).

        The owner may have closed the connection at the same time.
        """
        # Every input passes here, mostly messages. A comparison of types takes a tenth of the time of a negative
        # isinstance or pattern.
        if type(event) is MessageReceived:
            owner = self._owners.get(event.connection)
        elif type(event) is TimerFired:
            due = self._timers.pop(event.key, None)
            if due is None:
                return False
            due(now, self)
            return True
        elif type(event) is ConnectionOpened:
            owner = self._owners.get(event.connection)
        elif type(event) is ConnectionLost:
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
