"""Figures folded from events are those that the machines report."""

from functools import partial
from typing import Any

import pytest

from emulator.cluster.metrics.event_fold import EVENTS, EventFold
from emulator.topology import OBSERVER
from protocol.events import ScenarioStep
from protocol.machine import Now, ReportsStatus
from protocol.messages.status_messages import NodeStatus
from tests.simulated.cluster import BEGIN, Cluster

FAULTS = """
  - cut: az-0
  - sleep: 20
  - produce: {broker: 1, values: [c], acks: 1}
  - heal
  - sleep: 20
  - kill: broker-1
  - sleep: 20
"""
"""An isolated leader with its own view, and a dead broker."""
CONTROLLERS = """
  - start: controller-0
  - start: controller-1
  - start: controller-2
"""
IN_KRAFT = "{brokers: 3, controllers: 3}\nmetadata: kraft\nkafka: [3.9]\n"
END = "the end"
NOT_FOLDED = {"MaxLag", "PreferredReplicaImbalanceCount"}
"""Figures that no event has."""


def folded(cluster: Cluster) -> EventFold:
    fold = EventFold()
    trace = cluster.world.trace
    for entry in trace.entries:
        event: dict[str, Any] = trace.line(entry, "run", 0.0)
        if event["event"] in EVENTS:
            fold.add(event)
    return fold


def reported(cluster: Cluster) -> dict[str, NodeStatus]:
    """Status of each running node."""
    found: dict[str, NodeStatus] = {}
    now = cluster.world.now_ms
    for name, node in cluster.world.nodes.items():
        machine: Any = node.machine
        if name != OBSERVER and node.alive and isinstance(machine, ReportsStatus):
            found[name] = machine.status(Now(now, now))
    return found


@pytest.mark.parametrize(
    ("version", "topology", "controllers"),
    [("2.6", "{brokers: 3}", ""), ("3.9", IN_KRAFT, CONTROLLERS)],
    ids=["zookeeper", "kraft"],
)
def test_figures_are_the_machines_own(
    version: str, topology: str, controllers: str, subtests: pytest.Subtests
) -> None:
    cluster = Cluster(controllers + BEGIN + FAULTS, version=version, topology=topology)
    compared = 0
    for at in ("create-topic", "cut", END):
        cluster.run(partial(_is_past, cluster, at))
        view = folded(cluster).status(cluster.world.now_ms)
        for name, status in reported(cluster).items():
            node = view.nodes[name]
            with subtests.test(at=at, node=name):
                expected = {key: value for key, value in status.metrics.items() if key not in NOT_FOLDED}
                assert {key: node.metrics.get(key, 0) for key in expected} == expected
                assert node.is_controller == status.is_controller
                for place, replica in status.partitions.items():
                    ours = view.partitions[place][name]
                    assert (ours.is_leader, ours.leader_epoch, ours.log_end, ours.high_watermark) == (
                        replica.is_leader, replica.leader_epoch, replica.log_end, replica.high_watermark,
                    )  # fmt: skip
                    assert not replica.is_leader or (ours.isr, ours.replicas) == (replica.isr, replica.replicas)
                if status.quorum is not None:
                    assert node.quorum is not None
                    assert (node.quorum.state, node.quorum.epoch) == (status.quorum.state, status.quorum.epoch)
                compared += 1
        assert at != END or not view.nodes["broker-1"].alive
    assert compared > 15


def _is_past(cluster: Cluster, step: str) -> bool:
    """Whether 15 s have passed since the first step with this verb began."""
    for _, _, _, _, at_ms, event in cluster.world.trace.entries:
        if isinstance(event, ScenarioStep) and event.text.startswith(step):
            return cluster.world.now_ms > at_ms + 15_000.0
    return False
