"""Sums over blocks of lines in memory: counts per kind, and sequences that must increase.

So no query needs to read millions of rows for them again. Tallies have the columns of `audit.event_counts`. Stretches
are those of `audit.monotonic_runs`, each with the names of its sequence: `kind`, `run`, `node`, `incarnation`, and
`topic`, `partition`, `leader_epoch` where they distinguish sequences of that kind. Each block has a few rows of both.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from itertools import accumulate
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
    ("records", "sum"),
)
_CALLED: Final = {
    **{"seq_min": "first_seq", "seq_max": "last_seq", "at_ms_min": "first_ms", "at_ms_max": "last_ms"},
    **{"seq_sum": "seq_sum", "square_sum": "seq_squares", "seq_count": "events"},
    "records_sum": "records",
    **{"place_min": "first", "place_max": "last", "value_min": "least", "value_max": "most"},
}
_PLACE: Final = ("topic", "partition")
_NUMBER: Final = r":(?P<number>[0-9]{1,9})$"
"""Ordinal of an operation among its client's."""


class Sums(NamedTuple):
    tallies: pa.Table
    stretches: pa.Table


def _schema(**types: str) -> pa.Schema:
    import pyarrow as pa

    return pa.schema([(name, pa.type_for_alias(kind)) for name, kind in types.items()])


def _tally_schema() -> pa.Schema:
    return _schema(
        run="string", node="string", incarnation="int64", event="string", problem="string", kind="string",
        outcome="string", acks="int64", led="bool", events="int64", records="int64", first_seq="int64",
        last_seq="int64", first_ms="double", last_ms="double", seq_sum="int64", seq_squares="int64",
    )  # fmt: skip


def _stretch_schema() -> pa.Schema:
    return _schema(
        kind="string", run="string", node="string", incarnation="int64", topic="string", partition="int64",
        leader_epoch="int64", first="int64", last="int64", least="double", most="double", ordered="bool",
    )  # fmt: skip


@cache
def _scalar(value: int | str) -> pa.Scalar:
    """A cached scalar; creating one takes longer than a calculation with thousands of rows."""
    import pyarrow as pa

    return pa.scalar(value)


def sums_of(tables: Mapping[str, Events], runs: Sequence[str]) -> Sums:
    """Sums of blocks, as `audit.blocks.tables_of` returned them.

    `runs`: the key of each block's run.
    """
    import pyarrow as pa

    lives = _lives_of(tables, runs)
    numbered = {family: table.append_column("block", _blocks(counts)) for family, (table, counts) in tables.items()}
    tallies = [_tallies(table, lives) for table in numbered.values()]
    sequences = [_clocks([*numbered.values()])]
    if "operations" in numbered:
        sequences.append(_producers(numbered["operations"]))
    if "watermarks" in numbered:
        sequences.append(_leaders(numbered["watermarks"]))
    stretches = [_as(_stretch_schema(), lives, rows) for rows in sequences]
    return Sums(pa.concat_tables(tallies), pa.concat_tables(stretches))


def tallies_of(tables: Mapping[str, Events], runs: Sequence[str]) -> pa.Table:
    """The tallies alone."""
    import pyarrow as pa

    lives = _lives_of(tables, runs)
    numbered = (table.append_column("block", _blocks(counts)) for table, counts in tables.values())
    return pa.concat_tables([_tally_schema().empty_table(), *(_tallies(table, lives) for table in numbered)])


def _lives_of(tables: Mapping[str, Events], runs: Sequence[str]) -> pa.Table:
    """`run`, `node`, `incarnation` of each block, in order."""
    import pyarrow as pa

    nodes, incarnations = [""] * len(runs), [0] * len(runs)
    for table, counts in tables.values():
        begin = 0
        for number, count in enumerate(counts):
            if count and not nodes[number]:
                nodes[number] = table["node"][begin].as_py()
                incarnations[number] = table["incarnation"][begin].as_py()
            begin += count
    return pa.table({"run": [*runs], "node": nodes, "incarnation": incarnations})


def _blocks(counts: Sequence[int]) -> pa.Array:
    """For each row the number of its block."""
    import pyarrow as pa
    import pyarrow.compute as pc

    ends = pa.array([*accumulate(counts)], pa.int64())
    there = [number for number, count in enumerate(counts) if count]
    numbers = pa.array(there, pa.int64())
    return pc.run_end_decode(pa.RunEndEncodedArray.from_arrays(ends.take(numbers), numbers))


def _as(schema: pa.Schema, lives: pa.Table, rows: pa.Table) -> pa.Table:
    """Rows of blocks in `schema`, with the names of their incarnations, or null."""
    import pyarrow as pa

    of_lives = lives.take(rows["block"])
    columns = dict(zip([*rows.column_names, *of_lives.column_names], [*rows.columns, *of_lives.columns], strict=True))
    return pa.table(
        [columns.get(field.name, pa.nulls(rows.num_rows)).cast(field.type) for field in schema], schema=schema
    )


