"""Queries that have no row because tables have none: found by their text, without Spark.

Most checks of an ordinary run read a table of suspects, and that table is empty. Spark's driver would take a tenth of a
second to plan such a query. `is_empty` proves from the query's syntax tree that no row can come out. Where it cannot
prove that, it returns False, and Spark runs the query.

Known are the tables without rows, and, of tables of events, the distinct EVENT_COLUMNS of their rows. A condition such
as `event = 'duplicate_answered'` is false for all rows where no row has that event.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cache, lru_cache, partial
from typing import Final

import msgspec
from sqlglot import exp, parse_one
from sqlglot.errors import SqlglotError

EVENT_COLUMNS: Final = ("event", "kind", "outcome")
"""Columns of which the distinct values are known."""
QUERIES_MAX: Final = 1_000
"""Maximum of syntax trees that are kept."""

Row = tuple[str | None, ...]
"""Values of EVENT_COLUMNS."""

_MAY_AGGREGATE: Final = (exp.AggFunc, exp.Anonymous, exp.AnonymousAggFunc)
"""Functions that may make one row of no rows. Of an unknown function nothing is assumed."""
_SCALAR: Final = frozenset(("bigint", "int", "double", "pmod", "xxhash64"))
"""Functions that the parser does not know, and that are no aggregates."""


class Known(msgspec.Struct):
    """Knowledge of tables' rows.

    `empty`: names of tables without rows. `events`: {table of events: distinct EVENT_COLUMNS of its rows}.
    """

    empty: set[str] = msgspec.field(default_factory=set)
    events: dict[str, frozenset[Row]] = msgspec.field(default_factory=dict)


def is_empty(query: str, known: Known) -> bool:
    """Whether the query provably has no row."""
    try:
        return _Reading(known).empty(parsed(query), {})
    except SqlglotError:  # a check of a user may have a syntax that only Spark knows
        return False


@lru_cache(QUERIES_MAX)
def parsed(query: str) -> exp.Expr:
    """The query's syntax tree. Raises sqlglot.errors.SqlglotError."""
    return parse_one(query, dialect="spark")


_Named = Mapping[str, Callable[[], bool]]
"""{name of a WITH: whether it is empty}"""


class _Reading:
    def __init__(self, known: Known) -> None:
        self._known = known

    def empty(self, node: exp.Expr | None, named: _Named) -> bool:
        """Whether the query at `node` has no row."""
        if not isinstance(node, exp.Query):
            return False
        named = self._with(node, named)
        if isinstance(node, exp.Subquery):
            return self.empty(node.this, named)
        if isinstance(node, exp.Union):
            return self.empty(node.left, named) and self.empty(node.right, named)
        if isinstance(node, exp.Except):
            return self.empty(node.left, named)
        if isinstance(node, exp.Intersect):
            return self.empty(node.left, named) or self.empty(node.right, named)
        if isinstance(node, exp.Select):
            return self._no_source_rows(node, named) and not _row_of_nothing(node)
        return False

    def _with(self, node: exp.Query, named: _Named) -> _Named:
        """The names known within a query with its own WITH, each of which knows those before it."""
        clause = node.args.get("with_")
        if clause is None:
            return named
        if clause.args.get("recursive"):
            return {**named, **{one.alias.lower(): lambda: False for one in clause.expressions}}
        inner = dict(named)
        for one in clause.expressions:
            inner[one.alias.lower()] = cache(partial(self.empty, one.this, dict(inner)))
        return inner

    def _no_source_rows(self, select: exp.Select, named: _Named) -> bool:
        """Whether no row comes out of FROM, the joins and WHERE."""
        source = select.args.get("from_")
        if source is None:
            return False
        joins = select.args.get("joins") or []
        where = select.args.get("where")
        alone = not joins and not select.args.get("laterals")
        empty = self._no_row(source.this, named, _conditions(where), unqualified=alone)
        for join in joins:
            side, kind = (join.side or "").upper(), (join.kind or "").upper()
            joined = self._no_row(join.this, named, _conditions(join.args.get("on")), unqualified=False)
            if side == "FULL":
                # Conditions of WHERE hold for rows of both sides: only the tables themselves count.
                empty = self._no_row(source.this, named, (), unqualified=False) and self._no_row(
                    join.this, named, (), unqualified=False
                )
            elif side == "RIGHT":
                empty = self._no_row(join.this, named, (), unqualified=False)
            elif kind != "ANTI" and (side != "LEFT" or kind == "SEMI"):  # else a row without a partner stays
                empty = empty or joined
        return empty

    def _no_row(self, source: exp.Expr, named: _Named, conditions: tuple[exp.Expr, ...], *, unqualified: bool) -> bool:
        """Whether a table or subquery has no row for which the conditions hold.

        `unqualified`: whether a column without a table's name is this one's.
        """
        if source.args.get("pivots"):
            return False
        if isinstance(source, exp.Subquery):
            return self.empty(source, named)
        if not isinstance(source, exp.Table) or not isinstance(source.this, exp.Identifier) or source.db:
            return False
        name = source.name.lower()
        if name in named:
            return named[name]()
        if name in self._known.empty:
            return True
        rows = self._known.events.get(name)
        if rows is None:
            return False
        of_it = [one for one in conditions if _is_about(one, source.alias_or_name, unqualified=unqualified)]
        return not any(all(_may_hold(one, row) for one in of_it) for row in rows)


