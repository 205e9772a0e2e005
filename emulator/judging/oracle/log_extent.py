"""Contents of replicas' logs while the world ran, truncated or not, and furthest offsets."""

from collections.abc import Iterable

from emulator.machines.broker.replica_log import Log
from emulator.storage.memory_files import MemoryFiles
from protocol.ids import TopicPartition
from protocol.records.types import BatchHeader

Appended = tuple[int, int, int, int]
"""A batch: leader epoch (-1 where the format has none), base offset, last offset, digest.

A plain tuple, because there is one for every batch that a replica appends.
"""


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
        self.batches: dict[TopicPartition, set[Appended]] = {}
        self._reached: dict[tuple[str, int, TopicPartition], Reached] = {}

    @property
    def reached(self) -> list[Reached]:
        return list(self._reached.values())

    def batches_of(self, topic_partition: TopicPartition) -> set[Appended]:
        """The set of a partition's batches; the caller adds to it."""
        return self.batches.setdefault(topic_partition, set())

    def reached_by(self, node: str, incarnation: int, topic_partition: TopicPartition) -> Reached:
        """The entry of a replica; the caller raises it."""
        key = (node, incarnation, topic_partition)
        reached = self._reached.get(key)
        if reached is None:
            reached = self._reached[key] = Reached(topic_partition, node, incarnation)
        return reached

    def appended(self, batches: set[Appended], log: Log, was_end: int, files: MemoryFiles) -> None:
        """Add the batches by which `log`, stored in `files`, has grown from `was_end` on."""
        last = log.segments[-1]
        for header in reversed(last.headers):
            if header.last_offset < was_end:
                return
            batches.add((header.leader_epoch, header.base_offset, header.last_offset, header.crc))
        if last.base_offset <= was_end and not last.has_old:
            return
        # Too much at once: not all of it is among the recent batches.
        with files.unwatched():
            for segment in log.segments:
                if segment.next_offset > was_end:
                    _add(batches, (header for header in segment.batches() if header.last_offset >= was_end))

    def found(self, topic_partition: TopicPartition, log: Log) -> None:
        """Add the batches of a log as its broker has found it, or after a truncation.

        Old batches are known from their append.
        """
        for segment in log.segments:
            _add(self.batches_of(topic_partition), segment.headers)


def held(log: Log, files: MemoryFiles) -> frozenset[tuple[int, int, int]]:
    """(digest, first offset, last offset) of each batch in the log now."""
    with files.unwatched():
        headers = [header for segment in log.segments for header in segment.batches()]
    return frozenset((header.crc, header.base_offset, header.last_offset) for header in headers)


def _add(batches: set[Appended], headers: Iterable[BatchHeader]) -> None:
    batches.update((header.leader_epoch, header.base_offset, header.last_offset, header.crc) for header in headers)
