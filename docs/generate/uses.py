"""Which names the code really uses: what tells a setting or a gate that acts from one that only exists."""

import ast
from collections.abc import Iterable
from functools import cache
from pathlib import Path

PACKAGES = ("protocol", "controller", "emulator", "audit")

FILES_OF_SETTINGS = (
    "emulator/scenario/settings.py",
    "emulator/scenario/setting.py",
    "emulator/scenario/recording.py",
    "emulator/broker/settings.py",
    "emulator/client/client_settings.py",
    "controller/settings.py",
)
"""Where settings are declared or copied, which is no use of them."""
FILE_OF_GATES = ("protocol/versions.py",)


@cache
def _attributes(path: Path) -> frozenset[str]:
    """Every `x.name` that a module reads, and every text in it (settings are also asked for by name)."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            found.add(node.attr)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and len(node.value) < 80:
            found.add(node.value.removeprefix("producer.").removeprefix("consumer.").replace(".", "_"))
    return frozenset(found)


def modules(root: Path, packages: Iterable[str] = PACKAGES) -> list[Path]:
    """Every module of these packages, in a fixed order."""
    return [path for package in packages for path in sorted((root / package).rglob("*.py"))]


def used_names(root: Path, declared_in: tuple[str, ...]) -> set[str]:
    """Names read anywhere but where they are declared."""
    apart = {root / name for name in declared_in}
    return {name for path in modules(root) if path not in apart for name in _attributes(path)}


def users_of(root: Path, name: str, declared_in: tuple[str, ...]) -> list[str]:
    """The modules that read `name`, as paths from the root."""
    apart = {root / place for place in declared_in}
    return [
        path.relative_to(root).as_posix() for path in modules(root) if path not in apart and name in _attributes(path)
    ]