def _called(rows: pa.Table) -> pa.Table:
    return rows.rename_columns([_CALLED.get(name, name) for name in rows.column_names])


def _tallies(table: pa.Table, lives: pa.Table) -> pa.Table:
    import pyarrow.compute as pc

    modulus = _scalar(SEQ_MODULUS)
    square = pc.multiply(table["seq"], table["seq"])
    square = pc.subtract(square, pc.multiply(pc.divide(square, modulus), modulus))
    rows = table.select([name for name in ("block", "seq", "at_ms", "event", *_KINDS) if name in table.column_names])
    rows = rows.append_column("square", square).append_column("records", _records(table))
    led = [table[name] for name in ("as_leader", "leading") if name in table.column_names]
    if led:
        rows = rows.append_column("led", pc.coalesce(*led))
    keys = [name for name in rows.column_names if name not in ("seq", "at_ms", "square", "records")]
    return _as(_tally_schema(), lives, _called(rows.group_by(keys, use_threads=False).aggregate([*_SUMMED])))


def _records(table: pa.Table) -> pa.Array | pa.ChunkedArray:
    """Count of records that each event is about."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if "records" in table.column_names:
        return pc.fill_null(table["records"], 1)
    return pa.repeat(_scalar(1), table.num_rows)


def _clocks(families: Sequence[pa.Table]) -> pa.Table:
    """Sequences of times: within an incarnation the clock advances line by line."""
    import pyarrow as pa

    rows = [table.select(["block", "seq", "at_ms"]).rename_columns(["block", "place", "value"]) for table in families]
    return _sequences("clock", pa.concat_tables(rows), ())


def _producers(table: pa.Table) -> pa.Table:
    """Sequences of offsets: a client's later requests to a partition get higher offsets."""
    import pyarrow as pa
    import pyarrow.compute as pc

    done = pc.and_(pc.equal(table["kind"], _scalar("produce")), pc.equal(table["outcome"], _scalar("ok")))
    table = table.filter(pc.and_(done, pc.greater_equal(table["offset"], _scalar(0))))
    number = pc.struct_field(pc.extract_regex(table["operation"], _NUMBER), "number").cast(pa.int64())
    rows = table.select(["block", "offset", *_PLACE]).rename_columns(["block", "value", *_PLACE])
    return _sequences("producer", rows.append_column("place", number), _PLACE)


def _leaders(table: pa.Table) -> pa.Table:
    """Sequences of high watermarks: a leader's increases while its epoch lasts."""
    names = (*_PLACE, "leader_epoch")
    rows = table.select(["block", "seq", "high_watermark", *names]).filter(table["leading"])
    return _sequences("leader", rows.rename_columns(["block", "place", "value", *names]), names)


def _fits(numbers: pa.ChunkedArray) -> bool:
    """Whether two such numbers fit into one."""
    import pyarrow.compute as pc

    ends = pc.min_max(numbers).as_py()
    return not numbers.null_count and (not len(numbers) or 0 <= ends["min"] <= ends["max"] < SEQ_MODULUS)


def _sequences(kind: str, rows: pa.Table, names: Sequence[str]) -> pa.Table:
    """Each sequence of each block: rows with the same `names`, in the order of `place`."""
    import pyarrow as pa
    import pyarrow.compute as pc

    rows = rows.combine_chunks()
    sequence = rows["block"]
    for name in names:
        coded = rows[name].combine_chunks().dictionary_encode(null_encoding="encode")
        sequence = pc.add(pc.multiply(sequence, _scalar(len(coded.dictionary))), coded.indices.cast(pa.int64()))
    rows = rows.append_column("sequence", sequence)
    spans = rows.group_by(["block", *names, "sequence"], use_threads=False).aggregate(
        [(name, pick) for name in ("place", "value") for pick in ("min", "max")]
    )
    ordered = pc.invert(pc.is_in(spans["sequence"], value_set=_disordered(rows)))
    spans = spans.append_column("kind", pa.repeat(_scalar(kind), spans.num_rows))
    return _called(spans).append_column("ordered", ordered)


def _disordered(rows: pa.Table) -> pa.Array:
    """Sequences in which a `place` occurs twice or a `value` decreases, or may do so."""
    import pyarrow.compute as pc

    if not all(_fits(rows[name]) for name in ("place", "sequence")):
        return pc.unique(rows["sequence"])
    # One number identifies the sequence and the place in it.
    at = pc.add(pc.multiply(rows["sequence"], _scalar(SEQ_MODULUS)), rows["place"]).combine_chunks()
    order = pc.array_sort_indices(at)
    at, value, sequence = (column.take(order) for column in (at, rows["value"], rows["sequence"]))
    before, after = slice(None, -1), slice(1, None)
    wrong = pc.or_(pc.equal(at[after], at[before]), pc.less(value[after], value[before]))
    return pc.unique(pc.filter(sequence[after], pc.and_(wrong, pc.equal(sequence[after], sequence[before]))))
