"""Changes of the voters of a live KRaft cluster (KIP-853)."""

from typing import Any, Final

from emulator.cluster.control_requests import AddController, Refused, RemoveController
from emulator.cluster.name_suggestions import nearest
from emulator.cluster.player_mailbox import Job, PlayerMailbox
from emulator.scenario import scenario_model as m
from emulator.topology import KRAFT
from emulator.worlds.network.node_supervisor import Cluster

VOTERS_NEEDED: Final = "the voters are static; start a cluster with: faultline up --kafka 4.4 --initial-controllers 3"


class VoterChanges:
    """Adds and removes voters; done when the change is committed."""

    def __init__(self, cluster: Cluster, mailbox: PlayerMailbox) -> None:
        self._cluster = cluster
        self._mailbox = mailbox

    async def change(self, ask: AddController | RemoveController, job: Job) -> dict[str, Any]:
        """Change the voters by one. Raises Refused."""
        topology = self._cluster.topology
        if topology.metadata != KRAFT:
            raise Refused("the cluster has ZooKeeper, and no quorum of controllers; up --metadata kraft has one")
        if not topology.initial_controllers:
            raise Refused(VOTERS_NEEDED)
        controllers = {node.name: node.number for node in topology.with_role("controller")}
        name = nearest("controller", ask.controller, controllers)
        step = (m.AddController if isinstance(ask, AddController) else m.RemoveController)(controller=controllers[name])
        await self._mailbox.do((step,), job)
        return {"controller": name, "votes": isinstance(ask, AddController)}
