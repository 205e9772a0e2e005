"""The portal from blocking code to async methods: results, errors, interrupts, loops."""

import asyncio
import signal
import threading

import pytest
import trio

from faultline.blocking import run_blocking


async def thread_name() -> str:
    await trio.lowlevel.checkpoint()
    return threading.current_thread().name


async def failing() -> None:
    raise ValueError("no such topic")


def test_a_result_and_an_error_arrive() -> None:
    assert run_blocking(thread_name) == "faultline call"
    with pytest.raises(ValueError, match="no such topic"):
        run_blocking(failing)
    assert "faultline call" not in [thread.name for thread in threading.enumerate()]


def test_the_caller_may_have_a_loop_of_its_own() -> None:
    async def on_trio() -> str:
        return run_blocking(thread_name)

    async def on_asyncio() -> str:
        return run_blocking(thread_name)

    assert trio.run(on_trio) == asyncio.run(on_asyncio()) == "faultline call"


def test_an_interrupt_cancels_the_call_and_waits_for_its_end() -> None:
    ended: list[str] = []
    main = threading.main_thread().ident
    assert main is not None

    async def interrupted() -> None:
        try:
            signal.pthread_kill(main, signal.SIGINT)
            await trio.sleep_forever()
        finally:
            ended.append("ended")

    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(KeyboardInterrupt):
            run_blocking(interrupted)
    finally:
        signal.signal(signal.SIGINT, before)
    assert ended == ["ended"]
