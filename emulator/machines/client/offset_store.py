"""Storage of a consumer's committed offsets: interface and shared parts.

The new consumer uses its group's coordinator (`coordinator_offsets`), the old one writes into ZooKeeper
(`znode_offsets`). A client that uses a group's name uses its offsets; after subscribing, as one of its members.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from emulator.machines.client.client_operations import NO_ANSWER, Operation, OperationLog
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition
from protocol.machine import Now
from protocol.outbox import Due, Outbox

CALLS_MAX = 1_000
"""Bound of one consumer's waiting look-ups and commits. A caller that exceeds it has a bug."""

TIMED_OUT = "TimeoutException"
"""Error of a commit that was retried until its time was over, as Java's exception."""


class Committed(msgspec.Struct, frozen=True):
    """A committed offset. `offset`: the next to read, -1: none committed.

    `leader_epoch`: of the last record read, -1 unknown.
    """

    offset: Offset
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN


NOTHING = Committed(NO_OFFSET)

Looked = Callable[[Now, Outbox, dict[TopicPartition, Committed], int | str], None]
"""Callback: committed offsets by requested partition; none with an error other than 0."""
CommitEnded = Callable[[Now, Outbox, int | str], None]
"""Callback: 0, a broker's code, or the name of an exception."""


class OffsetStore(Protocol):
    """Committed offsets of one group. `handled` is called after each input."""

    handled: Due

    def look(self, now: Now, out: Outbox, partitions: list[TopicPartition], looked: Looked) -> None:
        """Look up committed offsets; retries until a response comes."""
        ...

    def commit(
        self,
        now: Now,
        out: Outbox,
        offsets: Mapping[TopicPartition, Committed],
        ended: CommitEnded,
        timeout_ms: float | None,
    ) -> None:
        """Commit with retries for `timeout_ms`; None: a single try."""
        ...

    def may_pass(self, error: int | str) -> bool:
        """Whether a retry after this error may succeed (Java's RetriableException)."""
        ...

    @property
    def closed(self) -> bool:
        """Whether no further event is to be handled after `close`."""
        ...

    def close(self, now: Now, out: Outbox) -> None:
        """Close: no callbacks follow; operations under way end as unknown."""
        ...


class GroupOperations:
    """Operations of one request about a group's offsets, one for each partition.

    All are sent, tried and answered together. `transaction`: of a send-offset.
    """

    def __init__(
        self,
        operations: OperationLog,
        out: Outbox,
        kind: Literal["commit", "committed", "send-offset"],
        group: str,
        offsets: Mapping[TopicPartition, Committed],
        transaction: str = "",
    ) -> None:
        self._operations: list[Operation] = [
            operations.invoke(
                out,
                kind=kind,
                topic=topic,
                partition=partition,
                value=group.encode(),
                offset=committed.offset,
                transaction=transaction,
            )
            for (topic, partition), committed in offsets.items()
        ]
        self._offsets = offsets
        # A look-up changes nothing.
        self._definite = True if kind == "committed" else None

    def sent(self, out: Outbox, broker: BrokerId, timeout_ms: float) -> None:
        for operation in self._operations:
            operation.attempt_sent(out, broker=broker, timeout_ms=timeout_ms)

    def attempt_ended(self, out: Outbox, error: int, reason: str = "") -> None:
        for operation in self._operations:
            operation.attempt_ended(out, error=error, reason=reason, definite=self._definite)

    def end(self, out: Outbox, error: int | str, found: Mapping[TopicPartition, Committed] | None = None) -> None:
        """End the operations. `found`: committed offsets, of a look-up."""
        code = error if isinstance(error, int) else NO_ANSWER
        offsets = self._offsets if found is None else found
        for operation in self._operations:
            committed = offsets.get((operation.topic, operation.partition), NOTHING)
            operation.end(out, error=code, offset=committed.offset, leader_epoch=committed.leader_epoch)


def look_operations(
    operations: OperationLog, out: Outbox, group: str, partitions: Sequence[TopicPartition]
) -> GroupOperations:
    """Operations of a look-up of committed offsets."""
    return GroupOperations(operations, out, "committed", group, dict.fromkeys(partitions, NOTHING))
