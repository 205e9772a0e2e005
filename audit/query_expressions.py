"""Names in expressions that no relation has, for `audit.query_names`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence

from sqlglot import exp

from audit.query_relations import Kind, Problem, Relation, Scope, element, fields, nearest

EVERYWHERE = frozenset(
    ("current_date", "current_timestamp", "current_time", "localtimestamp", "current_user", "user", "session_user")
).union(("current_catalog", "current_database", "current_schema", "grouping__id", "_metadata", "all", "default"),
    ("localtime", "current_path", "system_path", "default_path"),
)
"""Names that are functions without parentheses, or words of a clause."""
_GROUPED = ("window", "session_window")
"""Names of columns that a group by time has."""
UNITS = frozenset(
    ("microsecond", "millisecond", "second", "minute", "hour", "day", "dayofyear", "week", "month", "quarter", "year")
)
"""Names of units as arguments of functions."""


class Unsure(Exception):
    """A part of Spark's SQL that this module does not know."""


class Level:
    """Surroundings of a query: CTEs, and scopes from the inside out."""

    def __init__(self, ctes: Mapping[str, Relation] = {}, scopes: tuple[Scope, ...] = ()) -> None:
        self.ctes = ctes
        self.scopes = scopes

    def within(self, scope: Scope) -> Level:
        return Level(self.ctes, (scope, *self.scopes))


class ExpressionNames(ABC):
    """Checks expressions. `problems`: the mistakes found."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []

    @abstractmethod
    def query(self, node: exp.Expr, level: Level) -> Relation:
        """Check a query within an expression; returns its result."""

    def expressions(self, nodes: exp.Expr | Sequence[exp.Expr] | None, level: Level) -> None:
        for one in [nodes] if isinstance(nodes, exp.Expr) else nodes or ():
            self.expression(one, level)

    def expression(self, node: exp.Expr, level: Level) -> None:
        match node:
            case exp.Column(this=exp.Star()):
                qualifier = list(node.parts[:-1])
                self._column(qualifier, level, star=True)
                return
            case exp.Column():
                if not (len(node.parts) == 1 and isinstance(node.parent, exp.Func) and node.name.lower() in UNITS):
                    self._column(list(node.parts), level)
                return
            case exp.Dot():
                self._dot(node, level)
                return
            case exp.Lambda():
                names: dict[str, Kind] = {one.name.lower(): None for one in node.expressions}
                if isinstance(node.parent, exp.Transform | exp.ArrayFilter):  # the second parameter is an index
                    names[node.expressions[0].name.lower()] = element(self.kind(node.parent.this, level))
                self.expression(node.this, level.within(Scope((), names, level.scopes[0].windows)))
                return
            case exp.Query():
                self.query(node, level)
                return
            case exp.Window():
                self._window(node, level)
            case exp.Kwarg():
                self.expression(node.expression, level)
                return
            case exp.Star() | exp.Hint() | exp.DataType() | exp.Identifier():
                return
            case exp.Table() | exp.QueryTransform() | exp.Command() | exp.Placeholder() | exp.Parameter():
                raise Unsure(type(node).__name__)
        for one in node.iter_expressions():
            self.expression(one, level)

    def _dot(self, node: exp.Dot, level: Level) -> None:
        if not isinstance(node.expression, exp.Identifier):  # a function's qualified name, or a star of fields
            if isinstance(node.expression, exp.Func):
                self.expression(node.expression, level)
                return
            raise Unsure("Dot")
        self.expression(node.this, level)
        inner = fields(self.kind(node.this, level))
        start = start_of(node.expression)
        if inner is not None and node.name.lower() not in inner and start is not None:
            near = nearest(node.name, [name for name, _ in inner.values()])
            self.lack(start, f"no field {node.name} of {node.this.sql('spark')}{near}")

    def _window(self, node: exp.Window, level: Level) -> None:
        name = node.args.get("alias")
        if isinstance(node.this, exp.Identifier) or not isinstance(name, exp.Identifier):
            return
        known = level.scopes[0].windows
        start = start_of(name)
        if name.name.lower() not in known and start is not None:
            self.lack(start, f"no window {name.name}{nearest(name.name, known)}")

    def _column(self, parts: Sequence[exp.Expr], level: Level, *, star: bool = False) -> None:
        names = [part.name for part in parts]
        start = start_of(parts[0])
        first = names[0].lower()
        if start is None or first in _GROUPED or (len(names) == 1 and first in EVERYWHERE):
            return
        if star and any(one.name.lower() == names[-1].lower() for scope in level.scopes for one in scope.relations):
            return
        found, _, missing = self.find(names, level)
        if found:
            return
        written = ".".join(names)
        if missing is not None and missing[0]:
            index, of, columns = missing
            near = nearest(names[index], columns)
            if index == 1 and any(one.name.lower() == names[0].lower() for s in level.scopes for one in s.relations):
                self.lack(start, f"no column {written}{near.replace('nearest: ', f'nearest: {of}.')}")
            else:
                self.lack(start, f"no field {names[index]} of {of}{near}")
        elif star:
            self.lack(start, f"no table {written}{nearest(written, [r.name for r in level.scopes[0].relations])}")
        elif len(names) > 1:
            known = [name for scope in level.scopes for name in scope.qualified()]
            same = [name for name in known if name.rpartition(".")[2].lower() == names[-1].lower()]
            self.lack(start, f"no column {written}{f'; nearest: {same[0]}' if same else nearest(written, known)}")
        else:
            known = [name for scope in level.scopes for name in scope.known()]
            self.lack(start, f"no column {written}{nearest(written, known)}")

    def find(self, names: Sequence[str], level: Level) -> tuple[bool, Kind, tuple[int, str, Iterable[str]] | None]:
        """As `Scope.find`, from the inside out."""
        first: tuple[int, str, Iterable[str]] | None = None
        for scope in level.scopes:
            found, kind, missing = scope.find(names)
            if found:
                return True, kind, None
            first = first or missing
        return False, None, first

    def kind(self, node: exp.Expr, level: Level) -> Kind:
        """The type of an expression; None: unknown."""
        match node:
            case exp.Paren() | exp.Alias():
                return self.kind(node.this, level)
            case exp.Column() if not isinstance(node.this, exp.Star):
                return self.find([part.name for part in node.parts], level)[1]
            case exp.Dot():
                inner = fields(self.kind(node.this, level))
                return inner[node.name.lower()][1] if inner is not None and node.name.lower() in inner else None
            case exp.Identifier():  # a parameter of a lambda function
                name = node.name.lower()
                return next((one.aliases[name] for one in level.scopes if name in one.aliases), None)
            case exp.Bracket() | exp.Explode():
                return element(self.kind(node.this, level))
        return None

    def lack(self, start: int, text: str) -> None:
        self.problems.append(Problem(start, text))


def start_of(node: exp.Expr) -> int | None:
    """Index of a name in the query; None: it is not of the text."""
    start = node.meta.get("start")
    if start is None and isinstance(node, exp.Column):
        start = node.parts[0].meta.get("start")
    return start if isinstance(start, int) else None
