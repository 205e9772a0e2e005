"""Violations: results of the oracle's checks."""

from typing import Any

import msgspec

from protocol.ids import TopicPartition

NO_PARTITION: TopicPartition = ("", -1)


class Violation(msgspec.Struct, frozen=True):
    """One violation. `offset` -1: no offset. `details`: plain values."""

    topic_partition: TopicPartition
    offset: int
    text: str
    details: dict[str, Any] = {}
