"""What was found about replicas' own logs: cuts, epochs, checkpoints and ISRs, each as it was seen."""

import msgspec

from protocol.ids import TopicPartition


class CutBelow(msgspec.Struct):
    """A replica's log, that ended at `log_end`, was cut to `to`, below `high_watermark`, which it had had."""

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
    """At the start of a life a replica's checkpointed high watermark was above the end of the log that was found."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    checkpointed: int
    log_end: int


class IsrChange(msgspec.Struct):
    """A leader takes an ISR for recorded: as `version` of the partition's state."""

    topic_partition: TopicPartition
    node: str
    incarnation: int
    epoch: int
    version: int
