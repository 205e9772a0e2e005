"""Records hidden from consumers: markers; at read_committed those of aborted transactions."""

from bisect import bisect_right
from collections.abc import Collection
from operator import itemgetter
from typing import Final

from emulator.judging.oracle.transaction_facts import BatchKind, ProducerBatch, TransactionalBatch, with_ends
from emulator.judging.oracle.truth import Truth
from protocol.ids import TopicPartition

READ_COMMITTED: Final = "read_committed"

Ranges = list[tuple[int, int]]
"""Offsets [first, last] of batches."""
TransactionalLogs = dict[TopicPartition, list[TransactionalBatch]]


def transactional_logs(truth: Truth) -> TransactionalLogs:
    """Transactional batches of the final leaders' logs."""
    if not truth.producers:
        return {}
    leaders = truth.final_leaders()
    return {
        topic_partition: with_ends(replicas.get(leaders.get(topic_partition, ""), []))
        for topic_partition, replicas in sorted(truth.producers.items())
        if topic_partition[0] not in truth.gone
    }


class HiddenRecords:
    """Hidden records of one truth.

    A consumer was given what a leader had then, which may be gone since. So all batches count that any log ever held.
    """

    def __init__(self, truth: Truth) -> None:
        self._ever = truth.ever_transactional
        self._known: dict[TopicPartition, _Hidden] = {}

    def hides_all(self, topic_partition: TopicPartition, first: int, last: int, isolation: str) -> bool:
        """Whether each record in [first, last] is hidden from a consumer with that isolation."""
        hidden = self._of(topic_partition)
        return _covered(hidden.all if isolation == READ_COMMITTED else hidden.markers, first, last)

    def is_aborted(self, topic_partition: TopicPartition, offset: int) -> bool:
        """Whether the record is of an aborted transaction."""
        return _covered(self._of(topic_partition).aborted, offset, offset)

    def ends_below(self, topic_partition: TopicPartition, batch: ProducerBatch, offset: int) -> bool:
        """Whether a marker of the batch's producer lies behind it and below `offset`."""
        marker = self._of(topic_partition).marker_behind(batch)
        return marker is not None and marker[0] < offset

    def _of(self, topic_partition: TopicPartition) -> "_Hidden":
        hidden = self._known.get(topic_partition)
        if hidden is None:
            hidden = self._known[topic_partition] = _Hidden(self._ever.get(topic_partition, ()))
        return hidden


class _Hidden:
    """Hidden records of one partition: markers, those of aborted transactions, and both."""

    def __init__(self, batches: Collection[ProducerBatch]) -> None:
        self._by_producer: dict[int, list[tuple[int, BatchKind]]] = {}
        """{producer id: offsets and kinds of its markers, in order}"""
        markers = sorted((one for one in batches if one.kind != "data"), key=lambda one: (one.first, one.kind))
        for one in markers:
            self._by_producer.setdefault(one.producer_id, []).append((one.first, one.kind))
        of_markers = [(one.first, one.last) for one in markers]
        of_aborted = [(one.first, one.last) for one in batches if self._is_aborted(one)]
        self.markers, self.aborted, self.all = map(_joined, (of_markers, of_aborted, of_markers + of_aborted))

    def marker_behind(self, batch: ProducerBatch) -> tuple[int, BatchKind] | None:
        """The next marker of a batch's producer; of two logs' markers at one offset, ABORT."""
        of_producer = self._by_producer.get(batch.producer_id, [])
        place = bisect_right(of_producer, batch.first, key=itemgetter(0))
        return of_producer[place] if place < len(of_producer) else None

    def _is_aborted(self, batch: ProducerBatch) -> bool:
        marker = self.marker_behind(batch) if batch.kind == "data" else None
        return marker is not None and marker[1] == "abort"


def _joined(ranges: list[tuple[int, int]]) -> Ranges:
    """Ranges that neither touch nor overlap, in order."""
    joined: Ranges = []
    for first, last in sorted(ranges):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(joined[-1][1], last)
        else:
            joined.append((first, last))
    return joined


def _covered(ranges: Ranges, first: int, last: int) -> bool:
    """Whether one of `_joined` ranges has all of [first, last]."""
    place = bisect_right(ranges, first, key=itemgetter(0)) - 1
    return place >= 0 and ranges[place][1] >= last
