"""Virtual machines that this process has started; none outlives it."""

import atexit
import os
import signal
import subprocess
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

_STARTED: Final[dict[subprocess.Popen[bytes], int]] = {}
"""{process: its parent's number}; a fork's copy has another parent."""


def started(command: Sequence[str], **options: Any) -> "subprocess.Popen[bytes]":
    """Start a process as subprocess.Popen does, and kill it at exit unless it has `ended`."""
    with interrupts_wait():
        process: subprocess.Popen[bytes] = subprocess.Popen(command, **options)
        _STARTED[process] = os.getpid()
    return process


def ended(process: "subprocess.Popen[bytes]") -> None:
    """Forget a process that has been waited for."""
    _STARTED.pop(process, None)


@contextmanager
def interrupts_wait() -> Iterator[None]:
    """Delay a SIGINT to the block's end: a child without a name for it could not be ended.

    Where another thread or program handles signals, it does nothing.
    """
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
    """Kill the processes that an interrupt kept from their orderly end."""
    for process, parent in list(_STARTED.items()):
        if parent == os.getpid():
            process.kill()
            process.wait()
