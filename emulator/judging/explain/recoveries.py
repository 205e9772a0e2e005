"""Contents of brokers' disks at an incarnation's end, and after the next one's recovery."""

from collections.abc import Iterable

import msgspec

from emulator.faults import actions as act
from emulator.judging.explain.run_history import LostTail
from emulator.judging.oracle.gathering import read_logs
from emulator.judging.oracle.truth import Batch, Truth
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.storage.files import Files
from emulator.storage.inspect import log_directories, partitions_in, partitions_on
from emulator.storage.log_directory import PARTITION_METADATA, partition_metadata
from emulator.storage.memory_files import MemoryFiles
from emulator.storage.subdirectory_files import Within
from emulator.topology import Topology
from emulator.worlds.simulated.node import SimulatedNode
from protocol.ids import TopicPartition, topic_partition_of

Logs = dict[TopicPartition, list[Batch]]
TopicIds = dict[TopicPartition, bytes]
"""{partition: contents of its file with the topic's id, from 2.8 on in KRaft alone}"""


class Recovery(msgspec.Struct, frozen=True):
    """One log at a death (`held`), and as the next incarnation recovered it.

    `power`: a part may be lost; `disk`: all of it is lost.
    """

    at_ms: float
    node: str
    topic_partition: TopicPartition
    power: bool
    held: list[Batch]
    recovered: list[Batch]
    disk: bool = False


def lost_tails(recoveries: Iterable[Recovery], topology: Topology) -> list[LostTail]:
    """Tails of logs that power losses and lost disks removed."""
    return [
        LostTail(
            one.at_ms,
            topology.node(one.node).number,
            topic_partition=one.topic_partition,
            first=max(one.held[len(one.recovered)].first, one.recovered[-1].last + 1 if one.recovered else 0),
            last=one.held[-1].last,
            disk=one.disk,
        )
        for one in recoveries
        if (one.power or one.disk) and len(one.recovered) < len(one.held)
    ]


class DiskLost(msgspec.Struct, frozen=True):
    """A replacement of a dead broker's disk, or of a log directory.

    `partitions`: its former contents.
    """

    at_ms: float
    node: str
    partitions: frozenset[TopicPartition]

    @classmethod
    def of(cls, at_ms: float, node: str, directory: str, files: Files) -> "DiskLost":
        """Record the loss; call it before the directory is replaced."""
        held = partitions_in(Within(files, directory)) if directory else partitions_on(files)
        topic_partitions = (topic_partition_of(name) for name in held)
        known = frozenset(topic_partition for topic_partition in topic_partitions if topic_partition is not None)
        return cls(at_ms, node, known)


class Recoveries:
    """Recorder of recoveries; call `ordered` before an action, `ended` and `look` per broker."""

    def __init__(self) -> None:
        self.found: list[Recovery] = []
        self._power_lost: list[tuple[float, str]] = []
        self._disk_lost: list[DiskLost] = []
        self._begun: dict[str, int] = {}
        self._held: dict[str, tuple[float, Logs, TopicIds]] = {}

    def ordered(self, action: act.Action, nodes: dict[str, SimulatedNode], now_ms: float) -> None:
        """Record the script's faults of disks."""
        match action:
            case act.PowerLoss(name) | act.LoseUnsynced(name):
                self.power_lost(name, now_ms)
            case act.LoseDisk(name, directory) if not nodes[name].alive:
                files = nodes[name].files
                with files.unwatched():
                    self._disk_lost.append(DiskLost.of(now_ms, name, directory, files))
            case _:
                pass

    def power_lost(self, name: str, now_ms: float) -> None:
        self._power_lost.append((now_ms, name))

    def ended(self, node: SimulatedNode, now_ms: float) -> None:
        """Record a broker's disk at the end of its incarnation, before anything changes it.

        An incarnation that dies while it loads has recovered nothing; the disk of its predecessor counts.
        """
        if "broker" in node.node.roles and node.node.name not in self._held:
            self._held[node.node.name] = (now_ms, _logs_on(node.files), _topic_ids_on(node.files))

    def look(self, node: SimulatedNode, now_ms: float) -> None:
        """Record the recovery once a living broker has loaded its logs."""
        name = node.node.name
        if self._begun.get(name) != node.incarnation and _has_loaded(node):
            self._begun[name] = node.incarnation
            self._began(node, now_ms)

    def _began(self, node: SimulatedNode, now_ms: float) -> None:
        """Compare the recovered logs with those at the death."""
        name = node.node.name
        died_ms, held, ids = self._held.pop(name, (0.0, {}, {}))
        if not held:
            return
        lost = any(of == name and at_ms >= died_ms for at_ms, of in self._power_lost)
        replaced = [one for one in self._disk_lost if one.node == name and one.at_ms >= died_ms]
        recovered = _logs_on(node.files)
        for topic_partition, batches in held.items():
            if _is_stray(node, topic_partition, ids.get(topic_partition, b"")):
                continue
            disk = any(topic_partition in one.partitions for one in replaced)
            self.found.append(
                Recovery(now_ms, name, topic_partition, lost, batches, recovered.get(topic_partition, []), disk)
            )


def _has_loaded(node: SimulatedNode) -> bool:
    """Whether a broker has loaded its logs; true for other nodes."""
    return not isinstance(node.machine, BrokerNode | KraftBrokerNode) or node.machine.booted


def _is_stray(node: SimulatedNode, topic_partition: TopicPartition, held_id: bytes) -> bool:
    """Whether a broker of KRaft deletes the log when it starts.

    Its image has the partition elsewhere, or not at all.

    Source: LogManager.handleStrays.
    """
    if not isinstance(node.machine, KraftBrokerNode):
        return False
    image = node.machine.publishing.image
    topic, state = image.topics.get(topic_partition[0]), image.partition(*topic_partition)
    if topic is None or state is None or node.node.number not in state.replicas:
        return True
    return held_id != partition_metadata(topic.topic_id)


def _topic_ids_on(files: MemoryFiles) -> TopicIds:
    found: TopicIds = {}
    with files.unwatched():
        for directory in log_directories(files):
            for name in partitions_in(directory):
                topic_partition, path = topic_partition_of(name), f"{name}/{PARTITION_METADATA}"
                if topic_partition is not None and directory.exists(path):
                    found[topic_partition] = directory.read(path, 0, directory.size(path))
    return found


def _logs_on(files: MemoryFiles) -> Logs:
    """Whole batches on a broker's disk; reading them does not count as the broker's operations."""
    truth = Truth()
    with files.unwatched():
        read_logs(truth, "", files)
    assert not truth.damaged, truth.damaged
    return {topic_partition: logs[""] for topic_partition, logs in truth.logs.items()}
