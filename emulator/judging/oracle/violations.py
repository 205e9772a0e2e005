"""What the checks give."""

from typing import Any

import msgspec

from protocol.ids import TopicPartition

NO_PARTITION: TopicPartition = ("", -1)


class Violation(msgspec.Struct, frozen=True):
    """`offset` -1: of none. `details` are plain values."""

    topic_partition: TopicPartition
    offset: int
    text: str
    details: dict[str, Any] = {}
