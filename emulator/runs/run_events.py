"""A run's events, read back in Python by commands that follow records or compare two runs.

Lines that are no events are left out and counted; the audit keeps them. Bounded: the events that these commands need
fit in memory; a larger run raises TooManyEvents.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from heapq import merge
from pathlib import Path
from typing import Any

from emulator.regular_files import lines_of, open_regular, refuse_foreign_link
from emulator.run_layout import EVENTS_FOLDER, WIRE_SUFFIX, event_paths, is_foreign, only_writer
from protocol.events import EVENTS
from protocol.events.event_parsing import LINE_BYTES_MAX, event_in, placed_in
from protocol.ids import TopicPartition
from protocol.numbers import number_in

EVENTS_MAX = 2_000_000
FILES_NAMED_MAX = 3
Line = dict[str, Any]
LeftOut = Counter[Path]
"""{file: number of its lines that are no events}."""
_EVENT = re.compile(rb'"event":"([a-z_]{1,64})"')


class TooManyEvents(ValueError):
    """More events than such a command reads; `faultline sql` takes any number."""


class NoEvents(ValueError):
    """Not a run's directory, or a run without events."""


def event_files(run: Path, *, wire: bool = False, node: str = "") -> list[Path]:
    """The files of a run, or of one node. Raises NoEvents."""
    folder = run / EVENTS_FOLDER
    if folder.is_symlink():
        refuse_foreign_link(folder)
    paths = [path for path in event_paths(folder, node) if not is_foreign(path)]
    files = [path for path in paths if path.name.endswith(WIRE_SUFFIX) == wire]
    if not files and not wire:
        whose = f" of {node}" if node else ""
        names = f"{node}.*.jsonl" if node else "*.jsonl"
        raise NoEvents(f"{run}: holds no events{whose}; a run's directory has them in events/{names}")
    return files


def read(
    run: Path, names: Collection[str], node: str = "", *, broken: bool = False, left_out: LeftOut | None = None
) -> Iterator[Line]:
    """Events of these names, file by file in each file's order; of all nodes or of one.

    `broken`: also those that only have their place (node, incarnation and number). Raises NoEvents, TooManyEvents.
    """
    count = 0
    paths = event_files(run, node=node)
    for path in paths:
        for event in events_in(path, names, broken=broken, left_out=left_out):
            count += 1
            if count > EVENTS_MAX:
                raise TooManyEvents(f"{run}: more than {EVENTS_MAX} events; use faultline sql")
            yield event
    if not count and _only_other_lines(paths):
        raise NoEvents(f"{run}: no line of {', '.join(path.name for path in paths[:FILES_NAMED_MAX])} is an event")


def in_order_of_time(run: Path, names: Collection[str], *, wire: bool = False) -> Iterator[Line]:
    """Events of these names of all nodes, in their order of time.

    At most one file of each node and level is open. `wire`: also those of level wire. Raises NoEvents.
    """
    files: dict[tuple[str, bool], list[Path]] = {}
    for of_wire in (False, True) if wire else (False,):
        for path in event_files(run, wire=of_wire):
            files.setdefault((path.name.partition(".")[0], of_wire), []).append(path)
    streams = [_of_incarnations(sorted(paths, key=incarnation_of), names) for paths in files.values()]
    return merge(*streams, key=lambda event: (event["at_ms"], event["node"], event["incarnation"], event["seq"]))


def _of_incarnations(paths: Sequence[Path], names: Collection[str]) -> Iterator[Line]:
    for path in paths:
        yield from events_in(path, names)


def incarnation_of(path: Path) -> int:
    """Incarnation in the name of an event file, 0 if it has none."""
    return number_in(path.name.split(".")[1]) or 0


def _only_other_lines(paths: list[Path]) -> bool:
    """Whether there are lines, and none is an event."""
    lines = 0
    for path in paths:
        with open_regular(path) as file:
            for line in lines_of(file, LINE_BYTES_MAX):
                if event_in(line) is not None:
                    return False
                lines += 1
    return lines > 0


def events_in(
    path: Path, names: Collection[str], *, broken: bool = False, left_out: LeftOut | None = None
) -> Iterator[Line]:
    """Events of these names in one file; those of a node that may not write there are left out.

    Raises OSError, also for what is no regular file.
    """
    writer = only_writer(path)
    markers = tuple(f'"event":"{name}"'.encode() for name in names)
    with open_regular(path) as file:
        for line in lines_of(file, LINE_BYTES_MAX):
            is_event = True
            if any(marker in line for marker in markers):
                event = placed_in(line) if broken else event_in(line)
                is_event = event is not None and writer in ("", event["node"])
                if event is not None and is_event and event["event"] in names:
                    yield event
            elif left_out is not None:
                is_event = _is_whole(line)
            if left_out is not None and not is_event:
                left_out[path] += 1


def _is_whole(line: bytes) -> bool:
    """Whether the line of an unwanted event is plausible: it names an event and has its end.

    A full check would take longer than reading the wanted events.
    """
    named = _EVENT.search(line)
    return named is not None and named[1].decode() in EVENTS and line.endswith(b"}\n")


def left_out_lines(left_out: LeftOut) -> Iterator[str]:
    """A line for each file, for standard error."""
    for path, count in sorted(left_out.items()):
        what = "1 line that is no event is" if count == 1 else f"{count} lines that are no events are"
        yield f"{path}: {what} left out"


def by_topic_partition(events: Sequence[Line]) -> dict[TopicPartition, list[Line]]:
    """Each partition's events; those of no partition are left out.

    An operation's events are at the partition that it wrote to or read from, -1 if no partitioner has chosen.
    """
    chosen = {e["operation"]: e["partition"] for e in events if e["event"] == "operation_ended"}
    of_operation: dict[str, TopicPartition] = {}
    for event in events:
        if event["event"] == "operation_invoked":
            operation, partition = event["operation"], event["partition"]
            of_operation[operation] = (
                event["topic"], partition if partition >= 0 else chosen.get(operation, -1),
            )  # fmt: skip
    found: dict[TopicPartition, list[Line]] = {}
    for event in events:
        of_client = "operation" in event
        of_partition = event.get("topic") and event.get("partition") is not None
        topic_partition = (
            of_operation.get(event["operation"]) if of_client
            else (event["topic"], event["partition"]) if of_partition
            else None
        )  # fmt: skip
        if topic_partition is not None:
            found.setdefault(topic_partition, []).append(event)
    return found
