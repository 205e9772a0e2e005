"""Nodes of a cluster, their roles and availability zones (AZs)."""

from fnmatch import fnmatchcase

import msgspec

from protocol.ids import BrokerId
from protocol.versions import KRAFT_LADDER, LADDER, UnknownVersion, has_kraft_mode, has_zookeeper_mode, ladder_name


class Node(msgspec.Struct, frozen=True):
    """A node.

    `roles`: broker, controller, session, client. `number`: broker.id or server id. `az` "" is outside every AZ.
    """

    name: str
    roles: tuple[str, ...]
    number: int
    az: str


ZOOKEEPER = "zookeeper"
KRAFT = "kraft"


class NoSuchMode(UnknownVersion):
    """A version without the requested metadata mode: one message with what to do."""


def default_metadata(version: str) -> str:
    """Mode of a cluster without a request: ZooKeeper up to 3.2, KRaft from 3.3 on (KIP-833).

    Raises UnknownVersion.
    """
    return KRAFT if has_kraft_mode(version) else ZOOKEEPER


def metadata_of(version: str, requested: str = "") -> str:
    """ZOOKEEPER or KRAFT: the mode of a scenario's file.

    Without `metadata` in the file it is ZooKeeper up to 3.9, and KRaft from 4.0 on.

    Raises UnknownVersion, NoSuchMode.
    """
    name = ladder_name(version)
    metadata = requested or (ZOOKEEPER if has_zookeeper_mode(name) else KRAFT)
    if metadata == ZOOKEEPER and not has_zookeeper_mode(name):
        raise NoSuchMode(
            f"Kafka {name}: has no ZooKeeper mode; set `metadata: kraft` in the scenario, or take a version up to "
            f"{LADDER[-1]}"
        )
    if metadata == KRAFT and not has_kraft_mode(name):
        raise NoSuchMode(
            f"Kafka {name}: KRaft mode is not emulated before {KRAFT_LADDER[0]}; set `metadata: zookeeper` in the "
            f"scenario, or take a version from {KRAFT_LADDER[0]} on"
        )
    return metadata


class Topology(msgspec.Struct, frozen=True):
    """All nodes, in the order of their names; names are unique.

    `metadata`: where the cluster's state is, ZOOKEEPER (the session service) or KRAFT (the quorum of controllers). In
    KRaft a node with both roles is a combined one. `initial_controllers`: the first voters of a quorum whose voters are
    in the metadata log (KIP-853); none: all controllers vote, for good.
    """

    nodes: tuple[Node, ...]
    metadata: str = ZOOKEEPER
    initial_controllers: tuple[str, ...] = ()

    def node(self, name: str) -> Node:
        """Raises KeyError."""
        for node in self.nodes:
            if node.name == name:
                return node
        raise KeyError(name)

    def with_role(self, role: str) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if role in node.roles)

    def in_az(self, az: str) -> tuple[Node, ...]:
        return tuple(node for node in self.nodes if node.az == az)

    @property
    def voters(self) -> dict[BrokerId, str]:
        """{id: name} of the controllers of a KRaft quorum.

        With `initial_controllers` not all of them vote.
        """
        return {identifier_of(node): node.name for node in self.with_role("controller")}

    @property
    def first_voters(self) -> tuple[BrokerId, ...]:
        """Ids of the first voters of a quorum whose voters are in the log; none: they are static."""
        return tuple(identifier_of(self.node(name)) for name in self.initial_controllers)

    @property
    def azs(self) -> tuple[str, ...]:
        return tuple(sorted({node.az for node in self.nodes if node.az}))


def quorum_nodes(topology: Topology) -> frozenset[str]:
    """Names of KRaft's controllers, which keep the metadata log on disk; with ZooKeeper none."""
    return frozenset(topology.voters.values()) if topology.metadata == KRAFT else frozenset()


PATTERN = frozenset("*?[")
"""Characters of a name that stand for others, as a shell has them."""


def machines_named(topology: Topology, word: str) -> tuple[Node, ...]:
    """Nodes of a word in any case: a node, all of an AZ (`az-0`) or of a pattern (`broker-*`).

    Empty if there is none.
    """
    word = word.lower()
    return tuple(node for node in topology.nodes if node.az and (node.az == word or fnmatchcase(node.name, word)))


def is_group(topology: Topology, word: str) -> bool:
    """The word means all that there are of something, not one machine by its name."""
    return not PATTERN.isdisjoint(word) or word.lower() in topology.azs


def broker_name(broker: int) -> str:
    return f"broker-{broker}"


INJECTOR = "injector"
"""The name under which the supervisor of the network world writes its events."""
DEDICATED_FROM = 1000
"""Ids of dedicated controllers: `controller-0` is 1000. Brokers have lower ones."""


def identifier_of(node: Node) -> BrokerId:
    """Id of a node in `/controller` and in the controller's requests."""
    return BrokerId(node.number if "broker" in node.roles else DEDICATED_FROM + node.number)


def node_name(identifier: int) -> str:
    """The node that a broker's or controller's id stands for."""
    if identifier >= DEDICATED_FROM:
        return f"controller-{identifier - DEDICATED_FROM}"
    return broker_name(identifier)


def identifier_named(name: str) -> BrokerId:
    """The id of a broker's or dedicated controller's node: `node_name` the other way round."""
    kind, _, number = name.rpartition("-")
    return BrokerId(int(number) + (DEDICATED_FROM if kind == "controller" else 0))


KRAFT_CONTROLLERS = 3
OBSERVER = "observer"
"""The scenario's player: a client outside every AZ, never cut."""
SESSION_SERVICE = "session"
"""As one end of a link: all session servers."""


def three_azs(
    brokers: int = 3,
    sessions: int = 3,
    clients: int = 3,
    azs: int = 3,
    controllers: int = 0,
    metadata: str = ZOOKEEPER,
    combined: bool = False,
) -> Topology:
    """broker-i, session-i and client-i in az-(i mod azs), and the observer outside.

    ZooKeeper: with `controllers`, also controller-i, and no broker is ever elected. KRaft: no session-i. controller-i
    vote, by default 3; if `combined`, the first `controllers` brokers vote instead, by default all.
    """
    if metadata == KRAFT:
        sessions = 0
        voting = controllers or (brokers if combined else KRAFT_CONTROLLERS)
        controllers = 0 if combined else voting
        roles = [("broker", "controller") if combined and i < voting else ("broker",) for i in range(brokers)]
    else:
        roles = [("broker",) if controllers else ("broker", "controller")] * brokers
    nodes = [Node(f"broker-{i}", roles[i], i, f"az-{i % azs}") for i in range(brokers)]
    nodes += [Node(f"controller-{i}", ("controller",), i, f"az-{i % azs}") for i in range(controllers)]
    nodes += [Node(f"session-{i}", ("session",), i, f"az-{i % azs}") for i in range(sessions)]
    nodes += [Node(f"client-{i}", ("client",), i, f"az-{i % azs}") for i in range(clients)]
    nodes.append(Node(OBSERVER, ("observer",), 0, ""))
    return Topology(tuple(nodes), metadata)
