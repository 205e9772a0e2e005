"""Contradictions after a cut: several leaders of one partition, several controllers."""

from typing import NamedTuple

from emulator.cluster.cluster_status import ClusterStatus


class Claim(NamedTuple):
    """A node that claims to lead or to be controller, with its epoch; lower epochs are outdated."""

    node: str
    epoch: int


def dual_leaders(status: ClusterStatus) -> dict[str, list[Claim]]:
    """{partition: its leaders, oldest epoch first}, of partitions with several leaders."""
    found: dict[str, list[Claim]] = {}
    for place, replicas in status.partitions.items():
        claims = [Claim(node, replica.leader_epoch) for node, replica in replicas.items() if replica.is_leader]
        if len(claims) > 1:
            found[place] = sorted(claims, key=lambda claim: (claim.epoch, claim.node))
    return found


def controllers(status: ClusterStatus) -> list[Claim]:
    """Nodes that claim to be controller, oldest epoch first. Several are a contradiction."""
    claims = [Claim(name, node.controller_epoch) for name, node in status.nodes.items() if node.is_controller]
    return sorted(claims, key=lambda claim: (claim.epoch, claim.node))
