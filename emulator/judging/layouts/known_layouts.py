"""Layouts over data centers: two, two and a witness, three. Pure.

A data center is an AZ of the topology. ZooKeeper servers or controllers decide who leads: a majority of them must
survive. The replicas of a partition are spread as Kafka's rack-aware assignment spreads them.
"""

from typing import Final

import msgspec

from emulator.judging.advice.advice_cluster import Cluster
from emulator.topology import KRAFT, OBSERVER, Node, Topology
from protocol.gates import gates_for


class Layout(msgspec.Struct, frozen=True):
    """A layout.

    `brokers`, `voters`: count in each data center; voters are ZooKeeper servers or controllers. `replicas`, `min_isr`:
    of the topic, with producers of acks=all.
    """

    name: str
    text: str
    brokers: tuple[int, ...]
    voters: tuple[int, ...]
    replicas: int
    min_isr: int

    def settings(self, version: str) -> tuple[str, ...]:
        """Settings as words of `--set`. Where producers can be idempotent, they are."""
        idempotent = ("producer.enable.idempotence=true",) if gates_for(version).idempotence else ()
        return (
            f"default.replication.factor={self.replicas}", f"min.insync.replicas={self.min_isr}", "producer.acks=all",
            *idempotent,
        )  # fmt: skip

    def cluster(self, metadata: str, version: str) -> Cluster:
        """The cluster, with a client in each data center that has brokers."""
        in_kraft = metadata == KRAFT
        voter, voting = ("controller", "controller") if in_kraft else ("session", "session")
        broker_roles = ("broker",) if in_kraft else ("broker", "controller")
        brokers = _spread(self.brokers)
        nodes = [Node(f"broker-{i}", broker_roles, i, az) for i, az in enumerate(brokers)]
        nodes += [Node(f"{voter}-{i}", (voting,), i, az) for i, az in enumerate(_spread(self.voters))]
        nodes += [Node(f"client-{i}", ("client",), i, az) for i, az in enumerate(sorted(set(brokers)))]
        nodes.append(Node(OBSERVER, ("observer",), 0, ""))
        return Cluster(Topology(tuple(nodes), metadata), version=version, holding=self.replicas)


LAYOUTS: Final = (
    Layout("two-dc", "two data centers; the first has the majority", (2, 2), (2, 1), 4, 3),
    Layout("two-dc-min-isr-2", "the same, with one copy in each data center enough", (2, 2), (2, 1), 4, 2),
    Layout("two-and-a-half-dc", "two data centers and a witness", (2, 2, 0), (1, 1, 1), 4, 3),
    Layout("two-and-a-half-dc-min-isr-2", "the same, with two copies enough", (2, 2, 0), (1, 1, 1), 4, 2),
    Layout("three-dc", "three data centers", (1, 1, 1), (1, 1, 1), 3, 2),
    Layout("three-dc-six-brokers", "three data centers with two brokers each", (2, 2, 2), (1, 1, 1), 3, 2),
)


def _spread(counts: tuple[int, ...]) -> list[str]:
    """The data center of each node: node 0 in the first, node 1 in the second, ..."""
    found: list[str] = []
    for turn in range(max(counts)):
        found += [f"az-{dc}" for dc, count in enumerate(counts) if turn < count]
    return found
