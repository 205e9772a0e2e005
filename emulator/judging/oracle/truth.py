"""The truth about a finished run: what every disk holds, what every client was told, who held which office.

Plain data, so that a test can also write it by hand.
"""

from collections.abc import Iterable, Iterator, Sequence

import msgspec

from emulator.judging.oracle.committed import State
from emulator.judging.oracle.offices import Office, StepBack
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.written import Appended, Reached, former_life
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


class Given(msgspec.Struct, frozen=True):
    """What a consumer's operation was given."""

    topic_partition: TopicPartition
    operation: str
    read: Read


class Truth(msgspec.Struct):
    """`logs`: {topic_partition: {node: its batches in order}}; `damaged`: logs that cannot be read. `appended`: what
    any of them ever held. `reads`: what consumers were given, of each operation in order. `reached`: how far replicas
    came. `states`: of partitions, as committed; `states_missing`: why not all are known. `roles_seen`: how many
    replicas ever had a role.

    A topic that was deleted is `t#1` here, its successor of the same name `t` (`t#2`, once that is deleted too).
    `gone`: those, and topics that are being deleted: nobody is asked what became of their records."""

    logs: dict[TopicPartition, dict[str, list[Batch]]] = {}
    damaged: dict[TopicPartition, dict[str, str]] = {}
    writes: list[Write] = []
    reads: list[Given] = []
    leaders: list[Office] = []
    controllers: list[Office] = []
    watermarks_back: list[StepBack] = []
    epochs_back: list[StepBack] = []
    appended: dict[TopicPartition, set[Appended]] = {}
    reached: list[Reached] = []
    states: list[State] = []
    states_missing: str = ""
    roles_seen: int = 0
    gone: set[str] = set()

    def final_leader(self, topic_partition: TopicPartition) -> str | None:
        """Who led in the last leader epoch that anybody led in."""
        return self.final_leaders().get(topic_partition)

    def final_leaders(self) -> dict[TopicPartition, str]:
        """Of every partition that anybody led."""
        last: dict[TopicPartition, tuple[int, str]] = {}
        for office in self.leaders:
            if office.topic_partition is not None:
                held = (office.epoch, office.node)
                last[office.topic_partition] = max(last.get(office.topic_partition, held), held)
        return {topic_partition: node for topic_partition, (_, node) in last.items()}


def truth_of(world: SimulatedWorld, operations: Iterable[Operation], probe: Probe) -> Truth:
    """`operations`: of every client, ended or not."""
    truth = Truth(
        leaders=probe.leaders,
        controllers=probe.controllers,
        watermarks_back=probe.watermarks_back,
        epochs_back=probe.epochs_back,
        appended=probe.written.batches,
        reached=probe.written.reached,
        states=probe.committed.states,
        states_missing=probe.committed.missing,
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
        if operation.reads:
            truth.reads += _given(operation, probe.read_by.get(operation.topic, ()))
    return truth


def _given(operation: Operation, read_by: Sequence[dict[str, int]]) -> Iterator[Given]:
    """What was read while a life of the topic lasted is of that life. `read_by`: see Probe."""
    ends = [ended.get(operation.identifier, 0) for ended in read_by]
    for number, read in enumerate(operation.reads):
        life = next((life for life, until in enumerate(ends, 1) if number < until), 0)
        topic = former_life(operation.topic, life) if life else operation.topic
        yield Given((topic, operation.partition), operation.identifier, read)


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
