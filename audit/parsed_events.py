"""Events of small runs: their tables, tallies and pre-tests, if every line is an event.

Arrow parses the lines as it does those of big runs (`audit.blocks`). Where it refuses one, Spark reads all of them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from audit.block_sums import tallies_of
from audit.blocks import Refused, Source, arrow_schema, columns_of, tables_of
from audit.event_groups import FREQUENT, RARE_ONES, REST, TABLES
from audit.event_lines import run_keys
from audit.input import EventFile, RunDirectory
from audit.line_ranges import Block, lines_of, ranges_of
from audit.pretests.pretested_run import PretestedRun, pretested

if TYPE_CHECKING:
    import pyarrow as pa

_OF_REST = tuple(name for name in dict.fromkeys((*FREQUENT, *REST)) if name != "run")
_decoder = msgspec.json.Decoder()


class ParsedEvents(NamedTuple):
    """Events of all runs.

    `tables`: {table of events: its rows}. `tallies`: as `audit.event_counts`, of all levels. `pretested`: the runs, for
    pre-tests; None: one of them is out of order.
    """

    tables: dict[str, pa.Table]
    tallies: pa.Table
    pretested: list[PretestedRun] | None


def parsed_events(runs: Sequence[RunDirectory]) -> ParsedEvents | None:
    """Read the runs; None: a line is no event that Arrow can read."""
    import pyarrow as pa

    try:
        read = [[(file, [*_blocks_of(run, key, file)]) for file in run.files] for run, key in _keyed(runs)]
        events, wire = (
            _events([block for files in read for file, blocks in files if file.wire == wire for block in blocks])
            for wire in (False, True)
        )
    except Refused:
        return None
    ordered = [
        pretested([[row for block in blocks for row in _rows(block)] for file, blocks in files if not file.wire])
        for files in read
    ]
    return ParsedEvents(
        {name: _whole(name, events.tables.get(name)) for name in (RARE_ONES, *TABLES)},
        pa.concat_tables([events.tallies, wire.tallies]),
        [run for run in ordered if run is not None] if all(ordered) else None,
    )


def _keyed(runs: Sequence[RunDirectory]) -> Iterator[tuple[RunDirectory, str]]:
    return zip(runs, run_keys(runs), strict=True)


class _Events(NamedTuple):
    tables: dict[str, pa.Table]
    tallies: pa.Table


def _events(blocks: Sequence[Block]) -> _Events:
    """Events of the blocks by family, with their runs. Raises Refused."""
    import pyarrow as pa

    events = tables_of([(block.lines, block.of.source) for block in blocks], _columns) if blocks else {}
    keys = [block.of.key for block in blocks]
    tables = {
        name: rows.append_column("run", pa.chunked_array(map(pa.repeat, keys, counts), pa.string()))
        for name, (rows, counts) in events.items()
    }
    return _Events(tables, tallies_of(events, keys))


def _blocks_of(run: RunDirectory, key: str, file: EventFile) -> Iterator[Block]:
    """Raises Refused: the file has a line that is too long."""
    if file.too_long:
        raise Refused
    for one in ranges_of(file.path, Source(run.called, file.path.name), key, 0, file.size_bytes):
        yield from lines_of(one).blocks


def _rows(block: Block) -> list[dict[str, object]]:
    return _decoder.decode_lines(block.lines)


def _columns(family: str) -> Sequence[str]:
    return _OF_REST if family == RARE_ONES else columns_of(family)


def _whole(name: str, rows: pa.Table | None) -> pa.Table:
    """The table with all its columns.

    Runs older than the field `records` have one record in each batch.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    schema = arrow_schema(REST if name == RARE_ONES else TABLES[name][1])
    if rows is None:
        return schema.empty_table()
    columns = {
        field.name: rows[field.name] if field.name in rows.column_names else pa.nulls(rows.num_rows, field.type)
        for field in schema
    }
    if "records" in columns:
        columns["records"] = pc.fill_null(columns["records"], 1)
    return pa.table(columns, schema=schema).combine_chunks()
