"""A partition's state as the session service has committed it."""

import msgspec

from protocol.ids import TopicPartition


class State(msgspec.Struct):
    """A partition's state as it was committed. `created`: it follows on none. `version`: of its znode.
    `reached`: the controller epoch that was committed by then, whoever wrote this. `from_ms`,
    `until_ms`: while it was the newest; None: to the end."""

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
