"""Contents of replicas' logs while the world ran, truncated or not, and furthest offsets."""

from collections.abc import Iterable

from emulator.judging.oracle.transaction_facts import ProducerBatch, producer_batch
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.segment import Segment
from emulator.storage.memory_files import MemoryFiles
from protocol.ids import TopicPartition
from protocol.records.types import BatchHeader

Appended = tuple[int, int, int, int]
"""A batch: leader epoch (-1 where the format has none), base offset, last offset, digest.

A plain tuple, because there is one for every batch that a replica appends.
"""


class EverHeld:
    """Batches that any replica's log of a partition ever held.

    `transactional`: those of transactions, and markers.
    """

    __slots__ = ("batches", "transactional")

    def __init__(self) -> None:
        self.batches: set[Appended] = set()
        self.transactional: set[ProducerBatch] = set()

    def add(self, segment: Segment, headers: Iterable[BatchHeader], files: MemoryFiles) -> None:
        """Add batches of a segment, stored in `files`."""
        for header in headers:
            self.batches.add((header.leader_epoch, header.base_offset, header.last_offset, header.crc))
            if header.is_transactional:
                self._add_transactional(segment, header, files)

    def _add_transactional(self, segment: Segment, header: BatchHeader, files: MemoryFiles) -> None:
        data = b""
        if header.is_control:  # the marker's kind is in its record
            with files.unwatched():
                first, behind = header.base_offset, header.last_offset + 1
                data = segment.read(first, behind, header.size_bytes, at_least_one=True)
        batch = producer_batch(header, data, 0)
        if batch is not None:
            self.transactional.add(batch)


class Reached:
    """Highest log end and high watermark of a replica in one incarnation of its broker."""

    __slots__ = ("high_watermark", "incarnation", "log_end", "node", "topic_partition")

    def __init__(
        self, topic_partition: TopicPartition, node: str, incarnation: int, high_watermark: int = 0, log_end: int = 0
    ) -> None:
        self.topic_partition = topic_partition
        self.node = node
        self.incarnation = incarnation
        self.high_watermark = high_watermark
        self.log_end = log_end


class Written:
    """Batches of all logs: all that any replica's log ever held."""

    def __init__(self) -> None:
        self.held: dict[TopicPartition, EverHeld] = {}
        self._reached: dict[tuple[str, int, TopicPartition], Reached] = {}

    @property
    def reached(self) -> list[Reached]:
        return list(self._reached.values())

    def held_of(self, topic_partition: TopicPartition) -> EverHeld:
        """The batches of a partition; the caller adds to them."""
        held = self.held.get(topic_partition)
        if held is None:
            held = self.held[topic_partition] = EverHeld()
        return held

    def reached_by(self, node: str, incarnation: int, topic_partition: TopicPartition) -> Reached:
        """The entry of a replica; the caller raises it."""
        key = (node, incarnation, topic_partition)
        reached = self._reached.get(key)
        if reached is None:
            reached = self._reached[key] = Reached(topic_partition, node, incarnation)
        return reached

    def appended(self, held: EverHeld, log: Log, was_end: int, files: MemoryFiles) -> None:
        """Add the batches by which `log`, stored in `files`, has grown from `was_end` on."""
        last = log.segments[-1]
        for header in reversed(last.headers):
            if header.last_offset < was_end:
                return
            held.add(last, (header,), files)
        if last.base_offset <= was_end and not last.has_old:
            return
        # Too much at once: not all of it is among the recent batches.
        with files.unwatched():
            for segment in log.segments:
                if segment.next_offset > was_end:
                    new = [header for header in segment.batches() if header.last_offset >= was_end]
                    held.add(segment, new, files)

    def found(self, topic_partition: TopicPartition, log: Log, files: MemoryFiles) -> None:
        """Add the batches of a log as its broker has found it, or after a truncation.

        Old batches are known from their append.
        """
        for segment in log.segments:
            self.held_of(topic_partition).add(segment, segment.headers, files)


def held(log: Log, files: MemoryFiles) -> frozenset[tuple[int, int, int]]:
    """(digest, first offset, last offset) of each batch in the log now."""
    with files.unwatched():
        headers = [header for segment in log.segments for header in segment.batches()]
    return frozenset((header.crc, header.base_offset, header.last_offset) for header in headers)
