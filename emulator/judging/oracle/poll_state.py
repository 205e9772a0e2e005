"""The probe's memory of a broker or a dedicated controller between two inspections."""

from typing import Any

from emulator.judging.oracle.log_extent import EverHeld, Reached
from emulator.judging.oracle.quorum_view import QuorumView, QuorumViews
from emulator.judging.oracle.truth import Term
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_log import Log
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.node.controller_part import ControllerPart
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.storage.checkpoints import Offsets, parse_offsets
from emulator.storage.inspect import log_directories, partitions_in
from emulator.storage.log_directory import HIGH_WATERMARKS
from emulator.storage.memory_files import MemoryFiles
from emulator.worlds.simulated.node import SimulatedNode
from protocol.ids import TopicPartition, topic_partition_of


def checkpointed_high_watermarks(files: MemoryFiles) -> Offsets:
    """Checkpointed high watermarks on a broker's disk; empty where a file is unreadable."""
    found: Offsets = {}
    with files.unwatched():
        for directory in log_directories(files):
            if directory.exists(HIGH_WATERMARKS):
                data = directory.read(HIGH_WATERMARKS, 0, directory.size(HIGH_WATERMARKS))
                found |= parse_offsets(data, HIGH_WATERMARKS)
    return found


def partitions_on(files: MemoryFiles) -> frozenset[TopicPartition]:
    """Partitions that have a log on a node's disk."""
    with files.unwatched():
        names = [name for directory in log_directories(files) for name in partitions_in(directory)]
    return frozenset(found for found in map(topic_partition_of, names) if found is not None)


def controller_part_of(machine: Any) -> ControllerPart | None:
    """The controller of a process of KRaft; None: it has none."""
    if isinstance(machine, KraftControllerNode):
        return machine.part
    part = machine.controller_part if isinstance(machine, KraftBrokerNode) else None
    return part if isinstance(part, ControllerPart) else None


class Seen:
    """A partition at the last inspection.

    `key`: the partition of its topic's incarnation. `ever_held`, `reached`: records of its log's contents.
    """

    __slots__ = (
        "epoch", "ever_held", "first", "high_watermark", "isr", "key", "leader", "leads", "log", "log_end",
        "partition", "pending", "reached", "settings", "term", "transitions", "zk_version",
    )  # fmt: skip

    def __init__(
        self, partition: Partition, key: TopicPartition, ever_held: EverHeld, reached: Reached
    ) -> None:
        self.partition = partition
        self.transitions = 0
        self.key = key
        self.epoch = -1
        self.leader = -1
        self.log: Any = None
        self.first: Any = None
        """The log's first segment; a log that is deleted whole and begun anew has another one."""
        self.isr: Any = None
        self.pending: Any = None
        self.settings: Any = None
        self.leads = False
        self.high_watermark = -1
        self.log_end = 0
        self.zk_version = -1
        self.term: Term | None = None
        self.ever_held = ever_held
        self.reached = reached


class Watch:
    """One incarnation of a broker or dedicated controller.

    `loading`: logs found on its disks that the probe has not recorded; empty before and after. `part`: a controller of
    KRaft; `quorum`: the view of a node of KRaft. `on_disk`: partitions that a broker of KRaft found at its start.
    """

    __slots__ = (
        "checkpointed", "control", "controller", "cuts", "found", "loading", "logs", "machine", "name", "node",
        "on_disk", "part", "partitions", "quorum", "seen",
    )  # fmt: skip

    def __init__(
        self,
        node: SimulatedNode,
        machine: BrokerNode | ControllerNode | KraftBrokerNode | KraftControllerNode,
        quorum: QuorumViews,
    ) -> None:
        self.node = node
        self.name = node.node.name
        self.machine = machine
        self.controller = machine.controller.context if isinstance(machine, BrokerNode | ControllerNode) else None
        self.part: ControllerPart | None = None
        self.quorum: QuorumView | None = None
        self.on_disk: frozenset[TopicPartition] | None = None
        if isinstance(machine, KraftBrokerNode | KraftControllerNode):
            self.part = controller_part_of(machine)
            self.quorum = QuorumView(quorum, self.name, node.incarnation, machine.member, node.files)
        self.cuts = node.cuts
        self.partitions: dict[TopicPartition, Partition] = {}
        self.logs: dict[TopicPartition, Log] = {}
        self.loading: dict[TopicPartition, Log] = {}
        if isinstance(machine, KraftBrokerNode):
            self.on_disk = partitions_on(node.files)
        if isinstance(machine, BrokerNode | KraftBrokerNode):
            self.loading = machine.broker.replicas.logs
            self.partitions = machine.broker.replicas.partitions
            self.logs = machine.broker.replicas.logs
        self.checkpointed = checkpointed_high_watermarks(node.files)
        self.found: dict[TopicPartition, int] | None = None
        """Log ends that this incarnation has found; None: not yet loaded."""
        self.seen: dict[TopicPartition, Seen] = {}
        self.control: Term | None = None

    @property
    def control_epoch(self) -> int:
        """Its epoch as active controller; 0: it is not active, or has no epoch yet (up to 2.0)."""
        if self.part is not None:
            return self.part.claimed_epoch if self.part.active else 0
        controller = self.controller
        return controller.state.epoch if controller is not None and controller.active else 0
