"""A process's event files: one JSON line each, appended. A busy broker writes thousands a second, so a line is put
together from encoded parts: what is the same in all lines of a file is encoded once.

Events of the wire level, most of all, go to a file of their own beside the others; `seq` counts through both.
Lines wait in memory until `flush`; the shell flushes before frames leave if a client-level event is among
them, and every 50 ms of real time otherwise. After a SIGKILL the last lines may be missing, and one may be
torn.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec

from emulator.regular_files import named
from protocol.events import EVENT_FORMAT, EVENTS, Event
from protocol.machine import Now

FLUSH_REAL_S = 0.05
UNFLUSHED_MAX = 1000
"""Lines kept in memory; the next one is written with them at once."""

_encoder = msgspec.json.Encoder()


class _File:
    """One file and the lines that wait for it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        self.waiting: list[bytes] = []

    def flush(self) -> None:
        data = b"".join(self.waiting)
        self.waiting.clear()
        with named(self._path):
            while data:
                data = data[os.write(self._fd, data) :]

    def close(self) -> None:
        os.close(self._fd)


class EventFile:
    """`events/NODE.INCARNATION.jsonl` of a run, and `events/NODE.INCARNATION.wire.jsonl` if that level is
    among `levels`."""

    def __init__(self, run_dir: Path, run: str, node: str, incarnation: int, levels: Sequence[str]) -> None:
        directory = run_dir / "events"
        directory.mkdir(parents=True, exist_ok=True)
        self._levels = frozenset(levels)
        self.wire = "wire" in self._levels
        self.urgent = False
        """A client-level event waits: flush before any frame leaves."""
        envelope = {"format": EVENT_FORMAT, "run": run, "node": node, "incarnation": incarnation}
        self._beginning = _encoder.encode(envelope)[:-1]
        self._endings = {
            event: b',"level":%b,"event":%b,' % (_encoder.encode(event.LEVEL), _encoder.encode(event.NAME))
            for event in EVENTS.values()
        }
        """{event: of its envelope the end}"""
        self._others = _File(directory / f"{node}.{incarnation}.jsonl")
        self._wire = _File(directory / f"{node}.{incarnation}.wire.jsonl") if self.wire else self._others
        self._files = (self._wire, self._others) if self.wire else (self._others,)
        self._seq = 0

    def write(self, event: Event, cause: str, now: Now) -> None:
        """Adds the envelope and keeps the line until the next flush."""
        level = event.LEVEL
        if level not in self._levels:
            return
        self._seq += 1
        file = self._wire if level == "wire" else self._others
        mono_ms = _encoder.encode(now.mono_ms)
        told = (self._seq, _encoder.encode(cause), mono_ms, _encoder.encode(now.wall_ms), mono_ms)
        placed = b',"seq":%d,"cause":%b,"mono_ms":%b,"wall_ms":%b,"at_ms":%b' % told
        fields = _encoder.encode(event)
        file.waiting.append(b"".join((self._beginning, placed, self._endings[type(event)], fields[1:], b"\n")))
        if level == "client":
            self.urgent = True
        if len(file.waiting) > UNFLUSHED_MAX:
            self.flush()

    def flush(self) -> None:
        """Hands every waiting line to the operating system. Raises OSError."""
        for file in self._files:
            if file.waiting:
                file.flush()
        self.urgent = False

    def close(self) -> None:
        try:
            self.flush()
        finally:
            for file in self._files:
                file.close()
