"""The life of a dedicated controller's process (semantics 4.1).
It is elected without being a broker, and no broker is.

Played in the simulated world, because these are conversations with an ensemble and with brokers.
"""

from typing import Any, TypeVar

import pytest

from emulator.machines.node.controller_node import ControllerNode
from emulator.settings.in_force import resolve_settings
from emulator.topology import Node, identifier_named, identifier_of, node_name, three_azs
from protocol.events import ControllerChanged, Event, IsrChangeRequested, NodeStopped
from protocol.gates import gates_for
from protocol.machine import Close, ConnectionAccepted, MessageReceived, Now
from protocol.messages.leadership_messages import MetadataRequest
from tests.simulated.cluster import Cluster

E = TypeVar("E", bound=Event)
VERSIONS = ("0.10.2", "1.1", "2.1", "2.6", "2.8")
BEGIN = """
  - start: controller-0
  - sleep: 3
  - start: controller-1
  - start: 0
  - start: 1
  - start: 2
  - create-topic: {topic: t, assignment: [0, 1, 2]}
  - produce: {broker: 0, values: [a, b], acks: all}
"""


def played(script: str, version: str) -> Cluster:
    cluster = Cluster(BEGIN + script, version=version, topology="{controllers: 2}")
    cluster.run()
    assert cluster.finished
    return cluster


def seen(cluster: Cluster, kind: type[E]) -> list[tuple[str, E]]:
    return [(e[0], e[5]) for e in cluster.world.trace.entries if isinstance(e[5], kind)]


def offices(cluster: Cluster) -> list[tuple[str, bool, int]]:
    return [(name, event.active, event.controller_epoch) for name, event in seen(cluster, ControllerChanged)]


def controllers(cluster: Cluster) -> list[tuple[Any, int]]:
    return [(entry["controller"], entry["epoch"]) for entry in cluster.player.timeline.controllers]


def states(cluster: Cluster) -> list[tuple[int, int, tuple[int, ...]]]:
    return [(s["leader"], s["leader_epoch"], tuple(s["isr"])) for s in cluster.player.timeline.partition_states]


def test_ids_are_above_those_of_brokers_and_lead_back_to_the_node() -> None:
    nodes = three_azs(controllers=2).nodes
    assert [identifier_of(n) for n in nodes if "controller" in n.roles] == [1000, 1001]
    assert all(node_name(identifier_of(n)) == n.name for n in nodes if {"controller", "broker"} & set(n.roles))
    assert all(identifier_named(n.name) == identifier_of(n) for n in nodes if {"controller", "broker"} & set(n.roles))


@pytest.mark.parametrize("version", VERSIONS)
def test_when_the_controller_is_killed_the_other_one_follows_and_no_broker_does(version: str) -> None:
    script = "  - kill: controller-0\n  - sleep: 8\n  - produce: {broker: 0, values: [c], acks: all}\n"
    cluster = played(script, version)
    assert {name for name, *_ in offices(cluster)} == {"controller-0", "controller-1"}
    assert controllers(cluster)[0] == (1000, 1) and controllers(cluster)[-1] == (1001, 2)
    assert states(cluster) == [(0, 0, (0, 1, 2))]
    assert cluster.acknowledged() == ["a", "b", "c"]


@pytest.mark.parametrize("version", VERSIONS)
def test_it_elects_another_leader_for_a_broker_that_died(version: str) -> None:
    cluster = played("  - kill: 0\n  - sleep: 8\n  - produce: {broker: 1, values: [c], acks: all}\n", version)
    assert states(cluster)[-1] == (1, 1, (1, 2))
    assert cluster.acknowledged() == ["a", "b", "c"]


def test_leaders_send_it_their_isr_changes() -> None:
    """Semantics 1.6: AlterIsr, to a node that is registered nowhere."""
    cluster = played(
        "  - cut: {link: [0, 1]}\n  - produce: {broker: 0, values: [c], acks: 1}\n  - sleep: 8\n", "2.8"
    )
    assert [(name, event.now) for name, event in seen(cluster, IsrChangeRequested)] == [("broker-0", "0,2")]
    assert states(cluster)[-1] == (0, 0, (0, 2))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_broker_that_stops_is_relieved_by_it(version: str) -> None:
    """Semantics 4.2: controlled shutdown. The leader moves before its broker has gone."""
    cluster = played("  - stop: 0\n  - sleep: 1\n  - produce: {broker: 1, values: [c], acks: all}\n", version)
    assert states(cluster)[-1][0] == 1
    assert ("broker-0", 0) in [(name, event.code) for name, event in seen(cluster, NodeStopped)]
    assert cluster.acknowledged() == ["a", "b", "c"]


def test_one_that_stops_leaves_office_at_once() -> None:
    cluster = played("  - stop: controller-0\n  - sleep: 1\n", "2.8")
    assert controllers(cluster)[-1] == (1001, 2)
    assert offices(cluster)[1] == ("controller-0", False, 1)


def test_what_a_controller_does_not_serve_ends_the_connection() -> None:
    settings = dict(resolve_settings("2.8", {}, {}))
    node = Node("controller-0", ("controller",), 0, "az-0")
    machine = ControllerNode(node, gates_for("2.8"), settings, ["session-0"])
    now = Now(0.0, 0.0)
    machine.step(now, ConnectionAccepted(-1, "broker-0", "to-controller"))
    assert machine.step(now, MessageReceived(-1, 1, 0, MetadataRequest())) == [Close(-1)]
