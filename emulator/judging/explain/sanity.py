"""Sanity of every living machine's state, and its agreement with the disk, in any version."""

from collections.abc import Iterator
from itertools import pairwise

from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.kraft_settled import kraft_brokers_of
from emulator.judging.explain.settled_partitions import AnyBroker
from emulator.judging.explain.settled_state import brokers_of
from emulator.judging.oracle.truth import Truth
from emulator.machines.broker.replica_log import Log
from emulator.machines.session.server import SessionServer
from emulator.storage.checkpoints import parse_leader_epochs
from emulator.topology import broker_name
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.gates import Gates
from protocol.ids import LeaderEpoch, Offset, TopicPartition

LATE_MS = 1_000.0
"""Maximum lateness of a thread for a deadline: a slow disk delays a step."""


def insane(world: SimulatedWorld, truth: Truth, gates: Gates) -> Iterator[Broken]:
    """Broken sanity rules. `truth`: with the logs on the disks."""
    for number, broker in (brokers_of(world) | kraft_brokers_of(world)).items():
        name = broker_name(number)
        for why in _parked(broker):
            yield Broken("parked", f"{name}: {why}", broker=number)
        for topic_partition, log in broker.broker.replicas.logs.items():
            on_disk = [
                (batch.first, batch.last, batch.epoch) for batch in truth.logs.get(topic_partition, {}).get(name, [])
            ]
            with world.nodes[name].files.unwatched():
                found = [*_offsets(log), *_epochs(log), *_disk(log, on_disk)]
                unknown = next(_unknown_epochs(log, gates), None)
            for why in found:
                yield Broken("sanity", f"{name}: {why}", topic_partition)
            if unknown is not None:
                offset, epoch = unknown
                text = f"{name}: the batch at {offset} is of epoch {epoch}, its epochs are {log.epochs.entries}"
                yield Broken("epoch-cache", text, topic_partition, offset, broker=number, epoch=epoch)
    yield from _trees(world)


def _parked(broker: AnyBroker) -> Iterator[str]:
    """Requests in purgatory past their deadline (semantics 1.8, 1.9)."""
    now_ms = broker.context.now.mono_ms
    for purgatory in (broker.broker.replicas.produces, broker.broker.replicas.fetches):
        late = [one for one in purgatory.parked() if one.deadline_ms + LATE_MS < now_ms]
        if late:
            first = min(late, key=lambda one: one.deadline_ms)
            since_ms = now_ms - first.deadline_ms
            yield f"a request is parked {since_ms:.0f} ms past its deadline ({first.waits_for}), one of {len(late)}"


def _offsets(log: Log) -> Iterator[str]:
    """Offsets out of order (semantics 1.1)."""
    if not log.log_start <= log.high_watermark <= log.log_end:
        yield f"the high watermark {log.high_watermark} is not within {log.log_start} and {log.log_end}"
    if log.recovery_point > log.log_end:
        yield f"the recovery point {log.recovery_point} is beyond the log end {log.log_end}"


def _epochs(log: Log) -> Iterator[str]:
    """Epochs out of order (semantics 3)."""
    entries = log.epochs.entries
    for before, after in pairwise(entries):
        if after[0] <= before[0] or after[1] < before[1]:
            yield f"its epochs do not rise: {entries}"
    if entries and entries[-1][1] > log.log_end:
        yield f"its epochs {entries} go beyond the log end {log.log_end}"


def _unknown_epochs(log: Log, gates: Gates) -> Iterator[tuple[Offset, LeaderEpoch]]:
    """(base offset, epoch) of batches that the epoch cache assigns to another epoch.

    Semantics 3: from 2.0.1 they agree; epoch 0 may be missing up to 2.5.
    """
    entries = log.epochs.entries
    if not gates.epoch_cache_strict_assign or not gates.has_epoch_cache:
        return
    for segment in log.segments:
        for header in segment.batches():
            epoch = max((entry[0] for entry in entries if entry[1] <= header.base_offset), default=-1)
            forgotten = epoch == -1 and header.leader_epoch == 0 and gates.recovery_skips_epoch_zero
            if header.magic >= 2 and epoch != header.leader_epoch and not forgotten:
                yield header.base_offset, header.leader_epoch


def _disk(log: Log, on_disk: list[tuple[int, int, int]]) -> Iterator[str]:
    held = [(h.base_offset, h.last_offset, h.leader_epoch) for segment in log.segments for h in segment.batches()]
    if held != on_disk:
        yield f"it takes its log for {held}, and on its disk are {on_disk}"
    if log.epochs.entries or log.files.exists(log.epochs_path):
        path = log.epochs_path
        written = parse_leader_epochs(log.files.read(path, 0, log.files.size(path)), path)
        if written != log.epochs.entries:
            yield f"it takes its epochs for {log.epochs.entries}, and on its disk are {written}"


def _trees(world: SimulatedWorld) -> Iterator[Broken]:
    """ZooKeeper servers with the same transactions and different trees (semantics 5.3)."""
    held: dict[int, tuple[str, bytes]] = {}
    for name, node in world.nodes.items():
        if isinstance(node.machine, SessionServer):
            tree = node.machine.tree
            other, content = held.setdefault(tree.zxid, (name, tree.snapshot()))
            if content != tree.snapshot():
                topic_partition: TopicPartition = ("", -1)
                yield Broken("sanity", f"{name} and {other} hold different znodes at {tree.zxid:#x}", topic_partition)
