"""Observations on disk. The one module of this package that reads files."""

import difflib
import stat
from pathlib import Path

from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.observations.recording_parsing import Malformed, parse

MAX_FILE_BYTES = 64 * 1024 * 1024
"""A run of an hour is a few MiB; more is not observations."""


def load(path: Path, *, follow: bool = True) -> Observations:
    """Reads one file. Raises Malformed, with one message, if it is missing, unreadable or not
    observations. `follow`: through a symbolic link."""
    try:
        about = path.stat() if follow else path.lstat()
        if not stat.S_ISREG(about.st_mode):
            raise Malformed(f"{path}: is no regular file")
        if about.st_size > MAX_FILE_BYTES:
            raise Malformed(f"{path}: larger than {MAX_FILE_BYTES} bytes, which no run's observations are")
        text = path.read_bytes()
    except FileNotFoundError:
        raise Malformed(f"{path}: no such file{_nearest(path)}") from None
    except OSError as error:
        raise Malformed(f"{path}: cannot be read: {error.strerror}") from error
    return parse(text, str(path))


def run_file(run: Path) -> Path:
    """`runs/ID` or the file itself -> the path of its observations. Raises Malformed."""
    if run.is_dir():
        inside = run / "observations.json"
        if not inside.is_file():
            raise Malformed(f"{run}: holds no observations.json; was the run finished?")
        return inside
    return run


def recording_files(given: list[Path]) -> list[Path]:
    """Files as given, and every recording below given folders, sorted.

    Raises Malformed without any.
    """
    found: list[Path] = []
    for path in given:
        if not path.is_dir():
            found.append(path)
            continue
        try:
            next(path.iterdir(), None)  # rglob skips unreadable directories
            below = sorted(p for p in path.rglob("*.json") if p.is_file())
        except OSError as error:
            raise Malformed(f"{error.filename}: cannot be read: {error.strerror}") from error
        if not below:
            raise Malformed(f"{path}: no recording (*.json) in this folder")
        found.extend(below)
    if not found:
        raise Malformed("no recording given")
    return found


def _nearest(path: Path) -> str:
    """`; nearest: golden/x@2.6` if something there is called nearly so."""
    parent, name = path.parent, path.name
    while not parent.is_dir() and parent != parent.parent:
        parent, name = parent.parent, parent.name
    names = sorted(entry.name for entry in parent.iterdir()) if parent.is_dir() else []
    close = difflib.get_close_matches(name, names, n=1, cutoff=0.6)
    return f"; nearest: {parent / close[0]}" if close else ""
