"""Ends of processes and connections in the network world.

Beyond the shared conformance suite.
"""

import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_trio  # type: ignore[import-untyped]
import trio

from emulator.faults.enforcement import LinkState
from emulator.worlds.network.connection import Connection, State
from emulator.worlds.network.shell import LEAVE_LIMIT_MS
from tests.emulator.worlds.conformance import numbers, seen, texts
from tests.emulator.worlds.network_world import NetworkWorld, network_world

pytestmark = [pytest.mark.trio, pytest.mark.network]


@pytest_trio.trio_fixture  # type: ignore[untyped-decorator]
async def world(tmp_path: Path) -> AsyncIterator[NetworkWorld]:
    async with network_world(tmp_path) as world:
        yield world


async def ended_after_ms(world: NetworkWorld, words: str) -> float:
    """The time broker-0 takes to end after its last message under a rule."""
    await world.spawn("broker-1", {"answers": False})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 300.0, "leaves_after": 10})
    await seen(world, "broker-0", "said 3")
    await world.impose(words)
    output = await seen(world, "broker-0", "said 10")
    end = await world.exit_of("broker-0")
    assert end.code == 0
    return end.at_ms - output.at_ms


@pytest.mark.parametrize("kind", ["cut", "hold"])
async def test_an_end_waits_for_no_heal(world: NetworkWorld, kind: str) -> None:
    assert await ended_after_ms(world, f"{kind} broker-0 broker-1") < world.slack_ms
    assert not texts(world, "broker-1", "lost")


async def test_an_end_waits_for_a_slow_link_and_not_for_ever(world: NetworkWorld) -> None:
    took_ms = await ended_after_ms(world, "bandwidth broker-0 broker-1 1B")
    assert LEAVE_LIMIT_MS <= took_ms < LEAVE_LIMIT_MS + 2 * world.slack_ms
    await seen(world, "broker-1", "lost theirs closed by peer")
    got = numbers(world, "broker-1", "got")
    assert got == list(range(1, len(got) + 1)) and len(got) < 10


async def test_a_process_that_is_leaving_refuses_connections(world: NetworkWorld) -> None:
    await world.spawn("broker-1", {"answers": False})
    await world.spawn("broker-0", {"open_to": ["broker-1"], "every_ms": 300.0, "leaves_after": 10})
    await seen(world, "broker-0", "said 3")
    await world.impose("delay broker-0 -> broker-1 29000ms")
    await seen(world, "broker-0", "said 10")
    await world.spawn("broker-2", {"open_to": ["broker-0"], "reopen_ms": 50.0})
    await seen(world, "broker-2", "lost ours REFUSED connection refused", 3)
    assert "broker-0" in world.cluster.running()
    await seen(world, "broker-1", "lost theirs closed by peer")
    assert numbers(world, "broker-1", "got") == list(range(1, 11))


async def test_two_may_wait_for_one_socket_to_take_more() -> None:
    """A close, or the process's end, while the kernel's buffer is full."""
    ours, theirs = socket.socketpair()
    ours.setblocking(False)
    links = LinkState("broker-0", 1)
    paths = links.connect(0.0, "broker-1", "client", opened_here=True)
    connection = Connection(1, "broker-0.1#1", "broker-1", "client", *paths, State.STANDING)
    size_bytes = 8 * 1024 * 1024
    connection.sock, connection.buffer, connection.pending_bytes = ours, [bytes(size_bytes)], size_bytes
    drained: list[bool] = []

    async def drain() -> None:
        drained.append(await connection.drain())

    async with trio.open_nursery() as nursery:
        nursery.start_soon(drain)
        nursery.start_soon(drain)
        with trio.socket.from_stdlib_socket(theirs) as reader:
            got = 0
            while got < size_bytes:
                got += len(await reader.recv(1 << 20))
    assert drained == [True, True] and connection.pending_bytes == 0
    connection.close_socket()
