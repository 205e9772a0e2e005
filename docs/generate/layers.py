"""docs/layers.svg: imports among packages, drawn from the sources.

Each box is a package, or a room of the emulator with the folders in it. A box rests on those it imports; only edges
that do not follow from others are drawn. Green: pure, by the import contract in pyproject.toml.
"""

import ast
import tomllib
from collections import defaultdict
from pathlib import Path

from docs.generate import svg
from docs.generate.uses import modules

Graph = dict[str, set[str]]

_WIDTH = 1260
_ROW = 92
_BOX = (304, 40)
_GROUND = "emulator.topology"
"""A file that stands for itself."""


def unit_of(module: str, root: Path) -> str:
    """The box of a module; "" for modules that every program uses to read, print and end.

    `emulator.machines.broker.replica_log` -> `emulator.machines`, `protocol.framing` -> `protocol`.
    """
    parts = module.split(".")
    if parts[0] != "emulator":
        return parts[0]
    room = ".".join(parts[:2])
    return room if room == _GROUND or root.joinpath(*parts[:2], "__init__.py").is_file() else ""


def rooms_within(unit: str, root: Path) -> str:
    """The folders of a room, for the second line of its box."""
    folder = root.joinpath(*unit.split("."))
    return ", ".join(sorted(path.parent.name for path in folder.glob("*/__init__.py")))


def graph_of(root: Path) -> Graph:
    """{box: the boxes it imports}."""
    graph: defaultdict[str, set[str]] = defaultdict(set)
    for path in modules(root):
        parts = path.relative_to(root).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        if name == "emulator.__main__" or (parts[-1] == "__init__" and parts[0] == "emulator"):
            continue  # a call of the command line, or nothing but a docstring
        unit = unit_of(name, root)
        if unit:
            graph[unit] |= {unit_of(imported, root) for imported in _imported(path, root)} - {unit}
    return {unit: found & graph.keys() for unit, found in sorted(graph.items())}


def _imported(path: Path, root: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            # `from emulator.storage import inspect`: what is named may be a module.
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if (root / name.split(".")[0]).is_dir()}


def heights(graph: Graph) -> dict[str, int]:
    """Height of each box: one above the highest that it imports.

    Boxes that import each other lie side by side.
    """
    reach = {unit: _reachable(graph, unit) for unit in graph}
    known: dict[str, int] = {}

    def height(unit: str) -> int:
        if unit not in known:
            known[unit] = 0
            mutual = {other for other in reach[unit] if unit in reach[other]} | {unit}
            below = {other for member in mutual for other in graph[member]} - mutual
            found = max((height(other) + 1 for other in below), default=0)
            for member in mutual:
                known[member] = found
        return known[unit]

    return {unit: height(unit) for unit in graph}


def _reachable(graph: Graph, start: str) -> set[str]:
    seen: set[str] = set()
    waiting = [start]
    while waiting:
        for other in graph[waiting.pop()] - seen:
            seen.add(other)
            waiting.append(other)
    return seen


def essential(graph: Graph) -> Graph:
    """Without the edges that follow from others."""
    reach = {unit: _reachable(graph, unit) for unit in graph}
    return {
        unit: {
            other
            for other in found
            if not any(other in reach[between] and unit not in reach[between] for between in found - {other})
        }
        for unit, found in graph.items()
    }


def pure_units(root: Path) -> set[str]:
    """Boxes that the contract names as a whole."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    sources = next(contract["source_modules"] for contract in contracts if contract["id"] == "pure")
    return {source.removesuffix(".**") for source in sources}


def page(root: Path) -> str:
    graph = graph_of(root)
    height = heights(graph)
    pure = pure_units(root)
    top = max(height.values())
    width, tall = _BOX
    middles: dict[str, float] = {}
    shapes: list[str] = []
    boxes: list[str] = []
    for level in range(top + 1):
        row = sorted(unit for unit in graph if height[unit] == level)
        # Near what they rest on: fewer crossings.
        row.sort(key=lambda unit: (_mean([middles[other] for other in sorted(graph[unit]) if other in middles]), unit))
        step = _WIDTH / len(row)
        for number, unit in enumerate(row):
            middles[unit] = (number + 0.5) * step
            y = (top - level) * _ROW + 56
            kind = "pure" if unit in pure else "shell"
            words = [unit.removeprefix("emulator."), rooms_within(unit, root)]
            boxes.append(svg.box(middles[unit] - width / 2, y, width, tall, [word for word in words if word], kind))
    for unit, others in sorted(essential(graph).items()):
        for other in sorted(others):
            start = (middles[unit], (top - height[unit]) * _ROW + 56 + tall)
            end = (middles[other], (top - height[other]) * _ROW + 56)
            mutual = unit in graph[other]
            if mutual and unit > other:
                continue
            side = (middles[unit] + width / 2, start[1] - tall / 2), (middles[other] - width / 2, start[1] - tall / 2)
            shapes.append(svg.edge(sorted(side), "cut") if mutual else svg.edge([start, end]))
    legend = [
        svg.text(
            12, 22, "An arrow points to what is imported. Green: pure (no I/O, clock, chance or runtime). Blue: shells."
        ),
        svg.text(12, 40, "Dashed: two that import each other.", "small"),
    ]
    return svg.picture(_WIDTH, (top + 1) * _ROW + 56, "Who imports whom", [*legend, *shapes, *boxes])


def _mean(values: list[float]) -> float:
    return sum(values) / len(values) if values else _WIDTH / 2
