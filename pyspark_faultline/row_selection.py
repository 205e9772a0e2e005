"""Selection of rows by options: of some runs, nodes, incarnations or kinds of events.

Every event of a file is of one run, node and incarnation, which the file's place and name state, so most of what is not
selected is never opened. These are options, and no filters that Spark pushes down: Spark 4.3 keeps the partitions of
the last pushed filters with the loaded table. A second query of that table, or a union with another filter, then lacks
rows (tests/pyspark_faultline/test_spark_pushdown.py shows it).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

import msgspec

if TYPE_CHECKING:
    import pyarrow as pa

_NAME: Final = re.compile(r"([^.]+)\.(0|[1-9][0-9]{0,17})\.(?:wire\.)?jsonl")
"""Name of an event file. A file of another name may have events of several nodes."""


class Selection(msgspec.Struct, frozen=True):
    """Selected values of columns; None: all."""

    run: frozenset[str] | None = None
    node: frozenset[str] | None = None
    incarnation: frozenset[int] | None = None
    event: frozenset[str] | None = None

    def has_run(self, key: str) -> bool:
        return self.run is None or key in self.run

    def has_file(self, name: str) -> bool:
        """Whether a file of that name may hold selected rows."""
        found = _NAME.fullmatch(name)
        if found is None:
            return True
        return (self.node is None or found[1] in self.node) and (
            self.incarnation is None or int(found[2]) in self.incarnation
        )

    def of(self, table: pa.Table) -> pa.Table:
        """The selected rows of a table of events."""
        import pyarrow as pa
        import pyarrow.compute as pc

        columns: dict[str, frozenset[Any] | None] = {
            "node": self.node, "incarnation": self.incarnation, "event": self.event,
        }  # fmt: skip
        for name, values in columns.items():
            if values is not None and name in table.column_names:
                kind = table.schema.field(name).type
                table = table.filter(pc.is_in(table[name], pa.array(sorted(values), kind)))
        return table
