"""The shell runs one machine: a bounded mailbox, a step per input, its effects in order.

Readers of connections and the clock put letters into the mailbox; the shell takes one, steps the machine without
waiting, and carries out its effects. It takes a reader's letters in the reader's own task (`turn`), others in its own:
most inputs need no change of task. Events of client level are on disk before any frame leaves. A full mailbox blocks
the readers, and so slows down the senders.

A machine's exception is a bug: the last event has its place, and the process ends with code 70. Faults of the world are
inputs.
"""

import socket
import traceback
from collections.abc import Awaitable, Callable
from pathlib import Path as FilePath
from typing import Any

import trio

from emulator.faults.enforcement import LinkState
from emulator.storage.disk import DiskFiles
from emulator.toplevel_errors import LACKING
from emulator.worlds.network.clock import Clock
from emulator.worlds.network.connection import State
from emulator.worlds.network.event_file import FLUSH_REAL_S, EventFile
from emulator.worlds.network.mailbox import Letter, Mailbox, Turn
from emulator.worlds.network.recorder import InputRecorder
from emulator.worlds.network.spec import EXIT_CRASHED, ShellSettings
from emulator.worlds.network.switchboard import Switchboard
from emulator.worlds.network.timekeeper import Timekeeper
from protocol.conversations import AcceptsMessages
from protocol.events import Event, NodeStarted, NodeStopped
from protocol.hardware import SOUND, Hardware
from protocol.kinds import ExitKind
from protocol.link_rules import LinkRule
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionLost,
    ConnectionOpened,
    Emit,
    Exit,
    Machine,
    Now,
    Open,
    ReportsStatus,
    Send,
    SetTimer,
    Started,
    StopRequested,
    TimerFired,
    TimerKey,
)
from protocol.messages.status_messages import NodeStatus

LEAVE_LIMIT_MS = 30_000.0
"""Limit in scenario time for frames of an ended process that a slow link still holds back."""
BURST = 32
"""Inputs stepped before frames are written and other tasks get their turn."""

ExtraEffects = Callable[[Any], "Awaitable[Any] | None"]
"""Does an effect the shell does not know.

The awaitable's result, unless None, becomes an input of the machine.
"""


