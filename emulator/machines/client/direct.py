"""A client that sends to a named broker: no look-up, a fresh connection for each attempt.

The recordings' client works this way (tests/golden/README.md); it shows one broker's view. It writes values one
after the other, one batch each (or all in one batch). The next begins when the previous one was acknowledged or has
used up its retries, whatever the error. Retries are immediate. An attempt ends with the broker's code, or with the
name of an exception (`exchange`).
"""

from collections.abc import Callable, Sequence

from emulator.machines.client.client_operations import NO_ANSWER, Operation, OperationLog
from emulator.machines.client.client_state import (
    Attempt,
    Described,
    ErrorOrName,
    Failure,
    Fetched,
    Listed,
    WriteOrder,
    failure_terms,
)
from emulator.machines.client.direct_offsets import DirectOffsets
from emulator.machines.client.direct_write import DirectWrite
from emulator.machines.client.exchange import WAITS, Exchanges
from emulator.machines.client.fetched import passed_offset, read_entries, stable_offset
from emulator.topology import broker_name
from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, Offset
from protocol.machine import Now
from protocol.messages.leadership_messages import MetadataRequest, MetadataResponse
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    CONSUMER_REPLICA_ID,
    LEADERS_FETCH_VERSION,
    READ_COMMITTED,
    READ_UNCOMMITTED,
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
)
from protocol.messages.workload_messages import READ_COMMITTED_LEVEL
from protocol.outbox import Outbox
from protocol.records.compression import Compression
from protocol.records.errors import CorruptRecord

VALUES_MAX = 10_000
"""Bound of the values of one produce call."""
ATTEMPTS_MAX = 100_000
"""Bound of the attempts of one produce call: each is recorded and part of the response."""

SOCKET_TIMEOUT_MS = 10_000.0
"""Default limit of a produce, as of the recordings' client."""
FETCH_SOCKET_TIMEOUT_MS = 5_000.0
METADATA_SOCKET_TIMEOUT_MS = 5_000.0
FETCH_MAX_WAIT_MS = 500
"""`fetch.max.wait.ms`: a broker's wait for a first byte (recordings: 0.5 s at the end)."""
FETCH_MAX_BYTES = 1_048_576


