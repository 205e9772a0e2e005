"""Re-delivers a KeyboardInterrupt that Python swallowed.

- In a destructor, or when a weak reference dies: Python prints such an exception and continues.
- At a prompt: between readline's output and its wait for a key, the signal is noted and the wait begins all the same,
  until a key is pressed.

py4j has a weak reference's callback for each object of Java's, so this is frequent in Spark's work.
"""

import os
import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any, Final

AGAIN_S: Final = 0.01
"""Delay in s, past the callback's microseconds; in another callback it is delivered again."""


@contextmanager
def redelivers_interrupts() -> Iterator[None]:
    """Re-deliver interrupts to the code within.

    One that has not been delivered by its end is raised there.
    """
    before = sys.unraisablehook
    coming: list[threading.Timer] = []
    owed = False

    def say() -> None:
        nonlocal owed
        owed = False
        os.kill(os.getpid(), signal.SIGINT)

    def take(unraisable: Any) -> None:
        nonlocal owed
        if not issubclass(unraisable.exc_type, KeyboardInterrupt):
            before(unraisable)
            return
        while True:
            try:
                owed = True
                coming[:] = [timer for timer in coming if timer.is_alive()]
                timer = threading.Timer(AGAIN_S, say)
                timer.daemon = True
                coming.append(timer)
                timer.start()
                return
            except KeyboardInterrupt:
                # A thread may take longer to start than the re-delivery, which would be lost in here.
                continue

    sys.unraisablehook = take
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in coming:
            timer.cancel()
            if timer.is_alive():
                timer.join()
        if owed:
            raise KeyboardInterrupt


@contextmanager
def interrupts_end_the_wait() -> Iterator[None]:
    """End a wait in C for a user, in the main thread, by an interrupt.

    The interrupt is sent until Python handles it, and handled once. Not around trio, which has a wake-up descriptor of
    its own.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual):  # interrupts are ignored
        yield
        return
    handled = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal handled
        if not handled:
            handled = True
            usual(number, frame)

    listening, wakes = socket.socketpair()
    wakes.setblocking(False)
    insisting = threading.Thread(target=_insist, args=(listening,), name="interrupts", daemon=True)
    insisting.start()
    signal.signal(signal.SIGINT, hear)
    before = signal.set_wakeup_fd(wakes.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        wakes.close()
        insisting.join()
        listening.close()
        try:
            signal.signal(signal.SIGINT, usual)
        except BaseException:  # it raises the last interrupt before it restores `usual`
            signal.signal(signal.SIGINT, usual)
            raise


def _insist(listening: socket.socket) -> None:
    """`listening`: the numbers of the signals that came; its end ends this thread."""
    came = False
    while True:
        listening.settimeout(AGAIN_S if came else None)
        try:
            numbers = listening.recv(64)
        except TimeoutError:
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
            continue
        if not numbers:
            return
        came = came or signal.SIGINT in numbers
