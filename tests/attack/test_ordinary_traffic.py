"""Conversations have a place for every real message of the nodes: scenarios, frame by frame."""

import pytest

from emulator.faults.actions import ActDone
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import catalogue, find_scenario
from emulator.runs.simulated import play
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.simulated_wire import End
from emulator.worlds.simulated.trace import Cause
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.conversations import Conversation
from protocol.machine import Input, MessageReceived, Send

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("scenario", sorted(catalogue()))
def test_nodes_messages_belong_there(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conversations: dict[int, tuple[End, Conversation]] = {}
    """{id of an end: it, which so keeps its id, and its conversation}."""
    received_data = 0

    def of(node: SimulatedNode, end: End) -> Conversation:
        if id(end) not in conversations:
            table = getattr(node.machine, "ACCEPTED_MESSAGES", {})
            conversations[id(end)] = (end, Conversation(table, end.wire.purpose, opened=end.connection > 0))
        return conversations[id(end)][1]

    send, step = SimulatedWorld._send, SimulatedWorld._step
    before: set[tuple[str, int, Cause]] = set()
    """Inputs that have come; a node that stands still is given them once more."""

    def sent(world: SimulatedWorld, node: SimulatedNode, order: Send) -> None:
        end = node.ends.get(order.connection)
        if end is not None and end.opened:
            of(node, end).say(order.message, order.correlation_id)
        send(world, node, order)

    def received(world: SimulatedWorld, node: SimulatedNode, event: Input | ActDone, cause: Cause) -> None:
        nonlocal received_data
        fresh = isinstance(event, MessageReceived) and (node.node.name, event.connection, cause) not in before
        if isinstance(event, MessageReceived) and fresh and node.machine is not None:
            before.add((node.node.name, event.connection, cause))
            of(node, node.ends[event.connection]).hear(event.message, event.correlation_id)
            received_data += 1
        step(world, node, event, cause)

    monkeypatch.setattr(SimulatedWorld, "_send", sent)
    monkeypatch.setattr(SimulatedWorld, "_step", received)
    play(resolve(find_scenario(scenario)), seed=1)
    assert received_data > 200


def test_a_follower_out_of_range_requests_the_start_of_the_log() -> None:
    """ListOffsets on a fetcher's connection: rare, and in no scenario's first seed."""
    from protocol.conversations import ACCEPTED_BY_BROKER
    from protocol.messages.replication_messages import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
    from protocol.purposes import FETCHER

    assert ACCEPTED_BY_BROKER[FETCHER] == {FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest}