def _conditions(clause: exp.Expr | None) -> tuple[exp.Expr, ...]:
    """Conditions of which each must hold."""
    if clause is None:
        return ()
    condition = clause.this if isinstance(clause, exp.Where) else clause
    return tuple(_conjuncts(condition))


def _conjuncts(condition: exp.Expr) -> Iterator[exp.Expr]:
    inner = condition.unnest()
    if isinstance(inner, exp.And):
        yield from _conjuncts(inner.left)
        yield from _conjuncts(inner.right)
    else:
        yield inner


def _is_about(condition: exp.Expr, table: str, *, unqualified: bool) -> bool:
    """Whether the condition compares one of EVENT_COLUMNS of the table with constants."""
    column = condition.this
    if not isinstance(column, exp.Column) or column.name not in EVENT_COLUMNS:
        return False
    if column.table != table and not (unqualified and not column.table):
        return False
    if isinstance(condition, exp.EQ | exp.NEQ):
        return _is_text(condition.expression)
    return isinstance(condition, exp.In) and bool(condition.expressions) and all(map(_is_text, condition.expressions))


def _is_text(node: exp.Expr) -> bool:
    return isinstance(node, exp.Literal) and node.is_string


def _may_hold(condition: exp.Expr, row: Row) -> bool:
    value = row[EVENT_COLUMNS.index(condition.this.name)]
    if value is None:
        return False  # a comparison with null is null
    if isinstance(condition, exp.In):
        return value in {one.name for one in condition.expressions}
    return (value == condition.expression.name) is isinstance(condition, exp.EQ)


def _row_of_nothing(select: exp.Select) -> bool:
    """Whether the query may have a row although its sources have none, as an aggregate."""
    group = select.args.get("group")
    if group is not None:
        several = any(given for name, given in group.args.items() if name not in ("expressions", "all"))
        several = several or group.find(exp.GroupingSets, exp.Cube, exp.Rollup) is not None
        plain = bool(group.expressions) and not several
        by_all = group.args.get("all") and any(isinstance(_unnamed(one), exp.Column) for one in select.expressions)
        return not (plain or by_all)
    if select.args.get("having") is not None:
        return True
    order = select.args.get("order")
    return any(_aggregates(one) for one in (*select.expressions, *(order.expressions if order else ())))


def _unnamed(expression: exp.Expr) -> exp.Expr:
    return expression.this if isinstance(expression, exp.Alias) else expression


def _aggregates(expression: exp.Expr) -> bool:
    """Whether it may hold an aggregate function outside of windows and subqueries."""
    if isinstance(expression, exp.Query):
        return False
    if isinstance(expression, exp.Window):
        function = expression.this
        while isinstance(function, exp.IgnoreNulls | exp.RespectNulls | exp.Filter):
            function = function.this
        others = [one for one in expression.iter_expressions() if one is not expression.this]
        return any(map(_aggregates, (*function.iter_expressions(), *others)))
    if isinstance(expression, _MAY_AGGREGATE) and expression.name.lower() not in _SCALAR:
        return True
    return any(map(_aggregates, expression.iter_expressions()))
