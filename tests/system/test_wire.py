"""On the wire: data captured by relays between processes, read by the msgpack library alone."""

from __future__ import annotations

from collections import defaultdict
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import trio

from emulator.runs.directory import prepare, write_scenario
from emulator.runs.network_run import play_network
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.worlds.network.node_supervisor import Cluster
from tests.emulator.worlds.relay import Relay, frames

pytestmark = [pytest.mark.network]

HELLO, PRODUCE, FETCH, LEADER_AND_ISR, UPDATE_METADATA, OFFSET_FOR_LEADER_EPOCH = 1300, 0, 1, 4, 6, 23
SESSION_CONNECT, SESSION_OPERATION, SESSION_PING, PROPOSAL = 1090, 1014, 1011, 1208
REQUEST, RESPONSE = 0, 1
NODES = ("broker-0", "broker-1", "broker-2", "session-0", "session-1", "session-2")

Seen = dict[tuple[str, str], list[list[Any]]]
"""{(who opened, to whom): frames of both directions, the Hello left out}."""


async def captured(run: Path) -> Seen:
    """The dual-leader scenario at 2.6, every node behind a relay of its own."""
    relays = {name: Relay() for name in NODES}
    resolved = resolve(find_scenario("az-isolated-leader"), "2.6")
    prepare(run)
    write_scenario(run, resolved)

    def aim(cluster: Cluster) -> None:
        for name, relay in relays.items():
            relay.target_port = cluster.ports[name]

    async with trio.open_nursery() as nursery:
        for relay in relays.values():
            await nursery.start(relay.serve)
        dialled = {name: relay.port for name, relay in relays.items()}
        await play_network(resolved, run, seed=1, speed=5.0, began=aim, make_cluster=partial(Cluster, dialled=dialled))
        nursery.cancel_scope.cancel()
    seen: Seen = defaultdict(list)
    for name, relay in relays.items():
        for there, back in relay.captured:
            sent: list[Any] = list(frames(bytes(there)))
            if sent:
                hello, *requests = sent
                assert hello[0] == HELLO
                seen[hello[4]["node"], name] += [*requests, *frames(bytes(back))]
    return seen


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    run = tmp_path_factory.mktemp("wire") / "run"
    return trio.run(captured, run)


def kinds(frames_of: list[list[Any]]) -> set[tuple[int, int]]:
    """(API key, direction) of each."""
    return {(frame[0], frame[1]) for frame in frames_of}


def test_every_frame_is_key_direction_version_correlation_and_named_fields(seen: Seen) -> None:
    every = [frame for of in seen.values() for frame in of]
    assert len(every) > 500
    for api_key, direction, version, correlation_id, body in every:
        assert all(isinstance(number, int) for number in (api_key, direction, version, correlation_id))
        assert isinstance(body, dict) and all(isinstance(name, str) for name in body)


def test_followers_fetch_and_ask_for_the_end_of_an_epoch_first(seen: Seen) -> None:
    """2.6: OFFSET_FOR_LEADER_EPOCH is the follower's own request, before FETCH (KIP-101.

    KIP-279).
    """
    for follower in ("broker-1", "broker-2"):
        requested = kinds(seen[follower, "broker-0"])
        assert {(FETCH, REQUEST), (FETCH, RESPONSE)} <= requested
    after_heal = [frame[0] for frame in seen["broker-0", "broker-1"] if frame[1] == REQUEST]
    assert OFFSET_FOR_LEADER_EPOCH in after_heal and FETCH in after_heal
    assert after_heal.index(OFFSET_FOR_LEADER_EPOCH) < after_heal.index(FETCH)


def test_sessions_are_kept_over_the_wire(seen: Seen) -> None:
    servers = ("session-0", "session-1", "session-2")
    for broker in ("broker-0", "broker-1", "broker-2"):
        of_it = set().union(*(kinds(seen[broker, server]) for server in servers if (broker, server) in seen))
        for api_key in (SESSION_CONNECT, SESSION_OPERATION, SESSION_PING):
            assert {(api_key, REQUEST), (api_key, RESPONSE)} <= of_it, (broker, api_key)
    between = [frame[0] for (opener, to), of in seen.items() if {opener, to} <= {*servers} for frame in of]
    assert PROPOSAL in between, "the ensemble agrees over the wire as well"


def test_a_broker_talks_to_its_own_controller_through_a_socket(seen: Seen) -> None:
    """broker-2 is the controller: its orders to broker-2 travel like those to the others."""
    for broker in ("broker-0", "broker-1", "broker-2"):
        orders = kinds(seen["broker-2", broker])
        assert {(LEADER_AND_ISR, REQUEST), (LEADER_AND_ISR, RESPONSE), (UPDATE_METADATA, REQUEST)} <= orders, broker


def test_the_scripts_client_is_on_the_wire_too(seen: Seen) -> None:
    assert {(PRODUCE, REQUEST), (PRODUCE, RESPONSE), (FETCH, REQUEST)} <= kinds(seen["observer", "broker-0"])
