"""Blocks of event files' lines as tables of Arrow, if every line is an event of its block's file; else nothing.

What `audit.events` asks Spark of each line is asked here of all lines of a kind at once, in native code, and more
strictly: whatever the two readers could take differently is refused, and then Spark looks at it. Refused are

- bytes that are no UTF-8, and carriage returns, which end a line for Spark;
- lines that do not begin with `{` and end with `}`. So no line end lies within an object: a text cannot hold one, and
  between the others of an object's parts none lies after `}` and before `{`; as many objects as lines are one each;
- fields that the event does not have, that come twice, or whose value is of another type (Arrow does not take them);
- numbers that are none or out of range (the line's own: below 0 or not below SEQ_MODULUS), lines of another node, life
  or run, and events that lack a part.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import chain, compress
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from audit.families import FAMILY_OF, FREQUENT, RARE_ONES, TABLES, WITH_CAUSE
from emulator.judging.findings import SEQ_MODULUS
from protocol.events import ENVELOPE, EVENT_FORMAT, EVENTS, FIELDS
from protocol.events.reading import (
    BOUNDED,
    ENVELOPE_NEEDED,
    NEEDED,
    NUMBER_MAX,
    TIME_MS_MAX,
    TIMES,
    are_buckets,
)

if TYPE_CHECKING:
    import pyarrow as pa

RARE_COLUMN: Final = "rare"
"""The whole line, of events that are rare: what else is in it is read from there."""

_BETWEEN: Final = b"}\n{"
"""What two lines have between their insides, which are called objects here."""
_EVENT = re.compile(rb'"event":"([a-z_]+)"')


class Source(NamedTuple):
    """Where a block is from. `run`: what the run calls itself; `file`: its name, which tells whose events are in it."""

    run: str
    file: str


class Refused(Exception):
    """It takes Spark to tell what is in these lines."""


class Events(NamedTuple):
    """`table`: the events of a family, with those of the columns FREQUENT that they can have but `run`, and
    RARE_COLUMN; `counts`: how many of them are from each block, in their order."""

    table: pa.Table
    counts: list[int]


def tables_of(blocks: Sequence[tuple[bytes, Source]]) -> dict[str, Events]:
    """{family: the events of it}. To Arrow a call costs as much as a thousand lines, so small blocks come together.

    A block: whole lines, the last one with its end; together of less than 2 GiB.

    Raises: Refused: one of them is, nobody tells which.
    """
    objects: dict[str, list[list[bytes]]] = {}
    for number, (block, _) in enumerate(blocks):
        for family, some in _objects_of(block).items():
            of_family = objects.setdefault(family, [[] for _ in blocks])
            of_family[number] = some
    sources = [source for _, source in blocks]
    return {family: _events_of(family, of_blocks, sources) for family, of_blocks in objects.items()}


def columns_of(family: str) -> list[str]:
    """Of its table, in their order."""
    if family == RARE_ONES:
        return [*(name for name in FREQUENT if name != "run"), RARE_COLUMN]
    theirs = _fields_of(TABLES[family][0])
    return [name for name in FREQUENT if name in theirs and name != "run" and (name != "cause" or family in WITH_CAUSE)]


def _arrow_types(fields: list[str]) -> pa.Schema:
    import pyarrow as pa

    types = {int: pa.int64(), float: pa.float64(), str: pa.string(), bool: pa.bool_()}
    return pa.schema([(name, types[FIELDS[name]]) for name in fields])


def _is_utf8(block: bytes) -> bool:
    if block.isascii():
        return True
    try:
        block.decode()
    except UnicodeDecodeError:
        return False
    return True


def _objects_of(block: bytes) -> dict[str, list[bytes]]:
    """{family: its objects}."""
    objects = block.split(_BETWEEN)
    objects[-1] = objects[-1][:-2]
    objects[0] = objects[0][1:]
    events = _EVENT.findall(block)
    whole = block.startswith(b"{") and block.endswith(b"}\n") and len(objects) == len(events) == block.count(b"\n")
    _need(whole and b"\r" not in block and _is_utf8(block))
    return _by_family(objects, events)


def _by_family(objects: list[bytes], events: list[bytes]) -> dict[str, list[bytes]]:
    found: dict[str, list[bytes]] = {}
    rare = []
    for event in set(events):
        family = FAMILY_OF.get(event.decode(), RARE_ONES)
        if family == RARE_ONES:
            rare.append(event)
        else:
            found[family] = [*compress(objects, map(event.__eq__, events))]
    if rare:
        found[RARE_ONES] = [*compress(objects, map(set(rare).__contains__, events))]
    return found


def _fields_of(event: str) -> dict[str, None]:
    return dict.fromkeys((*ENVELOPE, *EVENTS[event].__struct_fields__))


def _events_of(family: str, of_blocks: list[list[bytes]], sources: Sequence[Source]) -> Events:
    objects = [*chain.from_iterable(of_blocks)]
    counts = [*map(len, of_blocks)]
    table = _parsed(objects, [*FIELDS] if family == RARE_ONES else [*_fields_of(TABLES[family][0])])
    begin = 0
    for count, source in zip(counts, sources, strict=True):
        if count:
            _are_of(table.slice(begin, count), source)
        begin += count
    _are_possible(table)
    if family == RARE_ONES:
        table = _rare_ones(table, objects)
    else:
        _are_whole(table, TABLES[family][0])
        _need(table["event"].unique().to_pylist() == [TABLES[family][0]])
    return Events(table.select(columns_of(family)), counts)


def _rare_ones(table: pa.Table, objects: list[bytes]) -> pa.Table:
    """With RARE_COLUMN."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for event in table["event"].unique().to_pylist():
        _need(event in EVENTS and event not in FAMILY_OF)
        _are_whole(table.filter(pc.equal(table["event"], event)), event)
    for buckets in table["buckets"].drop_null().to_pylist():
        _need(are_buckets(buckets) and not buckets.endswith("\n"))  # to Java other characters end a line, too
    return table.append_column(RARE_COLUMN, pa.array([b"{%b}" % one for one in objects], pa.string()))


