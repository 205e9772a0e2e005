"""Lines of a partition as Arrow record batches of a group.

Blocks whose lines are all events are parsed at once (`audit.blocks`). A refused block falls into pieces, and a refused
piece into single lines (`audit.single_lines`). Lines that are no events are rows of `quarantine` and of no other group.
Rows come in the order of files and numbers.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final

from audit.blocks import Refused, fields_of, tables_of
from audit.event_groups import FAMILY_OF, RARE_ONES
from audit.event_lines import LINE_SHOWN_MAX
from audit.input import AuditInputError
from audit.line_ranges import Block, Range, lines_of, refused
from audit.single_lines import TOO_LONG, SingleLine, single_lines
from emulator.regular_files import open_regular, reason
from protocol.events import FIELDS
from pyspark_faultline.row_selection import Selection
from pyspark_faultline.source_groups import QUARANTINE, Group

if TYPE_CHECKING:
    import pyarrow as pa

CHARACTER_BYTES_MAX: Final = 4
_BLOCK: Final = "_block"
"""Column with the number of a row's block, for the order of rows."""


def record_batches(ranges: Sequence[Range], group: Group, selection: Selection) -> Iterator[pa.RecordBatch]:
    """The selected rows of the ranges' lines.

    Raises AuditInputError: a file changed or cannot be read.
    """
    tables = _quarantine(ranges, group) if group.name == QUARANTINE else _events(ranges, group)
    try:
        for table in tables:
            yield from selection.of(table).combine_chunks().to_batches()
    except OSError as error:
        raise AuditInputError(
            f"{error.filename}: cannot be read: {reason(error)}; load the run when no other program changes it"
        ) from error


def _events(ranges: Sequence[Range], group: Group) -> Iterator[pa.Table]:
    columns = _columns_for(group)
    taken: list[pa.Table] = []

    def take(blocks: Sequence[Block]) -> bool:
        try:
            tables = tables_of([(block.lines, block.of.source) for block in blocks], columns)
        except Refused:
            return False
        ours = [_with_places(*tables[family], blocks) for family in tables if family in group.families]
        if ours:
            taken.append(_in_order(ours, group))
        return True

    for piece in refused([block for one in ranges for block in lines_of(one).blocks], take):
        yield from taken
        taken.clear()
        rows = [line.event | {"run": piece.of.key} for line in single_lines(piece) if _is_of(line, group)]
        if rows:
            yield _table_of(rows, group)
    yield from taken


def _columns_for(group: Group) -> Callable[[str], Sequence[str]]:
    """Columns of each family's events: those of the group, without `run`."""
    wanted = {
        family: [name for name in fields_of(family) if name in group.columns and name != "run"]
        for family in group.families
    }
    return lambda family: wanted.get(family, ())


def _with_places(table: pa.Table, counts: Sequence[int], blocks: Sequence[Block]) -> pa.Table:
    """The events with their run's key and the number of their block."""
    import pyarrow as pa

    keys = [pa.repeat(block.of.key, count) for block, count in zip(blocks, counts, strict=True)]
    numbers = [pa.repeat(number, count) for number, count in enumerate(counts)]
    return table.append_column("run", pa.chunked_array(keys)).append_column(_BLOCK, pa.chunked_array(numbers))


def _in_order(tables: Sequence[pa.Table], group: Group) -> pa.Table:
    """The events of families in the order of blocks and numbers, with the columns of the group."""
    import pyarrow as pa

    together = pa.concat_tables(tables, promote_options="default")
    if group.families & {RARE_ONES}:  # several kinds of events, which were parsed apart
        together = together.sort_by([(_BLOCK, "ascending"), ("seq", "ascending")])
    rows = together.num_rows
    columns = {*together.column_names}
    schema = group.arrow_schema()
    arrays = [together[field.name] if field.name in columns else pa.nulls(rows, field.type) for field in schema]
    return pa.Table.from_arrays(arrays, schema=schema)


def _is_of(line: SingleLine, group: Group) -> bool:
    return not line.problem and FAMILY_OF.get(line.event["event"], RARE_ONES) in group.families


def _table_of(rows: Sequence[dict[str, Any]], group: Group) -> pa.Table:
    import pyarrow as pa

    def column(name: str) -> list[Any]:
        values = [row[name] for row in rows]
        if FIELDS.get(name) is float:  # JSON has whole numbers for some of them
            return [None if value is None else float(value) for value in values]
        return values

    schema = group.arrow_schema()
    return pa.Table.from_arrays([pa.array(column(field.name), field.type) for field in schema], schema=schema)


def _quarantine(ranges: Sequence[Range], group: Group) -> Iterator[pa.Table]:
    """Tables of one piece each, because a piece may have tens of thousands of lines."""
    for one in ranges:
        lines = lines_of(one)
        for piece in refused(lines.blocks, _are_events):
            rows = [_row(one, line.begin, line.problem, line.text, torn=line.torn)
                    for line in single_lines(piece) if line.problem]  # fmt: skip
            if rows:
                yield _table_of(rows, group)
        if lines.too_long is not None:
            yield _table_of([_row(one, lines.too_long, TOO_LONG, _beginning(one, lines.too_long))], group)


def _are_events(blocks: Sequence[Block]) -> bool:
    """Whether all lines are events."""
    try:
        tables_of([(block.lines, block.of.source) for block in blocks], lambda family: ())
    except Refused:
        return False
    return True


def _row(of: Range, begin: int, problem: str, line: bytes, *, torn: bool = False) -> dict[str, Any]:
    text = line[: LINE_SHOWN_MAX * CHARACTER_BYTES_MAX].decode("utf-8", "replace")[:LINE_SHOWN_MAX]
    return {"run": of.key, "file": of.source.file, "offset": begin, "reason": problem, "torn": torn, "line": text}


def _beginning(of: Range, begin: int) -> bytes:
    with open_regular(of.path) as file:
        return os.pread(file.fileno(), LINE_SHOWN_MAX * CHARACTER_BYTES_MAX, begin)
