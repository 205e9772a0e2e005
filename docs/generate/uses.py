"""Names that the code reads: an effective setting or gate differs from an unused one."""

import ast
from functools import cache
from pathlib import Path

PACKAGES = ("faultline", "protocol", "controller", "emulator", "audit", "pyspark_faultline")

FILES_OF_SETTINGS = (
    "emulator/settings",
    "emulator/runs/settings_sense.py",
    "emulator/scenario/recording.py",
    "emulator/machines/broker/settings.py",
    "emulator/machines/client/client_settings.py",
    "controller/settings.py",
    "controller/kraft/controller_settings.py",
    "controller/quorum/settings.py",
)
"""Files that declare or copy settings, which is no use."""
FILE_OF_GATES = ("protocol/gates.py",)


@cache
def _attributes(path: Path) -> frozenset[str]:
    """Every `x.name` that a module reads, and every text in it.

    (Settings are also read by name.)
    """
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
            found.add(node.value.removeprefix("producer.").removeprefix("consumer.").replace(".", "_"))
    return frozenset(found)


@cache
def modules(root: Path, packages: tuple[str, ...] = PACKAGES) -> tuple[Path, ...]:
    """Every module of these packages, in a fixed order."""
    return tuple(path for package in packages for path in sorted((root / package).rglob("*.py")))


def used_names(root: Path, declared_in: tuple[str, ...]) -> set[str]:
    """Names read anywhere but where they are declared."""
    return {name for path in modules(root) if not _is_in(path, root, declared_in) for name in _attributes(path)}


def users_of(root: Path, name: str, declared_in: tuple[str, ...]) -> list[str]:
    """The modules that read `name`, as paths from the root."""
    using = [path for path in modules(root) if name in _attributes(path) and not _is_in(path, root, declared_in)]
    return [path.relative_to(root).as_posix() for path in using]


def _is_in(path: Path, root: Path, places: tuple[str, ...]) -> bool:
    """One of these files, or in one of these folders."""
    return any(path.is_relative_to(root / place) for place in places)
