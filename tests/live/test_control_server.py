"""The control server and its blocking client: where it listens, and how long a client waits."""

import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
import trio
import trio.testing

from emulator.cluster import control_context
from emulator.cluster import control_requests as r
from emulator.cluster import control_server as d
from emulator.cluster.cluster_registry import Registration
from emulator.cluster.control_client import ask
from emulator.identity import mine
from tests.patience import PATIENCE_S

pytestmark = pytest.mark.trio

TOKEN = "0123456789abcdef"


async def echo(requested: r.AnyAsk, wait_s: float) -> r.Answer:
    return r.Answer(result={"asked": type(requested).__name__})


@asynccontextmanager
async def served_here(answer: control_context.Answering = echo) -> AsyncIterator[tuple[d.ControlServer, int]]:
    async with trio.open_nursery() as nursery:
        served = d.ControlServer(TOKEN, answer)
        port: int = await nursery.start(served.serve)
        yield served, port
        nursery.cancel_scope.cancel()


async def test_it_listens_on_loopback_alone() -> None:
    async with served_here() as (_, port):
        with socket.socket() as sock:
            assert sock.connect_ex(("127.0.0.2", port)) != 0
        at = Registration("c", mine(), 1, "127.0.0.1", port, TOKEN)
        answer = await trio.to_thread.run_sync(ask, at, r.Heal(["az-0"]))
        assert answer == r.Answer(result={"asked": "Heal"})


async def test_the_client_waits_no_longer_than_its_limit() -> None:
    async def never(what: r.AnyAsk, wait_s: float) -> r.Answer:
        await trio.sleep_forever()
        raise AssertionError

    async with served_here(never) as (_, port):
        at = Registration("c", mine(), 1, "127.0.0.1", port, TOKEN)
        began = trio.current_time()
        answer = await trio.to_thread.run_sync(ask, at, r.Status(), 0.1)
        assert answer.code == 3 and "did not answer within" in answer.error
        assert trio.current_time() - began < 2.0


async def test_an_absent_server_is_unknown_not_a_traceback() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        at = Registration("c", mine(), 1, "127.0.0.1", closed.getsockname()[1], TOKEN)
        answer = ask(at, r.Status(), 0.1)
    assert answer.code == 3 and answer.error.startswith("cluster c is unreachable")


async def until(holds: Callable[[], bool]) -> None:
    with trio.fail_after(PATIENCE_S):
        while not holds():
            await trio.testing.wait_all_tasks_blocked(0.005)
