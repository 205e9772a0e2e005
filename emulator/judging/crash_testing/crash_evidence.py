"""The truth about a network run, from its events and its disks."""

from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from emulator.judging.crash_testing.crash_network import Left
from emulator.judging.explain.history_builder import HISTORIC, TimedEvent
from emulator.judging.explain.recoveries import DiskLost, Recovery
from emulator.judging.oracle.gathering import read_logs
from emulator.judging.oracle.partition_incarnations import Incarnations
from emulator.judging.oracle.truth import Batch, Given, StepBack, Term, Truth, Write
from emulator.machines.client.client_state import Read
from emulator.run_layout import EVENTS_FOLDER, WIRE_SUFFIX, event_paths
from emulator.runs.network_run import as_happened, with_files
from emulator.runs.run_events import events_in
from emulator.topology import Topology
from protocol.events import (
    EVENTS,
    Event,
    HighWatermarkMoved,
    IsrChangeEnded,
    LogCreated,
    LogLoaded,
    NodeStopped,
    OperationEnded,
    OperationInvoked,
    RecordsRead,
    RoleChanged,
    TopicRemoved,
)
from protocol.ids import TopicPartition

WANTED: tuple[type[Event], ...] = (
    *HISTORIC, IsrChangeEnded, LogCreated, NodeStopped, OperationInvoked, RecordsRead,
)  # fmt: skip


def happened(run_dir: Path) -> list[TimedEvent]:
    """Relevant events of all nodes in order of time, without lines that a kill has cut off."""
    return sorted(_read(run_dir), key=lambda one: one[4])


def _read(run_dir: Path) -> Iterator[TimedEvent]:
    names = {cls.NAME for cls in WANTED}
    for path in event_paths(run_dir / EVENTS_FOLDER):
        if not path.name.endswith(WIRE_SUFFIX):
            for fields in events_in(path, names):
                yield as_happened(fields, EVENTS[fields["event"]])


def truth_left(run_dir: Path, topology: Topology, events: Iterable[TimedEvent]) -> Truth:
    """The truth: logs from the disks; operations, terms and decreases from the events."""
    truth = Truth()
    incarnations = Incarnations()
    values: dict[str, str] = {}
    epochs: dict[tuple[str, TopicPartition], int] = {}
    watermarks: dict[tuple[str, TopicPartition, int], int] = {}
    begun_as: dict[str, str] = {}

    def place(event: RoleChanged | HighWatermarkMoved | OperationEnded | RecordsRead) -> TopicPartition:
        """The partition of the topic's incarnation; without an id that of an operation's beginning."""
        if event.topic_id:
            incarnations.created(event.topic, event.topic_id)
        elif isinstance(event, OperationEnded) and event.operation in begun_as:
            return begun_as[event.operation], event.partition
        return incarnations.name(event.topic, event.topic_id), event.partition

    for node_name, _, _, _, at_ms, event in events:
        match event:
            case OperationInvoked(operation=operation, value=value):
                values[operation] = value
                begun_as[operation] = incarnations.name(event.topic)
            case OperationEnded(kind="produce", operation=operation):
                value = values.get(operation, "")
                outcome, digest = event.outcome, event.digest
                truth.writes.append(Write(operation, value, place(event), event.acks, outcome, event.offset, digest))
            case RecordsRead():
                read = Read(
                    base_offset=event.base_offset,
                    last_offset=event.last_offset,
                    leader_epoch=event.leader_epoch,
                    digest=event.digest,
                    high_watermark=event.high_watermark,
                    broker=event.broker,
                )
                truth.reads.append(Given(place(event), event.operation, read))
            case RoleChanged(role=role, leader_epoch=epoch):
                topic_partition = place(event)
                truth.roles_seen += 1
                if role == "leader":
                    truth.leaders.append(Term(topic_partition, node_name, epoch, at_ms))
                before = epochs.get((node_name, topic_partition), -1)
                if epoch < before:
                    truth.epochs_back.append(StepBack(topic_partition, node_name, -1, before, epoch, at_ms))
                epochs[node_name, topic_partition] = max(before, epoch)
            case HighWatermarkMoved(leading=True, leader_epoch=epoch, high_watermark=now):
                topic_partition = place(event)
                before = watermarks.get((node_name, topic_partition, epoch), -1)
                if now < before:
                    truth.watermarks_back.append(StepBack(topic_partition, node_name, epoch, before, now, at_ms))
                watermarks[node_name, topic_partition, epoch] = max(before, now)
            case TopicRemoved(topic=topic):
                incarnations.ended(topic, len(values))
            case _:
                pass
    incarnations.show(truth)
    for node in topology.with_role("broker"):
        with_files(run_dir, node.name, partial(read_logs, truth, node.name))
    return truth


def recoveries_of(
    left: list[Left], power_lost: list[tuple[float, str]], disk_lost: list[DiskLost], events: list[TimedEvent]
) -> list[Recovery]:
    """Logs that incarnations left, compared with their successors' logs.

    An incarnation without events about its log is skipped.
    """
    found: list[Recovery] = []
    loaded: dict[tuple[str, int, TopicPartition], tuple[float, int]] = {}
    for node, incarnation, _, _, at_ms, event in events:
        if isinstance(event, LogLoaded):
            loaded[node, incarnation, (event.topic, event.partition)] = (at_ms, event.log_end)
        elif isinstance(
            event, LogCreated
        ):  # it was missing, unless the same incarnation has loaded and deleted it before
            loaded.setdefault((node, incarnation, (event.topic, event.partition)), (at_ms, 0))
    held: dict[tuple[str, TopicPartition], list[Batch]] = {}
    for one in left:
        for topic_partition, batches in one.logs.items():
            held.setdefault((one.node, topic_partition), batches)
            back = loaded.get((one.node, one.incarnation + 1, topic_partition))
            if back is None:
                continue
            at_ms, log_end = back
            batches = held.pop((one.node, topic_partition))
            power = any(node == one.node and lost_ms <= at_ms for lost_ms, node in power_lost)
            disk = any(
                lost.node == one.node and lost.at_ms <= at_ms and topic_partition in lost.partitions
                for lost in disk_lost
            )
            recovered = [batch for batch in batches if batch.last < log_end]
            found.append(Recovery(at_ms, one.node, topic_partition, power, batches, recovered, disk and not recovered))
    return found
