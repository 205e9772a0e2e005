"""Portal from blocking code to async methods: a trio loop in a thread for each call.

So a call works in a thread whose own loop runs, such as a notebook's, and leaves its signal handlers alone.
"""

import contextlib
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import TypeVar

import trio

T = TypeVar("T")


def run_blocking(call: Callable[[], Awaitable[T]]) -> T:
    """Result of an async call.

    An interrupt of the wait cancels the call, and is raised when that has ended.
    """
    done: Future[T] = Future()
    begun = threading.Event()
    scope = trio.CancelScope()
    tokens: list[trio.lowlevel.TrioToken] = []

    async def cancellable() -> T:
        tokens.append(trio.lowlevel.current_trio_token())
        begun.set()
        with scope:
            return await call()
        raise trio.BrokenResourceError("the call was cancelled")

    def run() -> None:
        try:
            done.set_result(trio.run(cancellable))
        except BaseException as error:
            done.set_exception(error)
        finally:
            begun.set()  # also if the loop did not begin

    thread = threading.Thread(target=run, name="faultline call", daemon=True)
    try:
        thread.start()
        return done.result()
    finally:
        if not done.done():
            begun.wait()
            for token in tokens:
                with contextlib.suppress(trio.RunFinishedError):
                    token.run_sync_soon(scope.cancel)
        thread.join()
