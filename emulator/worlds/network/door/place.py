"""What a door tells of the cluster: whose clients come in at it, and where they find each broker."""

from collections.abc import Iterable, Iterator

import msgspec

from emulator.topology import OBSERVER, Topology
from emulator.worlds.network.spec import Address
from protocol.messages.leadership_messages import BrokerEndpoint

OUTSIDE = ""
"""The AZ of clients that are in none: no cut of an AZ touches them."""


class Place(msgspec.Struct, frozen=True):
    """One listener of one broker.

    `az`: of its clients. `peer`: the node that stands for them at their end of a link, so that rules on links concern
    them as they concern that node. `brokers`: {node: its listener for the same AZ}. `numbers`: {node: broker.id}.
    """

    az: str
    peer: str
    brokers: dict[str, Address]
    numbers: dict[str, int]
    cluster: str

    @property
    def title(self) -> str:
        """As events name its connections."""
        return f"kafka-{self.az or 'outside'}"

    def found(self, brokers: Iterable[BrokerEndpoint]) -> Iterator[tuple[BrokerEndpoint, Address]]:
        """Each with where clients of this AZ find it; those that cannot be found are left out."""
        return ((one, self.brokers[one.node]) for one in brokers if one.node in self.brokers)


def azs_of_clients(topology: Topology) -> tuple[str, ...]:
    """For which there is a listener on each broker: the AZs with a client, and OUTSIDE."""
    return (*sorted({node.az for node in topology.with_role("client") if node.az}), OUTSIDE)


def peer_of(topology: Topology, az: str) -> str:
    """The node that stands for an AZ's Kafka clients: its first client."""
    if az == OUTSIDE:
        return OBSERVER
    return next(node.name for node in topology.with_role("client") if node.az == az)


def places_of(doors: dict[str, dict[str, Address]], topology: Topology, cluster: str) -> list[Place]:
    """One for each AZ of clients. `doors`: {AZ: {broker: where it is dialled}}."""
    numbers = {node.name: node.number for node in topology.with_role("broker")}
    return [Place(az, peer_of(topology, az), brokers, numbers, cluster) for az, brokers in doors.items()]
