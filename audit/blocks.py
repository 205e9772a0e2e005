"""Blocks of event files' lines as Arrow tables, if every line is an event; else refused.

Native code checks all lines of a kind at once here, and more strictly than `audit.event_lines` has Spark check each.
Lines that the two readers might read differently are refused, and Spark reads them instead. Refused are

- bytes that are no UTF-8, and carriage returns, which end a line for Spark;
- lines that do not begin with `{` and end with `}`. So no line end lies within an object: a text cannot hold one, and
  between the others of an object's parts none lies after `}` and before `{`; as many objects as lines are one each;
- lines whose beginning differs from the first of their block, if that names run, node and incarnation in our format;
  it is parsed once for all of them;
- fields that the event does not have, that come twice, or whose value is of another type (Arrow does not take them);
- numbers that are none or out of range (the line's own: below 0 or not below SEQ_MODULUS), lines of another node,
  incarnation or run, and events that lack a part.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import msgspec

from audit.event_groups import FAMILY_OF, FREQUENT, RARE_ONES, TABLES, WITH_CAUSE
from emulator.judging.findings import SEQ_MODULUS
from protocol.events import ENVELOPE, EVENT_FORMAT, EVENTS, FIELDS
from protocol.events.event_parsing import (
    BOUNDED,
    COUNTS_MAX,
    ENVELOPE_NEEDED,
    NEEDED,
    NUMBER_MAX,
    TIME_MS_MAX,
    TIMES,
    are_buckets,
)
from protocol.undecodable import UNDECODABLE

if TYPE_CHECKING:
    import pyarrow as pa

RARE_COLUMN: Final = "rare"
"""Column of rare events: the line, or all but its beginning, with the other fields."""

_BETWEEN: Final = b"}\n{"
"""Bytes between the insides of two lines, which are called objects here."""
_TEXT: Final = rb'"[^"\\\x00-\x1f]*"'
_NUMBER: Final = rb"[0-9]{1,9}"
_BEGINNING: Final = re.compile(
    rb'\{"format":%b,"run":%b,"node":%b,"incarnation":%b,' % (_NUMBER, _TEXT, _TEXT, _NUMBER)
)
_EVENT = re.compile(rb'"event":"([a-z_]+)"')


class Source(NamedTuple):
    """Source of a block.

    `run`: the run's own name; `file`: the file's name, which names the node of its events.
    """

    run: str
    file: str


class Refused(Exception):
    """A block that only Spark can read."""


class Events(NamedTuple):
    """Events of a family.

    `table`: the requested columns. `counts`: rows per block, in order.
    """

    table: pa.Table
    counts: list[int]


def tables_of(
    blocks: Sequence[tuple[bytes, Source]], columns: Callable[[str], Sequence[str]] | None = None
) -> dict[str, Events]:
    """{family: its events}, of several blocks together, because calls of Arrow are expensive.

    Args:
        blocks: whole lines, the last one with its end; together of less than 2 GiB.
        columns: a family's columns, of the fields of its events and RARE_COLUMN; by default `columns_of`.

    Raises: Refused: one of them is; which one is unknown.
    """
    columns = columns or columns_of
    beginnings = _beginnings(blocks)
    objects: dict[str, list[list[bytes]]] = {}
    for number, (block, _) in enumerate(blocks):
        for family, some in _objects_of(block, beginnings[number] if beginnings else b"{").items():
            of_family = objects.setdefault(family, [[] for _ in blocks])
            of_family[number] = some
    sources = [source for _, source in blocks]
    lives = [_life_of(*of_block) for of_block in zip(beginnings, sources, strict=True)] if beginnings else None
    return {
        family: _events_of(family, of_blocks, sources, lives, columns(family)) for family, of_blocks in objects.items()
    }


class _Life(msgspec.Struct):
    """Beginning of a block's lines."""

    format: int
    run: str
    node: str
    incarnation: int


def _beginnings(blocks: Sequence[tuple[bytes, Source]]) -> list[bytes]:
    """The common beginning of each block's lines, to its last comma; empty, if one has another."""
    found = [_BEGINNING.match(block) for block, _ in blocks]
    return [one[0] for one in found if one is not None] if all(found) else []


def _life_of(beginning: bytes, source: Source) -> _Life:
    try:
        life = msgspec.json.decode(beginning[:-1] + b"}", type=_Life)
    except UNDECODABLE as error:
        raise Refused from error
    _need(life.format == EVENT_FORMAT)
    _is_of(source, life.run, life.node, life.incarnation)
    return life


def columns_of(family: str) -> list[str]:
    """Columns of the family's table in the cache.

    Those of FREQUENT that it can have but `run`, and RARE_COLUMN."""
    if family == RARE_ONES:
        return [*(name for name in FREQUENT if name != "run"), RARE_COLUMN]
    theirs = fields_of(family)
    return [name for name in FREQUENT if name in theirs and name != "run" and (name != "cause" or family in WITH_CAUSE)]


def fields_of(family: str) -> list[str]:
    """All fields that events of the family can have."""
    if family == RARE_ONES:
        return [*FIELDS]
    return [*dict.fromkeys((*ENVELOPE, *EVENTS[TABLES[family][0]].__struct_fields__))]


def arrow_schema(fields: Iterable[str]) -> pa.Schema:
    """Schema of the columns `fields`, all nullable; types from `protocol.events.FIELDS`."""
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


