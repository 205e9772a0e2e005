"""Groups of events that the data source reads, and their columns.

A group of the audit's tables has their name and columns (`audit.event_groups`). `events` has every field of every
event, of the wire level, too. `quarantine` has the lines that are no events.
"""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Final, NamedTuple

from audit.blocks import arrow_schema
from audit.event_groups import RARE_ONES, REST, TABLES
from audit.input import AuditInputError
from protocol.events import FIELDS
from protocol.events.event_parsing import NAME_SHOWN_MAX

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql.types import StructType

EVENTS: Final = "events"
QUARANTINE: Final = "quarantine"
QUARANTINE_COLUMNS: Final[dict[str, tuple[type, str]]] = {
    "run": (str, "the run's name"),
    "file": (str, "the name of the line's file"),
    "offset": (int, "byte of the file at which the line begins"),
    "reason": (str, "why the line is no event"),
    "torn": (bool, "the file ends in the middle of the line: its process died, or still writes"),
    "line": (str, "the first 4,096 characters of the line"),
}
"""{column: (its type, its meaning)}."""


class Group(NamedTuple):
    """A group.

    `holds`: meaning of a row. `families`: its event groups of the audit. `wire`: it also has lines of wire files.
    """

    name: str
    holds: str
    columns: tuple[str, ...]
    families: frozenset[str]
    wire: bool = False

    def arrow_schema(self) -> pa.Schema:
        import pyarrow as pa

        if self.name != QUARANTINE:
            return arrow_schema(self.columns)
        types = {int: pa.int64(), str: pa.string(), bool: pa.bool_()}
        return pa.schema([(name, types[kind]) for name, (kind, _) in QUARANTINE_COLUMNS.items()])

    def schema(self) -> StructType:
        """The schema as Spark's."""
        from pyspark.sql.pandas.types import from_arrow_schema

        return from_arrow_schema(self.arrow_schema())


_EVERY: Final = frozenset((*TABLES, RARE_ONES))
GROUPS: Final[dict[str, Group]] = {
    EVENTS: Group(EVENTS, "an event of any kind and level, with all fields", tuple(FIELDS), _EVERY, wire=True),
    **{
        table: Group(table, f"an event `{event}`", columns, frozenset((table,)))
        for table, (event, columns) in TABLES.items()
    },
    RARE_ONES: Group(RARE_ONES, "an event without a group of its own", REST, frozenset((RARE_ONES,))),
    QUARANTINE: Group(QUARANTINE, "a line that is no event", tuple(QUARANTINE_COLUMNS), frozenset(), wire=True),
}


def group_named(name: str) -> Group:
    """A group. Raises AuditInputError."""
    if name in GROUPS:
        return GROUPS[name]
    [near] = difflib.get_close_matches(name, GROUPS, n=1, cutoff=0)
    raise AuditInputError(f"group {name[:NAME_SHOWN_MAX]}: unknown; nearest: {near}; all: {', '.join(GROUPS)}")
