"""An interrupt that comes where nobody can be told of it comes once more, a moment later.

- In a destructor, or when a weak reference dies: Python prints such an exception and goes on as if it had not been.
  (py4j has one such callback for each object of Java's, so of Spark's work it is no small part.)
- At a prompt: between readline's showing it and its waiting for a key, what came is noted and the wait begins all the
  same, until somebody types.
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
"""Past the callback, which takes microseconds; should it be in the next one, it comes a third time."""


@contextmanager
def unheard_interrupts_come_again() -> Iterator[None]:
    """To the code within; what has not come again by its end is raised there."""
    before = sys.unraisablehook
    coming: list[threading.Timer] = []
    owed = False

    def say() -> None:
        nonlocal owed
        owed = False
        os.kill(os.getpid(), signal.SIGINT)

    def take(unheard: Any) -> None:
        nonlocal owed
        if not issubclass(unheard.exc_type, KeyboardInterrupt):
            before(unheard)
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
                # A thread may take longer to start than the interrupt to come again, and nobody hears it in here.
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
    """While the code within, in the main thread, waits for a person in C: an interrupt is said again until Python hears
    it, and heard once. Not around trio, which has a wake-up descriptor of its own."""
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual):  # nobody wants to hear of it
        yield
        return
    heard = False

    def hear(number: int, frame: FrameType | None) -> None:
        nonlocal heard
        if not heard:
            heard = True
            usual(number, frame)

    listening, told = socket.socketpair()
    told.setblocking(False)
    insisting = threading.Thread(target=_insist, args=(listening,), name="interrupts", daemon=True)
    insisting.start()
    signal.signal(signal.SIGINT, hear)
    before = signal.set_wakeup_fd(told.fileno(), warn_on_full_buffer=False)
    try:
        yield
    finally:
        signal.set_wakeup_fd(before)
        told.close()
        insisting.join()
        listening.close()
        try:
            signal.signal(signal.SIGINT, usual)
        except BaseException:  # it raises what came last, before it takes `usual`
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
