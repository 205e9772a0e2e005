"""The project's rules: pure packages, pinned dependencies, one way to catch decoding errors."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = ("faultline", "protocol", "controller", "emulator", "audit", "pyspark_faultline")

# Everything below these folders is pure. Keep in step with the contract "pure" of pyproject.toml.
PURE = (
    "protocol",
    "controller",
    "emulator/machines",
    "emulator/faults",
    "emulator/scenario",
    "emulator/runs/kafka_log",
    "emulator/cluster/dashboard",
)


def project() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def pure_contract() -> dict[str, Any]:
    contracts = project()["tool"]["importlinter"]["contracts"]
    return next(contract for contract in contracts if contract["id"] == "pure")


def modules(folder: str) -> list[Path]:
    """Every module below `folder`, as a path from the root.

    None when the folder does not exist yet.
    """
    return sorted(path.relative_to(ROOT) for path in (ROOT / folder).rglob("*.py"))


def dotted(path: Path) -> str:
    parts = path.with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def covered(module: str, expressions: list[str]) -> bool:
    """True when an expression of an import contract includes `module`.

    An expression is a module, or everything below one.
    """
    return any(
        module.startswith(expression.removesuffix("**"))
        if expression.endswith(".**")
        else module == expression or module.startswith(expression + ".")
        for expression in expressions
    )


def imported(path: Path) -> set[str]:
    """The top-level names that a module imports anywhere in it."""
    names: set[str] = set()
    for node in ast.walk(ast.parse((ROOT / path).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.split(".")[0])
    return names


@pytest.mark.parametrize("folder", PURE)
def test_every_module_of_a_pure_package_is_under_the_purity_contract(folder: str) -> None:
    sources = pure_contract()["source_modules"]
    # A wildcard takes in what is below a package, not the package's own __init__: see the next test.
    uncovered = [path for path in modules(folder) if path.name != "__init__.py" and not covered(dotted(path), sources)]
    assert not uncovered, "add to source_modules of the contract 'pure' in pyproject.toml"


def test_no_pure_module_imports_the_impure() -> None:
    """Direct imports, `__init__` included; the import contract itself follows the indirect ones."""
    forbidden = set(pure_contract()["forbidden_modules"])
    found = {
        str(path): sorted(imported(path) & forbidden)
        for folder in PURE
        for path in modules(folder)
        if imported(path) & forbidden
    }
    assert found == {}


def test_constraints_pin_every_dependency_and_name_no_index() -> None:
    lines = [
        line
        for line in (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
        if line and not line.startswith("#")
    ]
    assert [line for line in lines if not re.fullmatch(r"[A-Za-z0-9._-]+==[A-Za-z0-9.+!]+", line)] == []
    pinned = {normal(line.split("==")[0]) for line in lines}
    table = project()["project"]
    wanted = table["dependencies"] + [row for extra in table["optional-dependencies"].values() for row in extra]
    names = {normal(re.split(r"[^A-Za-z0-9._-]", row)[0]) for row in wanted}
    assert names - pinned == set()


def normal(name: str) -> str:
    """A distribution's name as PEP 503 compares it."""
    return re.sub(r"[-_.]+", "-", name).lower()


def test_bytes_that_cannot_be_decoded_are_caught_by_one_tuple() -> None:
    """`msgspec.DecodeError` alone misses text that is not UTF-8, and nesting too deep."""
    alone = re.compile(r"^ *except (?!.*ValueError).*msgspec\.(Decode|Msgspec)Error", re.MULTILINE)
    found = [path for folder in PACKAGES for path in modules(folder) if alone.search((ROOT / path).read_text("utf-8"))]
    assert not found
