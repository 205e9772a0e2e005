"""A process's event files: one JSON line each, through structlog, appended.

Events of the wire level, the majority, go to a file of their own beside the others; `seq` counts through both. Lines
wait in memory until `flush`. The shell flushes before frames leave if a client-level event is among them, and every 50
ms of real time otherwise. After a SIGKILL the last lines may be missing, and one may be torn.
"""

import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
import structlog
from structlog.typing import EventDict, Processor, WrappedLogger

from protocol.events import EVENT_FORMAT, Event
from protocol.machine import Now

FLUSH_REAL_S = 0.05
UNFLUSHED_MAX = 1000
"""Lines kept in memory; the next one is written with them at once."""

_encoder = msgspec.json.Encoder()


def _renderer(envelope: dict[str, object]) -> Processor:
    """structlog's last processor: bytes of the line, the envelope before `event` and its fields.

    `envelope`: its first fields, which are the same in all lines and encoded once.
    """
    same = _encoder.encode(envelope)[:-1]

    def render(_logger: WrappedLogger, _method: str, line: EventDict) -> bytes:
        fields = _encoder.encode(line.pop("fields"))
        line["event"] = line.pop("event")
        return b"%b,%b%b%b\n" % (same, _encoder.encode(line)[1:-1], b"," if len(fields) > 2 else b"", fields[1:])

    return render


class _Lines:
    """structlog's wrapped logger: collects lines."""

    def __init__(self) -> None:
        self.waiting: list[bytes] = []

    def line(self, data: bytes) -> None:
        self.waiting.append(data)


class _File:
    """One file and the lines that wait for it."""

    def __init__(self, path: Path, **envelope: object) -> None:
        self._path = path
        self._fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o644)
        lines = _Lines()
        self.waiting = lines.waiting
        """Lines that are not in the file yet."""
        bound = structlog.wrap_logger(
            lines, processors=[_renderer(envelope)], wrapper_class=structlog.BoundLoggerBase, context_class=dict
        )
        self.log = bound.bind()

    def flush(self) -> None:
        data = b"".join(self.waiting)
        self.waiting.clear()
        try:
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            error.filename = str(self._path)  # os.write does not name it
            raise

    def close(self) -> None:
        os.close(self._fd)


class EventFile:
    """`events/NODE.INCARNATION.jsonl` of a run, and `events/NODE.INCARNATION.wire.jsonl`.

    The second exists if that level is among `levels`.
    """

    def __init__(self, run_dir: Path, run: str, node: str, incarnation: int, levels: Sequence[str]) -> None:
        directory = run_dir / "events"
        directory.mkdir(parents=True, exist_ok=True)
        self._levels = frozenset(levels)
        self.wire = "wire" in self._levels
        self.urgent = False
        """Whether a client-level event waits: flush before any frame leaves."""
        envelope = {"format": EVENT_FORMAT, "run": run, "node": node, "incarnation": incarnation}
        self._others = _File(directory / f"{node}.{incarnation}.jsonl", **envelope)
        self._wire = _File(directory / f"{node}.{incarnation}.wire.jsonl", **envelope) if self.wire else self._others
        self._files = (self._wire, self._others) if self.wire else (self._others,)
        self._seq = 0

    def write(self, event: Event, cause: str, now: Now) -> None:
        """Add the envelope and keep the line until the next flush."""
        level = event.LEVEL
        if level not in self._levels:
            return
        self._seq += 1
        file = self._wire if level == "wire" else self._others
        file.log._proxy_to_logger(
            "line", event.NAME, seq=self._seq, cause=cause, mono_ms=now.mono_ms, wall_ms=now.wall_ms,
            at_ms=now.mono_ms, level=level, fields=event,
        )  # fmt: skip
        if level == "client":
            self.urgent = True
        if len(file.waiting) > UNFLUSHED_MAX:
            self.flush()

    def flush(self) -> None:
        """Write every waiting line to the operating system. Raises OSError."""
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
