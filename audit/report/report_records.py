"""A bounded part of a run's events, as plain objects in order of time. Plain Python.

At most READ_MAX_BYTES of lines are kept. Of a larger run all rare events are kept (leaders, truncations, deaths), and a
sample of frequent ones: of appends, of high watermarks, of writes with all their events. `complete` says whether all
events were read; the picture thins out dense marks.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

from audit.input import RunDirectory
from emulator.regular_files import lines_of, open_regular
from protocol.events.event_parsing import LINE_BYTES_MAX, event_in
from protocol.numbers import number_in

READ_MAX_BYTES = 48 << 20

NOT_DRAWN = frozenset(
    (
        *(b"frame_sent", b"frame_received", b"frame_stopped", b"connection_changed", b"frame_refused"),
        *(b"attempt_ended", b"records_read", b"position_left", b"timer_lateness", b"metadata_committed"),
    )
)
FREQUENT = frozenset((b"batch_appended", b"high_watermark_moved"))
"""Event types with positions, of which a sample shows nearly as much as all."""
OF_OPERATIONS = frozenset((b"operation_invoked", b"attempt_sent", b"operation_ended"))

Event = dict[str, Any]

_EVENT = b'"event":"'
_OPERATION = b'"operation":"'
_TOPIC = b'"topic":'
_PARTITION = b'"partition":'


def kept_events(run: RunDirectory) -> tuple[list[Event], bool]:
    """(events, complete) of all nodes in time order, within a node by number.

    Lines that are no events are left out: the verdict counts them.
    """
    files = [file for file in run.files if not file.wire]
    one_in = -(-sum(file.size_bytes for file in files) // READ_MAX_BYTES) or 1
    found: list[Event] = []
    left_bytes = READ_MAX_BYTES
    for file in files:
        with open_regular(file.path) as lines:
            for line in _kept(lines_of(lines, LINE_BYTES_MAX), one_in):
                left_bytes -= len(line)
                if left_bytes < 0:
                    one_in = max(one_in, 2)
                    break
                found.extend(_decoded(line))
    found.sort(key=lambda event: event["at_ms"])
    return found, one_in == 1


def _kept(lines: Iterable[bytes], one_in: int) -> Iterator[bytes]:
    """Drawn lines; of the frequent ones of each partition every `one_in`th."""
    frequent: Counter[tuple[bytes, bytes]] = Counter()
    for line in lines:
        name = _text_after(line, _EVENT)
        if name in NOT_DRAWN:
            continue
        if one_in > 1 and name in OF_OPERATIONS:
            if (number_in(_text_after(line, _OPERATION).rpartition(b":")[2]) or 0) % one_in:
                continue
        elif one_in > 1 and name in FREQUENT:
            series = name, _place(line)
            frequent[series] += 1
            if frequent[series] % one_in:
                continue
        yield line


def _place(line: bytes) -> bytes:
    """The text `"topic":"t","partition":0`: nodes write both fields side by side."""
    start = line.find(_TOPIC)
    return line[start : line.find(b",", line.find(_PARTITION, start))]


def _text_after(line: bytes, key: bytes) -> bytes:
    """Text of a field, by its first place in a line as nodes write it; empty if missing."""
    start = line.find(key)
    return line[start + len(key) : line.find(b'"', start + len(key))] if start >= 0 else b""


def _decoded(line: bytes) -> Iterator[Event]:
    """The event of a line; none if it is no event."""
    event = event_in(line)
    if event is not None:
        yield event
