"""Temporary folders that exist while a process works.

Their names have their process's identity, so that those of a killed process are found. The next call beside them
removes them, and so does `down`.
"""

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from emulator.identity import identity_from, mine, standing_of

PREFIX: Final = ".faultline-scratch-"


@contextmanager
def scratch(beside: Path | None = None) -> Iterator[Path]:
    """A new private folder in `beside` (None: the folder of temporary files). Raises OSError.

    It is removed at the end of the context.
    """
    remove_scratch(beside)
    made = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=f"-{mine().text()}", dir=beside)).resolve()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_scratch(beside: Path | None = None) -> list[Path]:
    """Remove the folders whose process is dead; return them."""
    place = beside or Path(tempfile.gettempdir())
    removed = []
    for path in sorted(place.glob(f"{PREFIX}*")) if place.is_dir() else ():
        owner = identity_from(path.name.removeprefix(PREFIX).partition("-")[2])
        if owner is not None and standing_of(owner) == "dead" and _is_ours(path):
            shutil.rmtree(path, ignore_errors=True)
            removed.append(path)
    return removed


def _is_ours(path: Path) -> bool:
    try:
        about = path.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(about.st_mode) and about.st_uid == os.geteuid()
