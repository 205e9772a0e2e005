"""What the probe remembers of a broker or a dedicated controller from one look to the next."""

from typing import Any

from emulator.judging.oracle.offices import Office
from emulator.judging.oracle.written import Appended, Reached
from emulator.machines.broker.partition import Partition
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.worlds.simulated.node import SimulatedNode
from protocol.ids import TopicPartition


class Seen:
    """A partition as it was at the last look. `batches`, `reached`: where what its log held is noted."""

    __slots__ = (
        "batches", "epoch", "high_watermark", "leader", "leads", "log", "log_end", "office", "partition", "reached",
    )  # fmt: skip

    def __init__(self, partition: Partition, batches: set[Appended], reached: Reached) -> None:
        self.partition = partition
        self.epoch = -1
        self.leader = -1
        self.log: Any = None
        self.leads = False
        self.high_watermark = -1
        self.log_end = 0
        self.office: Office | None = None
        self.batches = batches
        self.reached = reached


class Watch:
    """One life of one broker or dedicated controller."""

    __slots__ = ("control", "controller", "cuts", "machine", "name", "node", "partitions", "seen")

    def __init__(self, node: SimulatedNode, machine: BrokerNode | ControllerNode) -> None:
        self.node = node
        self.name = node.node.name
        self.machine = machine
        self.controller = machine.controller
        self.cuts = node.cuts
        self.partitions: dict[TopicPartition, Partition] = {}
        if isinstance(machine, BrokerNode):
            self.partitions = machine.broker.replicas.partitions
        self.seen: dict[TopicPartition, Seen] = {}
        self.control: Office | None = None