class DirectClient:
    """Produce, fetch, offsets and metadata at a named broker. Raises TooManyExchanges.

    `key` is unique on its node; `magic`: the record format it writes (2; 1 for 0.10, 0 before).
    """

    def __init__(self, key: str, operations: OperationLog, magic: int = 2) -> None:
        self._exchanges = Exchanges(key)
        self._operations = operations
        self._magic = magic

    @property
    def idle(self) -> bool:
        """Whether no request is under way."""
        return len(self._exchanges) == 0

    def produce(
        self,
        now: Now,
        out: Outbox,
        *,
        broker: BrokerId,
        topic: str,
        partition: int,
        values: Sequence[bytes],
        acks: int,
        timeout_ms: int,
        attempted: Callable[[Now, Outbox, Attempt], None],
        done: Callable[[Now, Outbox], None],
        socket_timeout_ms: float = SOCKET_TIMEOUT_MS,
        retries: int = 0,
        batch: bool = False,
        compression: Compression = "none",
    ) -> None:
        """Write `values` in order, each with up to `retries` retries; with `batch` as one batch.

        `timeout_ms` goes to the broker. `attempted` is called with every attempt as it ends, `done` after the last.
        """
        if not 0 < len(values) <= VALUES_MAX:
            raise ValueError(f"produce of {len(values)} values; allowed are 1 to {VALUES_MAX}")
        attempts = (1 if batch else len(values)) * (retries + 1)
        if attempts > ATTEMPTS_MAX:
            raise ValueError(f"up to {attempts:,} attempts in one produce; allowed are {ATTEMPTS_MAX:,}: fewer retries")
        self._exchanges.require_room()
        one_batch = (tuple(values),)
        order = WriteOrder(
            broker=broker,
            topic=topic,
            partition=partition,
            batches=one_batch if batch else tuple((value,) for value in values),
            acks=acks,
            timeout_ms=timeout_ms,
            socket_timeout_ms=socket_timeout_ms,
            retries=retries,
            compression=compression,
            magic=self._magic,
        )
        DirectWrite(order, self._exchanges, self._operations, attempted, done).begin_batch(now, out)

    def fetch(
        self,
        now: Now,
        out: Outbox,
        *,
        broker: BrokerId,
        topic: str,
        partition: int,
        offset: Offset,
        done: Callable[[Now, Outbox, Fetched], None],
        socket_timeout_ms: float = FETCH_SOCKET_TIMEOUT_MS,
        max_wait_ms: int = FETCH_MAX_WAIT_MS,
        max_bytes: int = FETCH_MAX_BYTES,
        committed: bool = False,
    ) -> None:
        """Read once, as a consumer, from `offset` on; at the log's end it takes `max_wait_ms`.

        `committed`: at read_committed.
        """
        self._exchanges.require_room()
        operation = self._operations.invoke(
            out, kind="fetch", topic=topic, partition=partition, broker=broker, offset=offset,
            isolation=READ_COMMITTED_LEVEL if committed else "",
        )  # fmt: skip
        operation.attempt_sent(out, broker=broker, timeout_ms=WAITS * socket_timeout_ms)

        def answered(now: Now, out: Outbox, answer: Message | Failure | None) -> None:
            fetched = _read(operation, out, broker, offset, answer)
            done(now, out, fetched)

        self._exchanges.ask(
            out,
            node=broker_name(broker),
            request=FetchRequest(
                replica_id=CONSUMER_REPLICA_ID,
                max_wait_ms=max_wait_ms,
                min_bytes=1,
                max_bytes=max_bytes,
                partitions=[FetchPartition(topic, partition, offset, max_bytes)],
                isolation=READ_COMMITTED if committed else READ_UNCOMMITTED,
            ),
            version=LEADERS_FETCH_VERSION,
            timeout_ms=socket_timeout_ms,
            answered=answered,
        )

    def list_offsets(
        self,
        now: Now,
        out: Outbox,
        *,
        broker: BrokerId,
        topic: str,
        partition: int,
        done: Callable[[Now, Outbox, Listed], None],
    ) -> None:
        """List the first and the end offset for consumers, as `broker` responds."""
        self._exchanges.require_room()
        DirectOffsets(self._exchanges, self._operations, broker, topic, partition, done).begin(out)

    def metadata(
        self,
        now: Now,
        out: Outbox,
        *,
        broker: BrokerId,
        done: Callable[[Now, Outbox, Described], None],
        topics: Sequence[str] = (),
        socket_timeout_ms: float = METADATA_SOCKET_TIMEOUT_MS,
    ) -> None:
        """Request `broker`'s metadata of `topics`; none given: of all."""
        self._exchanges.require_room()
        operation = self._operations.invoke(
            out, kind="metadata", topic=",".join(topics), partition=-1, broker=broker
        )
        operation.attempt_sent(out, broker=broker, timeout_ms=WAITS * socket_timeout_ms)

        def answered(now: Now, out: Outbox, answer: Message | Failure | None) -> None:
            metadata = answer if isinstance(answer, MetadataResponse) else None
            error: ErrorOrName = answer.error if isinstance(answer, Failure) else 0
            code = NO_ANSWER if isinstance(answer, Failure) else 0
            reason, _ = failure_terms(answer)
            operation.attempt_ended(out, error=code, reason=reason, definite=True)
            operation.end(out, error=code)
            done(now, out, Described(operation.identifier, broker, error, metadata))

        self._exchanges.ask(
            out,
            node=broker_name(broker),
            request=MetadataRequest(list(topics)),
            timeout_ms=socket_timeout_ms,
            answered=answered,
        )


def _read(
    operation: Operation, out: Outbox, broker: BrokerId, offset: Offset, answer: Message | Failure | None
) -> Fetched:
    """Record a fetch's result. Reading changes nothing, so a failure is always definite."""
    if isinstance(answer, Failure):
        reason, _ = failure_terms(answer)
        operation.attempt_ended(out, error=NO_ANSWER, reason=reason, definite=True)
        operation.end(out, error=NO_ANSWER)
        return Fetched(operation.identifier, broker, answer.error, None, None)
    assert isinstance(answer, FetchResponse), answer
    place = (operation.topic, operation.partition)
    result = FetchedPartition(*place, int(ErrorCode.UNKNOWN_SERVER_ERROR))
    for one in answer.partitions:
        if (one.topic, one.partition) == place:
            result = one
    error, reason, next_offset = result.error, "", offset
    stable = stable_offset(result) if operation.isolation else NO_OFFSET
    try:
        aborted = (result.aborted,) if operation.isolation and result.aborted else ()
        entries = read_entries(result.records, offset, *aborted)
        next_offset = passed_offset(result.records, offset)
    except CorruptRecord as damage:
        entries, error, reason = [], int(ErrorCode.CORRUPT_MESSAGE), str(damage)
    for entry in entries:
        operation.given(
            out,
            entry,
            high_watermark=result.high_watermark,
            broker=broker,
            topic_id=result.topic_id,
            last_stable_offset=stable,
        )
    epoch = entries[-1].leader_epoch if entries else EPOCH_UNKNOWN
    operation.attempt_ended(out, error=error, offset=next_offset, reason=reason, definite=True)
    operation.end(out, error=error, offset=next_offset, leader_epoch=epoch)
    records = tuple(record for entry in entries for record in entry.records)
    passed = next_offset if operation.isolation else NO_OFFSET
    return Fetched(operation.identifier, broker, error, result.high_watermark, records, passed, stable)
