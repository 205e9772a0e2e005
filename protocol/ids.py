"""Names of things: distinct types, so that an offset is never taken for an epoch.

All are plain ints and strings on the wire. Kafka's own markers for "none" are kept: leader -1, epoch -1, offset -1.
"""

from typing import NewType

BrokerId = NewType("BrokerId", int)
"""`broker.id`, 0 or more; -1 means no broker."""

LeaderEpoch = NewType("LeaderEpoch", int)
"""Grows by one with each change of leadership that a controller writes; -1 unknown."""

ControllerEpoch = NewType("ControllerEpoch", int)
"""Grows by one with each controller elected; the first is 1."""

Offset = NewType("Offset", int)
"""Position of a record in a partition, from 0. Ends are exclusive: they name the next record."""

ZkVersion = NewType("ZkVersion", int)
"""Data version of a znode: 0 when created, +1 with each write."""

Zxid = NewType("Zxid", int)
"""Transaction id of the session ensemble: epoch << 32 | counter."""

ConnectionId = NewType("ConnectionId", int)
"""A connection within one node: positive if the node opened it, negative if it accepted it."""

NodeName = NewType("NodeName", str)
"""`broker-0`, `session-1`, `client-2`, `observer`."""

TopicPartition = tuple[str, int]
"""Topic and partition number: ("t", 0) is written t-0."""

NO_BROKER = BrokerId(-1)
NO_EPOCH = LeaderEpoch(-1)
NO_OFFSET = Offset(-1)


def topic_partition_text(topic: str, partition: int) -> str:
    """`t-0`, as Kafka's logs and directories write it."""
    return f"{topic}-{partition}"
