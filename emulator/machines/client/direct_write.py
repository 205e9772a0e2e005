"""One produce call of the direct client: values in order, each with its attempts.

Retries are immediate and carry the same bytes. So without idempotence each attempt may leave its own copy
(semantics 6, "Producer").
"""

from collections.abc import Callable, Sequence

from emulator.machines.client.client_operations import NO_ANSWER, Operation, OperationLog
from emulator.machines.client.client_state import Attempt, ErrorOrName, Failure, WriteOrder, failure_terms
from emulator.machines.client.exchange import WAITS, Exchanges
from emulator.machines.client.fetched import digests
from emulator.topology import broker_name
from protocol.errors import ErrorCode
from protocol.ids import NO_OFFSET, Offset
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    PLAIN_PRODUCE_VERSION,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
)
from protocol.outbox import Outbox
from protocol.records.format import encode


class DirectWrite:
    """Executes one order. `attempted` is called after each attempt, `done` after the last."""

    def __init__(
        self,
        order: WriteOrder,
        exchanges: Exchanges,
        log: OperationLog,
        attempted: Callable[[Now, Outbox, Attempt], None],
        done: Callable[[Now, Outbox], None],
    ) -> None:
        self._order = order
        self._exchanges = exchanges
        self._log = log
        self._on_attempted = attempted
        self._on_done = done
        self._next = 0
        self._operations: list[Operation] = []
        self._data = b""
        self._digests: list[int] = []

    def begin_batch(self, now: Now, out: Outbox) -> None:
        """Begin the next batch, or call `done` after the last."""
        order = self._order
        if self._next == len(order.batches):
            self._on_done(now, out)
            return
        values = order.batches[self._next]
        self._operations = [
            self._log.invoke(
                out,
                kind="produce",
                topic=order.topic,
                partition=order.partition,
                acks=order.acks,
                value=value,
                broker=order.broker,
            )
            for value in values
        ]
        self._data = encode(
            values, magic=order.magic, timestamp_ms=int(now.wall_ms), compression=order.compression
        )
        self._digests = digests(self._data, len(values))
        self._attempt(out)

    def _attempt(self, out: Outbox) -> None:
        order = self._order
        for operation, digest in zip(self._operations, self._digests, strict=True):
            operation.attempt_sent(
                out, broker=order.broker, timeout_ms=WAITS * order.socket_timeout_ms, digest=digest
            )
        self._exchanges.ask(
            out,
            node=broker_name(order.broker),
            request=ProduceRequest(
                order.acks, order.timeout_ms, [ProducePartition(order.topic, order.partition, self._data)]
            ),
            timeout_ms=order.socket_timeout_ms,
            answered=self._answered,
            version=PLAIN_PRODUCE_VERSION,
            awaits_answer=order.acks != 0,
        )

    def _answered(self, now: Now, out: Outbox, answer: Message | Failure | None) -> None:
        order = self._order
        error, offset, topic_id = _result(answer, order.topic, order.partition)
        code = error if isinstance(error, int) else NO_ANSWER
        reason, definite = failure_terms(answer)
        offsets = _record_offsets(offset, len(self._operations))
        for operation, at in zip(self._operations, offsets, strict=True):
            operation.attempt_ended(
                out, error=code, offset=at, reason=reason, definite=definite, topic_id=topic_id
            )
        first = self._operations[0]
        attempts = first.attempts
        again = error != ErrorCode.NONE and attempts <= order.retries
        if not again:
            for operation, at, digest in zip(self._operations, offsets, self._digests, strict=True):
                operation.end(out, error=code, offset=at, digest=digest)
        value = order.batches[self._next][0].decode("utf-8", "replace")
        attempt = Attempt(first.identifier, order.broker, value, order.acks, attempts, error, offset)
        self._on_attempted(now, out, attempt)
        if again:
            self._attempt(out)
        else:
            self._next += 1
            self.begin_batch(now, out)


def _record_offsets(base_offset: Offset | None, count: int) -> Sequence[Offset]:
    if base_offset is None or base_offset < 0:
        return [NO_OFFSET] * count
    return [base_offset + place for place in range(count)]


def _result(answer: Message | Failure | None, topic: str, partition: int) -> tuple[ErrorOrName, Offset | None, str]:
    """(error, base offset, topic id)."""
    if answer is None:
        return 0, NO_OFFSET, ""
    if isinstance(answer, Failure):
        return answer.error, None, ""
    assert isinstance(answer, ProduceResponse), answer
    for result in answer.partitions:
        if (result.topic, result.partition) == (topic, partition):
            return result.error, result.base_offset, result.topic_id
    return int(ErrorCode.UNKNOWN_SERVER_ERROR), NO_OFFSET, ""
