"""What is told of blocks of lines besides their rows, while they are in memory: how many there are of each kind, and
whether their clock goes forward. Nobody needs to read millions of rows for that again.

Tallies have the columns of `audit.tallies`, stretches those of `audit.stretches` with the names of the life: a few rows
for each block.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from audit.blocks import Events
from emulator.judging.findings import SEQ_MODULUS

if TYPE_CHECKING:
    import pyarrow as pa

_KINDS: Final = ("kind", "outcome", "acks")
_SUMMED: Final = (
    *((name, pick) for name in ("seq", "at_ms") for pick in ("min", "max")),
    *((name, "sum") for name in ("seq", "square")),
    ("seq", "count"),
)
_CALLED: Final = {
    **{"seq_min": "first_seq", "seq_max": "last_seq", "at_ms_min": "first_ms", "at_ms_max": "last_ms"},
    **{"seq_sum": "seq_sum", "square_sum": "seq_squares", "seq_count": "events"},
}


class Sums(NamedTuple):
    tallies: pa.Table
    stretches: pa.Table


def tally_schema() -> pa.Schema:
    import pyarrow as pa

    text, number, time = pa.string(), pa.int64(), pa.float64()
    named = {"run": text, "node": text, "incarnation": number, "event": text, "problem": text}
    kinds = {"kind": text, "outcome": text, "acks": number, "led": pa.bool_(), "events": number}
    sums = {"seq_sum": number, "seq_squares": number}
    return pa.schema([*{**named, **kinds, **_spans(number, time), **sums}.items()])


def stretch_schema() -> pa.Schema:
    import pyarrow as pa

    named = {"run": pa.string(), "node": pa.string(), "incarnation": pa.int64()}
    return pa.schema([*{**named, **_spans(pa.int64(), pa.float64()), "ordered": pa.bool_()}.items()])


def _spans(number: pa.DataType, time: pa.DataType) -> dict[str, pa.DataType]:
    return {"first_seq": number, "last_seq": number, "first_ms": time, "last_ms": time}


def sums_of(tables: Mapping[str, Events], runs: Sequence[str]) -> Sums:
    """Of blocks of lines, as `audit.blocks.tables_of` gave them. `runs`: the key of each block's run."""
    import pyarrow as pa

    lives = _lives_of(tables, runs)
    tallies = pa.concat_tables([_tallies(events, lives) for events in tables.values()])
    return Sums(tallies, _stretches([*tables.values()], lives))


def _lives_of(tables: Mapping[str, Events], runs: Sequence[str]) -> pa.Table:
    """`run`, `node`, `incarnation` of each block, in their order."""
    import pyarrow as pa

    nodes, incarnations = [""] * len(runs), [0] * len(runs)
    for table, counts in tables.values():
        begin = 0
        for number, count in enumerate(counts):
            if count and not nodes[number]:
                nodes[number] = table["node"][begin].as_py()
                incarnations[number] = table["incarnation"][begin].as_py()
            begin += count
    return pa.table(
        {"run": [*runs], "node": nodes, "incarnation": incarnations}, schema=pa.schema([*stretch_schema()][:3])
    )


def _numbered(events: Events) -> pa.Table:
    """`block`: of each row; `seq`, `at_ms`."""
    import pyarrow as pa

    blocks = [pa.repeat(pa.scalar(number, pa.int64()), count) for number, count in enumerate(events.counts) if count]
    return pa.table(
        {"block": pa.chunked_array(blocks).combine_chunks(), "seq": events.table["seq"], "at_ms": events.table["at_ms"]}
    )


def _tallies(events: Events, lives: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    table, rows = events.table, _numbered(events)
    square = pc.multiply(rows["seq"], rows["seq"])
    rows = rows.append_column(
        "square", pc.subtract(square, pc.multiply(pc.divide(square, SEQ_MODULUS), SEQ_MODULUS))
    )
    for name in ("event", *_KINDS):
        if name in table.column_names:
            rows = rows.append_column(name, table[name])
    led = [table[name] for name in ("as_leader", "leading") if name in table.column_names]
    if led:
        rows = rows.append_column("led", pc.coalesce(*led))
    keys = [name for name in ("block", "event", *_KINDS, "led") if name in rows.column_names]
    told = _called(rows.group_by(keys, use_threads=False).aggregate([*_SUMMED]))
    of_lives = lives.take(told["block"])
    columns = {**_columns_of(of_lives), **_columns_of(told)}
    schema = tally_schema()
    return pa.table(
        {field.name: columns.get(field.name, pa.nulls(told.num_rows, field.type)) for field in schema}, schema=schema
    )


def _called(told: pa.Table) -> pa.Table:
    return told.rename_columns([_CALLED.get(name, name) for name in told.column_names])


def _columns_of(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))


def _stretches(families: Sequence[Events], lives: pa.Table) -> pa.Table:
    """Lines of all families in the order of their numbers, each compared with the one before it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = pa.concat_tables([_numbered(events) for events in families]).combine_chunks()
    # One number says which block and which line of it: numbers of lines are less than SEQ_MODULUS.
    place = pc.add(pc.multiply(rows["block"], SEQ_MODULUS), rows["seq"])
    rows = rows.append_column("place", place).take(pc.array_sort_indices(place.combine_chunks()))
    one, after = rows.slice(0, rows.num_rows - 1), rows.slice(1)
    wrong = pc.or_(pc.equal(after["place"], one["place"]), pc.less(after["at_ms"], one["at_ms"]))
    disordered = pc.unique(pc.filter(after["block"], pc.and_(wrong, pc.equal(after["block"], one["block"]))))
    told = rows.group_by("block", use_threads=False).aggregate(
        [(name, pick) for name in ("seq", "at_ms") for pick in ("min", "max")]
    )
    ordered = pc.invert(pc.is_in(told["block"], value_set=disordered))
    told = _called(told).append_column("ordered", ordered)
    columns = {**_columns_of(lives.take(told["block"])), **_columns_of(told)}
    return pa.table([columns[field.name] for field in stretch_schema()], schema=stretch_schema())
