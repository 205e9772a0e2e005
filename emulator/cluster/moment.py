"""A cluster's events as they were at one moment, while it goes on writing them.

All its processes share one clock, so what was written by a moment is a consistent cut: whatever is told to have come of
something, that something is told of, too. Event files only grow, their lines in the order of time: a moment is the
beginning of each.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emulator.cluster.control_client import ask
from emulator.cluster.registry import Found
from emulator.cluster.requests import Refused, Status
from emulator.layout import EVENTS_FOLDER, SETTINGS_FILE, WIRE_SUFFIX, event_paths, is_foreign, only_writer
from emulator.regular_files import named, open_regular, read_regular, write_whole
from protocol.events.reading import LINE_BYTES_MAX, at_ms_in

WRITTEN_S: Final = 0.5
"""Real time after which a line should be on disk: ten times what processes keep it for."""
SURELY_WRITTEN_S: Final = 8.0
"""A process on a busy machine may keep it longer. A later line is the proof that it is there; every process writes one
every five seconds of its clock."""
LOOK_S: Final = 0.1
TAIL_BYTES: Final = 1 << 20
COPY_BYTES: Final = 1 << 20


def copy_moment(found: Found, target: Path) -> float:
    """Copies the events until now to `target`, as a run's directory; returns that moment, in scenario ms. Raises
    Refused when the cluster does not say what time it is."""
    answer = ask(found.registration, Status())
    if answer.code != 0:
        raise Refused(answer.error)
    moment_ms = float(answer.result["cluster"]["now_ms"])
    running = [name for name, node in answer.result["nodes"].items() if node["alive"] and not node["paused"]]
    _until_written(found.directory / EVENTS_FOLDER, running, moment_ms)
    (target / EVENTS_FOLDER).mkdir(parents=True)
    write_whole(target / SETTINGS_FILE, read_regular(found.directory / SETTINGS_FILE))
    for path in event_paths(found.directory / EVENTS_FOLDER):
        folder = target / EVENTS_FOLDER / only_writer(path)
        folder.mkdir(exist_ok=True)
        _copy(path, folder / path.name, end_of(path, moment_ms))
    return moment_ms


def _until_written(events: Path, nodes: Sequence[str], moment_ms: float) -> None:
    """Until all that these nodes wrote by the moment is on disk; no longer than it can take those that live."""
    began = time.monotonic()
    time.sleep(WRITTEN_S)
    lacking = set(nodes)
    while True:
        lacking -= {name for name in lacking if any(is_past(path, moment_ms) for path in _files(events, name))}
        if not lacking or time.monotonic() - began >= SURELY_WRITTEN_S:
            return
        time.sleep(LOOK_S)


def _files(events: Path, node: str) -> list[Path]:
    """Of every life; without the wire level's, which are written before the others."""
    return [path for path in event_paths(events, node) if not path.name.endswith(WIRE_SUFFIX) and not is_foreign(path)]


def is_past(path: Path, moment_ms: float) -> bool:
    """Whether it has a whole line of after the moment."""
    with open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        whole, end, _ = file.read(2 * TAIL_BYTES).rpartition(b"\n")
    return bool(end) and at_ms_in(whole.rpartition(b"\n")[2]) > moment_ms


def end_of(path: Path, moment_ms: float) -> int:
    """Where the last whole line that was written by the moment ends, in bytes. What is no event is taken along: the
    audit counts it."""
    tail_bytes = TAIL_BYTES
    with open_regular(path) as file:
        size_bytes = os.fstat(file.fileno()).st_size
        while True:
            begin = max(0, size_bytes - tail_bytes)
            file.seek(begin)
            tail = file.read(size_bytes - begin)
            end = tail.rfind(b"\n") + 1
            while end > 0:
                start = tail.rfind(b"\n", 0, end - 1) + 1
                if start == 0 and begin > 0:
                    break  # its beginning is further back
                if at_ms_in(tail[start:end]) <= moment_ms:
                    return begin + end
                end = start
            if begin == 0:
                return 0
            if tail_bytes > LINE_BYTES_MAX:
                return size_bytes  # a line of which no more is looked at
            tail_bytes *= 4


def _copy(source: Path, target: Path, size_bytes: int) -> None:
    with open_regular(source) as reading, named(target), target.open("xb") as writing:
        while size_bytes > 0:
            data = reading.read(min(COPY_BYTES, size_bytes))
            if not data:
                return  # it was cut meanwhile
            writing.write(data)
            size_bytes -= len(data)
