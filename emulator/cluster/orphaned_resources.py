"""Orphaned processes and files of a cluster whose supervisor died."""

import os
import shutil
from pathlib import Path
from typing import Final

from emulator.cluster.cluster_registry import LOG_FILE, Found
from emulator.worlds.containers.project import project_name
from emulator.worlds.containers.removal import objects_of
from emulator.worlds.containers.tool import DockerFailed, DockerMissing
from emulator.worlds.packet_filter.namespaces import abandoned

LAST_BYTES: Final = 4096
FULL_BYTES: Final = 4096
"""With less free space, a disk is full: a line of a log may be missing."""


def left_by(found: Found) -> str:
    """One line: the remains, and the command that removes them."""
    words = last_words(found.directory)
    why = f"; its last words: {words}" if words else "; its disk is full" if _disk_full(found.directory) else ""
    return (
        f"{found.name} has no supervisor any more (process {found.registration.pid} is gone{why}); "
        f"{_what(found)}; faultline down cleans up"
    )


def last_words(run_dir: Path) -> str:
    """The last line that a supervisor wrote; "": it wrote none."""
    try:
        with (run_dir / LOG_FILE).open("rb") as file:
            file.seek(max(0, os.fstat(file.fileno()).st_size - LAST_BYTES))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return ""
    return lines[-1].removeprefix("faultline: ") if lines else ""


def _disk_full(run_dir: Path) -> bool:
    """Whether the disk is full: a supervisor that died of it could not write the reason."""
    try:
        return shutil.disk_usage(run_dir).free < FULL_BYTES
    except OSError:
        return False


def _what(found: Found) -> str:
    if found.registration.engine == "docker":
        try:
            return f"{objects_of(project_name(found.directory))} left"
        except (DockerFailed, DockerMissing) as error:
            return f"its containers cannot be looked for: {error}"
    if found.registration.driver == "kernel":
        return f"{len(abandoned())} network namespaces left"
    return "its processes have ended with it"
