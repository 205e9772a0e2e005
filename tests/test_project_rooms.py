"""The layout: few rooms with descriptions, and no import cycles between files."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

from emulator.check_table import CHECKS

ROOT = Path(__file__).parents[1]
PACKAGES = ("faultline", "protocol", "controller", "emulator", "audit", "pyspark_faultline")
ROOMS_MAX = 10
FOLDERS = sorted(
    path.parent.relative_to(ROOT).as_posix() for package in PACKAGES for path in (ROOT / package).rglob("__init__.py")
)


def inside(folder: Path) -> set[str]:
    """The modules and folders of code in it, by name."""
    modules = {path.stem for path in folder.glob("*.py")} - {"__init__", "__main__"}
    return modules | {path.parent.name for path in folder.glob("*/__init__.py")}


@pytest.mark.parametrize("folder", FOLDERS)
def test_a_folder_lists_its_contents(folder: str) -> None:
    output = ast.get_docstring(ast.parse((ROOT / folder / "__init__.py").read_text(encoding="utf-8"))) or ""
    listed = {name.replace("-", "_") for name in CHECKS} if folder == "audit/checks" else set()
    unsaid = inside(ROOT / folder) - set(re.findall(r"`(\w+)`", output)) - listed
    assert not unsaid, f"{folder}/__init__.py does not name {sorted(unsaid)}"


def test_the_emulator_has_few_rooms() -> None:
    rooms = {path.parent.name for path in (ROOT / "emulator").glob("*/__init__.py")}
    assert len(rooms) <= ROOMS_MAX, sorted(rooms)


def imports() -> dict[str, set[str]]:
    """{module: the modules of ours that it imports}, for types alone, too."""
    modules = {}
    for package in PACKAGES:
        for path in (ROOT / package).rglob("*.py"):
            parts = path.relative_to(ROOT).with_suffix("").parts
            modules[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return {name: set(_imported(name, path, modules)) for name, path in modules.items()}


def _imported(name: str, path: Path, modules: dict[str, Path]) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                wanted = f"{node.module}.{alias.name}"
                found = wanted if wanted in modules else node.module
                if found in modules and found != name:
                    yield found


def test_no_two_files_import_each_other() -> None:
    """Not by a third one either."""
    try:
        TopologicalSorter(imports()).prepare()
    except CycleError as circle:
        pytest.fail(f"a circle of imports: {' <- '.join(circle.args[1])}")
