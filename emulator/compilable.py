"""Modules that mypyc compiles to native code (`make fast`), and reasons for the others.

Reads sources; runs nothing. Code that handles a simulated run's inputs is compiled: machines, storage in memory, links,
the player, the heap. Each module of these packages is compiled, or has its reason here: a whole folder's (`APART`), one
visible in its text (`_reason`), or one found by trying (`TRIED`).
"""

import ast
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

PACKAGES: Final = (
    "protocol",
    "controller",
    "emulator/faults",
    "emulator/machines",
    "emulator/scenario",
    "emulator/storage",
    "emulator/worlds/simulated",
    "emulator/judging/oracle",
    "emulator/runs/kafka_log",
    "emulator/cluster/dashboard",
)
"""Folders, from the project's root: the pure packages, the simulated world, and its judge."""

APART: Final[Mapping[str, str]] = {
    "emulator/scenario": "read once for each run, not at its inputs",
    "emulator/scenario/observations": "reads what came back, once for each run",
    "emulator/runs/kafka_log": "writes lines of a log for people",
    "emulator/cluster/dashboard": "draws a screen for people",
}
"""{folder: reason why compiling its modules is not worth it}.

Subfolders are not included.
"""

TRIED: Final[Mapping[str, str]] = {
    "emulator/storage/disk.py": "files of the disk: no simulated run has any",
    "emulator/storage/synced_journal.py": "files of the disk: no simulated run has any",
}
"""{module: why it is not compiled although its text would do}."""

STRUCT: Final = "msgspec.Struct"
DECORATORS: Final = frozenset({"property", "staticmethod", "classmethod", "abstractmethod", "contextmanager", "cache"})
"""Decorators that native code obeys.

(It treats `cached_property` as `property`, without an error.)
"""
BASES: Final = frozenset(
    {"object", "ABC", "Enum", "IntEnum", "StrEnum", "Generic", "NamedTuple", "Protocol", "TypedDict"}
)
"""External base classes that native code permits, beside EXCEPTIONS. (deque crashes.)"""
EXCEPTIONS: Final = frozenset(
    {"BaseException", "Exception", "IndexError", "LookupError", "UserWarning", "ValueError", "Warning"}
)
"""Exception bases that mypyc permits; others, such as RuntimeError, it refuses."""
PYTHON: Final = ("protocol", "controller", "emulator")
"""Folders in which classes of Python may be made of those in PACKAGES."""
_OURS: Final = re.compile(r"^class \w+\((?!msgspec\.Struct|Exception|ValueError|Protocol|NamedTuple|TypedDict)", re.M)
"""A class that may be made of one of ours; to parse all of the emulator takes seconds."""
_LOOKS_MAX: Final = 8
"""Maximum re-exports of a name from module to module."""


class Module(NamedTuple):
    """`path`: from the root. `reason`: why it stays Python; "": it is compiled."""

    name: str
    path: str
    reason: str


class _Source(NamedTuple):
    """A module's source.

    `names`: full names of its imports, such as {"m": "emulator.scenario.scenario_model"}; `bases`: of each of its
    classes, as written.
    """

    tree: ast.Module
    names: dict[str, str]
    bases: dict[str, list[str]]


def modules(root: Path) -> tuple[Module, ...]:
    """Every module of PACKAGES, by its path. Raises OSError, SyntaxError."""
    paths = {module_name(path): path for folder in PACKAGES for path in _below(root, folder)}
    by_name = {name: _source(root / path) for name, path in paths.items()}
    others = (path for folder in PYTHON for path in _below(root, folder) if module_name(path) not in paths)
    by_name |= {module_name(path): _source(root / path) for path in others if _has_bases_of_ours(root / path)}
    reasons = {name: _reason(path, by_name[name], by_name) for name, path in paths.items()}
    while True:  # an omitted module makes others omitted
        native = {name for name, reason in reasons.items() if not reason}
        slots = [name for name in native if _slots(name, by_name, native)]
        left = dict.fromkeys(slots, "its slots are added to those of a class of Python")
        left |= dict.fromkeys(_bases_of_python(by_name, native), "a class of Python is made of one that it defines")
        if not left:
            break
        reasons |= left
    return tuple(Module(name, path, reasons[name]) for name, path in sorted(paths.items()))


