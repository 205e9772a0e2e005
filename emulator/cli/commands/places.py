"""Where a command is told to write, looked at before it plays: minutes of work are no price of a slip."""

import os
from collections.abc import Mapping
from pathlib import Path


class UnusablePlace(ValueError):
    """An option whose path cannot be written to: one line."""


def check_places(files: Mapping[str, Path | None], folder: Path | None = None) -> None:
    """`files`: {option: the file that is to be written, None: none is}. `folder`: what --out names, a directory that is
    made, maybe with such files in it. Nothing is made here. Raises UnusablePlace."""
    if folder is not None:
        _check_takes("--out", folder, _nearest_that_is_there(folder))
    for option, path in files.items():
        if path is None:
            continue
        if path.is_dir():
            raise UnusablePlace(f"{option} {path}: is a directory; expected a file's name")
        if path.parent.exists():
            _check_takes(option, path, path.parent)
        elif folder is None or not path.parent.absolute().is_relative_to(folder.absolute()):
            raise UnusablePlace(f"{option} {path}: there is no folder {path.parent}")


def _check_takes(option: str, path: Path, folder: Path) -> None:
    if not folder.is_dir():
        raise UnusablePlace(f"{option} {path}: {folder} is no directory")
    if not os.access(folder, os.W_OK | os.X_OK):
        raise UnusablePlace(f"{option} {path}: nothing may be written to {folder}")


def _nearest_that_is_there(path: Path) -> Path:
    """Itself, or the folder in which it would be made."""
    return next(one for one in (path, *path.parents) if os.path.lexists(one))
