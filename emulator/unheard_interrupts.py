"""An interrupt that comes where nobody can be told of it: in a destructor, or when a weak reference dies.

Python prints such an exception and goes on as if it had not been. (py4j has one such callback for each object of
Java's, so of Spark's work it is no small part.) Here the interrupt comes once more, a moment later.
"""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

AGAIN_S: Final = 0.01
"""Past the callback, which takes microseconds; should it be in the next one, it comes a third time."""


@contextmanager
def unheard_interrupts_come_again() -> Iterator[None]:
    """To the code within."""
    before = sys.unraisablehook
    coming: list[threading.Timer] = []

    def take(unheard: Any) -> None:
        if not issubclass(unheard.exc_type, KeyboardInterrupt):
            before(unheard)
            return
        timer = threading.Timer(AGAIN_S, os.kill, (os.getpid(), signal.SIGINT))
        timer.daemon = True
        coming.append(timer)
        timer.start()

    sys.unraisablehook = take
    try:
        yield
    finally:
        sys.unraisablehook = before
        for timer in coming:
            timer.cancel()
