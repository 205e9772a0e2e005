"""Bytes captured between two processes decode with a msgpack library alone."""

from pathlib import Path

import pytest
import trio

from tests.emulator.worlds.conformance import seen
from tests.emulator.worlds.network_world import network_world
from tests.emulator.worlds.relay import Relay, frames

pytestmark = [pytest.mark.trio, pytest.mark.network]


async def test_a_captured_stream_is_length_prefixed_msgpack(tmp_path: Path) -> None:
    relay = Relay()
    async with trio.open_nursery() as nursery:
        await nursery.start(relay.serve)
        async with network_world(tmp_path, dialled={"broker-1": relay.port}) as world:
            relay.target_port = world.cluster.ports["broker-1"]
            await world.spawn("broker-1", {})
            await world.spawn("broker-0", {"open_to": ["broker-1"], "burst": 3, "purpose": "fetcher"})
            await seen(world, "broker-0", "answer 3")
            (captured,) = relay.captured
            there, back = (list(frames(bytes(stream))) for stream in captured)
        nursery.cancel_scope.cancel()
    hello, *requested = there
    assert hello[:4] == [1300, 2, 0, 0]
    body = hello[4]
    assert isinstance(body, dict) and body.pop("token")
    assert body == {"node": "broker-0", "incarnation": 1, "connection": 1, "purpose": "fetcher"}
    assert requested == [[1011, 0, 0, number, {}] for number in (1, 2, 3)]
    assert back == [[1011, 1, 0, number, {"zxid": number}] for number in (1, 2, 3)]
