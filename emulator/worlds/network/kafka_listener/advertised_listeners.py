"""Listeners of brokers by AZ of their clients, and the brokers' advertised addresses."""

from collections.abc import Iterable, Iterator

import msgspec

from emulator.topology import OBSERVER, Topology
from emulator.worlds.network.spec import Address
from protocol.messages.leadership_messages import BrokerEndpoint

OUTSIDE = ""
"""AZ of clients outside all AZs: no cut of an AZ concerns them."""


class Place(msgspec.Struct, frozen=True):
    """One listener of one broker.

    `az`: of its clients. `peer`: the node that represents them as the other end of a link, so that rules on links
    concern them as they concern that node. `brokers`: {node: its listener for the same AZ}. `numbers`: {node:
    broker.id}.
    """

    az: str
    peer: str
    brokers: dict[str, Address]
    numbers: dict[str, int]
    cluster: str

    @property
    def title(self) -> str:
        """Prefix of its connections' names in events."""
        return f"kafka-{self.az or 'outside'}"

    def found(self, brokers: Iterable[BrokerEndpoint]) -> Iterator[tuple[BrokerEndpoint, Address]]:
        """(Broker, its advertised address in this AZ); brokers without an address are omitted."""
        return ((one, self.brokers[one.node]) for one in brokers if one.node in self.brokers)


def azs_of_clients(topology: Topology) -> tuple[str, ...]:
    """AZs with a listener on each broker: those with a client, and OUTSIDE."""
    return (*sorted({node.az for node in topology.with_role("client") if node.az}), OUTSIDE)


def peer_of(topology: Topology, az: str) -> str:
    """Node that represents an AZ's Kafka clients: the AZ's first client."""
    if az == OUTSIDE:
        return OBSERVER
    return next(node.name for node in topology.with_role("client") if node.az == az)


def places_of(kafka_ports: dict[str, dict[str, Address]], topology: Topology, cluster: str) -> list[Place]:
    """One place for each AZ of clients. `kafka_ports`: {AZ: {broker: advertised address}}."""
    numbers = {node.name: node.number for node in topology.with_role("broker")}
    return [Place(az, peer_of(topology, az), brokers, numbers, cluster) for az, brokers in kafka_ports.items()]
