"""The truth about a finished run: what every disk holds, what every client was told, who held which office.

Plain data, so that a test can also write it by hand.
"""

from bisect import bisect_right
from collections.abc import Iterator

import msgspec

from emulator.judging.oracle.beliefs import Belief, Forgotten
from emulator.judging.oracle.committed import State
from emulator.judging.oracle.kept import Ahead, CutBelow, IsrChange, Outlived
from emulator.judging.oracle.lives import LivesOfTopics
from emulator.judging.oracle.offices import Office, StepBack
from emulator.judging.oracle.peace import Peace, peace_of
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.written import Appended, Reached, former_life
from emulator.machines.client.operations import KeptOperations, Operation, Read
from emulator.storage.checkpoints import CheckpointDamaged, LeaderEpochs, parse_leader_epochs
from emulator.storage.files import Files
from emulator.storage.inspect import log_directories, partitions_in
from emulator.storage.log_directory import LEADER_EPOCHS
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import NO_BROKER, TopicPartition, topic_partition_of
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
    """A produce that has ended, or (`outcome` "") was sent and never did. `offset` -1: none was promised. `broker`:
    asked last; `ended`: how many operations of any kind had ended before."""

    operation: str
    value: str
    topic_partition: TopicPartition
    acks: int
    outcome: str
    offset: int
    digest: int
    broker: int = -1
    attempts: int = 1
    idempotent: bool = False
    ended: int = 0


class Given(msgspec.Struct, frozen=True):
    """What a consumer's operation was given. `stretch`: how often it had left its position before."""

    topic_partition: TopicPartition
    operation: str
    read: Read
    stretch: int = 0


class PositionLost(msgspec.Struct, frozen=True):
    """An operation that had begun at offset `asked` (-1: where the cluster said) left its position `offset`."""

    topic_partition: TopicPartition
    operation: str
    asked: int
    offset: int
    reason: str


class Waited(msgspec.Struct, frozen=True):
    """One try of an operation: a request of `client`, in its last life, to a broker. `timeout_ms`: when it gives up at
    the latest, 0 unknown; `ended_ms` None: it was not answered, nor given up."""

    operation: str
    attempt: int
    client: str
    broker: int
    timeout_ms: int
    sent_ms: float
    ended_ms: float | None = None


class OfGroup(msgspec.Struct, frozen=True):
    """A commit of a group, or a look at what it has committed (`kind`: commit, committed). `asked`: the offset to
    commit; `offset`: what was committed or found. `begun`: how many operations had begun before; `over`: how many had
    when it ended, -1 if it has not; `ended`: how many had ended before. `in_znodes`: the session service was asked, no
    broker; None: it has not ended."""

    kind: str
    group: str
    topic_partition: TopicPartition
    operation: str
    asked: int
    offset: int
    outcome: str
    begun: int
    over: int
    ended: int
    in_znodes: bool | None = False


class Truth(msgspec.Struct):
    """`logs`: {topic_partition: {node: its batches in order}}; `damaged`: logs that cannot be read. `appended`:
    what any of them ever held. `unended`: produces that never ended; `left_open`: those of them that were sent.
    `reads`: what consumers were given, of each operation in order; `lost_positions`: where they could not go on.
    `of_groups`: what groups committed and found. `reached`: how far replicas came. `caches`: of leader epochs, as
    they are on the disks. `cuts`, `outlived`, `ahead`, `isr_changes`: see `kept`; `logs_found`: at starts.
    `assignments`: of partitions, in the end; `assigned_ms`: since when, by topic; `peace`: see there. `beliefs`: of
    leaders about their ISRs, `forgotten`: what replicas lacked when they came back, in order of time. `states`: of
    partitions, as committed; `states_missing`: why not all are known. `roles_seen`: how many replicas ever had a
    role. `waited`: what clients asked of brokers.

    A topic that was deleted is `t#1` here, its successor of the same name `t` (`t#2`, once that is deleted too).
    `gone`: those, and topics that are being deleted: nobody is asked what became of their records."""

    logs: dict[TopicPartition, dict[str, list[Batch]]] = {}
    damaged: dict[TopicPartition, dict[str, str]] = {}
    writes: list[Write] = []
    unended: int = 0
    left_open: list[Write] = []
    reads: list[Given] = []
    lost_positions: list[PositionLost] = []
    of_groups: list[OfGroup] = []
    beliefs: list[Belief] = []
    forgotten: list[Forgotten] = []
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
    caches: dict[TopicPartition, dict[str, LeaderEpochs]] = {}
    cuts: list[CutBelow] = []
    outlived: list[Outlived] = []
    ahead: list[Ahead] = []
    isr_changes: list[IsrChange] = []
    logs_found: int = 0
    assignments: dict[TopicPartition, tuple[int, ...]] = {}
    assigned_ms: dict[str, float] = {}
    peace: Peace | None = None
    waited: list[Waited] = []

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


