"""Runs on disk: their directories, their event files, and lines cut off by a death.

A run's directory has `events/NODE.INCARNATION.jsonl` (levels client and replica) and, where the wire level is
recorded, `events/NODE.INCARNATION.wire.jsonl`. Frames are the majority of events and no check needs their fields, so
they have files of their own. Both share one sequence of numbers per incarnation. The files of a node in a container are
in `events/NODE/`.

A killed process leaves at most one line without its end. Such a line is *torn*: it shows a death, not a broken file,
and the audit counts it apart from broken lines (`audit.event_lines`).
"""

from __future__ import annotations

import difflib
import glob
import os
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import msgspec

from emulator.exit_codes import UNUSABLE
from emulator.regular_files import NotRegular, open_regular, refuse_foreign_link
from emulator.run_layout import (
    EVENTS_FOLDER,
    SCENARIO_FILE,
    SETTINGS_FILE,
    WIRE_SUFFIX,
    event_paths,
    is_foreign,
    only_writer,
)
from emulator.runs.former_format import FORMER_FORMAT, REMOVED, with_topic_ids
from protocol.events import EVENT_FORMAT
from protocol.events.event_parsing import LINE_BYTES_MAX
from protocol.undecodable import UNDECODABLE

RUNS_MAX = 10_000
WINDOW_BYTES = LINE_BYTES_MAX // 2
"""A line of more than LINE_BYTES_MAX fills one of these from its beginning to its end."""
PROBE_BYTES = 4096
FIRST_LINE_BYTES = 1 << 16
WRITTEN = ("verdict.json", "report.html", "quarantine.jsonl")
"""Files that an audit writes into a run."""


class _Line(msgspec.Struct):
    run: str = ""
    format: int = EVENT_FORMAT


_first_line = msgspec.json.Decoder(_Line)


class AuditInputError(Exception):
    """Unusable input; one sentence that names the place and the nearest valid thing."""


class UnusableRun(msgspec.Struct, frozen=True):
    """A given run that cannot be audited.

    `name`: of its directory, or as it was given. `why`: one sentence that names the place. `code`: the exit code.
    `begun`: a run whose folder of events does not exist as yet, or no more.
    """

    name: str
    why: str
    code: int = UNUSABLE
    begun: bool = False


class EventFile(msgspec.Struct, frozen=True):
    """An event file.

    `torn`: the text of its last line if that is cut off, else None. `too_long`: count of lines above LINE_BYTES_MAX,
    which are not read. `run`: the run's name in its first line, "" without one; `format`: the line's.
    """

    path: Path
    size_bytes: int
    torn: bytes | None
    too_long: int = 0
    run: str = ""
    format: int = EVENT_FORMAT

    @property
    def wire(self) -> bool:
        return self.path.name.endswith(WIRE_SUFFIX)


class RunDirectory(msgspec.Struct, frozen=True):
    """A run's directory. `path` is absolute."""

    path: Path
    files: tuple[EventFile, ...]

    @property
    def name(self) -> str:
        return self.path.name

    @property
    def called(self) -> str:
        """The run's own name, as most of its files have it: a directory may have been renamed."""
        names = Counter(file.run for file in self.files if file.run)
        return max(names, key=lambda run: (names[run], run == self.name, run)) if names else self.name

    @property
    def size_bytes(self) -> int:
        return sum(file.size_bytes for file in self.files)

    def paths(self, *, wire: bool) -> list[str]:
        """Paths of non-empty files for Spark, with escaped globbing characters."""
        return [escaped(str(file.path)) for file in self.files if file.wire == wire and file.size_bytes]


def find_runs(given: Sequence[str | Path]) -> list[RunDirectory]:
    """Runs in the order given: directories, directories of runs, or globs.

    Raises:
        AuditInputError: nothing is there, or one of them is not a run.
    """
    runs, unusable = look_for_runs(given)
    if unusable:
        raise AuditInputError(unusable[0].why)
    return runs


def find_run(given: str | Path) -> RunDirectory:
    """One run. Raises AuditInputError, also where several are meant."""
    runs = find_runs([given])
    if len(runs) > 1:
        raise AuditInputError(f"{given}: {len(runs)} runs; name one of them, such as {runs[0].path}")
    return runs[0]


def look_for_runs(given: Sequence[str | Path]) -> tuple[list[RunDirectory], list[UnusableRun]]:
    """Return the runs of `given`, and each of the others with what is wrong.

    Raises:
        AuditInputError: none is given, or too many.
    """
    paths: dict[Path, None] = {}
    runs: list[RunDirectory] = []
    unusable: dict[str, UnusableRun] = {}
    for one in given:
        try:
            paths |= {path.resolve(): None for path in _expand(str(one))}
        except AuditInputError as error:
            unusable.setdefault(str(one), UnusableRun(str(one), str(error)))
        except (OSError, RuntimeError) as error:  # a name that is too long, links in a circle
            why = error.strerror if isinstance(error, OSError) else "its symbolic links go round in a circle"
            unusable.setdefault(str(one), UnusableRun(str(one), f"{one}: cannot be read: {why}"))
    if not paths and not unusable:
        raise AuditInputError("no run given: name a run's directory, such as runs/az-isolated-leader-1")
    if len(paths) > RUNS_MAX:
        raise AuditInputError(f"{len(paths)} runs given; at most {RUNS_MAX} are audited at once")
    for path in paths:
        try:
            runs.append(read_directory(path))
        except AuditInputError as error:
            begun = _is_run(path) and not (path / EVENTS_FOLDER).exists()
            unusable.setdefault(str(path), UnusableRun(path.name, str(error), begun=begun))
    return runs, list(unusable.values())


