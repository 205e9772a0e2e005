"""Snapshot of a running cluster's events at one moment.

All processes share one clock. So the events up to a moment are a consistent cut: each effect in it has its cause, too.
Event files only grow, in the order of time, so a snapshot is the beginning of each file.
"""

import os
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from emulator.cluster.cluster_registry import Found
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Refused, Status
from emulator.regular_files import named, open_regular, read_regular, write_whole
from emulator.run_layout import EVENTS_FOLDER, SETTINGS_FILE, WIRE_SUFFIX, event_paths, is_foreign, only_writer
from protocol.events.event_parsing import LINE_BYTES_MAX, at_ms_in

WRITTEN_S: Final = 0.5
"""Real time after which a line should be on disk: ten times the processes' buffering time."""
SURELY_WRITTEN_S: Final = 8.0
"""Limit for a process on a busy machine, which may buffer longer.

A later line proves that the earlier ones are on disk; every process writes one every five seconds of its clock.
"""
LOOK_S: Final = 0.1
TAIL_BYTES: Final = 1 << 20
COPY_BYTES: Final = 1 << 20


def copy_moment(found: Found, target: Path) -> float:
    """Copy the events until now to `target`, as a run's directory.

    Return that moment in scenario ms.

    Raises Refused if the cluster does not report its time.
    """
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
    """Wait until every line of these nodes up to the moment is on disk, with a limit."""
    began = time.monotonic()
    time.sleep(WRITTEN_S)
    lacking = set(nodes)
    while True:
        lacking -= {name for name in lacking if any(is_past(path, moment_ms) for path in _files(events, name))}
        if not lacking or time.monotonic() - began >= SURELY_WRITTEN_S:
            return
        time.sleep(LOOK_S)


def _files(events: Path, node: str) -> list[Path]:
    """Files of every incarnation, without the wire level's, which are flushed before the others."""
    return [path for path in event_paths(events, node) if not path.name.endswith(WIRE_SUFFIX) and not is_foreign(path)]


def is_past(path: Path, moment_ms: float) -> bool:
    """Whether the file has a whole line after the moment."""
    with open_regular(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - TAIL_BYTES))
        whole, end, _ = file.read(2 * TAIL_BYTES).rpartition(b"\n")
    return bool(end) and at_ms_in(whole.rpartition(b"\n")[2]) > moment_ms


def end_of(path: Path, moment_ms: float) -> int:
    """End of the last whole line up to the moment, in bytes.

    Lines that are no valid events are copied; the audit counts them.
    """
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
                return size_bytes  # the line is longer than any that is read
            tail_bytes *= 4


def _copy(source: Path, target: Path, size_bytes: int) -> None:
    with open_regular(source) as reading, named(target), target.open("xb") as writing:
        while size_bytes > 0:
            data = reading.read(min(COPY_BYTES, size_bytes))
            if not data:
                return  # the file was cut meanwhile
            writing.write(data)
            size_bytes -= len(data)
