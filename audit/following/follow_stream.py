"""Follows a run to its end: takes new lines, has Spark read them, prints findings.

    tail -> stream (Spark) -> followed (pure) -> telling

A process flushes a line within 50 ms, and a look sees a file as it is at one time. So all lines of all nodes that were
written SURELY_READ_S before a look have been read by it (the watermark), unless the look ended before the files did.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from audit.following.finding import Line, Seen
from audit.following.followed import Followed
from audit.following.live_audit_output import End, Telling
from audit.following.stream import Read, Stream
from audit.following.tail import Piece, Tail
from audit.input import RunDirectory
from emulator.exit_codes import BROKEN, HELD, INTERRUPTED, UNKNOWN
from emulator.judging.standstills import Watch, ensemble_of
from emulator.regular_files import read_regular
from emulator.run_layout import EVENTS_FOLDER, SETTINGS_FILE
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    from collections.abc import Iterable

LOOK_S: Final = 0.25
SURELY_READ_S: Final = 0.5
"""Ten times as long as processes buffer a line, as `emulator.cluster.event_snapshot` has it."""
BROKEN_PLACES_MAX: Final = 1_000
"""Maximum of pairs of a file and a reason that are reported; others are only counted."""


class _Speed(msgspec.Struct, frozen=True):
    speed: float = 1.0


class _Live(msgspec.Struct, frozen=True):
    live: str = ""
    nodes: dict[str, Any] = {}


class Follow:
    """Loop of the live audit. `clock`: real seconds."""

    def __init__(
        self, run: RunDirectory, stream: Stream, telling: Telling, *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._run = run
        self._stream = stream
        self._telling = telling
        self._clock = clock
        self._speed = speed_of(run.path)
        self._tail = Tail(run.path / EVENTS_FOLDER)
        self._followed = Followed(watch_of(run.path))
        self._newest = (0.0, 0.0)
        self._broken: dict[tuple[str, str], int] = {}
        self._broken_lines = 0
        self._files_broken: list[str] = []
        self._torn = 0

    def until_over(self, lives: Callable[[], bool], wait: Callable[[float], None] = time.sleep) -> int:
        """Follow until the run is over; return the exit code.

        3: a process stood still. 1: an invariant is violated. 3: none is, but the check is incomplete. 0: none is.
        `lives`: whether a process still writes.
        """
        try:
            while True:
                alive = lives()  # before the look, so that its last lines are read
                if not self.look() and not alive:
                    break
                if alive:
                    wait(LOOK_S)
            self._finish()
        except KeyboardInterrupt:
            self._telling.end(self._end("interrupted", INTERRUPTED))
            raise
        stood_still = bool(self._followed.stood_still)
        code = BROKEN if self._violated and not stood_still else UNKNOWN if self.lacking else HELD
        self._telling.end(self._end("over", code))
        return code

    def look(self) -> bool:
        """Process new lines; returns whether there were any."""
        now_s = self._clock()
        taken = self._tail.take()
        if self._tail.newest_ms > self._newest[0]:
            self._newest = (self._tail.newest_ms, now_s)
        newest_ms, since_s = self._newest
        read_to_ms = newest_ms + (now_s - since_s - SURELY_READ_S) * 1000 * self._speed
        if taken.behind_ms is not None:
            read_to_ms = min(read_to_ms, taken.behind_ms)
        for why in taken.broken:
            self._files_broken.append(why)
            self._tell([self._of_the_run("broken", why)])
        self._step(taken.pieces, read_to_ms)
        return bool(taken.pieces)

    @property
    def lacking(self) -> list[str]:
        """Reasons why a violation may be missing."""
        followed, reasons = self._followed, []
        if self._broken_lines:
            reasons.append(f"{self._broken_lines} lines are no events")
        reasons += self._files_broken
        if followed.repeated:
            reasons.append(f"{followed.repeated} lines have a number that their node had used before")
        if count := followed.findings.counts["not-judged"]:
            reasons.append(f"{count} partitions whose acknowledged records could not be looked for")
        reasons += followed.stood_still
        if not followed.events:
            reasons.append("no events")
        return reasons

    @property
    def _violated(self) -> bool:
        return any(self._followed.findings.violations.values())

    def _step(self, pieces: list[Piece], read_to_ms: float) -> None:
        read = self._stream.step(pieces) if pieces else Read([], [])
        self._count_broken(read)
        self._tell(self._followed.step(read.events, read_to_ms))

    def _finish(self) -> None:
        """Read the last lines without an end: a whole line, or a torn one."""
        whole = []
        for piece in self._tail.torn():
            try:
                msgspec.json.decode(piece.data)
                whole.append(piece)
            except UNDECODABLE:
                self._torn += 1
        self._step(whole, 0.0)
        self._tell(self._followed.finish())

    def _count_broken(self, read: Read) -> None:
        """Count broken lines; each reason of each file is reported once."""
        self._broken_lines += read.broken_more
        for one in read.broken:
            self._broken_lines += one.lines
            place = (one.file, one.reason)
            if place not in self._broken and len(self._broken) < BROKEN_PLACES_MAX:
                self._broken[place] = one.lines
                text = f"{one.file}: {one.lines} lines are no events, {one.reason}; further ones are only counted"
                self._tell([self._of_the_run("broken", text, line=one.line)])

    def _of_the_run(self, finding: str, text: str, **details: str) -> Line:
        at_ms = self._followed.read_to_ms
        seen = Seen(finding=finding, at_ms=at_ms, to_ms=at_ms, text=text, details=details)
        return self._followed.findings.tell(seen, at_ms)

    def _tell(self, lines: Iterable[Line]) -> None:
        self._telling.lines(list(lines), self._followed.findings.violations, self._followed.read_to_ms)

    def _end(self, state: str, code: int) -> End:
        findings = self._followed.findings
        return End(
            state=state,
            run=self._run.name,
            read_to_ms=self._followed.read_to_ms,
            events=self._followed.events,
            counts=dict(+findings.counts),
            violations=dict(+findings.violations),
            withdrawn=findings.withdrawn,
            late=self._followed.late,
            unavailable_ms=self._followed.unavailable_ms(self._tail.newest_ms),
            lacking=self.lacking,
            exit_code=code,
        )


def speed_of(run: Path) -> float:
    """Speed of the run's clock by its settings; 1 if unknown."""
    try:
        speed = msgspec.json.decode(read_regular(run / SETTINGS_FILE), type=_Speed).speed
    except (OSError, *UNDECODABLE):
        return 1.0
    return speed if speed > 0 else 1.0


def watch_of(run: Path) -> Watch | None:
    """Watch of a live cluster, from its settings; None for any other run."""
    try:
        settings = msgspec.json.decode(read_regular(run / SETTINGS_FILE), type=_Live)
    except (OSError, *UNDECODABLE):
        return None
    ensemble = ensemble_of(settings.nodes) if settings.live else None
    return None if ensemble is None else Watch(ensemble)
