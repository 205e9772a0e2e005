"""Relations and types of a query's names, for `audit.query_names`.

An unknown type is None: every field of it is accepted. An open relation may have further columns, which are accepted.
Names are compared without case, as Spark does.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp

Kind = exp.DataType | None
Columns = Mapping[str, str]
"""{column: its type in Spark's SQL}"""

SCALARS = frozenset(("string", "bigint", "int", "double", "boolean"))
_WORD = re.compile(r"[A-Za-z_]\w*")


class Problem(NamedTuple):
    """A mistake in a query.

    `start`: its index in the query; `text`: the message, without the place.
    """

    start: int
    text: str


class Relation(NamedTuple):
    """A table, or a query in its place.

    `name`: its qualifier, "" for none; `columns`: {lower case: (name, type)}.
    """

    name: str
    columns: Mapping[str, tuple[str, Kind]]
    open: bool = False

    def named(self, name: str, columns: Sequence[str] = ()) -> Relation:
        """The relation under an alias, with aliases of its columns."""
        if not columns:
            return self._replace(name=name)
        if self.open:
            return Relation(name, {one.lower(): (one, None) for one in columns})
        if len(columns) != len(self.columns):
            return opened(name)
        kinds = [kind for _, kind in self.columns.values()]
        return Relation(name, {one.lower(): (one, kind) for one, kind in zip(columns, kinds, strict=True)})


def opened(name: str = "") -> Relation:
    """A relation of unknown columns."""
    return Relation(name, {}, open=True)


def relation_of(name: str, columns: Columns) -> Relation:
    """A table of known columns."""
    return Relation(name, {one.lower(): (one, kind_of(text)) for one, text in columns.items()})


def kind_of(text: str) -> Kind:
    """A type from its text; None for a scalar, whose fields Spark refuses itself."""
    return None if text in SCALARS else exp.DataType.build(text, dialect="spark")


def element(kind: Kind) -> Kind:
    """The type of an array's elements, or of a map's values."""
    if kind is not None and kind.this in (exp.DType.ARRAY, exp.DType.MAP) and kind.expressions:
        found = kind.expressions[-1]
        return found if isinstance(found, exp.DataType) else None
    return None


def fields(kind: Kind) -> dict[str, tuple[str, Kind]] | None:
    """A struct's fields as {lower case: (name, type)}; None: no struct, or an unknown type.

    A field of an array of structs is an array.
    """
    if kind is None:
        return None
    if kind.this == exp.DType.ARRAY:
        inner = fields(element(kind))
        if inner is None:
            return None
        return {
            key: (name, None if one is None else exp.DataType(this=exp.DType.ARRAY, expressions=[one.copy()]))
            for key, (name, one) in inner.items()
        }
    if kind.this != exp.DType.STRUCT:
        return None
    found = {}
    for one in kind.expressions:
        if not isinstance(one, exp.ColumnDef):
            return None
        inner_kind = one.args.get("kind")
        found[one.name.lower()] = (one.name, inner_kind if isinstance(inner_kind, exp.DataType) else None)
    return found


class Scope(NamedTuple):
    """Names that an expression may use at one level of a query, beside those of outer levels.

    `aliases`: of the select list; also parameters of a lambda function. `windows`: names of the WINDOW clause.
    """

    relations: tuple[Relation, ...]
    aliases: Mapping[str, Kind] = {}
    windows: frozenset[str] = frozenset()

    @property
    def open(self) -> bool:
        return any(one.open for one in self.relations)

    def find(self, parts: Sequence[str]) -> tuple[bool, Kind, tuple[int, str, Iterable[str]] | None]:
        """Look a name up: (whether it exists, its type, its missing part).

        A missing part is (its index, the name of what lacks it, the names there).
        """
        names = [part.lower() for part in parts]
        missing: tuple[int, str, Iterable[str]] | None = None
        for place in self._places(names):
            found, kind, lack = _descended(parts, names, *place)
            if found:
                return True, kind, None
            missing = missing or lack
        return self.open or _WORD.fullmatch(parts[-1]) is None, None, missing

    def _places(self, names: Sequence[str]) -> Iterator[tuple[int, str, Mapping[str, tuple[str, Kind]]]]:
        """(index of the next part, name of what has it, what that has)."""
        for at in range(min(3, len(names) - 1)):  # a temporary view may be qualified by its catalog and schema
            for one in self.relations:
                if one.name.lower() == names[at]:
                    yield at + 1, one.name, one.columns
        yield 0, "", {key: (key, kind) for key, kind in self.aliases.items()}
        for one in self.relations:
            yield 0, "", one.columns

    def known(self) -> list[str]:
        """Names of columns, as a query may write them."""
        return [name for one in self.relations for name, _ in one.columns.values()] + [*self.aliases]

    def qualified(self) -> list[str]:
        return [f"{one.name}.{name}" for one in self.relations if one.name for name, _ in one.columns.values()]


def _descended(
    parts: Sequence[str], names: Sequence[str], at: int, of: str, columns: Mapping[str, tuple[str, Kind]]
) -> tuple[bool, Kind, tuple[int, str, Iterable[str]] | None]:
    """Follow `parts` from index `at` on, the first of which is one of `columns`."""
    if names[at] not in columns:
        return False, None, (at, of, [name for name, _ in columns.values()]) if at else None
    kind = columns[names[at]][1]
    for index in range(at + 1, len(names)):
        inner = fields(kind)
        if inner is None:
            return True, element(kind), None
        if names[index] not in inner:
            return False, None, (index, ".".join(parts[at:index]), [name for name, _ in inner.values()])
        kind = inner[names[index]][1]
    return True, kind, None


def nearest(name: str, names: Iterable[str]) -> str:
    """`; nearest: NAME` as the end of a message; "" without a near name."""
    by_lower = {one.lower(): one for one in names}
    close = difflib.get_close_matches(name.lower(), by_lower, n=1, cutoff=0.6)
    return f"; nearest: {by_lower[close[0]]}" if close else ""
