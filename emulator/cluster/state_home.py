"""Folder of a user's register of running clusters: one per user and machine, private.

`$XDG_STATE_HOME/faultline`, else `~/.local/state/faultline`. Without either (no home, or another user's, as under
`sudo -E`): `faultline-UID` in the folder for temporary files. It outlives a restart of the machine, as containers do.
"""

import os
import stat
from collections.abc import Iterator, Mapping
from pathlib import Path
from tempfile import gettempdir
from typing import Final

FOLDER: Final = "faultline"


class NoStateHome(OSError):
    """No folder can be written; the message has those that were tried."""


def state_home(environ: Mapping[str, str] | None = None) -> Path:
    """The folder, made if missing. Raises NoStateHome."""
    tried = []
    for place in _places(os.environ if environ is None else environ):
        try:
            return _own(place) / os.uname().nodename
        except OSError as error:
            tried.append(f"{place} ({error.strerror or error})")
    raise NoStateHome(f"no folder for the register of clusters: {', '.join(tried)}; set XDG_STATE_HOME")


def _places(environ: Mapping[str, str]) -> Iterator[Path]:
    """Candidates, the best first; those in folders of other users are left out."""
    given, home = environ.get("XDG_STATE_HOME", ""), environ.get("HOME", "")
    for base, below in ((given, FOLDER), (home, f".local/state/{FOLDER}")):
        if base.startswith("/") and _is_ours(Path(base)):  # the XDG specification: a relative one is to be ignored
            yield Path(base) / below
    yield Path(gettempdir()) / f"{FOLDER}-{os.geteuid()}"


def _is_ours(base: Path) -> bool:
    while not base.exists() and base != base.parent:
        base = base.parent
    try:
        return base.stat().st_uid == os.geteuid()
    except OSError:
        return False


def _own(place: Path) -> Path:
    """The private folder. Raises OSError."""
    place.parent.mkdir(parents=True, exist_ok=True)
    place.mkdir(mode=0o700, exist_ok=True)
    there = place.lstat()
    if not stat.S_ISDIR(there.st_mode) or there.st_uid != os.geteuid():
        raise PermissionError(0, "it is not a folder of ours")
    if stat.S_IMODE(there.st_mode) & 0o077:
        place.chmod(0o700)
    (place / os.uname().nodename).mkdir(mode=0o700, exist_ok=True)
    return place
