"""Paths of faultline's data: scenarios, recordings of real Kafka, topologies.

People edit it in the tree; a wheel has it in the package, below `data` (hatch_build.py). Read only.
"""

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from shlex import quote
from typing import Final

DISTRIBUTION: Final = "kafka-faultline"
"""Name on a package index, where `faultline` is another project."""
_PACKAGE: Final = Path(__file__).resolve().parent
_DATA: Final = _PACKAGE / "data"
_TREE: Final = _PACKAGE.parent

IN_PACKAGE: Final = _DATA.is_dir()
"""It came in a wheel; there is no tree, and no `make`."""

SCENARIOS: Final = _DATA / "scenarios" if IN_PACKAGE else _TREE / "scenarios"
GOLDEN: Final = _DATA / "golden" if IN_PACKAGE else _TREE / "tests" / "golden"
PROJECT: Final = (_DATA if IN_PACKAGE else _TREE) / "pyproject.toml"
COMPOSE: Final = _DATA / "compose" if IN_PACKAGE else _TREE / "compose"
"""Topologies, and the sources of their containers' image."""
BUILD_IMAGE: Final = quote(str(COMPOSE / "build.sh")) if IN_PACKAGE else "compose/build.sh"
"""The command, for a shell; in the tree from its root."""


def repository() -> str:
    """URL of the project's repository, without a slash at its end."""
    urls: dict[str, str] = tomllib.loads(PROJECT.read_text(encoding="utf-8"))["project"]["urls"]
    return urls["Source"]


def installed_version() -> str:
    """Of the distribution; of sources that are not installed there is none."""
    try:
        return version(DISTRIBUTION)
    except PackageNotFoundError:
        return "not installed, run from its sources"
