"""Conversations have a place for everything that nodes really say: scenarios, frame by frame."""

import pytest

from emulator.runs.resolve import resolve
from emulator.runs.simulated import play
from emulator.runs.sources import catalogue, find_scenario
from emulator.worlds.simulated.node import SimulatedNode
from emulator.worlds.simulated.parcel import Parcel
from emulator.worlds.simulated.wire import EOF, End
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.conversations import Conversation
from protocol.framing import decode_body
from protocol.machine import Send


@pytest.mark.parametrize("scenario", sorted(catalogue()))
def test_what_nodes_say_belongs_there(scenario: str, monkeypatch: pytest.MonkeyPatch) -> None:
    conversations: dict[int, tuple[End, Conversation]] = {}
    """{id of an end: it, which so keeps its id, and its conversation}."""
    heard = 0

    def of(node: SimulatedNode, end: End) -> Conversation:
        if id(end) not in conversations:
            table = getattr(node.machine, "HEARD", {})
            conversations[id(end)] = (end, Conversation(table, end.wire.purpose, opened=end.connection > 0))
        return conversations[id(end)][1]

    send, receive = SimulatedWorld._send, SimulatedWorld._receive

    def sent(world: SimulatedWorld, node: SimulatedNode, order: Send) -> None:
        end = node.ends.get(order.connection)
        if end is not None and end.opened:
            of(node, end).say(order.message, order.correlation_id)
        send(world, node, order)

    def received(world: SimulatedWorld, end: End, parcel: Parcel | None) -> None:
        nonlocal heard
        node = world.nodes[end.node]
        if parcel is not EOF and node.machine is not None:
            of(node, end).hear(decode_body(parcel.kind, parcel.body), parcel.correlation_id)
            heard += 1
        receive(world, end, parcel)

    monkeypatch.setattr(SimulatedWorld, "_send", sent)
    monkeypatch.setattr(SimulatedWorld, "_receive", received)
    play(resolve(find_scenario(scenario)), seed=1)
    assert heard > 200


def test_a_follower_out_of_range_asks_where_the_log_begins() -> None:
    """ListOffsets on a fetcher's connection: rare, and in no scenario's first seed."""
    from protocol.conversations import HEARD_BY_BROKER
    from protocol.messages.replication import FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest
    from protocol.purposes import FETCHER

    assert HEARD_BY_BROKER[FETCHER] == {FetchRequest, ListOffsetsRequest, OffsetForLeaderEpochRequest}
