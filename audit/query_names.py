"""Names in a query that no table has: found without an engine.

The check is one-sided. It follows the parts of Spark's SQL that it knows (CTEs, subqueries, aliases, stars, lambda
functions, lateral views, set operations, window names, fields of structs). A relation with unknown columns is open, and
an unknown type has every field. A statement or a clause that is unknown ends the check: Spark judges the query. So no
query is refused here that Spark accepts (tests/audit/test_query_names.py).
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from sqlglot import exp
from sqlglot.dialects.dialect import Dialect
from sqlglot.errors import TokenError

from audit.query_expressions import ExpressionNames, Level, Unsure, start_of
from audit.query_relations import Columns, Kind, Problem, Relation, Scope, element, fields, nearest, opened, relation_of
from audit.query_syntax import (
    has_odd_alias,
    has_odd_strings,
    is_odd,
    is_query,
    quote_problem,
    statement_problem,
    syntax_problem,
)

QUERY_CHARACTERS_MAX = 20_000
"""Longer queries are left to Spark: a text of this size takes a tenth of a second."""

logging.getLogger("sqlglot").setLevel(logging.CRITICAL)  # warnings about statements that Spark judges

_MODIFIERS = ("order", "limit", "offset", "sort", "cluster", "distribute")
_SELECT = frozenset(
    ("with_", "expressions", "hint", "distinct", "from_", "laterals", "joins", "where", "group", "having", "qualify")
).union(("windows", *_MODIFIERS))
_CLAUSES = ("where", "group", "having", "qualify", "windows", *_MODIFIERS)
_SET_OPERATION = frozenset(("this", "expression", "with_", "distinct", *_MODIFIERS))
_SUBQUERY = frozenset(("this", "alias", "with_", "joins", "laterals", "sample", *_MODIFIERS))
_TABLE = frozenset(("this", "alias", "db", "catalog", "joins", "laterals", "sample", "hints"))
_JOIN = frozenset(("this", "on", "side", "kind", "using", "method", "hint"))

_GENERATORS = (exp.UDTF, exp.Explode, exp.Inline, exp.Anonymous, exp.AnonymousAggFunc, exp.JSONTable)
_PLAIN = (exp.Literal, exp.Boolean, exp.Null, exp.Func, exp.Binary, exp.Unary, exp.Predicate, exp.Window, exp.Case)


class Checked(NamedTuple):
    """Result of a check.

    `problem`: the first reason why Spark refuses the query; None: none is known. `hidden`: hidden tables that it names.
    """

    problem: Problem | None
    hidden: frozenset[str] = frozenset()


def checked(query: str, tables: Mapping[str, Columns], hidden: Iterable[str] = ()) -> Checked:
    """Check the names and the syntax of a query.

    `tables`: {table: its columns}. `hidden`: further tables, of unknown columns.
    """
    if len(query) > QUERY_CHARACTERS_MAX or is_odd(query):
        return Checked(None)
    if not is_query(query):
        return Checked(statement_problem(query))
    spark = Dialect.get_or_raise("spark")
    try:
        tokens = spark.tokenize(query)
    except TokenError:
        return Checked(quote_problem(query))
    if not has_odd_strings(query) and (found := syntax_problem(tokens)) is not None:
        return Checked(found)
    try:
        statements = spark.parser().parse(tokens, query)
    except Exception:  # also IndexError and ValueError, for calls that lack an argument; Spark names the mistake
        return Checked(None)
    names = _Names(tables, hidden)
    if len(statements) != 1 or not isinstance(statements[0], exp.Query) or has_odd_alias(tokens):
        return Checked(None)
    try:
        names.query(statements[0], Level())
    except (RecursionError, Unsure):
        return Checked(None)
    return Checked(min(names.problems, default=None), frozenset(names.hidden_used))


class _Names(ExpressionNames):
    def __init__(self, tables: Mapping[str, Columns], hidden: Iterable[str]) -> None:
        super().__init__()
        self.hidden_used: set[str] = set()
        self._tables = {name.lower(): relation_of(name, columns) for name, columns in tables.items()}
        self._hidden = {name.lower() for name in hidden}

    # ------------------------------------------------------------------------------------------------- queries

    def query(self, node: exp.Expr, level: Level) -> Relation:
        """Check a query; returns its result."""
        match node:
            case exp.Subquery(this=exp.Query() as inner):
                _require(node, _SUBQUERY - {"joins", "laterals", "sample"})
                level = self._with_ctes(node, level)
                found = self.query(inner, level)
                self._modifiers(node, (opened(),), level)
                return found
            case exp.Select():
                return self._select(node, level)
            case exp.SetOperation():
                _require(node, _SET_OPERATION)
                level = self._with_ctes(node, level)
                found = self.query(node.this, level)
                self.query(node.expression, level)
                names = {one.alias_or_name for one in node.this.find_all(exp.Table, exp.Subquery)}
                self._modifiers(node, (found, *(found.named(name) for name in sorted(names))), level)
                return found
        raise Unsure(type(node).__name__)

    def _modifiers(self, node: exp.Expr, found: tuple[Relation, ...], level: Level) -> None:
        """Check ORDER BY and its like.

        `found`: the sorted rows, under each qualifier that their columns keep. A query in brackets may be sorted by
        columns that it does not return.
        """
        inner = level.within(Scope(found))
        for name in _MODIFIERS:
            self.expressions(node.args.get(name), inner)

    def _with_ctes(self, node: exp.Expr, level: Level) -> Level:
        clause = node.args.get("with_")
        if clause is None:
            return level
        ctes = dict(level.ctes)
        for cte in clause.expressions:
            alias = cte.args.get("alias")
            if not isinstance(cte.this, exp.Query) or not isinstance(alias, exp.TableAlias):
                raise Unsure("CTE")
            name, columns = alias.name, [one.name for one in alias.args.get("columns") or ()]
            if clause.args.get("recursive"):
                ctes[name.lower()] = opened(name).named(name, columns)
            ctes[name.lower()] = self.query(cte.this, Level(ctes, level.scopes)).named(name, columns)
        return Level(ctes, level.scopes)

    def _select(self, node: exp.Select, level: Level) -> Relation:
        _require(node, _SELECT)
        if (distinct := node.args.get("distinct")) is not None and distinct.args.get("on") is not None:
            raise Unsure("DISTINCT ON")
        level = self._with_ctes(node, level)
        relations: list[Relation] = []
        if (source := node.args.get("from_")) is not None:
            self._factor(source.this, relations, level)
        self._joins(node, relations, level)
        self._lateral_views(node, relations, level)
        before = Scope(tuple(relations), {}, _windows(node))
        inner = level.within(before)
        aliases = {
            one.alias: self.kind(one.this, inner)
            for one in node.expressions
            if isinstance(one, exp.Alias) and isinstance(one.args.get("alias"), exp.Identifier)
        }
        aliases |= {
            name.name: None for one in node.expressions if isinstance(one, exp.Aliases) for name in one.expressions
        }
        inner = level.within(before._replace(aliases={name.lower(): kind for name, kind in aliases.items()}))
        self.expressions(node.expressions, inner)
        for clause in _CLAUSES:
            self.expressions(node.args.get(clause), inner)
        return self._result(node.expressions, inner)

    def _result(self, projections: Sequence[exp.Expr], level: Level) -> Relation:
        """The columns of a select list. Generated names of expressions make no plain word."""
        columns: dict[str, tuple[str, Kind]] = {}
        is_open = False
        for one in projections:
            inner = one.unnest() if isinstance(one, exp.Paren) else one
            match inner:
                case exp.Star() | exp.Column(this=exp.Star()):
                    found = self._star(inner, level)
                    columns |= found.columns
                    is_open |= found.open
                case exp.Alias(args={"alias": exp.Identifier()}):
                    columns[inner.alias.lower()] = (inner.alias, self.kind(inner.this, level))
                case exp.Aliases():
                    columns |= {name.name.lower(): (name.name, None) for name in inner.expressions}
                case exp.Column() | exp.Dot():
                    columns[inner.name.lower()] = (inner.name, self.kind(inner, level))
                case exp.Cast():
                    is_open = True
                case _ if isinstance(inner, _PLAIN) and not isinstance(inner, _GENERATORS):
                    columns |= {name.lower(): (name, None) for name in _names_within(inner)}
                case _:
                    is_open = True
        return Relation("", columns, is_open)

    def _star(self, node: exp.Expr, level: Level) -> Relation:
        scope = level.scopes[0]
        star: exp.Expr = node
        found: Sequence[Relation] = scope.relations
        if isinstance(node, exp.Column):
            star = node.this
            qualifier = [part.name for part in node.parts[:-1]]
            found = [one for one in scope.relations if one.name.lower() == qualifier[-1].lower()]
            if not found:
                inner = fields(self.find(qualifier, level)[1])
                return opened() if inner is None else Relation("", inner)
        if any(value for name, value in star.args.items() if name != "except_"):
            return opened()
        columns = {key: value for one in found for key, value in one.columns.items()}
        is_open = any(one.open for one in found)
        for one in star.args.get("except_") or ():
            if isinstance(one, exp.Column) and len(one.parts) > 1:  # a field, or a qualified column
                continue
            if one.name.lower() in columns:
                del columns[one.name.lower()]
            elif not is_open and (start := start_of(one)) is not None:
                self.lack(start, f"no column {one.name}{nearest(one.name, [name for name, _ in columns.values()])}")
        return Relation("", columns, is_open)

    # ------------------------------------------------------------------------------------------------- sources

    def _factor(self, node: exp.Expr, relations: list[Relation], level: Level) -> None:
        """Add the relations of one item of FROM."""
        alias = node.args.get("alias")
        name = alias.name if isinstance(alias, exp.TableAlias) else ""
        columns = [one.name for one in alias.args.get("columns") or ()] if isinstance(alias, exp.TableAlias) else []
        match node:
            case exp.Table(this=exp.Identifier()):
                relations.append(self._table(node, level).named(name or node.name, columns))
            case exp.Table(this=exp.Func()):
                self.expression(node.this, level.within(Scope(tuple(relations))))
                relations.append(opened().named(name or node.this.name, columns))
                _require(node, _TABLE)
            case exp.Subquery(this=exp.Query() as inner):
                _require(node, _SUBQUERY | {"pivots"})
                within = self._with_ctes(node, level)
                found = self.query(inner, within)
                self._modifiers(node, (opened(),), within)
                relations.append((opened() if node.args.get("pivots") else found).named(name, columns))
            case exp.Subquery(this=exp.Table() as inner):
                _require(node, frozenset(("this", "joins")))
                self._factor(inner, relations, level)
            case exp.Values():
                self.expressions(node.expressions, level)
                relations.append(opened().named(name, columns))
                _require(node, frozenset(("expressions", "alias")))
            case exp.Lateral(this=exp.Subquery(this=exp.Query() as inner)):
                found = self.query(inner, level.within(Scope(tuple(relations))))
                name = name or node.this.alias
                relations.append(found.named(name, columns or list(node.this.alias_column_names)))
            case exp.Lateral():
                self.expression(node.this, level.within(Scope(tuple(relations))))
                relations.append(opened().named(name, columns))
            case _:
                raise Unsure(type(node).__name__)
        self._joins(node, relations, level)
        self._lateral_views(node, relations, level)

    def _table(self, node: exp.Table, level: Level) -> Relation:
        known = _TABLE | {"pivots"}
        if node.args.get("db") is not None or any(value for name, value in node.args.items() if name not in known):
            return opened()
        name = node.name
        found = level.ctes.get(name.lower()) or self._tables.get(name.lower())
        if found is None:
            if name.lower() in self._hidden:
                self.hidden_used.add(name.lower())
            elif (start := start_of(node.this)) is not None:
                names = [one.name for one in (*level.ctes.values(), *self._tables.values())]
                self.lack(start, f"no table {name}{nearest(name, names)}")
            return opened()
        return opened() if node.args.get("pivots") else found

    def _joins(self, node: exp.Expr, relations: list[Relation], level: Level) -> None:
        for join in node.args.get("joins") or ():
            _require(join, _JOIN)
            left = tuple(relations)
            self._factor(join.this, relations, level)
            right = tuple(relations[len(left) :])
            for one in join.args.get("using") or ():
                for side in (left, right):
                    self._name_in(one, side)
            self.expressions(join.args.get("on"), level.within(Scope(tuple(relations))))

    def _name_in(self, node: exp.Expr, side: tuple[Relation, ...]) -> None:
        """Check a column of USING."""
        scope = Scope(side)
        start = start_of(node)
        if start is not None and not scope.find([node.name])[0]:
            self.lack(start, f"no column {node.name}{nearest(node.name, scope.known())}")

    def _lateral_views(self, node: exp.Expr, relations: list[Relation], level: Level) -> None:
        for lateral in node.args.get("laterals") or ():
            alias = lateral.args.get("alias")
            inner = level.within(Scope(tuple(relations)))
            self.expression(lateral.this, inner)
            columns = alias.args.get("columns") or () if isinstance(alias, exp.TableAlias) else ()
            if not columns:
                relations.append(opened(alias.name if isinstance(alias, exp.TableAlias) else ""))
                continue
            kind = None
            if isinstance(lateral.this, exp.Explode) and len(columns) == 1:
                kind = element(self.kind(lateral.this.this, inner))
            relations.append(Relation(alias.name, {one.name.lower(): (one.name, kind) for one in columns}))


def _require(node: exp.Expr, known: frozenset[str]) -> None:
    """Raise Unsure for a clause outside `known`."""
    for name, value in node.args.items():
        if value and name not in known:
            raise Unsure(f"{type(node).__name__}.{name}")

def _windows(node: exp.Select) -> frozenset[str]:
    return frozenset(one.this.name.lower() for one in node.args.get("windows") or () if isinstance(one, exp.Window))

def _names_within(node: exp.Expr) -> Iterable[str]:
    """Plain words that may be the generated name of an expression."""
    for one in node.find_all(exp.Column, exp.Literal, exp.Boolean, exp.Null):
        yield one.name if not isinstance(one, exp.Boolean | exp.Null) else one.sql("spark")
