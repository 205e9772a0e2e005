"""Folders for what is needed while a process works, and nothing is left of.

They carry their process's identity in their name, so that those of a killed one are found and removed: by whoever makes
the next one beside them, and by `down`.
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
    """A new folder, ours alone, in `beside` (None: where temporary files go); gone afterwards. Raises OSError."""
    remove_scratch(beside)
    made = Path(tempfile.mkdtemp(prefix=PREFIX, suffix=f"-{mine().text()}", dir=beside)).resolve()
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


def remove_scratch(beside: Path | None = None) -> list[Path]:
    """Removes those whose process is dead; returns them."""
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