def _objects_of(block: bytes, beginning: bytes) -> dict[str, list[bytes]]:
    """{family: its objects}, each without the `beginning` that all lines share."""
    objects = block.split(b"}\n" + beginning)
    objects[-1] = objects[-1][:-2]
    objects[0] = objects[0][len(beginning) :]
    events = _EVENT.findall(block)
    whole = block.startswith(beginning) and block.endswith(b"}\n") and len(objects) == len(events) == block.count(b"\n")
    _need(whole and b"\r" not in block and _is_utf8(block))
    return _by_family(objects, events)


def _by_family(objects: list[bytes], events: list[bytes]) -> dict[str, list[bytes]]:
    of_event: dict[bytes, list[bytes]] = {event: [] for event in dict.fromkeys(events)}  # in the order of the lines
    for one, event in zip(objects, events, strict=True):
        of_event[event].append(one)
    found: dict[str, list[bytes]] = {}
    for event, some in of_event.items():
        family = FAMILY_OF.get(event.decode(), RARE_ONES)
        found[family] = found.get(family, []) + some if family == RARE_ONES else some
    return found


def _events_of(
    family: str,
    of_blocks: list[list[bytes]],
    sources: Sequence[Source],
    lives: Sequence[_Life] | None,
    columns: Sequence[str],
) -> Events:
    """The events of one family. `lives`: of the blocks, where their objects omit them."""
    objects = [*chain.from_iterable(of_blocks)]
    counts = [*map(len, of_blocks)]
    named = () if lives is None else _Life.__struct_fields__
    table = _parsed(objects, [name for name in fields_of(family) if name not in named])
    if lives is None:
        _are_of_their_files(table, counts, sources)
    else:
        table = _with_lives(table, counts, lives)
    _are_possible(table)
    if family == RARE_ONES:
        _are_rare(table)
        if RARE_COLUMN in columns:
            table = _with_rare(table, objects)
    else:
        _are_whole(table, TABLES[family][0])
        _need(table["event"].unique().to_pylist() == [TABLES[family][0]])
    return Events(table.select(columns), counts)


def _with_lives(table: pa.Table, counts: Sequence[int], lives: Sequence[_Life]) -> pa.Table:
    import pyarrow as pa

    some = [(life, count) for life, count in zip(lives, counts, strict=True) if count]
    for field in arrow_schema(_Life.__struct_fields__):
        values = [pa.repeat(pa.scalar(getattr(life, field.name), field.type), count) for life, count in some]
        table = table.append_column(field, pa.chunked_array(values))
    return table


def _are_rare(table: pa.Table) -> None:
    import pyarrow.compute as pc

    for event in table["event"].unique().to_pylist():
        _need(event in EVENTS and event not in FAMILY_OF)
        _are_whole(table.filter(pc.equal(table["event"], event)), event)
    for buckets in table["buckets"].drop_null().to_pylist():
        _need(are_buckets(buckets) and not buckets.endswith("\n"))  # Java takes more characters for a line end


def _with_rare(table: pa.Table, objects: list[bytes]) -> pa.Table:
    """The table with RARE_COLUMN."""
    import pyarrow as pa

    return table.append_column(RARE_COLUMN, pa.array([b"{%b}" % one for one in objects], pa.string()))


def _parsed(objects: list[bytes], fields: list[str]) -> pa.Table:
    import pyarrow as pa
    import pyarrow.json as pj

    lines = [*objects]
    lines[0] = b"{" + lines[0]
    lines[-1] += b"}\n"
    text = _BETWEEN.join(lines)  # copies are expensive: two threads wait for memory
    try:
        table = pj.read_json(
            pa.BufferReader(text),
            pj.ReadOptions(use_threads=False, block_size=len(text)),
            pj.ParseOptions(arrow_schema(fields), unexpected_field_behavior="error"),
        )
    except ValueError as error:  # Arrow's are of these
        raise Refused from error
    _need(table.num_rows == len(objects))
    return table


def _are_of_their_files(table: pa.Table, counts: Sequence[int], sources: Sequence[Source]) -> None:
    """Refuse another format, or several nodes, incarnations or runs, or others than the file's."""
    _need(_only(table, "format") == EVENT_FORMAT)
    begin = 0
    for count, source in zip(counts, sources, strict=True):
        if count:
            block = table.slice(begin, count)
            _is_of(source, _only(block, "run"), _only(block, "node"), _only(block, "incarnation"))
        begin += count


def _is_of(source: Source, run: str, node: str, incarnation: int) -> None:
    _need(run == source.run and source.file.startswith(f"{node}.{incarnation}."))


def _are_possible(table: pa.Table) -> None:
    """Refuse impossible numbers."""
    _are_within(table["seq"], SEQ_MODULUS - 1, least=0)
    for name in table.column_names:
        if name in COUNTS_MAX:
            _are_within(table[name], COUNTS_MAX[name], least=1)
        elif name in BOUNDED:
            _are_within(table[name], NUMBER_MAX)
        elif name in TIMES:
            _are_within(table[name], TIME_MS_MAX)


def _are_whole(table: pa.Table, event: str) -> None:
    for name in (*ENVELOPE_NEEDED, *NEEDED[event]):
        _need(table[name].null_count == 0)


def _are_within(column: pa.ChunkedArray, most: float, least: float | None = None) -> None:
    """Refuse values out of bounds, and NaN, which no comparison finds."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if column.null_count < len(column):
        ends = pc.min_max(column).as_py()
        _need((-most if least is None else least) <= ends["min"] and ends["max"] <= most)
        _need(column.type != pa.float64() or not pc.any(pc.is_nan(column)).as_py())


def _only(table: pa.Table, name: str) -> Any:
    """The value that all rows share."""
    values = table[name].unique().to_pylist()
    _need(len(values) == 1)
    return values[0]


def _need(right: bool) -> None:
    if not right:
        raise Refused
