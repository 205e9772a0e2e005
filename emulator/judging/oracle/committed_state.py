"""A partition's state as ZooKeeper has committed it."""

import msgspec

from protocol.ids import TopicPartition


class State(msgspec.Struct):
    """A committed state of a partition.

    `created`: it has no predecessor. `version`: of its znode. `reached`: the controller epoch committed by then,
    whichever controller wrote this. `from_ms`, `until_ms`: while it was the newest; None: to the end.
    """

    topic_partition: TopicPartition
    zxid: int
    leader: int
    leader_epoch: int
    isr: tuple[int, ...]
    controller_epoch: int
    created: bool = False
    version: int = 0
    reached: int = 0
    from_ms: float = 0.0
    until_ms: float | None = None
