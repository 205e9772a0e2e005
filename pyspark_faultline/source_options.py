"""Options of the data source: the group, the runs, and limits."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from audit.input import AuditInputError
from protocol.events import EVENTS as KINDS
from protocol.undecodable import UNDECODABLE
from pyspark_faultline.row_selection import Selection
from pyspark_faultline.source_groups import EVENTS, Group, group_named

GROUP, PATH, PATHS, MAX_BYTES = "group", "path", "paths", "maxBytesPerBatch"
RUN, NODE, INCARNATION, EVENT = "run", "node", "incarnation", "event"
OPTIONS: Final = {
    GROUP: f"the group of events; by default `{EVENTS}`",
    PATH: "a run's directory, a directory of runs or a glob; several are separated by commas; `load(path)` sets it",
    PATHS: "several of them as a JSON list, or separated by commas; `load([path, ...])` sets it",
    RUN: "only rows of these runs, by their names in the column `run`, separated by commas",
    NODE: "only rows of these nodes, such as `broker-0,broker-1`",
    INCARNATION: "only rows of these incarnations of nodes, such as `1`",
    EVENT: "only these kinds of events, such as `role_changed`; of the groups `events` and `rest`",
    MAX_BYTES: "limit of a stream's micro-batch in bytes, such as 67108864 or 64m; the default is 64m",
}
"""{option: its meaning}."""
MAX_BYTES_DEFAULT: Final = 64 << 20
_SIZE: Final = re.compile(r"([1-9][0-9]{0,14})([kmg]?)b?")
_NUMBER: Final = re.compile(r"[0-9]{1,15}")
_UNITS: Final = {"": 1, "k": 1 << 10, "m": 1 << 20, "g": 1 << 30}


class SourceOptions(NamedTuple):
    """Options of one table. `given`: its runs, as `audit.input.look_for_runs` takes them."""

    group: Group
    given: tuple[str, ...]
    selection: Selection
    max_bytes: int


def options_of(options: Mapping[str, str]) -> SourceOptions:
    """Parse options, whose names are case-insensitive. Raises AuditInputError."""
    known = {name.lower(): name for name in OPTIONS}
    values: dict[str, str] = {}
    for name, value in options.items():
        if name.lower() not in known:
            near = difflib.get_close_matches(name.lower(), known, n=1, cutoff=0)[0]
            raise AuditInputError(f"option {name}: unknown; nearest: {known[near]}; all: {', '.join(OPTIONS)}")
        values[known[name.lower()]] = value
    given = tuple(_paths(values))
    if not given:
        raise AuditInputError('no run given: load a run\'s directory, such as load("runs/az-isolated-leader-1")')
    group = group_named(values.get(GROUP, EVENTS))
    return SourceOptions(
        group=group,
        given=given,
        selection=_selection(values, group),
        max_bytes=_size(MAX_BYTES, values[MAX_BYTES]) if MAX_BYTES in values else MAX_BYTES_DEFAULT,
    )


def _paths(values: Mapping[str, str]) -> Iterator[str]:
    for name in (PATH, PATHS):
        text = values.get(name, "")
        try:
            several = msgspec.json.decode(text, type=list[str]) if text.startswith("[") else None
        except UNDECODABLE:
            several = None  # a glob may begin so, too
        yield from several if several is not None else _separated(text)


def _separated(text: str) -> Iterator[str]:
    """The parts between commas; a path that has one in its name is one part."""
    parts = [text] if "," not in text or Path(text).exists() else text.split(",")
    yield from (part.strip() for part in parts if part.strip())


def _selection(values: Mapping[str, str], group: Group) -> Selection:
    if EVENT in values and EVENT not in group.columns:
        raise AuditInputError(f"option {EVENT}: group {group.name} has no column {EVENT}; leave the option out")
    events = _names(values, EVENT)
    for name in sorted((events or frozenset()) - {*KINDS}):
        [near] = difflib.get_close_matches(name, KINDS, n=1, cutoff=0)
        raise AuditInputError(f"option {EVENT}: {name}: no such event; nearest: {near}")
    numbers = _names(values, INCARNATION)
    for text in sorted(numbers or ()):
        if not _NUMBER.fullmatch(text):
            raise AuditInputError(f"option {INCARNATION}: {text} is no number; give one such as 1")
    incarnations = None if numbers is None else frozenset(map(int, numbers))
    return Selection(_names(values, RUN), _names(values, NODE), incarnations, events)


def _names(values: Mapping[str, str], option: str) -> frozenset[str] | None:
    """The parts of an option between commas; None: it is not given."""
    if option not in values:
        return None
    return frozenset(part.strip() for part in values[option].split(",") if part.strip())


def _size(name: str, text: str) -> int:
    found = _SIZE.fullmatch(text.strip().lower())
    if found is None:
        raise AuditInputError(f"option {name}: {text} is no number of bytes; give one such as 67108864 or 64m")
    return int(found[1]) * _UNITS[found[2]]
