"""`import.json` of an imported run: what was read, and what was noticed beyond events.

`began_ms`: wall clock of the run's time 0, in ms since 1970.
"""

from pathlib import Path
from typing import Final

import msgspec

from emulator.regular_files import read_regular, reason
from protocol.undecodable import UNDECODABLE, why

RECORD_FILE: Final = "import.json"
QUARANTINE_FILE: Final = "import-quarantine.jsonl"
RECORD_BYTES_MAX: Final = 256 << 20


class NoImportRecord(ValueError):
    """The run was not imported, or its record cannot be read."""


class FileRead(msgspec.Struct):
    """A log file. `damaged`: {what: lines}; `silences`: [length, since when] in ms."""

    node: str
    file: str
    lines: int
    entries: int
    first_ms: float
    last_ms: float
    damaged: dict[str, int]
    backwards: int
    silences: list[tuple[float, float]]
    full_disk_at: list[float]
    error: str


class NodeRecord(msgspec.Struct):
    """A node. `deaths`: [time of its last line, incarnation] of those that ended without a word."""

    name: str
    number: int
    roles: str
    version: str
    properties: dict[str, str]
    incarnations: int
    deaths: list[list[float]]
    events: dict[str, int]


class Noticed(msgspec.Struct):
    """A line that no event has. `what`: its name in the table of lines."""

    node: str
    wall_ms: float
    incarnation: int
    what: str
    fields: dict[str, str]
    source: str


class ReplicaRecord(msgspec.Struct):
    """A collected replica; `is_copy`: of an earlier copy. `folder`: below the run's directory."""

    node: str
    partition: str
    folder: str
    log_start: int
    log_end: int
    is_copy: bool
    high_watermark: int


class ClockOffset(msgspec.Struct):
    """A clock that was ahead of the reference's, or behind it (negative)."""

    node: str
    ahead_ms: float
    reference: str
    pairs: int


class ImportRecord(msgspec.Struct):
    """All of it.

    `gaps`: why the lines are incomplete; `problems`: damage of segments and checkpoints.
    """

    began_ms: float
    nodes: list[NodeRecord]
    files: list[FileRead]
    unread: list[list[str]]
    gaps: list[str]
    problems: list[str]
    notices: list[Noticed]
    replicas: list[ReplicaRecord]
    clocks: list[ClockOffset] = []
    clients: dict[str, int] = {}


def read_record(run: Path) -> ImportRecord:
    """The record of an imported run. Raises NoImportRecord."""
    path = run / RECORD_FILE
    try:
        return msgspec.json.decode(read_regular(path, RECORD_BYTES_MAX), type=ImportRecord)
    except OSError as error:
        raise NoImportRecord(f"{path}: cannot be read: {reason(error)}; `faultline import` writes it") from error
    except UNDECODABLE as error:
        raise NoImportRecord(f"{path}: is no record of an import: {why(error)}") from error
