"""Loads checks of other authors: `audit --check FILE`, and those of installed packages.

FILE is Python with a `Check` at its outermost level, as in the modules beside this one; a package names its checks in
the entry point group `faultline.checks`. Both are code, and run as such: use trusted sources only.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterable, Sequence
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path

from audit.checks.check import Check
from audit.checks.check_registry import CHECKS
from audit.input import AuditInputError
from emulator.regular_files import reason

GROUP = "faultline.checks"
MODULE = "faultline_own_check"
_NAME = re.compile(r"[a-z][a-z0-9-]{0,63}")


def all_checks(files: Sequence[Path], points: Iterable[EntryPoint] | None = None) -> tuple[Check, ...]:
    """Faultline's checks, those of installed packages, then those of `files`.

    `points`: entry points; None: as installed.

    Raises AuditInputError, which names the file or the package.
    """
    found = dict(CHECKS)
    where: dict[str, str] = dict.fromkeys(CHECKS, "faultline")
    installed = entry_points(group=GROUP) if points is None else points
    named = [(f"{point.name} ({GROUP})", _of_package(point)) for point in installed]
    named += [(str(file), check) for file in files for check in _of_file(file)]
    for origin, check in named:
        if not _NAME.fullmatch(check.name):
            raise AuditInputError(f"{origin}: {check.name!r} is no name of a check; such as committed-cut")
        if check.name in found:
            raise AuditInputError(f"{origin}: a check called {check.name!r} is there already, by {where[check.name]}")
        found[check.name], where[check.name] = check, origin
    return tuple(found.values())


def _of_package(point: EntryPoint) -> Check:
    origin = f"{point.name} ({GROUP})"
    try:
        found = point.load()
    except Exception as error:  # foreign code may raise anything; the message names it
        raise AuditInputError(f"{origin}: {type(error).__name__}: {error}") from error
    if not isinstance(found, Check):
        raise AuditInputError(f"{origin}: {point.value} is no audit.checks.check.Check")
    return found


def _of_file(path: Path) -> list[Check]:
    spec = importlib.util.spec_from_file_location(MODULE, path) if path.suffix == ".py" else None
    if spec is None or spec.loader is None or not path.is_file():
        what = "no such file" if not path.is_file() else "no .py file"
        raise AuditInputError(f"--check {path}: {what}; a check is Python (docs/how-to-add-a-check.md)")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except OSError as error:  # of its own file, or of what it reads
        raise AuditInputError(f"--check {path}: {error.filename or path}: {reason(error)}") from error
    except Exception as error:
        line = f":{error.lineno}" if isinstance(error, SyntaxError) else ""
        raise AuditInputError(f"{path}{line}: {type(error).__name__}: {error}") from error
    found = [value for value in vars(module).values() if isinstance(value, Check)]
    if not found:
        raise AuditInputError(f"{path}: no Check in it; define one, such as COMMITTED_CUT = Check(name=..., ...)")
    return found