def module_name(path: str) -> str:
    """`protocol/work.py` is protocol.work, `protocol/__init__.py` is protocol."""
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def rests_on(root: Path, compiled: tuple[str, ...]) -> tuple[str, ...]:
    """Paths of `compiled` and of all our modules that these import, directly or not. Sorted.

    A constant, a type or a signature of any of them may be part of the native code.
    """
    found: set[str] = set()
    ahead = list(compiled)
    while ahead:
        path = ahead.pop()
        if path not in found:
            found.add(path)
            ahead += (other for name in _imports(root / path) for other in _files(root, name))
    return tuple(sorted(found))


def _has_bases_of_ours(path: Path) -> bool:
    return _OURS.search(path.read_text(encoding="utf-8")) is not None


def _below(root: Path, folder: str) -> Iterator[str]:
    for path in sorted((root / folder).rglob("*.py")):
        yield path.relative_to(root).as_posix()


def _source(path: Path) -> _Source:
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            names.update((alias.asname or alias.name, f"{node.module}.{alias.name}") for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update((alias.asname, alias.name) for alias in node.names if alias.asname)
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    return _Source(tree, names, {one.name: [_dotted(base) for base in one.bases] for one in classes})


def _dotted(expression: ast.expr) -> str:
    """`m.Step`; of `Iterator[int]` the part before the bracket."""
    return ast.unparse(expression.value if isinstance(expression, ast.Subscript) else expression)


def _reason(path: str, source: _Source, by_name: Mapping[str, _Source]) -> str:
    folder = path.rpartition("/")[0]
    if path.endswith("/__init__.py"):
        return "a package's own words"
    if folder in APART:
        return APART[folder]
    if path in TRIED:
        return TRIED[path]
    own = module_name(path)
    if any(_is_struct(f"{own}.{name}", by_name) for name in source.bases):
        return "it defines structs of msgspec, which makes their classes itself"
    for base in (base for bases in source.bases.values() for base in bases):
        if _class_of(_meant(own, source, base), by_name) is None and not _fit_to_be_a_base(base.rpartition(".")[2]):
            return f"a class of it is made of {base}, which is no class of ours"
    for node in ast.walk(source.tree):
        if isinstance(node, ast.ClassDef) and any("runtime_checkable" in ast.unparse(d) for d in node.decorator_list):
            return "it defines a protocol for isinstance, which mypyc does not support"
        if isinstance(node, ast.FunctionDef) and node.name == "__next__":
            return "it defines an iterator, and what its __next__ gives may be no object: a tuple, a number"
        if isinstance(node, ast.Return) and isinstance(node.value, ast.GeneratorExp):
            return "it returns a generator expression, of which native code makes a list"
        if name := _two_exceptions(node):
            return f"exceptions of two kinds are called {name} in one function; native code takes all for the first"
        decorators = getattr(node, "decorator_list", [])
        if unknown := [name for name in map(ast.unparse, decorators) if name not in DECORATORS]:
            return f"it has a decorator that mypyc may take for another: {unknown[0]}"
    if any(isinstance(node, ast.ClassDef) for top in source.tree.body for node in _inside(top)):
        return "it defines a class within something else, which mypyc does not support"
    if again := sorted(attribute for name in source.bases for attribute in _declared_again(own, name, by_name)):
        return f"the garbage collector would see {again[0]} twice, and keep all: a base class has declared it"
    return ""


def _two_exceptions(node: ast.AST) -> str:
    """Of a function: a name that stands for exceptions of two kinds; "" if there is none."""
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return ""
    kinds: dict[str, str] = {}
    for part in ast.walk(node):
        if isinstance(part, ast.ExceptHandler) and part.name and part.type is not None:
            kind = ast.unparse(part.type)
            if kinds.setdefault(part.name, kind) != kind:
                return part.name
    return ""


def _fit_to_be_a_base(name: str) -> bool:
    return name in BASES or name in EXCEPTIONS


def _declared_again(name: str, own: str, by_name: Mapping[str, _Source]) -> set[str]:
    """Attributes with types that the class `own` of the module `name` redeclares from a base.

    Native code visits each such declaration. Then there are fewer references than visits, which the garbage collector
    takes for references from outside, so it keeps the object with all objects connected to it.
    """
    above: set[str] = set()
    ahead = [(name, base) for base in by_name[name].bases[own]]
    while ahead:
        module, base = ahead.pop()
        found = _class_of(_meant(module, by_name[module], base), by_name)
        if found is not None:
            above |= _attributes(*found[1:], typed=False)
            ahead += ((found[0], further) for further in found[1].bases[found[2]])
    return above & _attributes(by_name[name], own, typed=True)


def _attributes(source: _Source, own: str, *, typed: bool) -> set[str]:
    """Attributes of a class's instances, in its body or set by its methods.

    `typed`: only with a type.
    """
    (node,) = (node for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef) and node.name == own)
    found = {ast.unparse(line.target) for line in node.body if isinstance(line, ast.AnnAssign)}
    for line in ast.walk(node):
        targets: list[ast.expr] = [line.target] if isinstance(line, ast.AnnAssign) else []
        if isinstance(line, ast.Assign) and not typed:
            targets = line.targets
        found |= {one.attr for one in targets if isinstance(one, ast.Attribute) and ast.unparse(one.value) == "self"}
    return found


