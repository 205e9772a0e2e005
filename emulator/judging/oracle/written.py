"""What replicas' logs held while the world ran, cut since or not, and how far they reached."""

from collections.abc import Iterable

from emulator.machines.broker.log import Log
from emulator.storage.memory import MemoryFiles
from protocol.ids import TopicPartition
from protocol.records.types import BatchHeader

Appended = tuple[int, int, int, int]
"""A batch: its leader epoch (-1 where the format has none), its base offset, its last offset, its digest. A plain
tuple: there is one for every batch that a replica is seen to append."""


class Reached:
    """The most that a replica had in one life of its broker's process."""

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
    """`batches`: all that any replica's log ever held. `carried`: what of a life that has ended was in a log with which
    the next life of its topic goes on."""

    def __init__(self) -> None:
        self.batches: dict[TopicPartition, set[Appended]] = {}
        self.carried: dict[TopicPartition, set[Appended]] = {}
        self._reached: dict[tuple[str, int, TopicPartition], Reached] = {}

    @property
    def reached(self) -> list[Reached]:
        return list(self._reached.values())

    def batches_of(self, topic_partition: TopicPartition) -> set[Appended]:
        """For whoever adds to them."""
        return self.batches.setdefault(topic_partition, set())

    def reached_by(self, node: str, incarnation: int, topic_partition: TopicPartition) -> Reached:
        """For whoever raises it."""
        key = (node, incarnation, topic_partition)
        reached = self._reached.get(key)
        if reached is None:
            reached = self._reached[key] = Reached(topic_partition, node, incarnation)
        return reached

    def appended(self, batches: set[Appended], log: Log, was_end: int, files: MemoryFiles) -> None:
        """`log` has grown from `was_end` on, where it lies in `files`."""
        last = log.segments[-1]
        for header in reversed(last.headers):
            if header.last_offset < was_end:
                return
            batches.add((header.leader_epoch, header.base_offset, header.last_offset, header.crc))
        if last.base_offset <= was_end and not last.has_old:
            return
        # So much at once that not all of it is among the recent batches.
        with files.unwatched():
            for segment in log.segments:
                if segment.next_offset > was_end:
                    _add(batches, (header for header in segment.batches() if header.last_offset >= was_end))

    def found(self, topic_partition: TopicPartition, log: Log, lives: int) -> None:
        """A log as a broker has found it, or after it was cut. What is old in it was seen when it was appended. What
        is left of a life of the topic that has ended, of which there are `lives`, is not of this one."""
        topic, partition = topic_partition
        former = [self.batches_of((former_life(topic, number + 1), partition)) for number in range(lives)]
        for segment in log.segments:
            known = _add(self.batches_of(topic_partition), segment.headers, former)
            if known:
                self.carried.setdefault(topic_partition, set()).update(known)

    def renamed(self, topic: str, name: str) -> None:
        """What was of `topic` is called `name` from now on."""
        for topic_partition in [one for one in self.batches if one[0] == topic]:
            self.batches[name, topic_partition[1]] = self.batches.pop(topic_partition)
        for topic_partition in [one for one in self.carried if one[0] == topic]:
            self.carried[name, topic_partition[1]] = self.carried.pop(topic_partition)
        for key in [key for key in self._reached if key[2][0] == topic]:
            reached = self._reached.pop(key)
            reached.topic_partition = (name, key[2][1])
            self._reached[key[0], key[1], reached.topic_partition] = reached


def held(log: Log, files: MemoryFiles) -> frozenset[tuple[int, int, int]]:
    """All that is in it now: (digest, first offset, last offset) of each batch."""
    with files.unwatched():
        headers = [header for segment in log.segments for header in segment.batches()]
    return frozenset((header.crc, header.base_offset, header.last_offset) for header in headers)


def former_life(topic: str, number: int) -> str:
    """What a topic is called here that was deleted; `number` from 1. No topic can be called so."""
    return f"{topic}#{number}"


def plain_topic(topic: str) -> str:
    """What it was called while it was there."""
    return topic.partition("#")[0]


def _add(
    batches: set[Appended], headers: Iterable[BatchHeader], known: Iterable[set[Appended]] = ()
) -> list[Appended]:
    """Those that are in none of the `known`; returns the others."""
    others: list[Appended] = []
    for header in headers:
        batch = (header.leader_epoch, header.base_offset, header.last_offset, header.crc)
        if any(batch in of_before for of_before in known):
            others.append(batch)
        else:
            batches.add(batch)
    return others
