"""Where a consumer keeps how far it has come: what both places for it have in common.

The new consumer asks its group's coordinator (`coordinator_offsets`), the old one writes into the session service
(`znode_offsets`). Whoever uses a group's name uses its offsets; as one of its members, if it has subscribed.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, Protocol

import msgspec

from emulator.machines.client.operations import NO_ANSWER, Operation, OperationLog
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset, TopicPartition
from protocol.machine import Now
from protocol.outbox import Due, Outbox

ASKED_MAX = 1_000
"""Looks and commits of one consumer that wait. A caller that piles up more has a bug."""

TIMED_OUT = "TimeoutException"
"""The error of a commit that was tried until its time was over, as Java's exception."""


class Committed(msgspec.Struct, frozen=True):
    """`offset`: the next to read, -1: nothing is committed. `leader_epoch`: of the last record read, -1 unknown."""

    offset: Offset
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN


NOTHING = Committed(NO_OFFSET)

Looked = Callable[[Now, Outbox, dict[TopicPartition, Committed], int | str], None]
"""What is committed for each partition asked for, or (with an error other than 0) nothing."""
CommitEnded = Callable[[Now, Outbox, int | str], None]
"""0, a broker's code, or the name of an exception."""


class OffsetStore(Protocol):
    """`handled` is called when an input has been handled."""

    handled: Due

    def look(self, now: Now, out: Outbox, partitions: list[TopicPartition], looked: Looked) -> None:
        """Asks until it is answered."""
        ...

    def commit(
        self,
        now: Now,
        out: Outbox,
        offsets: Mapping[TopicPartition, Committed],
        ended: CommitEnded,
        timeout_ms: float | None,
    ) -> None:
        """Tries again what can succeed later, for `timeout_ms`; None: tries once."""
        ...

    def may_pass(self, error: int | str) -> bool:
        """Whether a commit that ended so may succeed when it is tried again (Java's RetriableException)."""
        ...

    @property
    def closed(self) -> bool:
        """Nothing more is to be handled after `close`."""
        ...

    def close(self, now: Now, out: Outbox) -> None:
        """What is under way is forgotten: nobody is told, its operations end as unknown."""
        ...


class GroupOperations:
    """The operations of one question about a group's offsets, one for each partition: all of them are asked, tried and
    answered together. `kind`: commit or committed."""

    def __init__(
        self,
        operations: OperationLog,
        out: Outbox,
        kind: Literal["commit", "committed"],
        group: str,
        offsets: Mapping[TopicPartition, Committed],
    ) -> None:
        self._operations: list[Operation] = [
            operations.invoke(
                out, kind=kind, topic=topic, partition=partition, value=group.encode(), offset=committed.offset
            )
            for (topic, partition), committed in offsets.items()
        ]
        self._offsets = offsets
        # To look changes nothing.
        self._definite = True if kind == "committed" else None

    def sent(self, out: Outbox, broker: BrokerId, timeout_ms: float) -> None:
        for operation in self._operations:
            operation.attempt_sent(out, broker=broker, timeout_ms=timeout_ms)

    def attempt_ended(self, out: Outbox, error: int, reason: str = "") -> None:
        for operation in self._operations:
            operation.attempt_ended(out, error=error, reason=reason, definite=self._definite)

    def end(self, out: Outbox, error: int | str, found: Mapping[TopicPartition, Committed] | None = None) -> None:
        """`found`: what is committed, of those that asked."""
        code = error if isinstance(error, int) else NO_ANSWER
        offsets = self._offsets if found is None else found
        for operation in self._operations:
            committed = offsets.get((operation.topic, operation.partition), NOTHING)
            operation.end(out, error=code, offset=committed.offset, leader_epoch=committed.leader_epoch)


def look_operations(
    operations: OperationLog, out: Outbox, group: str, partitions: Sequence[TopicPartition]
) -> GroupOperations:
    """Of a question what is committed."""
    return GroupOperations(operations, out, "committed", group, dict.fromkeys(partitions, NOTHING))