def read_directory(path: Path) -> RunDirectory:
    """Read a run's directory.

    Raises AuditInputError: there is no `events` folder, it cannot be read, an entry is no regular file, or a file has
    the name of another node than its folder.
    """
    events = path / "events"
    if not events.is_dir():
        hint = f"; did you mean {path.parent}?" if (path.parent / "events").is_dir() else ""
        raise AuditInputError(f"{path}: not a run, it has no folder events{hint}")
    try:
        refuse_foreign_link(events)
        files = tuple(_event_file(file) for file in event_paths(events))
    except OSError as error:
        raise AuditInputError(f"{error.filename}: cannot be read: {error.strerror}") from error
    return RunDirectory(path.resolve(), files)


def converted(runs: Sequence[RunDirectory], scratch: Path) -> list[RunDirectory]:
    """The runs, in the present format.

    A run of the former format in which a topic was removed gets files in `scratch`.
    """
    return [_converted(run, scratch) for run in runs]


def _converted(run: RunDirectory, scratch: Path) -> RunDirectory:
    if not any(file.format == FORMER_FORMAT for file in run.files):
        return run
    texts = {file: file.path.read_bytes() for file in run.files if not file.wire}
    if not any(REMOVED in text for text in texts.values()):
        return run
    replaced: dict[EventFile, EventFile] = {}
    for file, text in zip(texts, with_topic_ids(texts.values()), strict=True):
        path = scratch / file.path.relative_to(file.path.anchor)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text)
        replaced[file] = msgspec.structs.replace(file, path=path, size_bytes=len(text))
    return RunDirectory(run.path, tuple(replaced.get(file, file) for file in run.files))


def require_writable(run: Path) -> None:
    """Refuse a run that takes no results. Raises AuditInputError."""
    if not os.access(run, os.W_OK | os.X_OK):
        raise AuditInputError(f"{run}: cannot be written to; audit a copy of it")
    for name in WRITTEN:
        if (run / name).is_dir():
            raise AuditInputError(f"{run / name}: is a directory, where the audit writes a file; move it away")


def _expand(given: str) -> list[Path]:
    path = Path(given)
    if path.is_dir():
        return [path] if _is_run(path) else _runs_in(path) or [path]
    if path.exists():
        raise AuditInputError(f"{given}: is a file; a run is a directory with a folder events in it")
    if glob.has_magic(given):
        found = sorted(p for p in map(Path, glob.glob(given)) if p.is_dir())
        runs = [run for one in found for run in ([one] if _is_run(one) else _runs_in(one))]
        if not runs:
            raise AuditInputError(f"{given}: no run matches")
        return runs
    raise AuditInputError(f"{given}: no such directory{_nearest(path)}")


def _is_run(path: Path) -> bool:
    """Whether a run was begun there; its events may be gone."""
    return (path / "events").is_dir() or (path / SCENARIO_FILE).is_file() or (path / SETTINGS_FILE).is_file()


def _runs_in(folder: Path) -> list[Path]:
    """Those of a directory of runs."""
    return sorted(path for path in folder.iterdir() if path.is_dir() and _is_run(path))


def _nearest(path: Path) -> str:
    parent = path.parent
    names = sorted(p.name for p in parent.iterdir() if p.is_dir()) if parent.is_dir() else []
    close = difflib.get_close_matches(path.name, names, n=1, cutoff=0.6)
    return f"; nearest: {parent / close[0]}" if close else ""


def _event_file(path: Path) -> EventFile:
    if is_foreign(path):
        raise NotRegular(path, f"is in the folder of {only_writer(path)}, and not named after it")
    with open_regular(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        torn, too_long = _torn_tail(file, size_bytes), _too_long(file, size_bytes)
        first = _first(file)
        return EventFile(path.resolve(), size_bytes, torn, too_long, first.run, first.format)


def _first(file: BinaryIO) -> _Line:
    line = os.pread(file.fileno(), FIRST_LINE_BYTES, 0).partition(b"\n")[0]
    try:
        return _first_line.decode(line)
    except UNDECODABLE:
        return _Line()


def _torn_tail(file: BinaryIO, size_bytes: int) -> bytes | None:
    """The last line if it has no end and is no JSON; a complete line may lack just its end."""
    if size_bytes == 0:
        return None
    file.seek(-1, os.SEEK_END)
    if file.read(1) == b"\n":
        return None
    begin = max(0, size_bytes - LINE_BYTES_MAX)
    file.seek(begin)
    _, end, tail = file.read(LINE_BYTES_MAX).rpartition(b"\n")
    if not tail.strip() or (begin and not end):
        return None
    try:
        msgspec.json.decode(tail)
    except UNDECODABLE:
        return tail
    return None


def _too_long(file: BinaryIO, size_bytes: int) -> int:
    """Count of lines above LINE_BYTES_MAX. Without any, next to nothing of the file is read."""
    descriptor = file.fileno()
    for begin in range(0, size_bytes, WINDOW_BYTES):
        if b"\n" not in os.pread(descriptor, PROBE_BYTES, begin) and b"\n" not in os.pread(
            descriptor, WINDOW_BYTES, begin
        ):
            break
    else:
        return 0
    file.seek(0)
    count = 0
    while line := file.readline(LINE_BYTES_MAX + 1):
        if len(line) > LINE_BYTES_MAX:
            count += 1
            while line and not line.endswith(b"\n"):
                line = file.readline(LINE_BYTES_MAX)
    return count


def escaped(path: str) -> str:
    return "".join(f"\\{char}" if char in "*?[]{}\\" else char for char in path)
