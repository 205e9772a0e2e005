"""Filters of a query that leave out whole files, or events before Spark receives them.

Every event of a file is of one run, node and incarnation, which the file's place and name state. So an equality or a
list of one of these decides about a file. Spark evaluates every filter again; nothing depends on the ones taken here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

import msgspec
from pyspark.sql.datasource import EqualNullSafe, EqualTo, In

if TYPE_CHECKING:
    from pyspark.sql.datasource import Filter

_NAME: Final = re.compile(r"([^.]+)\.(0|[1-9][0-9]{0,17})\.(?:wire\.)?jsonl")
"""Name of an event file.

A file of another name may have events of several nodes, and is never left out."""


class Pushed(msgspec.Struct, frozen=True):
    """Permitted values of columns; None: all."""

    run: frozenset[Any] | None = None
    node: frozenset[Any] | None = None
    incarnation: frozenset[Any] | None = None
    event: frozenset[Any] | None = None

    def has_run(self, key: str) -> bool:
        return self.run is None or key in self.run

    def has_file(self, name: str) -> bool:
        """Whether a file of that name may hold permitted events."""
        found = _NAME.fullmatch(name)
        if found is None:
            return True
        return (self.node is None or found[1] in self.node) and (
            self.incarnation is None or int(found[2]) in self.incarnation
        )


def pushed(filters: Iterable[Filter]) -> Pushed:
    """The values that all filters together permit; other filters are ignored."""
    values: dict[str, frozenset[Any]] = {}
    for one in filters:
        if isinstance(one, EqualTo | EqualNullSafe | In) and one.attribute in _COLUMNS:
            some = one.value if isinstance(one, In) else (one.value,)
            [name] = one.attribute
            permitted = frozenset(value for value in some if value is not None)  # no event lacks one of these
            values[name] = values.get(name, permitted) & permitted
    return Pushed(**values)


_COLUMNS: Final = {(name,) for name in Pushed.__struct_fields__}
