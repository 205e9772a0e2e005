"""Networks of a node, and its name on each of them.

Each AZ is a network of its own, each pair of AZs has one between them, and no fault touches `control`. On each of its
networks a node has the name `NODE.NETWORK`, which resolves to one address: `broker-1.az-0-az-1`.
"""

from typing import Final

from emulator.topology import Node

CONTROL: Final = "control"
"""The network of orders and reports."""


def network_between(az: str, other: str) -> str:
    """The network between nodes of these two AZs; an AZ's own for two nodes of one."""
    return az if az == other else "-".join(sorted((az, other)))


def networks_of(node: Node, azs: tuple[str, ...]) -> tuple[str, ...]:
    """All networks of a node in a cluster of these AZs: its own first, `control` last."""
    links = sorted(network_between(node.az, other) for other in azs if other != node.az)
    return (node.az, *links, CONTROL)


def name_on(node: str, network: str) -> str:
    """`broker-1.control`: a node's name on one of its networks."""
    return f"{node}.{network}"


def data_name(node: Node, seen_from: Node) -> str:
    """The name under which `seen_from` reaches `node`, on the network that the two share."""
    return name_on(node.name, network_between(node.az, seen_from.az))
