"""Files of an imported run's events: one for each incarnation, numbered from 1."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from emulator.run_layout import EVENT_SUFFIX
from emulator.runs.importing.line_events import NodeEvent
from protocol import events as e
from protocol.events import EVENT_FORMAT
from protocol.kinds import ExitKind

CLIENT_NODE: Final = "client-0"
"""Node of the application's own sends."""
NO_CLEAN_END: Final = "import: no clean end"
_encode = msgspec.json.Encoder().encode


class EventFiles:
    """Writes the events of a run.

    `first_ms`: wall clock of its time 0; `ahead`: of each node's clock, in ms.

    `processes`: nodes that have written.
    """

    def __init__(self, folder: Path, run: str, first_ms: float, ahead: Mapping[str, float]) -> None:
        self._folder, self._run, self._first_ms, self._ahead = folder, run, first_ms, ahead
        self._file: BinaryIO | None = None
        self._life = ("", 0)
        self._seq = 0
        self._at_ms = 0.0
        self._last_at_ms = 0.0
        self._begun: tuple[str, NodeEvent] | None = None
        self.processes: list[str] = []

    def begin(self, node: str, roles: str, version: str, wall_ms: float) -> None:
        """The next node has no lines: its data alone make an incarnation."""
        started = NodeEvent(self._first_ms, 1, e.NodeStarted(roles, "", version, version), "no lines")
        self._begun = (node, started)

    def write(self, node: str, events: Iterable[NodeEvent]) -> None:
        """Write a node's events, incarnation by incarnation."""
        begun, self._begun = self._begun, None
        if begun is not None and begun[0] == node:
            self._write_one(node, begun[1])
        for timed in events:
            self._write_one(node, timed)

    def write_deaths(self, node: str, deaths: Sequence[tuple[float, str, int]]) -> None:
        """Write the ends of processes that logged none, as kills."""
        if not deaths:
            return
        first = NodeEvent(self._first_ms, 1, e.NodeStarted("importer", "", "", ""), "import")
        ends = [
            NodeEvent(at - self._ahead.get(target, 0.0), 1, e.MachineFault("kill", target, "", life), NO_CLEAN_END)
            for at, target, life in sorted(deaths)
        ]
        last = NodeEvent(ends[-1].wall_ms, 1, e.NodeStopped(0, "", ExitKind.REQUESTED), "import")
        self.write(node, [first, *ends, last])

    def write_clients(self, events: Iterator[NodeEvent]) -> None:
        """Write an application's sends."""
        started = NodeEvent(self._first_ms, 1, e.NodeStarted("client", "", "", ""), "clients file")
        self._write_one(CLIENT_NODE, started)
        last_ms = self._first_ms
        for timed in events:
            self._write_one(CLIENT_NODE, timed)
            last_ms = max(last_ms, timed.wall_ms)
        self._write_one(CLIENT_NODE, NodeEvent(last_ms, 1, e.NodeStopped(0, "", ExitKind.REQUESTED), "clients file"))

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None

    def _write_one(self, node: str, timed: NodeEvent) -> None:
        life = (node, timed.incarnation)
        if life != self._life:
            self._open(life)
        self._seq += 1
        at_ms = max(timed.wall_ms - self._ahead.get(node, 0.0) - self._first_ms, self._at_ms)
        self._at_ms = at_ms
        line = {
            "format": EVENT_FORMAT, "run": self._run, "node": node, "incarnation": timed.incarnation, "seq": self._seq,
            "cause": timed.source, "mono_ms": at_ms, "wall_ms": timed.wall_ms, "at_ms": at_ms,
            "level": timed.event.LEVEL, "event": timed.event.NAME,
        }  # fmt: skip
        assert self._file is not None
        self._file.write(_encode({**line, **msgspec.structs.asdict(timed.event)}) + b"\n")

    def _open(self, life: tuple[str, int]) -> None:
        self.close()
        node, incarnation = life
        if node != self._life[0]:
            self._at_ms = 0.0
            self.processes.append(node)
        self._life, self._seq = life, 0
        self._file = (self._folder / f"{node}.{incarnation}{EVENT_SUFFIX}").open("ab")
