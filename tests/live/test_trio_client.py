"""The client side on trio: it receives the same as the other one.

A cancelled one stops reading.
"""

import socket

import pytest
import trio

from emulator.cluster import control_requests as r
from emulator.cluster.cluster_registry import Registration
from emulator.cluster.trio_client import ask
from emulator.identity import mine
from tests.live.test_control_server import TOKEN, served_here, until

pytestmark = pytest.mark.trio


def at(port: int, token: str = TOKEN) -> Registration:
    return Registration("c", mine(), 1, "127.0.0.1", port, token)


async def test_an_answer_of_many_pieces_and_a_refusal() -> None:
    async def answer(what: r.AnyAsk, wait_s: float) -> r.Answer:
        return r.Answer(result={"text": "x" * 1_000_000, "wait_s": wait_s})

    async with served_here(answer) as (_, port):
        reported = await ask(at(port), r.Status(), 2.0)
        assert (reported.code, len(reported.result["text"]), reported.result["wait_s"]) == (0, 1_000_000, 2.0)
        refused = await ask(at(port, "0" * 16), r.Status())
        assert refused.code == 2 and refused.error.startswith("not this run's token")
        with pytest.raises(r.Refused, match="a request of"):
            await ask(at(port), r.Produce("t", ["x" * r.BODY_BYTES_MAX]))


async def test_it_waits_no_longer_than_its_limit_and_its_callers(autojump_clock: trio.abc.Clock) -> None:
    """On a clock that jumps: what is waited for is waited for, and takes no time."""

    async def never(what: r.AnyAsk, wait_s: float) -> r.Answer:
        await trio.sleep_forever()
        raise AssertionError

    async with served_here(never) as (_, port):
        reported = await ask(at(port), r.Status(), 30.0)
        assert reported.code == 3 and "did not answer within 30.4 s" in reported.error
        with trio.move_on_after(5.0) as scope:
            await ask(at(port), r.Status(), 600.0)
        assert scope.cancelled_caught and trio.current_time() < 60.0


async def test_a_cancelled_asker_is_gone() -> None:
    async def never(what: r.AnyAsk, wait_s: float) -> r.Answer:
        await trio.sleep(0.05)
        return r.Answer()

    async with served_here(never) as (served, port), trio.open_nursery() as nursery:
        nursery.start_soon(ask, at(port), r.Status(), 600.0)
        await until(lambda: served.clients == 1)
        nursery.cancel_scope.cancel()
    await until(lambda: served.clients == 0)


async def test_an_absent_server_is_unknown() -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        reported = await ask(at(closed.getsockname()[1]), r.Status(), 0.1)
    assert reported.code == 3 and reported.error.startswith("cluster c is unreachable")
    assert "not ready" in (await ask(at(0), r.Status())).error