def truth_of(world: SimulatedWorld, operations: KeptOperations, probe: Probe) -> Truth:
    """`operations`: of every client, ended or not."""
    ended = {operation.identifier: number for number, operation in enumerate(operations.ended)}
    truth = Truth(
        leaders=probe.leaders,
        controllers=probe.controllers,
        watermarks_back=probe.watermarks_back,
        epochs_back=probe.epochs_back,
        appended=probe.written.batches,
        reached=probe.written.reached,
        beliefs=probe.beliefs.told,
        forgotten=probe.beliefs.forgotten,
        states=probe.committed.states,
        states_missing=probe.committed.missing,
        roles_seen=probe.roles_seen,
        cuts=probe.kept.cuts,
        outlived=probe.kept.outlived,
        ahead=probe.kept.ahead,
        isr_changes=probe.kept.isr_changes,
        logs_found=probe.kept.found,
        assignments=probe.committed.assignments(),
        assigned_ms=probe.committed.assigned_ms,
        peace=peace_of(world),
        gone=probe.going | {former_life(t, n + 1) for t, lives in probe.removed.items() for n in range(len(lives))},
    )
    truth.waited += _waited(world, operations)
    for node in world.nodes.values():
        if "broker" in node.node.roles:
            with node.files.unwatched():  # what fails on purpose can be read afterwards
                read_logs(truth, node.node.name, node.files)
    lives = LivesOfTopics(probe)
    for number, operation in enumerate(operations):
        topic = lives.of_operation(operation, number, ended.get(operation.identifier))
        topic_partition = (topic, operation.partition)
        if operation.kind == "produce" and (operation.ended or operation.attempts):
            (truth.writes if operation.ended else truth.left_open).append(
                Write(
                    operation=operation.identifier,
                    value=operation.value,
                    topic_partition=topic_partition,
                    acks=operation.acks,
                    outcome=operation.outcome,
                    offset=operation.offset,
                    digest=operation.digest,
                    broker=operation.broker,
                    attempts=operation.attempts,
                    idempotent=operation.idempotent,
                    ended=ended.get(operation.identifier, -1),
                )
            )
        truth.unended += operation.kind == "produce" and not operation.ended
        if operation.kind in ("commit", "committed"):
            truth.of_groups.append(
                _of_group(operation, topic_partition, number, ended.get(operation.identifier, -1))
            )
        for left in operation.left:
            lost = (topic_partition, operation.identifier, operation.asked, left.offset, left.reason)
            truth.lost_positions.append(PositionLost(*lost))
        if operation.reads:
            truth.reads += _given(operation, lives)
    return truth


def _waited(world: SimulatedWorld, operations: KeptOperations) -> Iterator[Waited]:
    lives = {f"{node.node.name}.{node.incarnation}": node.node.name for node in world.nodes.values()}
    for one in operations.requested:
        client = lives.get(one.operation.rpartition(":")[0])
        if client is not None and one.broker >= 0 and one.sent_ms is not None:
            yield Waited(
                one.operation, one.attempt, client, one.broker, one.timeout_ms, one.sent_ms, one.ended_ms
            )


def _given(operation: Operation, lives: LivesOfTopics) -> Iterator[Given]:
    left = [one.reads for one in operation.left]
    for number, (read, topic) in enumerate(zip(operation.reads, lives.of_reads(operation), strict=True)):
        yield Given((topic, operation.partition), operation.identifier, read, bisect_right(left, number))


def _of_group(operation: Operation, topic_partition: TopicPartition, number: int, ended: int) -> OfGroup:
    return OfGroup(
        kind=operation.kind,
        group=operation.value,
        topic_partition=topic_partition,
        operation=operation.identifier,
        asked=operation.asked,
        offset=operation.offset,
        outcome=operation.outcome,
        begun=number,
        over=operation.over if operation.ended else -1,
        ended=ended,
        in_znodes=operation.broker == NO_BROKER if operation.ended else None,
    )


def read_logs(truth: Truth, node: str, files: Files) -> None:
    """All that a node's disk holds, into `truth.logs`, `truth.caches` and `truth.damaged`."""
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
    path = f"{name}/{LEADER_EPOCHS}"
    try:
        cache = parse_leader_epochs(files.read(path, 0, files.size(path)), path) if files.exists(path) else []
    except CheckpointDamaged as damage:
        truth.damaged.setdefault(topic_partition, {})[node] = str(damage)
        return
    truth.logs.setdefault(topic_partition, {})[node] = batches
    truth.caches.setdefault(topic_partition, {})[node] = cache
