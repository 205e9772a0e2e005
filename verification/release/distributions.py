"""Builds of the distributions: here, and in a copy with other times and modes."""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Final

from emulator.packaged import PROJECT

ROOT: Final = PROJECT.parent
PLUGIN: Final = "pytest-faultline"
"""Folder of the distribution for pytest; a wheel is all of it."""
LIMIT_S: Final = 300.0
OTHER_UMASK: Final = 0o077
OTHER_TIME_S: Final = 86_400.0 * 365 * 40


class BuildFailed(Exception):
    """The builder ended with an error; the message is its output."""


def build(tree: Path, into: Path) -> list[Path]:
    """Both distributions of a tree: wheel and source, and the wheel of PLUGIN.

    Raises BuildFailed, OSError.
    """
    into = into.absolute()
    into.mkdir(parents=True, exist_ok=True)
    for folder, targets in ((tree, ("sdist", "wheel")), (tree / PLUGIN, ("wheel",))):
        for target in targets:
            command = [sys.executable, "-m", "hatchling", "build", "--target", target, "--directory", str(into)]
            variables = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
            done = subprocess.run(
                command, cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                timeout=LIMIT_S, check=False,
            )  # fmt: skip
            if done.returncode:
                raise BuildFailed(f"{' '.join(command)} in {folder}:\n{done.stdout}{done.stderr}")
    return sorted(into.iterdir())


def copied(tree: Path, to: Path) -> Path:
    """Copy the files that git knows or would add, with other times and modes."""
    listed = subprocess.run(
        ["git", "-C", str(tree), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True, text=True, check=True, timeout=LIMIT_S,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source, place = tree / name, to / name
        if not source.is_symlink() and not source.is_file():  # deleted, and not yet committed
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, place, follow_symlinks=False)
        if not place.is_symlink():
            place.chmod(source.stat().st_mode & ~OTHER_UMASK)
            os.utime(place, (OTHER_TIME_S, OTHER_TIME_S))
    return to


def differences(first: list[Path], second: list[Path]) -> list[str]:
    """Files of two builds that are not equal byte by byte."""
    here, there = ({path.name: path for path in paths} for paths in (first, second))
    lines = [f"{name}: of one build alone" for name in sorted(here.keys() ^ there.keys())]
    differ = [name for name in here.keys() & there.keys() if here[name].read_bytes() != there[name].read_bytes()]
    return lines + [f"{name}: two builds differ" for name in sorted(differ)]
