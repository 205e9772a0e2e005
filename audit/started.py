"""Virtual machines that this process has started: none of them outlives it, whenever an interrupt comes."""

import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

_STARTED: Final[dict[subprocess.Popen[bytes], int]] = {}
"""{process: the process that started it}: a fork's copy of this is nobody's."""


def started(command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """As subprocess.Popen. It is killed at the end of this process, unless it has `ended` before."""
    with interrupts_wait():
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **options)
        _STARTED[process] = os.getpid()
    return process


def ended(process: "subprocess.Popen[bytes]") -> None:
    """It was waited for."""
    _STARTED.pop(process, None)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """A SIGINT that comes meanwhile is handled afterwards: between the birth of a child and a name for it nobody could
    end it. Where somebody else handles signals (another thread, another program's handler) nothing is done."""
    before = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        yield
        return
    came: list[tuple[Any, Any]] = []
    signal.signal(signal.SIGINT, lambda number, frame: came.append((number, frame)))
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if came:
            before(*came[0])


@atexit.register
def _end_all() -> None:
    """Of those that an interrupt kept from their orderly end."""
    for process, parent in list(_STARTED.items()):
        if parent == os.getpid():
            process.kill()
            process.wait()
