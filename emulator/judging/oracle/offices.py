"""Who held which office when, and what moved back meanwhile."""

import msgspec

from protocol.ids import TopicPartition


class Office(msgspec.Struct):
    """`node` leads `topic_partition` (None: is the active controller) in `epoch`, [from_ms, to_ms). `to_ms` None: to
    the end. `appended_ms`: when its log grew meanwhile. `found`: of whoever was elected uncleanly the batches that its
    log had when it began, as (digest, first offset, last offset); None: it was not, or nobody looked."""

    topic_partition: TopicPartition | None
    node: str
    epoch: int
    from_ms: float
    to_ms: float | None = None
    appended_ms: list[float] = []
    found: frozenset[tuple[int, int, int]] | None = None


class StepBack(msgspec.Struct, frozen=True):
    """A number that only rises has fallen: a leader's high watermark in `epoch`, or a replica's leader epoch (-1)."""

    topic_partition: TopicPartition
    node: str
    epoch: int
    was: int
    now: int
    at_ms: float


def end(office: Office | None, at_ms: float) -> None:
    """It is over, if there was one."""
    if office is not None:
        office.to_ms = at_ms
