"""Promises about acknowledged records: allowed losses, minimum ISR, minimum of copies.

They depend on acks, on unclean elections and on disks that lost unflushed records.
"""

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from math import inf

from emulator.judging.oracle.batch_index import BatchIndex, Span
from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.liveness import isr_bound_ms, lasting
from emulator.judging.oracle.oracle_check import oracle_check, records_acknowledged_by_all
from emulator.judging.oracle.truth import LeaderView, Term, Truth, Violation, Write
from emulator.topology import identifier_named
from protocol.ids import TopicPartition

ACKS, UNCLEAN, UNFLUSHED = "acks<=1", "unclean.leader.election", "not flushed"
SEQUENCE = "duplicate sequence"
ALLOWED = (ACKS, UNCLEAN, UNFLUSHED, SEQUENCE)
"""Reasons that allow the loss of an acknowledged record."""
ALL = -1
ANY = 0
"""In place of a digest where content does not matter."""


class Allowances:
    """Allowed losses of one truth. Each index is built at its first use: most runs lose nothing."""

    def __init__(self, truth: Truth) -> None:
        self._truth = truth
        self._sent: dict[TopicPartition, tuple[BatchIndex, dict[tuple[int, int], set[str]]]] = {}
        self._unclean: dict[TopicPartition, list[Term]] = {}
        for term in truth.leaders:
            if term.topic_partition is not None and term.found is not None:
                self._unclean.setdefault(term.topic_partition, []).append(term)
        self._found: dict[int, BatchIndex] = {}
        self._appended: dict[TopicPartition, tuple[BatchIndex, dict[Span, int]]] = {}
        forgotten: dict[TopicPartition, list[Span]] = {}
        for one in truth.forgotten:
            forgotten.setdefault(one.topic_partition, []).append((ANY, one.to, one.log_end - 1))
        self._forgotten = {topic_partition: BatchIndex(spans) for topic_partition, spans in forgotten.items()}

    def of(self, write: Write) -> str:
        """The reason that allows the loss of `write`; "": none does."""
        if self._has_reused_sequence(write):
            return SEQUENCE
        if write.acks != ALL:
            return ACKS
        topic_partition = write.topic_partition
        elections = self._unclean.get(topic_partition, ())
        epoch = self._last_epoch(write) if elections else None
        if epoch is not None and any(epoch < one.epoch and not self._began_with(one, write) for one in elections):
            return UNCLEAN
        forgotten = self._forgotten.get(topic_partition)
        return UNFLUSHED if forgotten is not None and write.offset >= 0 and forgotten.covers(ANY, write.offset) else ""

    def _last_epoch(self, write: Write) -> int | None:
        """The last leader epoch in which a replica appended the record; None: no known one."""
        topic_partition = write.topic_partition
        if topic_partition not in self._appended:
            epochs: dict[Span, int] = {}
            for epoch, first, last, digest in self._truth.appended.get(topic_partition, ()):
                span = (digest, first, last)
                epochs[span] = max(epoch, epochs.get(span, epoch))
            self._appended[topic_partition] = BatchIndex(epochs), epochs
        index, epochs = self._appended[topic_partition]
        digest = write.digest
        return max((epochs[digest, first, last] for first, last in index.covering(digest, write.offset)), default=None)

    def _began_with(self, term: Term, write: Write) -> bool:
        """Whether the leader had the record at the beginning of its term."""
        index = self._found.get(id(term))
        if index is None:
            index = self._found[id(term)] = BatchIndex(term.found or ())
        return write.offset >= 0 and index.covers(write.digest, write.offset)

    def _has_reused_sequence(self, write: Write) -> bool:
        """Whether the broker acknowledged it as a duplicate of an earlier record's sequence number.

        Then no replica ever had the record, and another batch of its producer is at the acknowledged offset.
        """
        if not write.idempotent or write.offset < 0 or self._last_epoch(write) is not None:
            return False
        topic_partition, life = write.topic_partition, _life_of(write)
        if topic_partition not in self._sent:
            self._sent[topic_partition] = self._sent_of(topic_partition)
        index, lives = self._sent[topic_partition]
        return any(life in lives[first, last] for first, last in index.covering(ANY, write.offset))

    def _sent_of(self, topic_partition: TopicPartition) -> tuple[BatchIndex, dict[tuple[int, int], set[str]]]:
        """Index of appended batches, and {(first, last): idempotent clients' incarnations}."""
        sent: dict[int, set[str]] = {}
        for one in (*self._truth.writes, *self._truth.left_open):
            if one.idempotent and one.topic_partition == topic_partition:
                sent.setdefault(one.digest, set()).add(_life_of(one))
        lives: dict[tuple[int, int], set[str]] = {}
        for _, first, last, digest in self._truth.appended.get(topic_partition, ()):
            lives.setdefault((first, last), set()).update(sent.get(digest, ()))
        return BatchIndex((ANY, first, last) for first, last in lives), lives


def _life_of(write: Write) -> str:
    """NODE.INCARNATION of the write's client."""
    return write.operation.rpartition(":")[0]


