"""First and end offset of a partition for consumers, as one broker responds.

Earliest, then latest, as GetOffsetShell requests them (ListOffsets, semantics 1.9).
"""

from collections.abc import Callable

from emulator.machines.client.client_operations import NO_ANSWER, OperationLog
from emulator.machines.client.client_state import ErrorOrName, Failure, Listed, failure_terms
from emulator.machines.client.exchange import WAITS, Exchanges
from emulator.topology import broker_name
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, Offset
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    EARLIEST_TIMESTAMP,
    LATEST_TIMESTAMP,
    ListedOffset,
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
)
from protocol.outbox import Outbox

SOCKET_TIMEOUT_MS = 5_000.0
TIMEOUT_MS = 2 * WAITS * SOCKET_TIMEOUT_MS
"""Limit of both requests."""

Done = Callable[[Now, Outbox, Listed], None]


class DirectOffsets:
    """One look-up of (`topic`, `partition`) at `broker`. The first error ends it."""

    def __init__(
        self, exchanges: Exchanges, operations: OperationLog, broker: BrokerId, topic: str, partition: int, done: Done
    ) -> None:
        self._exchanges = exchanges
        self._operations = operations
        self._broker = broker
        self._topic_partition = (topic, partition)
        self._done = done

    def begin(self, out: Outbox) -> None:
        topic, partition = self._topic_partition
        self._operation = self._operations.invoke(
            out, kind="list-offsets", topic=topic, partition=partition, broker=self._broker
        )
        self._operation.attempt_sent(out, broker=self._broker, timeout_ms=TIMEOUT_MS)
        self._ask(out, EARLIEST_TIMESTAMP, self._earliest)

    def _ask(self, out: Outbox, timestamp: int, on_listed: Callable[[Now, Outbox, ListedOffset], None]) -> None:
        def answered(now: Now, out: Outbox, answer: Message | Failure | None) -> None:
            if isinstance(answer, Failure):
                self._end(now, out, answer.error, failure_terms(answer)[0])
                return
            assert isinstance(answer, ListOffsetsResponse), answer
            listed = [one for one in answer.partitions if (one.topic, one.partition) == self._topic_partition]
            if not listed:
                self._end(now, out, int(ErrorCode.UNKNOWN_SERVER_ERROR))
            elif listed[0].error:
                self._end(now, out, int(listed[0].error))
            else:
                on_listed(now, out, listed[0])

        self._exchanges.ask(
            out,
            node=broker_name(self._broker),
            request=ListOffsetsRequest(CONSUMER_REPLICA_ID, [ListOffsetsPartition(*self._topic_partition, timestamp)]),
            timeout_ms=SOCKET_TIMEOUT_MS,
            answered=answered,
        )

    def _earliest(self, now: Now, out: Outbox, earliest: ListedOffset) -> None:
        def latest(now: Now, out: Outbox, listed: ListedOffset) -> None:
            self._end(now, out, 0, "", earliest.offset, listed)

        self._ask(out, LATEST_TIMESTAMP, latest)

    def _end(
        self,
        now: Now,
        out: Outbox,
        error: ErrorOrName,
        reason: str = "",
        earliest: Offset | None = None,
        latest: ListedOffset | None = None,
    ) -> None:
        code = error if isinstance(error, int) else NO_ANSWER
        offset, epoch = (latest.offset, latest.leader_epoch) if latest is not None else (NO_OFFSET, EPOCH_UNKNOWN)
        self._operation.attempt_ended(out, error=code, offset=offset, reason=reason, definite=True)
        self._operation.end(out, error=code, offset=offset, leader_epoch=epoch)
        found = offset if latest is not None else None
        self._done(now, out, Listed(self._operation.identifier, self._broker, error, earliest, found, epoch))
