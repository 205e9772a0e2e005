"""Facts about replicas' own logs: truncations, epochs, checkpoints and ISR changes."""

import msgspec

from protocol.ids import TopicPartition


class CutBelow(msgspec.Struct):
    """A truncation of a replica's log from `log_end` to `to`, below its former `high_watermark`."""

    topic_partition: TopicPartition
    node: str
    to: int
    log_end: int
    high_watermark: int


class Outlived(msgspec.Struct):
    """An entry of a replica's leader epoch cache that begins at or above the end of its log."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    epoch: int
    begins: int
    log_end: int


class Ahead(msgspec.Struct):
    """A checkpointed high watermark above the end of the log that an incarnation's start found."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    checkpointed: int
    log_end: int


class IsrChange(msgspec.Struct):
    """A leader's acceptance of an ISR as committed, as `version` of the partition's state."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    epoch: int
    version: int
