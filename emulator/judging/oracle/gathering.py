"""Gathers the truth about a finished run from the probe, every disk and every client."""

from bisect import bisect_right
from collections.abc import Iterator

from emulator.judging.oracle.partition_incarnations import Incarnations
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.quiescence import quiescence_of
from emulator.judging.oracle.transaction_facts import (
    ProducerBatch,
    SentOffset,
    TransactionRecord,
    producer_batch,
    transaction_records,
)
from emulator.judging.oracle.truth import Batch, Given, OfGroup, PositionLost, Truth, Waited, Write
from emulator.machines.client.client_operations import KeptOperations, Operation
from emulator.storage.checkpoints import CheckpointDamaged, parse_leader_epochs
from emulator.storage.files import Files
from emulator.storage.inspect import log_directories, partitions_in
from emulator.storage.log_directory import LEADER_EPOCHS, METADATA_LOG
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import NO_BROKER, TopicPartition, topic_partition_of
from protocol.records.errors import CorruptRecord
from protocol.records.format import iter_headers
from protocol.records.schema_fields import UnreadableRecord
from protocol.records.transaction_states import TRANSACTIONS_TOPIC

SEGMENT = ".log"


def truth_of(world: SimulatedWorld, operations: KeptOperations, probe: Probe) -> Truth:
    """The truth about a run. `operations`: of every client, ended or not."""
    ended = {operation.identifier: number for number, operation in enumerate(operations.ended)}
    held = probe.written.held
    truth = Truth(
        leaders=probe.leaders,
        controllers=probe.controllers,
        watermarks_back=probe.watermarks_back,
        epochs_back=probe.epochs_back,
        appended={place: of.batches for place, of in held.items()},
        ever_transactional={place: of.transactional for place, of in held.items() if of.transactional},
        reached=probe.written.reached,
        leader_views=probe.leader_views.recorded,
        forgotten=probe.leader_views.forgotten,
        states=probe.committed.states,
        states_missing=probe.committed.missing,
        roles_seen=probe.roles_seen,
        cuts=probe.kept.cuts,
        outlived=probe.kept.outlived,
        ahead=probe.kept.ahead,
        isr_changes=probe.kept.isr_changes,
        logs_found=probe.kept.found,
        metadata_lives=probe.quorum.lives,
        transactions=operations.transactions,
        assignments=probe.committed.assignments() | probe.metadata.assignments(),
        assigned_ms=probe.committed.assigned_ms,
        quiescent=quiescence_of(world),
    )
    truth.waited += _waited(world, operations)
    lives = probe.incarnations
    for number, operation in enumerate(operations):
        begun_as = lives.name_at(operation.topic, number)
        topic = lives.name(operation.topic, operation.topic_id) if operation.topic_id else begun_as
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
                    transaction=operation.transaction,
                )
            )
        truth.unended += operation.kind == "produce" and not operation.ended
        if operation.kind == "send-offset" and operation.outcome == "ok":
            sent = (operation.transaction, operation.value, topic_partition, operation.requested_offset)
            truth.sent_offsets.append(SentOffset(*sent))
        if operation.kind in ("commit", "committed"):
            truth.of_groups.append(
                _of_group(operation, topic_partition, number, ended.get(operation.identifier, -1))
            )
        for left in operation.left:
            lost = (topic_partition, operation.identifier, operation.requested_offset, left.offset, left.reason)
            truth.lost_positions.append(PositionLost(*lost))
        if operation.reads:
            truth.reads += _given(operation, lives)
    lives.show(truth, probe.going)
    for node in world.nodes.values():
        if "broker" in node.node.roles:
            if node.machine is None or node.paused:
                truth.halted.add(node.node.name)
            with node.files.unwatched():  # a file with an injected read error is readable afterwards
                read_logs(truth, node.node.name, node.files)
    return truth


def _waited(world: SimulatedWorld, operations: KeptOperations) -> Iterator[Waited]:
    lives = {f"{node.node.name}.{node.incarnation}": node.node.name for node in world.nodes.values()}
    for one in operations.requested:
        client = lives.get(one.operation.rpartition(":")[0])
        if client is not None and one.broker >= 0 and one.sent_ms is not None:
            yield Waited(
                one.operation, one.attempt, client, one.broker, one.timeout_ms, one.sent_ms, one.ended_ms
            )


def _given(operation: Operation, lives: Incarnations) -> Iterator[Given]:
    left = [one.reads for one in operation.left]
    for number, read in enumerate(operation.reads):
        topic_partition = (lives.name(operation.topic, read.topic_id), operation.partition)
        stretch = bisect_right(left, number)
        yield Given(topic_partition, operation.identifier, read, stretch, operation.isolation)


def _of_group(operation: Operation, topic_partition: TopicPartition, number: int, ended: int) -> OfGroup:
    return OfGroup(
        kind=operation.kind,
        group=operation.value,
        topic_partition=topic_partition,
        operation=operation.identifier,
        requested=operation.requested_offset,
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
            if name == METADATA_LOG:
                continue  # its own checks are of the quorum, not of a topic
            _read_log(truth, node, directory, name)


"""Read all logs of a node's disk into `truth.logs`, `truth.caches` and `truth.damaged`."""


def _read_log(truth: Truth, node: str, files: Files, name: str) -> None:
    topic_partition = topic_partition_of(name)
    assert topic_partition is not None
    batches: list[Batch] = []
    producers: list[ProducerBatch] = []
    states: list[TransactionRecord] = []
    for segment in files.list(name):
        if not segment.endswith(SEGMENT):
            continue
        path = f"{name}/{segment}"
        try:
            data = files.read(path, 0, files.size(path))
            for position, header in iter_headers(data):
                batches.append(Batch(header.base_offset, header.last_offset, header.leader_epoch, header.crc))
                transactional = producer_batch(header, data, position)
                if transactional is not None:
                    producers.append(transactional)
                if topic_partition[0] == TRANSACTIONS_TOPIC:
                    states += transaction_records(header, data, position)
        except (CorruptRecord, UnreadableRecord) as damage:
            truth.damaged.setdefault(topic_partition, {})[node] = f"{path}: {damage}"
            return
    path = f"{name}/{LEADER_EPOCHS}"
    try:
        cache = parse_leader_epochs(files.read(path, 0, files.size(path)), path) if files.exists(path) else []
    except CheckpointDamaged as unreadable:
        truth.damaged.setdefault(topic_partition, {})[node] = str(unreadable)
        return
    truth.logs.setdefault(topic_partition, {})[node] = batches
    truth.caches.setdefault(topic_partition, {})[node] = cache
    if producers:
        truth.producers.setdefault(topic_partition, {})[node] = producers
    if states:
        truth.transaction_records.setdefault(topic_partition, {})[node] = states
