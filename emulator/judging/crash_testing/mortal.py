"""The machine of a node process that may be told to die before one of its next storage operations.

It is told by a file, for a process that handles an input looks at nothing else: the file holds how many operations are
left. The process that dies takes the file with it, so that its next life goes on.
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

FACTORY = "emulator.judging.crash_testing.mortal:mortal_machine"


def tell(order: Path, operations: int) -> None:
    """Whoever watches `order` dies before that operation from now (0: the next)."""
    whole = order.with_suffix(".tmp")
    whole.write_text(str(operations), encoding="ascii")
    whole.replace(order)


def mortal_machine(life: Life, files: Files, arguments: dict[str, Any]) -> Machine:
    """The factory that the process names; `arguments`: `spec` as of `network_machine`, and `order`, the file."""
    assert isinstance(files, DiskFiles)
    watch(files, Path(arguments["order"]))
    return network_machine(life, files, arguments["spec"])


def watch(files: DiskFiles, order: Path) -> None:
    """SIGKILL for this process when the file says so."""
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
