"""Events of one node between the two passes, in a file, so that memory stays bounded."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from emulator.runs.importing.line_events import NodeEvent
from protocol.events import EVENTS, Event

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(tuple[float, int, str, str, dict[str, Any]]).decode


class EventSpool:
    """Appends events, then reads them in the same order. Raises OSError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("wb")
        self.length = 0

    def append(self, timed: NodeEvent) -> None:
        fields = msgspec.structs.asdict(timed.event)
        line = _encode((timed.wall_ms, timed.incarnation, timed.source, timed.event.NAME, fields))
        self._file.write(line + b"\n")
        self.length += 1

    def __iter__(self) -> Iterator[NodeEvent]:
        self._file.flush()
        with self._path.open("rb") as file:
            for line in file:
                wall_ms, incarnation, source, name, fields = _decode(line)
                yield NodeEvent(wall_ms, incarnation, _event(name, fields), source)

    def remove(self) -> None:
        self._file.close()
        self._path.unlink(missing_ok=True)


def _event(name: str, fields: dict[str, Any]) -> Event:
    return EVENTS[name](**fields)
