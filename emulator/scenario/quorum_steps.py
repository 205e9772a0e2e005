"""Steps on the quorum of controllers of a KRaft cluster.

`scenario_model` exports them, too. A controller is named by its number, as in the recordings: `controller-1`, or
`broker-1` where one node has both roles.
"""

from typing import ClassVar

from emulator.faults.link_fault_kinds import Cut, PairLinks
from emulator.faults.machine_fault_kinds import Step
from emulator.scenario.client_steps import AdminStep
from emulator.topology import Topology
from protocol.purposes import CONTROLLER_PORT


class CutControllers(Step, frozen=True, kw_only=True):
    """Drop all packets of the controllers' port between an AZ and the AZs of these controllers.

    Both directions, whichever opened the connection: the AZ's broker loses those controllers, and its controller them.
    """

    VERB: ClassVar[str] = "cut-controllers"

    az: str
    controllers: tuple[int, ...]


class DescribeQuorum(Step, frozen=True, kw_only=True):
    """Request the quorum's state from a controller; its leader alone knows it (KIP-595)."""

    VERB: ClassVar[str] = "describe-quorum"

    controller: int


class RequireController(Step, frozen=True, kw_only=True):
    """Make this controller the active one: kill the active one, start it again, until it is.

    `controller` None: whichever. A precondition, as the recordings have it; a recording has only the result. Combined
    nodes are not killed.
    """

    VERB: ClassVar[str] = "require-controller"

    controller: int | None = None


class AddController(AdminStep, frozen=True, kw_only=True):
    """Make this running controller a voter (kafka-metadata-quorum add-controller; KIP-853)."""

    VERB: ClassVar[str] = "add-controller"

    controller: int


class RemoveController(AdminStep, frozen=True, kw_only=True):
    """Take this controller from the voters (kafka-metadata-quorum remove-controller; KIP-853)."""

    VERB: ClassVar[str] = "remove-controller"

    controller: int


QuorumStep = CutControllers | DescribeQuorum | RequireController | AddController | RemoveController


class NoSuchController(ValueError):
    """No node of the topology has that controller."""


def controller_node(topology: Topology, number: int) -> str:
    """Name of the node of a controller. Raises NoSuchController."""
    for node in topology.with_role("controller"):
        if node.number == number:
            return node.name
    raise NoSuchController(f"controller {number}: no node has this controller; see the scenario's topology")


def cuts_of(topology: Topology, step: CutControllers) -> tuple[Cut, ...]:
    """The cuts, one for each controller's AZ. Raises NoSuchController."""
    azs = dict.fromkeys(topology.node(controller_node(topology, number)).az for number in step.controllers)
    return tuple(Cut(links=PairLinks((step.az, az)), purposes=CONTROLLER_PORT) for az in azs)
