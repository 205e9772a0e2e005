"""Two that say the same of themselves: leaders of one partition, controllers of one cluster. What a cut makes."""

from typing import NamedTuple

from emulator.cluster.status import ClusterStatus


class Claim(NamedTuple):
    """A node that says it leads, or controls, with the epoch in which it does. Lower epochs are the outdated ones."""

    node: str
    epoch: int


def dual_leaders(status: ClusterStatus) -> dict[str, list[Claim]]:
    """{partition: who leads it, oldest epoch first}, of partitions that several say they lead."""
    found: dict[str, list[Claim]] = {}
    for place, replicas in status.partitions.items():
        claims = [Claim(node, replica.leader_epoch) for node, replica in replicas.items() if replica.is_leader]
        if len(claims) > 1:
            found[place] = sorted(claims, key=lambda claim: (claim.epoch, claim.node))
    return found


def controllers(status: ClusterStatus) -> list[Claim]:
    """Who says that it is controller, oldest epoch first. More than one is a contradiction."""
    claims = [Claim(name, node.controller_epoch) for name, node in status.nodes.items() if node.is_controller]
    return sorted(claims, key=lambda claim: (claim.epoch, claim.node))