def _inside(node: ast.AST) -> Iterator[ast.AST]:
    for child in ast.iter_child_nodes(node):
        yield from ast.walk(child)


def _is_struct(name: str, by_name: Mapping[str, _Source]) -> bool:
    """`name`: of a class, with its module's."""
    found = _class_of(name, by_name)
    if found is None:
        return name == STRUCT
    module, source, own = found
    return any(_is_struct(_meant(module, source, base), by_name) for base in source.bases[own])


def _class_of(name: str, by_name: Mapping[str, _Source]) -> tuple[str, _Source, str] | None:
    """(module, its source, the class's name there); None: it is none of ours."""
    for _ in range(_LOOKS_MAX):
        module, _, own = name.rpartition(".")
        source = by_name.get(module)
        if source is None:
            return None
        if own in source.bases:
            return module, source, own
        if own not in source.names:
            return None
        name = source.names[own]
    return None


def _meant(module: str, source: _Source, base: str) -> str:
    """A base class as its module writes it, by its full name."""
    first, _, rest = base.partition(".")
    if not rest and first in source.bases:
        return f"{module}.{first}"
    return ".".join([source.names.get(first, first), *([rest] if rest else [])])


def _made_of(name: str, own: str, by_name: Mapping[str, _Source]) -> Iterator[str]:
    """The modules of ours that define the bases of the class `own` of the module `name`."""
    source = by_name[name]
    for base in source.bases[own]:
        found = _class_of(_meant(name, source, base), by_name)
        if found is not None:
            yield found[0]


def _slots(name: str, by_name: Mapping[str, _Source], native: set[str]) -> bool:
    classes = (node for node in by_name[name].tree.body if isinstance(node, ast.ClassDef))
    return any(_has_slots(one) and not native.issuperset(_made_of(name, one.name, by_name)) for one in classes)


def _bases_of_python(by_name: Mapping[str, _Source], native: set[str]) -> set[str]:
    """Native modules of which a class that stays Python would inherit, which it cannot."""
    python = ((name, own) for name in by_name if name not in native for own in by_name[name].bases)
    return {base for name, own in python for base in _made_of(name, own, by_name)} & native


def _has_slots(node: ast.ClassDef) -> bool:
    return any(
        isinstance(line, ast.Assign) and any(ast.unparse(target) == "__slots__" for target in line.targets)
        for line in node.body
    )


def _imports(path: Path) -> Iterator[str]:
    """Full names of a module's imports, including those for types: modules, names in modules."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), str(path))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _files(root: Path, name: str) -> Iterator[str]:
    """The files of ours that importing `name` reads: the module's, and its packages'."""
    parts = name.split(".")
    for end in range(1, len(parts) + 1):
        stem = "/".join(parts[:end])
        for path in (f"{stem}.py", f"{stem}/__init__.py"):
            if (root / path).is_file():
                yield path
