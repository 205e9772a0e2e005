"""What may be lost, what may be acknowledged, and how many must hold it: by acks, by how leaders were elected, by what
disks forgot."""

from collections.abc import Iterator
from math import inf

from emulator.judging.oracle.beliefs import Belief
from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.liveness import isr_bound_ms, lasting
from emulator.judging.oracle.offices import Office
from emulator.judging.oracle.truth import Batch, Truth, Write
from emulator.judging.oracle.violations import Violation
from emulator.topology import identifier_named
from protocol.ids import TopicPartition

ACKS, UNCLEAN, UNFLUSHED = "acks<=1", "unclean.leader.election", "not flushed"
ALLOWED = (ACKS, UNCLEAN, UNFLUSHED)
"""What allows that an acknowledged record is lost."""
ALL = -1


class Allowances:
    """Of one truth."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._unclean: dict[TopicPartition, list[Office]] = {}
        for office in truth.leaders:
            if office.topic_partition is not None and office.found is not None:
                self._unclean.setdefault(office.topic_partition, []).append(office)

    def of(self, write: Write) -> str:
        """What allows that `write` is lost; "": nothing does."""
        if write.acks != ALL:
            return ACKS
        truth, topic_partition = self._truth, write.topic_partition
        epochs = [
            epoch
            for epoch, first, last, digest in truth.appended.get(topic_partition, ())
            if digest == write.digest and first <= write.offset <= last
        ]
        for office in self._unclean.get(topic_partition, ()):
            if epochs and max(epochs) < office.epoch and not _began_with(office, write):
                return UNCLEAN
        for forgotten in truth.forgotten:
            if forgotten.topic_partition == topic_partition and forgotten.to <= write.offset < forgotten.log_end:
                return UNFLUSHED
        return ""


def _began_with(office: Office, write: Write) -> bool:
    """Whether its leader had the record then."""
    return any(
        digest == write.digest and first <= write.offset <= last for digest, first, last in office.found or ()
    )


def acknowledged_below_min_insync(truth: Truth) -> Iterator[Violation]:
    told: dict[tuple[TopicPartition, str], list[Belief]] = {}
    for belief in truth.beliefs:
        told.setdefault((belief.topic_partition, belief.node), []).append(belief)
    small = {of: list(_too_small(beliefs)) for of, beliefs in told.items()}
    for write in truth.writes:
        if write.acks != ALL or write.outcome != "ok":
            continue
        node = f"broker-{write.broker}"
        for belief, until in small.get((write.topic_partition, node), ()):
            if belief.ended <= write.ended < until and write.offset >= belief.high_watermark:
                text = (
                    f"{write.operation} was acknowledged (acks=all) at offset {write.offset} by {node}, which took "
                    f"{belief.in_sync} for in sync; min.insync.replicas is {belief.least}"
                )
                details = {"operation": write.operation, "node": node, "in_sync": belief.in_sync}
                yield Violation(write.topic_partition, write.offset, text, details)
                break


def too_few_copies(truth: Truth) -> Iterator[Violation]:
    final = FinalLogs(truth)
    for write, least in _promised(truth):
        place = write.topic_partition
        replicas = truth.assignments[place]
        held = [
            node
            for node, log in truth.logs.get(place, {}).items()
            if identifier_named(node) in replicas and any(_is_copy(batch, write) for batch in log)
        ]
        if len(held) < least and final.holds(place, write.digest, write.offset):
            text = (
                f"{write.operation} was acknowledged (acks=all) at offset {write.offset}; of the replicas "
                f"{','.join(map(str, replicas))} {' and '.join(held)} have it, and min.insync.replicas is {least}"
            )
            details = {"operation": write.operation, "copies": len(held), "min_insync_replicas": least}
            yield Violation(place, write.offset, text, details)


def promised(truth: Truth) -> int:
    """How many records there are whose copies are counted."""
    return sum(1 for _ in _promised(truth))


def _promised(truth: Truth) -> Iterator[tuple[Write, int]]:
    """(what all have answered for, by how many replicas it must be held) where replicas had time to catch up."""
    settled = {
        state.topic_partition
        for state, _, _ in lasting(truth, isr_bound_ms)
        if state.until_ms is None and state.leader >= 0
    }
    told: dict[TopicPartition, dict[str, int]] = {}
    for belief in truth.beliefs:
        of = told.setdefault(belief.topic_partition, {})
        of[belief.node] = min(belief.least, of.get(belief.node, belief.least))
    for write in truth.writes:
        place = write.topic_partition
        if write.acks != ALL or write.outcome != "ok" or place not in settled or place[0] in truth.gone:
            continue
        of = told.get(place, {})
        if f"broker-{write.broker}" in of and place in truth.assignments:
            yield write, min(*of.values(), len(truth.assignments[place]))


def _is_copy(batch: Batch, write: Write) -> bool:
    return batch.digest == write.digest and (write.offset < 0 or batch.first <= write.offset <= batch.last)


def _too_small(beliefs: list[Belief]) -> Iterator[tuple[Belief, float]]:
    """Each belief in too few, and how many operations had ended when that was over."""
    until: float = inf
    for belief in reversed(beliefs):
        if 0 <= belief.in_sync < belief.least:
            yield belief, until
        else:
            until = float(belief.ended)
