"""Statuses for the view's tests, from simulated machines.

Which report the same as real ones.
"""

import io

import msgspec
from rich.console import Console

from emulator.cluster.cluster_status import ClusterStatus, Life, LinkFault, as_json, status_of
from emulator.cluster.dashboard.view import view
from emulator.faults.link_rule_building import rule_of
from emulator.faults.link_words import parse
from emulator.topology import Topology
from protocol.machine import Now, ReportsStatus
from protocol.messages.status_messages import NodeStatus, WorkloadStatus
from tests.simulated.cluster import BEGIN, Cluster

TWO_LEADERS = (
    BEGIN
    + """
  - cut: az-0
  - produce: {broker: 0, values: [c, d, e], acks: 1}
  - sleep: 12
  - produce: {broker: 1, values: [f], acks: all}
"""
)
STARTS = "  - start: {}\n  - start: {}\n  - start: {}\n"
LEADER_AND_CONTROLLER = TWO_LEADERS.replace(STARTS.format(2, 1, 0), STARTS.format(0, 1, 2))


SIX = (
    "".join(f"  - start: {number}\n" for number in (5, 4, 3, 2, 1, 0))
    + f"  - create-topic: {{topic: orders, assignment: {[[n, (n + 1) % 6, (n + 2) % 6] for n in range(6)]}}}\n"
    + f"  - create-topic: {{topic: pay, assignment: {[[n, (n + 2) % 6, (n + 4) % 6] for n in range(6)]}}}\n"
    + "  - cut: az-0\n  - sleep: 12\n"
)
"""Six brokers with twelve partitions; az-0 holds broker-0 and broker-3."""


def played(script: str, version: str = "2.6", topology: str = "{brokers: 3}") -> Cluster:
    cluster = Cluster(script, version=version, topology=topology)
    cluster.run()
    assert cluster.finished
    return cluster


def status(cluster: Cluster, *faults: str, name: str = "three-az", workloads: bool = True) -> ClusterStatus:
    """`faults`: in force for 12.3 s, whatever the script did."""
    world = cluster.world
    at_ms = world.now_ms
    lives = {n: Life(node.alive, node.paused, node.incarnation) for n, node in world.nodes.items()}
    statuses: dict[str, NodeStatus] = {}
    for node_name, node in world.nodes.items():
        machine: object = node.machine
        if isinstance(machine, ReportsStatus) and not node.paused:
            reported = statuses[node_name] = machine.status(Now(at_ms, at_ms))
            if workloads and node_name.startswith("client"):
                reported.workloads = {"w": WorkloadStatus("produce", True, acked=480, read=460)}
    topology = world.topology
    requested = [fault(topology, f"rule-{n}", words, at_ms) for n, words in enumerate(faults, start=1)]
    return status_of(topology, statuses, lives, requested, at_ms, name)


def fault(topology: Topology, rule_id: str, words: str, at_ms: float) -> LinkFault:
    rule = rule_of(topology, rule_id, parse(words.split()))
    return LinkFault(rule, at_ms - 12_400.0, at_ms - 12_300.0, None, 48)


def later(status: ClusterStatus, ms: float = 500.0, **more: int) -> ClusterStatus:
    """The same a while later, when each client's workload counts so many more."""
    after = msgspec.convert(as_json(status), ClusterStatus)
    after.at_ms += ms
    for node in after.nodes.values():
        for counts in node.workloads.values():
            for name, count in more.items():
                setattr(counts, name, getattr(counts, name) + count)
    return after


def drawn(status: ClusterStatus, width: int = 100, height: int | None = 35, before: ClusterStatus | None = None) -> str:
    """The output of a terminal of that size, without colours."""
    console = Console(width=width, file=io.StringIO(), force_terminal=False, legacy_windows=False)
    with console.capture() as capture:
        console.print(view(status, width, height, before))
    return capture.get()
