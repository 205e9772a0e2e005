"""Operations of one request about a group's offsets, one for each partition.

An operation is a commit or a read of a committed offset, as `emulator.machines.client.offset_store` records them for
a consumer of the emulator. Here the coordinator's listener records them. An operation begins when the request has
passed the link's gate and ends when its answer has. It is unknown if the answer did not pass or the client had
disconnected. A read of all committed offsets of a group names no partition and is not recorded.
"""

from typing import Literal, TypeAlias

from emulator.machines.client.client_operations import NO_ANSWER, Operation, OperationLog
from emulator.machines.client.offset_store import NOTHING, Committed
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, BrokerId, Offset, TopicPartition
from protocol.messages.groups import (
    OffsetCommitRequest,
    OffsetCommitResponse,
    OffsetFetchRequest,
    OffsetFetchResponse,
)
from protocol.outbox import Outbox

OffsetRequest: TypeAlias = OffsetCommitRequest | OffsetFetchRequest
OffsetResponse: TypeAlias = OffsetCommitResponse | OffsetFetchResponse

UNKNOWN_MS = 0
"""Request timeout of a Kafka client, which its requests do not carry."""


class OffsetOperations:
    """Operations of one request. They end once, together."""

    def __init__(
        self, operations: OperationLog, out: Outbox, broker: BrokerId, client_id: str, request: OffsetRequest
    ) -> None:
        commits = isinstance(request, OffsetCommitRequest)
        kind: Literal["commit", "committed"] = "commit" if commits else "committed"
        self._definite = None if commits else True  # a read changes nothing
        self._operations: list[Operation] = []
        for topic, partition, offset in _partitions(request):
            operation = operations.invoke(
                out, kind=kind, topic=topic, partition=partition, value=request.group.encode(), broker=broker,
                offset=offset, client=client_id,
            )  # fmt: skip
            operation.attempt_sent(out, broker=broker, timeout_ms=UNKNOWN_MS)
            self._operations.append(operation)

    def answered(self, out: Outbox, answer: OffsetResponse) -> None:
        """End the operations: the answer has left."""
        if isinstance(answer, OffsetCommitResponse):
            errors = {(one.topic, one.partition): one.error for one in answer.partitions}
            for operation in self._operations:
                error = errors.get((operation.topic, operation.partition), ErrorCode.UNKNOWN_SERVER_ERROR)
                self._end(out, operation, error, Committed(Offset(operation.requested_offset)))
            return
        found: dict[TopicPartition, Committed] = {
            (one.topic, one.partition): Committed(one.offset, one.leader_epoch) for one in answer.partitions
        }
        for operation in self._operations:
            self._end(out, operation, answer.error, found.get((operation.topic, operation.partition), NOTHING))

    def lost(self, out: Outbox) -> None:
        """End the operations as unknown: the answer may not have reached the client."""
        for operation in self._operations:
            operation.attempt_ended(
                out, error=NO_ANSWER, reason="the answer did not reach the client", definite=self._definite
            )
            operation.end(out, error=NO_ANSWER, offset=Offset(operation.requested_offset))

    def _end(self, out: Outbox, operation: Operation, error: int, committed: Committed) -> None:
        operation.attempt_ended(out, error=error, definite=self._definite)
        operation.end(out, error=error, offset=committed.offset, leader_epoch=committed.leader_epoch)


def _partitions(request: OffsetRequest) -> list[tuple[str, int, Offset]]:
    """[(topic, partition, offset to commit)] of a request."""
    if isinstance(request, OffsetCommitRequest):
        return [(one.topic, one.partition, one.offset) for one in request.partitions]
    return [(one.topic, one.partition, NO_OFFSET) for one in request.partitions]
