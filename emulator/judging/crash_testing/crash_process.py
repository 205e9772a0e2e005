"""Crash process: a node process that can die before one of its next storage operations.

A file orders the death, because a process that handles an input looks at nothing else. The file holds the count of
operations that remain. The process deletes it when it dies, so that its next incarnation survives.
"""

import contextlib
import os
import signal
from pathlib import Path
from typing import Any

from emulator.storage.disk import DiskFiles
from emulator.storage.files import Files
from emulator.worlds.network.factory import network_machine
from emulator.worlds.network.spec import Life
from protocol.machine import Machine

FACTORY = "emulator.judging.crash_testing.crash_process:mortal_machine"


def tell(order: Path, operations: int) -> None:
    """Order the process that watches `order` to die before that operation (0: the next)."""
    whole = order.with_suffix(".tmp")
    whole.write_text(str(operations), encoding="ascii")
    whole.replace(order)


def mortal_machine(life: Life, files: Files, arguments: dict[str, Any]) -> Machine:
    """The machine factory of the process.

    `arguments`: `spec` as of `network_machine`, and `order`, the file.
    """
    assert isinstance(files, DiskFiles)
    watch(files, Path(arguments["order"]))
    return network_machine(life, files, arguments["spec"])


def watch(files: DiskFiles, order: Path) -> None:
    """Kill this process with SIGKILL when the file orders it."""
    left: int | None = None

    def before(operation: str, path: str) -> None:
        nonlocal left
        if left is None:
            if not order.exists():
                return
            left = int(order.read_text(encoding="ascii"))
        left -= 1
        if left < 0:
            left = None
            with contextlib.suppress(FileNotFoundError):  # the order was withdrawn while operations were counted
                order.unlink()
                os.kill(os.getpid(), signal.SIGKILL)

    files.operation_hook = before