class NodeShell:
    """Runs `machine` as the node of `settings.life`, on an already listening socket.

    `await run()` returns its Exit. `begin` must be called before anything happens. In-process shells (the scenario's
    player) use `extra_effects` for orders to the world.
    """

    def __init__(
        self,
        settings: ShellSettings,
        machine: Machine,
        listener: socket.socket,
        extra_effects: ExtraEffects | None = None,
        files: DiskFiles | None = None,
    ) -> None:
        life = settings.life
        self.settings = settings
        self.name = life.node.name
        self.clock = Clock(settings.epoch_s, settings.wall_epoch_ms, settings.speed)
        self.links = LinkState(self.name, life.seed)
        self.events = EventFile(FilePath(settings.run_dir), life.run, self.name, life.incarnation, settings.levels)
        self.listener = listener
        self.begun = trio.Event()
        self.exit: Exit | None = None
        self._over = False
        """Whether the whole run is over."""
        self._machine = machine
        self._extra_effects = extra_effects
        self._files = files
        self._mailbox = Mailbox()
        self.post_letter, self.wait_room = self._mailbox.post, self._mailbox.wait_room
        self.turn = Turn(self._mailbox, self._take_turn)
        self._failure: Exception | None = None
        """Raised in a reader's turn; the shell's own task raises it again."""
        self._time = Timekeeper(
            self.clock, self.look_at_clock, self._timer_fired, lambda report: self.emit(report, "clock")
        )
        self.call_at = self._time.call_at
        """(due ms, callback): a deadline of the shell."""
        accepted = machine.ACCEPTED_MESSAGES if isinstance(machine, AcceptsMessages) else None
        self.switchboard = Switchboard(self, self.links, accepted)
        self._awaited: list[tuple[Callable[[], bool], trio.Event]] = []
        self._flush_due = False
        self.now = self.clock.now()
        self._nursery: trio.Nursery | None = None
        self._recorder = InputRecorder(settings) if settings.record_inputs else None
        self._stall_ms = 0.0
        """Additional time of the step under way, for its disk is slow."""
        self._held: tuple[list[Any], str] | None = None
        """Its effects, and its cause, meanwhile."""
        self._hardware = SOUND
        self.set_hardware(settings.hardware)

    # --- from outside ----------------------------------------------------------------------------------------

    def begin(self, rules: tuple[LinkRule, ...] = ()) -> None:
        """Give the machine its first input; `rules` are in force before it."""
        self.look_at_clock()
        for rule in rules:
            self.apply(rule)
        life = self.settings.life
        roles, versions_and_settings = ",".join(life.node.roles), (*self.settings.versions, self.settings.settings)
        self.emit(NodeStarted(roles, life.node.az, *versions_and_settings), "start")
        self.post_letter(Letter(Started(life.seed, life.incarnation), "start"))
        self._time.begin()
        self.begun.set()

    def request_stop(self) -> None:
        """Request a stop, as SIGTERM does."""
        self.post_letter(Letter(StopRequested(), "stop"))

    def end(self, reason: str) -> None:
        """End the run: the shell ends after its present step, without an input for the machine."""
        self._over = True
        self.exit = self.exit or Exit(0, reason)
        self.events.flush()
        self._mailbox.wake()

    def announce_pause(self) -> None:
        """The injector is about to stop this process: its events until now can be read meanwhile."""
        self.report_and_flush()
        self._time.announce_pause()

    def paused(self, from_ms: float, to_ms: float) -> None:
        """The injector had stopped this process for exactly this time, which is no lateness."""
        self._time.paused(from_ms, to_ms)

    def apply(self, rule: LinkRule) -> float:
        """Put a rule in force, and its event in the file; return since when."""
        self.look_at_clock()
        self.links.apply(self.now.mono_ms, rule)
        self.switchboard.links_changed()
        self.events.flush()
        return self.now.mono_ms

    def heal(self, rule_id: str, packets_dropped: int = 0) -> tuple[float, bool]:
        """Lift a rule: (since when, whether it was in force)."""
        self.look_at_clock()
        known = self.links.heal(self.now.mono_ms, rule_id, packets_dropped)
        self.switchboard.links_changed()
        self.events.flush()
        return self.now.mono_ms, known

    def break_disk(self, folder: str, *, fails: bool) -> tuple[float, int]:
        """Make the disk full, or failing: (since when, bytes on it, or -1 without a disk)."""
        used_bytes = self._files.break_down(folder, fails) if self._files is not None else -1
        return self.clock.now_ms(), used_bytes

    def set_hardware(self, hardware: Hardware) -> float:
        """Set this node's hardware; return since when."""
        self._hardware = hardware
        self.clock.wall_epoch_ms = self.settings.wall_epoch_ms + hardware.clock_ahead_ms
        if self._files is not None:
            self._files.operation_hook = self._before_storage if hardware.slow else None
        return self.look_at_clock().mono_ms

    def _before_storage(self, operation: str, path: str) -> None:
        self._stall_ms += self._hardware.takes_ms(operation)

    def status(self) -> NodeStatus | None:
        """The machine's status between two steps; None: it has none."""
        if not isinstance(self._machine, ReportsStatus):
            return None
        status = self._machine.status(self.clock.now())
        status.errors = self.switchboard.response_errors.report()
        return status

    async def until(self, condition: Callable[[], bool]) -> None:
        """Return once `condition` holds. It is evaluated now, then after each burst of steps."""
        if not condition():
            holds = trio.Event()
            self._awaited.append((condition, holds))
            await holds.wait()

    def _notify_awaited(self) -> None:
        for entry in [entry for entry in self._awaited if entry[0]()]:
            self._awaited.remove(entry)
            entry[1].set()

    def post(self, event: Any, cause: str) -> None:
        """An input from outside the shell, for instance the answer to an extra effect."""
        self.post_letter(Letter(event, cause))

    def emit(self, event: Event, cause: str) -> None:
        """Write an event of the shell itself."""
        self.events.write(event, cause, self.now)
        if not self._flush_due:
            self._flush_soon()

    # --- life ------------------------------------------------------------------------------------------------

    async def run(self, *tasks: Callable[[], Awaitable[None]]) -> Exit:
        """Run until the machine exits or crashes; `tasks` run beside it.

        The tasks accept connections and handle signals. The listener and all connections are closed afterwards.
        """
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                nursery.start_soon(self._time.run)
                for task in tasks:
                    nursery.start_soon(task)
                await self._act()
                await self._last_words()
                nursery.cancel_scope.cancel()
        except Exception as error:
            self._crash(error)
            assert self.exit is not None
            self._write_exit()
        finally:
            self.listener.close()
            self.switchboard.close_all()
            self._time.close()
            self._close_events()
            if self._recorder is not None:
                self._recorder.close()
        assert self.exit is not None
        return self.exit

    @property
    def nursery(self) -> trio.Nursery:
        assert self._nursery is not None, "the shell is not running"
        return self._nursery

    async def _act(self) -> None:
        letters = self._mailbox.letters
        while self.exit is None:
            if not letters and self._held is None and self._failure is None:
                await self._mailbox.wait()
            if self._failure is not None:
                raise self._failure
            self._work()
            if self._held is not None:
                await self._finish_slowly(*self._held)
            if letters:
                await trio.lowlevel.checkpoint()

    def _take_turn(self) -> None:
        """Work in a reader's task; the shell's own task does the rest, and raises the exceptions."""
        if self.exit is None:
            try:
                self._work()
            except Exception as error:
                self._failure = error
        if self._mailbox.letters or self._held is not None or self.exit is not None or self._failure is not None:
            self._mailbox.wake()

    def _work(self) -> None:
        """Handle some of the letters, and write what they order."""
        self._handle_some()
        self.switchboard.write_out()
        if self._awaited:
            self._notify_awaited()
        self._mailbox.let_readers_go_on()

    def _handle_some(self) -> None:
        letters = self._mailbox.letters
        for _ in range(min(BURST, len(letters))):
            if self.exit is not None or self._held is not None:
                return
            self._handle(letters.popleft())

    async def _finish_slowly(self, effects: list[Any], cause: str) -> None:
        """A step that a slow disk holds: what it orders happens at its end, and inputs wait."""
        held_ms = self.clock.now_ms()
        await trio.sleep(self.clock.real_s(self._stall_ms))
        self._time.held(held_ms, held_ms + self._stall_ms)
        self._stall_ms, self._held = 0.0, None
        if self.exit is None:
            self._carry_out(effects, cause, self.look_at_clock())
            self.switchboard.write_out()
            if self._awaited:
                self._notify_awaited()

    async def _last_words(self) -> None:
        """Send the remaining frames, as a kernel does after a process's end; then write the end.

        A run that is over waits for no link: no node listens any more.
        """
        assert self.exit is not None
        self._time.report_now()
        if not self._over:
            trio.lowlevel.notify_closing(self.listener)
            self.listener.close()  # a dead process's port refuses
            with trio.move_on_after(self.clock.real_s(LEAVE_LIMIT_MS)):
                await self.switchboard.leave()
        self._write_exit()
        self.flush()
        self.switchboard.write_out()
        with trio.move_on_after(1.0):
            await self.switchboard.drain_all()

    def _write_exit(self) -> None:
        assert self.exit is not None
        self.switchboard.end_translations()
        code = 1 if self.exit.code == EXIT_CRASHED else self.exit.code
        stopped = NodeStopped(code=code, reason=self.exit.reason, kind=self.exit.kind)
        for event in (*self.links.last_words(), stopped):
            self.events.write(event, "exit", self.now)

    def _close_events(self) -> None:
        """Close the event files; a full disk at the last line is reported already."""
        try:
            self.events.close()
        except OSError:
            if self.exit is None or self.exit.code != EXIT_CRASHED:
                raise

    def _crash(self, error: Exception) -> None:
        """Handle our bug: put its place into one line, and end.

        A lack of the machine, such as a full disk, is no bug.
        """
        while isinstance(error, ExceptionGroup):
            error = error.exceptions[0]
        if isinstance(error, OSError) and error.errno in LACKING and error.filename:
            self.exit = Exit(EXIT_CRASHED, f"{error.filename}: {error.strerror}", ExitKind.CRASHED)
            return
        frame = traceback.extract_tb(error.__traceback__)[-1]
        place = f"{FilePath(frame.filename).name}:{frame.lineno} in {frame.name}"
        self.exit = Exit(EXIT_CRASHED, f"{type(error).__name__}: {error} ({place})", ExitKind.CRASHED)

    # --- inputs ----------------------------------------------------------------------------------------------

    @property
    def full(self) -> bool:
        """Whether the mailbox is full."""
        return self._mailbox.full

    def look_at_clock(self) -> Now:
        self.now = self.clock.now()
        return self.now

    def _timer_fired(self, key: TimerKey, number: int, due_ms: float) -> None:
        self.post_letter(Letter(TimerFired(key), f"timer:{key[0]}", timer=(number, due_ms)))

    def _handle(self, letter: Letter) -> None:
        """One step and its effects."""
        event, connection = letter.event, letter.connection
        if connection is not None and connection.state in (State.CLOSING, State.ENDED):
            return  # the machine closed it meanwhile
        now = self.look_at_clock()
        if letter.timer is not None:
            number, due_ms = letter.timer
            if not self._time.claim(event.key, number, due_ms, now.mono_ms):
                return
        elif type(event) is ConnectionLost:
            assert connection is not None
            self.switchboard.end(connection)
        elif type(event) is ConnectionOpened:
            assert connection is not None
            connection.opened = True
        try:
            effects: list[Any] = [*self._machine.step(now, event)]
        except Exception as error:
            if self._recorder is not None:
                self._recorder.raised(now, event, letter.payload)
            self._crash(error)
            return
        if self._recorder is not None:
            self._recorder.answered(now, event, letter.payload, effects)
            if not self._flush_due:
                self._flush_soon()
        if self._stall_ms:
            self._held = (effects, letter.cause)
            return
        self._carry_out(effects, letter.cause, now)

    def _carry_out(self, effects: list[Any], cause: str, now: Now) -> None:
        for effect in effects:
            match effect:
                case Send():
                    self.switchboard.send(effect, cause)
                case Emit():
                    self.events.write(effect.event, cause, now)
                    if not self._flush_due:
                        self._flush_soon()
                case SetTimer(key, after_ms):
                    self._time.set(key, now.mono_ms + after_ms)
                case CancelTimer(key):
                    self._time.cancel(key)
                case Open():
                    self.switchboard.open(effect, cause)
                case Close():
                    self.switchboard.close(effect, cause)
                case Exit():
                    self.exit = effect
                    return
                case _:
                    self._extra(effect)

    def _extra(self, effect: Any) -> None:
        assert self._extra_effects is not None, f"{self.name}: no such effect here: {effect!r}"
        doing = self._extra_effects(effect)
        if doing is not None:
            self.nursery.start_soon(self._await_extra, doing)

    async def _await_extra(self, doing: Awaitable[Any]) -> None:
        answer = await doing
        if answer is not None:
            self.post(answer, "command")

    # --- files -----------------------------------------------------------------------------------------------

    def _flush_soon(self) -> None:
        """Set the deadline of the next flush: one, however often frames demand a flush before."""
        self._flush_due = True
        self.call_at(self.clock.now_ms() + FLUSH_REAL_S * 1000 * self.clock.speed, self._flush_by_deadline)

    def _flush_by_deadline(self) -> None:
        self._flush_due = False
        self.flush()

    def report_and_flush(self) -> None:
        """Write the lateness until now, so that the next stop does not hide an earlier one."""
        self._time.report_now()
        self.flush()

    def flush(self) -> None:
        self.events.flush()
        if self._recorder is not None:
            self._recorder.flush()
