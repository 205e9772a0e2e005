"""The cluster under test: three AZs, given counts of brokers and AZs, or a compose file's.

Each AZ has one replica of the topic, as far as there are enough AZs: `members`. The first member leads. The last one
starts first, so that it is the controller where brokers elect one of them by ZooKeeper. Other brokers hold no replica
of the topic. In KRaft mode three controllers are nodes of their own, or brokers are controllers, too.
"""

from collections.abc import Callable, Container, Mapping
from itertools import zip_longest
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from emulator.judging.campaigns.space import UnusableSpace
from emulator.topology import KRAFT, ZOOKEEPER, Node, Topology, three_azs
from emulator.worlds.cluster_file.compose_files import named_topology, read_cluster_file
from protocol.versions import DEFAULT_VERSION, KRAFT_LADDER

REPLICAS: Final = 3
BROKERS_MAX: Final = 30

Key = TypeVar("Key")
Entry = TypeVar("Entry")


class Cluster(msgspec.Struct, frozen=True):
    """Topology and settings of a cluster.

    `settings`: of all its nodes, as in its file; `by_broker`: of single brokers in addition. `holding`: count of
    brokers that hold a replica, or would if one was added. `sources`: source of each setting, by its name (a single
    broker's: `broker-0: NAME`). `of`: source of all of it. Both are set where the settings are not the user's options.
    """

    topology: Topology
    version: str = DEFAULT_VERSION
    settings: dict[str, Any] = {}
    by_broker: dict[int, dict[str, Any]] = {}
    holding: int = REPLICAS
    sources: dict[str, str] = {}
    of: str = ""

    @property
    def in_kraft(self) -> bool:
        return self.topology.metadata == KRAFT

    @property
    def dedicated(self) -> tuple[str, ...]:
        """Controllers that are no brokers."""
        return tuple(node.name for node in self.topology.with_role("controller") if "broker" not in node.roles)

    @property
    def brokers(self) -> tuple[int, ...]:
        return tuple(node.number for node in self.topology.with_role("broker"))

    @property
    def members(self) -> tuple[int, ...]:
        """All brokers in the order in which they get replicas: first of each AZ, then second."""
        by_az: dict[str, list[int]] = {}
        for node in self.topology.with_role("broker"):
            by_az.setdefault(node.az, []).append(node.number)
        rounds = zip_longest(*(sorted(by_az[az]) for az in sorted(by_az)))
        return tuple(broker for one in rounds for broker in one if broker is not None)

    def holders(self, replicas: int | None = None) -> tuple[int, ...]:
        """Brokers that hold one of so many replicas, the leader first."""
        return self.members[: self.holding if replicas is None else replicas]

    def without(self, names: Container[str]) -> "Cluster":
        """A copy in which settings for all brokers replace those of single brokers, as `up` does."""
        left = {
            broker: {name: value for name, value in own.items() if name not in names}
            for broker, own in self.by_broker.items()
        }
        return msgspec.structs.replace(self, by_broker={broker: own for broker, own in left.items() if own})

    def names(self, role: str) -> tuple[str, ...]:
        return tuple(node.name for node in self.topology.with_role(role))

    def servers_in(self, az: str) -> list[str]:
        """All nodes of an AZ but its clients: ZooKeeper servers or dedicated controllers first."""
        found = [node for node in self.topology.in_az(az) if "client" not in node.roles]
        return [node.name for node in sorted(found, key=self._follows)]

    def _follows(self, node: Node) -> bool:
        """Whether it starts behind the nodes that keep the cluster's state."""
        return node.name not in self.dedicated if self.in_kraft else "session" not in node.roles


THREE_AZS = Cluster(three_azs())


def three_az_cluster(metadata: str, combined: bool = False, brokers: int = 3, azs: int = 3) -> Cluster:
    """A cluster with a client in each AZ, and three ZooKeeper servers or controllers.

    `combined`: brokers are KRaft's controllers, too. Its version is the mode's default.
    """
    topology = three_azs(brokers=brokers, clients=azs, azs=azs, metadata=metadata, combined=combined)
    return Cluster(topology, version=KRAFT_LADDER[-1] if metadata == KRAFT else DEFAULT_VERSION)


def of_counts(brokers: int, azs: int, metadata: str = ZOOKEEPER, combined: bool = False) -> Cluster:
    """The cluster of `three_az_cluster` with these numbers. Raises UnusableSpace."""
    if not 1 <= azs <= BROKERS_MAX or not 1 <= brokers <= BROKERS_MAX:
        raise UnusableSpace(f"--brokers {brokers}, --azs {azs}: from 1 to {BROKERS_MAX}")
    if azs > brokers:
        raise UnusableSpace(f"--azs {azs}: there are {brokers} brokers, so some AZ would have none")
    return three_az_cluster(metadata, combined, brokers, azs)


def of_file(word: str) -> Cluster:
    """A cluster by the name of a topology, or by a compose file as `up` takes it.

    Raises NoClusterFile, ClusterFileErrors, UnusableSpace.
    """
    path: Path = named_topology(word)
    given = read_cluster_file(path)
    if not given.topology.with_role("client"):
        raise UnusableSpace(f"{path}: no AZ has a client to write and read; add a client")
    nodes = {node.name: node.number for node in given.topology.with_role("broker")}
    common, own = common_settings(given.settings)
    return Cluster(
        topology=given.topology,
        version=given.kafka_version,
        settings={**common, **given.session},
        by_broker={nodes[name]: values for name, values in own.items() if name in nodes},
    )


def common_settings(
    of_each: Mapping[Key, Mapping[str, Entry]], value_of: Callable[[Entry], Any] = lambda entry: entry
) -> tuple[dict[str, Entry], dict[Key, dict[str, Entry]]]:
    """(settings that all nodes have alike, {node: its others}, without nodes that have none).

    `value_of`: the value of a setting's entry; the first node's entry stands for all.
    """
    first, *others = of_each.values() if of_each else ({},)
    common = {
        name: entry
        for name, entry in first.items()
        if all(name in own and value_of(own[name]) == value_of(entry) for own in others)
    }
    left = {node: {name: one for name, one in own.items() if name not in common} for node, own in of_each.items()}
    return common, {node: own for node, own in left.items() if own}