def _parsed(objects: list[bytes], fields: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    lines = [*objects]
    lines[0] = b"{" + lines[0]
    lines[-1] += b"}\n"
    text = _BETWEEN.join(lines)  # a block is copied no more often than it must: two threads wait for memory
    try:
        table = pj.read_json(
            pa.BufferReader(text),
            pj.ReadOptions(use_threads=False, block_size=len(text)),
            pj.ParseOptions(_arrow_types(fields), unexpected_field_behavior="error"),
        )
    except ValueError as error:  # Arrow's are of these
        raise Refused from error
    _need(table.num_rows == len(objects))
    return table


def _are_of(table: pa.Table, source: Source) -> None:
    """Of one node, life and run, which are this file's."""
    node, incarnation = _only(table, "node"), _only(table, "incarnation")
    _need(source.file.startswith(f"{node}.{incarnation}.") and _only(table, "run") == source.run)


def _are_possible(table: pa.Table) -> None:
    """Of our format, and of numbers that can be."""
    _need(_only(table, "format") == EVENT_FORMAT)
    _are_within(table["seq"], SEQ_MODULUS - 1, least=0)
    for name in table.column_names:
        if name in BOUNDED:
            _are_within(table[name], NUMBER_MAX)
        elif name in TIMES:
            _are_within(table[name], TIME_MS_MAX)


def _are_whole(table: pa.Table, event: str) -> None:
    for name in (*ENVELOPE_NEEDED, *NEEDED[event]):
        _need(table[name].null_count == 0)


def _are_within(column: pa.ChunkedArray, most: float, least: float | None = None) -> None:
    """No NaN either: it is neither less nor more than anything, so it is looked for."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count < len(column):
        ends = pc.min_max(column).as_py()
        _need((-most if least is None else least) <= ends["min"] and ends["max"] <= most)
        _need(column.type != pa.float64() or not pc.any(pc.is_nan(column)).as_py())


def _only(table: pa.Table, name: str) -> Any:
    """The value that all have."""
    values = table[name].unique().to_pylist()
    _need(len(values) == 1)
    return values[0]


def _need(right: bool) -> None:
    if not right:
        raise Refused
