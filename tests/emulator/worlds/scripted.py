"""A machine that follows a script and reports its sightings.

The conformance suite's only actor. It is the same in either world. It reports everything as ScenarioStep events whose
text is a sighting, such as `opened 1`, `accepted session-0 client`, `got 7`, `lost ours REFUSED connection refused`,
`timer tick`. Messages are SessionPing; an answer carries the number that was sent as its zxid.
"""

from typing import Any

import msgspec

from emulator.storage.files import Files
from protocol.events import OperationInvoked, ScenarioStep
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Input,
    Loss,
    MessageReceived,
    Now,
    Started,
    StopRequested,
    TimerFired,
)
from protocol.messages.session_messages import PingRequest, PingResponse
from protocol.outbox import Outbox
from protocol.purposes import CLIENT

JOURNAL = "journal"


class Script(msgspec.Struct, frozen=True):
    """The script of a machine.

    `open_to`: whom to connect to at the start, with `purpose`; again `reopen_ms` after each loss (0: not). `every_ms`:
    a numbered message on each connection of ours, `count` at most. `answers`: each is answered. `timers`: [name, after
    ms] set at the start; `cancelled`: names cancelled by the first timer that fires. `close_after`: closes the
    connection after so many messages sent. `journal_every_ms`: appends a byte to a file, fsyncs up to its
    `journal_syncs_until`th. `crash_at`: raises at the N-th message. `burst`: messages sent at once when opened.
    `hangs_up_at`: closes an accepted connection, or any, when the N-th message has come. `leaves_after`: exits after so
    many messages sent. `tells_wall`: how far its wall clock is before its other one, with each entry of the journal.
    """

    open_to: tuple[str, ...] = ()
    purpose: str = CLIENT
    reopen_ms: float = 0.0
    every_ms: float = 0.0
    count: int = 1_000_000
    answers: bool = True
    timers: tuple[tuple[str, float], ...] = ()
    cancelled: tuple[str, ...] = ()
    close_after: int = 0
    journal_every_ms: float = 0.0
    journal_syncs_until: int = 0
    crash_at: int = 0
    burst: int = 0
    exit_at: int = 0
    hangs_up_at: int = 0
    leaves_after: int = 0
    client_events: bool = False
    tells_wall: bool = False


def seen_by_step(*_: object) -> None:
    """All arrivals of a step, for writers that look at them in one place."""


class ScriptedMachine:
    """See Script."""

    def __init__(self, script: Script, files: Files) -> None:
        self._script = script
        self._files = files
        self._out = Outbox()
        self._sent: dict[int, int] = {}
        self._got = 0
        self._seen = 0

    def step(self, now: Now, event: Input) -> list[Effect]:
        script = self._script
        match event:
            case Started(_, incarnation):
                found = self._files.size(JOURNAL) if self._files.exists(JOURNAL) else 0
                self._see(f"started {incarnation} journal {found}")
                for name, after_ms in script.timers:
                    self._out.set_timer((name,), after_ms, seen_by_step)
                for to in script.open_to:
                    self._open(to)
                if script.journal_every_ms:
                    self._out.set_timer(("journal",), script.journal_every_ms, seen_by_step)
            case ConnectionAccepted(_, peer, purpose):
                self._see(f"accepted {peer} {purpose}")
            case ConnectionOpened(connection):
                self._see(f"opened {connection}")
                self._sent[connection] = 0
                for _ in range(script.burst):
                    self._say(connection)
                if script.every_ms:
                    self._out.set_timer(("say", connection), script.every_ms, seen_by_step)
            case ConnectionLost(connection, reason, loss):
                kind = f"{loss.name} " if loss is not Loss.CLOSED else ""
                self._see(f"lost {'ours' if connection > 0 else 'theirs'} {kind}{reason}")
                self._sent.pop(connection, None)
                if connection > 0 and script.reopen_ms:
                    key = ("reopen", script.open_to[(connection - 1) % len(script.open_to)])
                    self._out.set_timer(key, script.reopen_ms, seen_by_step)
            case MessageReceived():
                self._receive(event)
            case TimerFired(("say", int(connection))):
                if connection in self._sent and self._sent[connection] < script.count:
                    self._say(connection)
                    self._out.set_timer(("say", connection), script.every_ms, seen_by_step)
            case TimerFired(("reopen", str(to))):
                self._open(to)
            case TimerFired(("journal",)):
                size_bytes = self._files.append(JOURNAL, b".")
                if size_bytes <= script.journal_syncs_until:
                    self._files.fsync(JOURNAL)
                self._see(f"journal {size_bytes}")
                if script.tells_wall:
                    self._see(f"wall {now.wall_ms - now.mono_ms:.0f}")
                self._out.set_timer(("journal",), script.journal_every_ms, seen_by_step)
            case TimerFired(key):
                self._see(f"timer {key[0]}")
                for name in script.cancelled:
                    self._out.cancel_timer((name,))
            case StopRequested():
                self._see("stop")
                self._out.exit(0, "asked to")
        return self._out.take()

    def _receive(self, event: MessageReceived) -> None:
        self._got += 1
        if self._got == self._script.crash_at:
            raise AssertionError("as the script says")
        match event.message:
            case PingRequest():
                self._see(f"got {event.correlation_id}")
                if self._script.answers:
                    self._out.send(event.connection, PingResponse(zxid=event.correlation_id), event.correlation_id)
            case PingResponse(zxid=zxid):
                self._see(f"answer {zxid}")
        if self._got == self._script.hangs_up_at:
            self._close(event.connection)
        if self._got == self._script.exit_at:
            self._out.exit(3, "as the script says")

    def _say(self, connection: int) -> None:
        self._sent[connection] += 1
        number = self._sent[connection]
        if self._script.client_events:
            self._out.emit(
                OperationInvoked(
                    operation=f"op:{number}",
                    kind="produce",
                    topic="t",
                    partition=0,
                    acks=1,
                    value="v",
                    broker=0,
                    offset=-1,
                )
            )
        self._out.send(connection, PingRequest(), number)
        self._see(f"said {number}")
        if number == self._script.close_after:
            self._close(connection)
        if number == self._script.leaves_after:
            self._out.exit(0, "has said it")

    def _close(self, connection: int) -> None:
        self._out.close(connection)
        self._sent.pop(connection, None)
        self._see(f"closed {connection}")

    def _open(self, to: str) -> None:
        self._out.open(to, self._script.purpose, seen_by_step)

    def _see(self, text: str) -> None:
        self._seen += 1
        self._out.emit(ScenarioStep(step=self._seen, text=text))


def build(life: Any, files: Files, arguments: dict[str, Any]) -> ScriptedMachine:
    """The factory that worlds are given: arguments are the fields of Script."""
    return ScriptedMachine(msgspec.convert(arguments, Script), files)
