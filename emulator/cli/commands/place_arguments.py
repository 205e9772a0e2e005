"""Checks of a command's output paths, before minutes of work depend on them."""

import os
from collections.abc import Mapping
from pathlib import Path


class UnusablePlace(ValueError):
    """An option whose path cannot be written to: one line."""


def check_places(files: Mapping[str, Path | None], folder: Path | None = None) -> None:
    """Check output paths; makes nothing.

    `files`: {option: the file to write, None: none}. `folder`: the directory of --out, which the command makes and
    which may hold such files. Raises UnusablePlace.
    """
    if folder is not None:
        _check_takes("--out", folder, _nearest_existing(folder))
    for option, path in files.items():
        if path is None:
            continue
        if path.is_dir():
            raise UnusablePlace(f"{option} {path}: is a directory; give a file's name")
        if path.parent.exists():
            _check_takes(option, path, path.parent)
        elif folder is None or not path.parent.absolute().is_relative_to(folder.absolute()):
            raise UnusablePlace(f"{option} {path}: no folder {path.parent}; make it")


def _check_takes(option: str, path: Path, folder: Path) -> None:
    if not folder.is_dir():
        raise UnusablePlace(f"{option} {path}: {folder} is not a directory")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UnusablePlace(f"{option} {path}: {folder} is not writable")


def _nearest_existing(path: Path) -> Path:
    """The path itself, or the nearest existing parent."""
    return next(one for one in (path, *path.parents) if os.path.lexists(one))
