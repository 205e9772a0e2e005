"""Copies of collected log directories: hard links where possible."""

import os
import shutil
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

COPIED_NAMES: Final = (".log", "-checkpoint", ".metadata", ".properties", "quorum-state", ".checkpoint")


def copy_folder(source: Path, target: Path, partitions: Sequence[str]) -> None:
    """Put a log directory's files into the run, as hard links if possible, else as copies."""
    for folder in (source, *(source / name for name in partitions)):
        here = target / folder.relative_to(source)
        here.mkdir(parents=True, exist_ok=True)
        with os.scandir(folder) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
        for name in names:
            if not name.endswith(COPIED_NAMES) or (here / name).exists():
                continue
            with suppress(OSError):
                os.link(folder / name, here / name)
                continue
            shutil.copyfile(folder / name, here / name)


