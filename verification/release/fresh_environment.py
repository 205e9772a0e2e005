"""A virtual environment with the wheel, and an empty folder for its commands."""

import os
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Final

INSTALL_LIMIT_S: Final = 1_800.0
"""Limit of a download of some 450 MB."""
COMMAND_LIMIT_S: Final = 600.0


class CommandFailed(Exception):
    """A command ended with another exit code than expected; the message has its output."""


class FreshEnvironment:
    """A virtual environment below `folder`, which must exist."""

    def __init__(self, folder: Path) -> None:
        self.prefix, self.here = folder / "venv", folder / "here"
        self.here.mkdir()
        venv.create(self.prefix, symlinks=True)
        self.python = self.prefix / "bin" / "python"
        (self.packages,) = self.prefix.glob("lib/python*/site-packages")

    def install(self, wheels: Sequence[Path], constraints: Path) -> None:
        """Install wheels with their dependencies. Raises CommandFailed."""
        self._pip("--constraint", str(constraints), *map(str, wheels), limit_s=INSTALL_LIMIT_S)

    def install_beside(self, wheels: Sequence[Path]) -> None:
        """Install wheels alone; their dependencies are those of the caller's environment.

        Raises CommandFailed. The caller's path files are not read here, so its own editable faultline is not there.
        """
        folders = dict.fromkeys(sysconfig.get_path(kind) for kind in ("purelib", "platlib"))
        (self.packages / "dependencies.pth").write_text("\n".join(folders), encoding="utf-8")
        self._pip("--no-deps", "--no-index", *map(str, wheels))
        archive = Path(sys.prefix, "var")
        if archive.is_dir():  # Spark's class archive: it starts in half the time
            (self.prefix / "var").symlink_to(archive)

    def _pip(self, *words: str, limit_s: float = COMMAND_LIMIT_S) -> None:
        pip = [sys.executable, "-m", "pip", "--python", str(self.python), "--disable-pip-version-check", "--no-input"]
        done(*pip, "install", "--quiet", *words, cwd=self.here, limit_s=limit_s)

    def faultline(self, *words: str, code: int = 0) -> str:
        """The output of a command. Raises CommandFailed."""
        return done(str(self.prefix / "bin" / "faultline"), *words, cwd=self.here, code=code)


def done(*command: str, cwd: Path, code: int = 0, limit_s: float = COMMAND_LIMIT_S, **variables: str) -> str:
    """The output of a command, run without this process's variables of Python.

    Raises CommandFailed, TimeoutExpired.
    """
    environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    ended = subprocess.run(
        command, cwd=cwd, env=environment | variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        timeout=limit_s, check=False,
    )  # fmt: skip
    if ended.returncode != code or "Traceback" in ended.stderr:
        raise CommandFailed(f"{' '.join(command)}: {ended.returncode}\n{ended.stdout}\n{ended.stderr}")
    return ended.stdout
