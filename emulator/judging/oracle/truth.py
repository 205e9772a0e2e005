"""The truth about a finished run: what every disk holds, what every client was told, who held which office.

Plain data, so that a test can also write it by hand.
"""

from collections.abc import Iterable

import msgspec

from emulator.judging.oracle.probe import Office, Probe, StepBack, former_life
from emulator.machines.client.operations import Operation, Read
from emulator.storage.files import Files
from emulator.storage.inspect import log_directories, partitions_in
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import TopicPartition, topic_partition_of
from protocol.records.errors import CorruptRecord
from protocol.records.format import iter_headers

SEGMENT = ".log"


class Batch(msgspec.Struct, frozen=True):
    """One batch of a log: offsets [first, last]. `epoch` -1 where the format has none (before 0.11)."""

    first: int
    last: int
    epoch: int
    digest: int


class Write(msgspec.Struct, frozen=True):
    """A produce that has ended. `offset` -1: none was promised."""

    operation: str
    value: str
    topic_partition: TopicPartition
    acks: int
    outcome: str
    offset: int
    digest: int


class Truth(msgspec.Struct):
    """`logs`: {topic_partition: {node: its batches in order}}; `damaged`: logs that cannot be read. `reads`: what
    consumers were given. `roles_seen`: how many replicas ever had a role.

    A topic that was deleted is `t#1` here, its successor of the same name `t` (`t#2`, once that is deleted too).
    `gone`: those, and topics that are being deleted: nobody is asked what became of their records."""

    logs: dict[TopicPartition, dict[str, list[Batch]]] = {}
    damaged: dict[TopicPartition, dict[str, str]] = {}
    writes: list[Write] = []
    reads: list[tuple[TopicPartition, Read]] = []
    leaders: list[Office] = []
    controllers: list[Office] = []
    watermarks_back: list[StepBack] = []
    epochs_back: list[StepBack] = []
    roles_seen: int = 0
    gone: set[str] = set()

    def final_leader(self, topic_partition: TopicPartition) -> str | None:
        """Who led in the last leader epoch that anybody led in."""
        held = [(office.epoch, office.node) for office in self.leaders if office.topic_partition == topic_partition]
        return max(held)[1] if held else None


def truth_of(world: SimulatedWorld, operations: Iterable[Operation], probe: Probe) -> Truth:
    """`operations`: of every client, ended or not."""
    truth = Truth(
        leaders=probe.leaders,
        controllers=probe.controllers,
        watermarks_back=probe.watermarks_back,
        epochs_back=probe.epochs_back,
        roles_seen=probe.roles_seen,
        gone=probe.going | {former_life(t, n + 1) for t, lives in probe.removed.items() for n in range(len(lives))},
    )
    for node in world.nodes.values():
        if "broker" in node.node.roles:
            read_logs(truth, node.node.name, node.files)
    for number, operation in enumerate(operations):
        lives = probe.removed.get(operation.topic, ())
        life = next((life for life, begun in enumerate(lives, 1) if number < begun), 0)
        topic_partition = (former_life(operation.topic, life) if life else operation.topic, operation.partition)
        if operation.kind == "produce" and operation.ended:
            truth.writes.append(
                Write(
                    operation=operation.identifier,
                    value=operation.value,
                    topic_partition=topic_partition,
                    acks=operation.acks,
                    outcome=operation.outcome,
                    offset=operation.offset,
                    digest=operation.digest,
                )
            )
        truth.reads += [(topic_partition, read) for read in operation.reads]
    return truth


def read_logs(truth: Truth, node: str, files: Files) -> None:
    """All that a node's disk holds, into `truth.logs` and `truth.damaged`."""
    for directory in log_directories(files):
        for name in partitions_in(directory):
            _read_log(truth, node, directory, name)


def _read_log(truth: Truth, node: str, files: Files, name: str) -> None:
    topic_partition = topic_partition_of(name)
    assert topic_partition is not None
    batches: list[Batch] = []
    for segment in files.list(name):
        if not segment.endswith(SEGMENT):
            continue
        path = f"{name}/{segment}"
        try:
            for _, header in iter_headers(files.read(path, 0, files.size(path))):
                batches.append(Batch(header.base_offset, header.last_offset, header.leader_epoch, header.crc))
        except CorruptRecord as damage:
            truth.damaged.setdefault(topic_partition, {})[node] = f"{path}: {damage}"
            return
    truth.logs.setdefault(topic_partition, {})[node] = batches
