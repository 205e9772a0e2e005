"""Records hidden from consumers: markers; at read_committed those of aborted transactions."""

from bisect import bisect_right
from collections.abc import Collection, Iterator
from operator import itemgetter
from typing import Final

from emulator.judging.oracle.transaction_facts import BatchKind, ProducerBatch, TransactionalBatch, with_ends
from emulator.judging.oracle.truth import Truth
from protocol.ids import TopicPartition

READ_COMMITTED: Final = "read_committed"

Ranges = list[tuple[int, int]]
"""Offsets [first, last] of batches."""
Markers = dict[int, list[tuple[int, BatchKind]]]
"""{producer id: offsets and kinds of its markers, in order}"""
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
        self._hidden: dict[TopicPartition, tuple[Ranges, Ranges, Ranges]] = {}
        self._markers: dict[TopicPartition, Markers] = {}

    def hides_all(self, topic_partition: TopicPartition, first: int, last: int, isolation: str) -> bool:
        """Whether each record in [first, last] is hidden from a consumer with that isolation."""
        markers, _, hidden = self._of(topic_partition)
        return _covered(hidden if isolation == READ_COMMITTED else markers, first, last)

    def is_aborted(self, topic_partition: TopicPartition, offset: int) -> bool:
        """Whether the record is of an aborted transaction."""
        return _covered(self._of(topic_partition)[1], offset, offset)

    def ends_below(self, topic_partition: TopicPartition, batch: ProducerBatch, offset: int) -> bool:
        """Whether a marker of the batch's producer lies behind it and below `offset`."""
        found = self._markers.get(topic_partition)
        if found is None:
            found = self._markers[topic_partition] = _markers(self._ever.get(topic_partition, ()))
        marker = _marker_behind(found, batch)
        return marker is not None and marker[0] < offset

    def _of(self, topic_partition: TopicPartition) -> tuple[Ranges, Ranges, Ranges]:
        """(markers, records of aborted transactions, both)"""
        ranges = self._hidden.get(topic_partition)
        if ranges is None:
            batches = self._ever.get(topic_partition, ())
            markers = [(one.first, one.last) for one in batches if one.kind != "data"]
            aborted = [(one.first, one.last) for one in _aborted(batches)]
            ranges = self._hidden[topic_partition] = _joined(markers), _joined(aborted), _joined(markers + aborted)
        return ranges


def _markers(batches: Collection[ProducerBatch]) -> Markers:
    found: Markers = {}
    for one in sorted(batches, key=lambda one: (one.first, one.kind)):
        if one.kind != "data":
            found.setdefault(one.producer_id, []).append((one.first, one.kind))
    return found


def _marker_behind(markers: Markers, batch: ProducerBatch) -> tuple[int, BatchKind] | None:
    """The next marker of a batch's producer; of two logs' markers at one offset, ABORT."""
    of_producer = markers.get(batch.producer_id, [])
    place = bisect_right(of_producer, batch.first, key=itemgetter(0))
    return of_producer[place] if place < len(of_producer) else None


def _aborted(batches: Collection[ProducerBatch]) -> Iterator[ProducerBatch]:
    """Data whose producer's next marker is ABORT."""
    markers = _markers(batches)
    for one in batches:
        marker = _marker_behind(markers, one) if one.kind == "data" else None
        if marker is not None and marker[1] == "abort":
            yield one


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