@oracle_check("acknowledged-below-min-insync", "records acknowledged with acks=all", records_acknowledged_by_all)
def acknowledged_below_min_insync(truth: Truth) -> Iterator[Violation]:
    """One record acknowledged with acks=all by a leader with too few in-sync replicas."""
    views_of: dict[tuple[TopicPartition, str], list[LeaderView]] = {}
    for view in truth.leader_views:
        views_of.setdefault((view.topic_partition, view.node), []).append(view)
    writes: dict[tuple[TopicPartition, str], list[int]] = {}
    for number, write in enumerate(truth.writes):
        if write.acks == ALL and write.outcome == "ok":
            writes.setdefault((write.topic_partition, f"broker-{write.broker}"), []).append(number)
    found: dict[int, LeaderView] = {}
    for of, numbers in writes.items():
        if of in views_of:
            found.update(_acknowledged_in(_too_small(views_of[of]), truth.writes, numbers))
    for number, view in sorted(found.items(), key=lambda one: one[0]):
        write = truth.writes[number]
        text = (
            f"{write.operation} was acknowledged (acks=all) at offset {write.offset} by {view.node}, which took "
            f"{view.in_sync} for in sync; min.insync.replicas is {view.least}"
        )
        details = {"operation": write.operation, "node": view.node, "in_sync": view.in_sync}
        yield Violation(write.topic_partition, write.offset, text, details)


def _acknowledged_in(
    small: Iterable[tuple[LeaderView, float]], writes: Sequence[Write], numbers: Iterable[int]
) -> Iterator[tuple[int, LeaderView]]:
    """(number of a write, latest view in too few replicas at its acknowledgement).

    All of one leader, which may still acknowledge records that it had committed before. `small`: such views, the
    latest first, each with its end.
    """
    waiting = [*small]
    # Views that have begun, each with a higher high watermark than its predecessors. A view under a later one
    # with a lower high watermark is never the latest that fits.
    begun: list[tuple[int, LeaderView, float]] = []
    for number in sorted(numbers, key=lambda number: writes[number].ended):
        write = writes[number]
        while waiting and waiting[-1][0].ended <= write.ended:
            view, until = waiting.pop()
            if begun and begun[-1][2] <= view.ended:
                begun.clear()  # that period is over
            while begun and begun[-1][0] >= view.high_watermark:
                begun.pop()
            begun.append((view.high_watermark, view, until))
        fits = bisect_right(begun, write.offset, key=lambda one: one[0]) - 1
        if fits >= 0 and write.ended < begun[fits][2]:
            yield number, begun[fits][1]


def promised(truth: Truth) -> int:
    """Count of records whose copies the check counts."""
    return sum(1 for _ in _promised(truth))


@oracle_check(
    "too-few-copies",
    "records acknowledged with acks=all before a long enough quiescent period",
    promised,
    reads="all logs",
)
def too_few_copies(truth: Truth) -> Iterator[Violation]:
    """One record acknowledged with acks=all that fewer replicas hold than must."""
    final = FinalLogs(truth)
    copies: dict[TopicPartition, dict[str, BatchIndex]] = {}
    for write, least in _promised(truth):
        place = write.topic_partition
        replicas = truth.assignments[place]
        if place not in copies:
            copies[place] = {
                node: BatchIndex((batch.digest, batch.first, batch.last) for batch in log)
                for node, log in truth.logs.get(place, {}).items()
                if identifier_named(node) in replicas
            }
        held = [node for node, log in copies[place].items() if log.covers(write.digest, write.offset)]
        if len(held) < least and final.holds(place, write.digest, write.offset):
            text = (
                f"{write.operation} was acknowledged (acks=all) at offset {write.offset}; of the replicas "
                f"{','.join(map(str, replicas))} {' and '.join(held)} have it, and min.insync.replicas is {least}"
            )
            details = {"operation": write.operation, "copies": len(held), "min_insync_replicas": least}
            yield Violation(place, write.offset, text, details)


def _promised(truth: Truth) -> Iterator[tuple[Write, int]]:
    """(write with acks=all, minimum of copies), where replicas had time to catch up."""
    settled = {
        state.topic_partition
        for state, _, _ in lasting(truth, isr_bound_ms)
        if state.until_ms is None and state.leader >= 0
    }
    views_of: dict[TopicPartition, dict[str, int]] = {}
    for view in truth.leader_views:
        of = views_of.setdefault(view.topic_partition, {})
        of[view.node] = min(view.least, of.get(view.node, view.least))
    for write in truth.writes:
        place = write.topic_partition
        if write.acks != ALL or write.outcome != "ok" or place not in settled or place[0] in truth.gone:
            continue
        of = views_of.get(place, {})
        if f"broker-{write.broker}" in of and place in truth.assignments:
            yield write, min(*of.values(), len(truth.assignments[place]))


def _too_small(leader_views: list[LeaderView]) -> Iterator[tuple[LeaderView, float]]:
    """Each view in too few replicas, and the count of operations that had ended at its end."""
    until: float = inf
    for view in reversed(leader_views):
        if 0 <= view.in_sync < view.least:
            yield view, until
        else:
            until = float(view.ended)
