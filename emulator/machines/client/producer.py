"""Kafka's Java producer: batches per partition, sent to leaders, with retries.

Records wait in the accumulator (`accumulator`), leave in requests of one batch per partition, and end once: stored,
failed or unknown. Retries follow semantics 6: the retriable errors, their pauses, and their metadata refreshes.
Order within a partition holds with one request in flight, or with idempotence (`sequences`). Otherwise another
batch may overtake a retry, as in Kafka.
A sender without memory or metadata waits, in order, up to `max.block.ms`. `blocked` asks a caller to stop; the
queue of blocked sends has a bound of its own.
"""

from emulator.machines.client.accumulator import Accumulator
from emulator.machines.client.blocked_send import BlockedSend
from emulator.machines.client.blocked_sends import ANY_PARTITION, BlockedSends
from emulator.machines.client.client_metadata import MetadataCache
from emulator.machines.client.client_operations import NO_ANSWER, Operation, OperationLog
from emulator.machines.client.client_settings import ProducerSettings
from emulator.machines.client.client_state import Done, Failure
from emulator.machines.client.connections import BrokerConnections
from emulator.machines.client.deadlines import NEVER, PollTimer, earliest_ms, is_due
from emulator.machines.client.partitioner import Partitioner
from emulator.machines.client.producer_batch import ProducerBatch, size_bound_bytes, succeeded
from emulator.machines.client.producer_identity import ProducerIdentity
from emulator.machines.client.producer_sequences import Sequences
from emulator.machines.client.producer_transactions import Transactions
from emulator.machines.client.transaction_requests import TransactionRequests
from protocol.chance import Chance
from protocol.errors import TRAITS, ErrorCode
from protocol.ids import NO_OFFSET, BrokerId, Offset, TopicPartition
from protocol.machine import Now
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    PLAIN_PRODUCE_VERSION,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from protocol.outbox import Due, Outbox

_REFRESHING = frozenset(int(code) for code, traits in TRAITS.items() if traits.refresh)
_RETRIABLE = frozenset(int(code) for code, traits in TRAITS.items() if traits.retriable)


class Producer:
    """One producer. `key` is unique on its node; `brokers`: its `bootstrap.servers`.

    `handled` is called after each input.
    """

    def __init__(
        self,
        key: str,
        brokers: list[str],
        operations: OperationLog,
        settings: ProducerSettings,
        chance: Chance,
        handled: Due = lambda now, out: None,
    ) -> None:
        self._key = key
        self._handled = handled
        self._operations = operations
        self._settings = settings
        self._largest_bytes = min(settings.max_request_size, settings.buffer_memory)
        self._connections = BrokerConnections(
            settings, chance, settings.max_in_flight_requests_per_connection, self._connection_lost, self._due
        )
        self._metadata = MetadataCache(brokers, self._connections, settings)
        self._accumulator = Accumulator(settings)
        self._sequences: Sequences | None = None
        self._identity: ProducerIdentity | None = None
        self._transactions: Transactions | None = None
        if settings.enable_idempotence:
            self._sequences = Sequences(
                settings.sequence_recovery,
                ignores_failures_of_old_epochs=settings.ignores_failures_of_old_epochs,
                numbers_idle_partitions_on=settings.numbers_idle_partitions_on,
                transactional=settings.transaction_behaviour is not None,
            )
            if settings.transaction_behaviour is None:
                self._identity = ProducerIdentity(self._sequences, self._connections, self._metadata, settings)
            else:
                self._transactions = Transactions(
                    settings, settings.transaction_behaviour, operations, self._sequences, self._run
                )
                self._transactions.use(
                    TransactionRequests(settings, self._connections, self._metadata, self._transactions.answered)
                )
        self._partitioner = Partitioner(settings.keyless, chance)
        self._blocked = BlockedSends(key)
        self._in_flight: list[ProducerBatch] = []
        self._turn = 0
        self._timer = PollTimer(key, self._due)
        self._running = False
        self._again = False
        """A callback has called for more work while `_run` was under way."""
        self._closed = False
        self.unfinished = 0
        """Count of sends that have not ended."""

    @property
    def blocked(self) -> bool:
        """Whether a send now would wait (memory, metadata, earlier sends): the caller should wait."""
        return len(self._blocked) > 0

    @property
    def transactions(self) -> Transactions:
        """Its transactions; only of a producer with a transactional.id."""
        assert self._transactions is not None, f"{self._key}: no transactional.id"
        return self._transactions

    def send(
        self,
        now: Now,
        out: Outbox,
        topic: str,
        partition: int,
        value: bytes,
        done: Done,
        record_key: bytes | None = None,
    ) -> Operation:
        """Store `value`; with ANY_PARTITION in the partitioner's choice.

        `done` is called once, possibly before this returns. Not to be called after `close`. Raises ProducerFull.
        """
        assert not self._closed, self._key
        self._blocked.require_room()
        settings = self._settings
        transactions = self._transactions
        operation = self._operations.invoke(
            out, kind="produce", topic=topic, partition=partition, acks=settings.acks, value=value,
            transaction="" if transactions is None else transactions.transaction,
        )  # fmt: skip
        self.unfinished += 1
        deadline_ms = now.mono_ms + settings.max_block_ms
        send = BlockedSend((topic, partition), value, operation, done, deadline_ms, record_key)
        if size_bound_bytes(settings.magic, value, record_key) > self._largest_bytes:
            self._refuse(now, out, send, int(ErrorCode.MESSAGE_TOO_LARGE))
            return operation
        if transactions is not None and (refusal := transactions.refusal()):
            self._refuse(now, out, send, refusal)
            return operation
        plain = record_key is None and partition != ANY_PARTITION
        if plain and not self._blocked and self._accumulator.join(now, (topic, partition), value, operation, done):
            return operation  # a waiting batch has its timer, or waits for its connection
        self._metadata.want_topic(topic)
        self._blocked.add(send)
        self._run(now, out)
        return operation

    def _due(self, now: Now, out: Outbox) -> None:
        self._run(now, out)
        self._handled(now, out)

    def close(self, now: Now, out: Outbox) -> None:
        """Stop at once. Unfinished sends end now, with the name of Java's exception."""
        if self._closed:
            return
        self._closed = True
        if self._transactions is not None:
            self._transactions.close(now, out)
        self._connections.close(out)
        self._timer.cancel(out)
        self._end_all(now, out, "KafkaException", "the producer was closed")

    def _end_all(self, now: Now, out: Outbox, error: str, reason: str) -> None:
        """End all sends; of those under way the outcome is unknown."""
        for batch in self._in_flight:
            batch.attempt_ended(out, error=NO_ANSWER, reason=reason)
        batches = self._in_flight + self._accumulator.take_all()
        self._in_flight = []
        for batch in batches:
            self._end(now, out, batch, error)
        for send in self._blocked.take_all():
            self._refuse(now, out, send, error)

    # --- one round, as of Kafka's sender thread ---------------------------------------------------------------

    def _run(self, now: Now, out: Outbox) -> None:
        """Do the work that is possible now, sends of callbacks included."""
        if self._running or self._connections.handling or self._closed:
            self._again = True
            return
        self._running = True
        self._connections.poll(now, out)
        while not self._closed:
            self._again = False
            self._expire(now, out)
            self._blocked.admit(now, self._metadata, self._accumulator, self._partitioner)
            waits = False
            if self._sequences is not None:
                lost = self._sequences.resolve()
                if self._identity is not None:
                    self._identity.poll(now, out)
                elif self._transactions is not None:
                    waits = self._transact(now, out, self._transactions, lost=lost)
            if self._again and self._transactions is not None:
                continue
            if waits or not self._send_ready(now, out) or not (self._blocked or self._accumulator.waiting()):
                break
        self._running = False
        if not self._closed:
            self._metadata.poll(now, out)
            self._set_timer(now, out)

    def _transact(self, now: Now, out: Outbox, transactions: Transactions, *, lost: bool) -> bool:
        """Do the work of transactions that is possible now. Whether batches wait for it.

        `lost`: the use of sequence numbers is unknown.
        """
        if lost:
            transactions.sequences_lost(now, out)
        if error := transactions.fatal_error:
            self._end_all(now, out, error, f"the producer has failed: {error}")
            return True
        self._accumulator.flushing = transactions.is_completing
        if error := transactions.drops_unsent:
            for send in self._blocked.take_all():
                self._refuse(now, out, send, error)
            for batch in self._accumulator.take_unsent():
                self._end(now, out, batch, error)
        for key in self._accumulator.waiting():
            transactions.note(key)
        return transactions.poll(now, out, incomplete=self.unfinished > 0)

    def _expire(self, now: Now, out: Outbox) -> None:
        for send in self._blocked.expired(now):
            self._refuse(now, out, send, "TimeoutException")
        expired = self._accumulator.expired(now)
        for batch in [each for each in self._in_flight if is_due(now, each.deadline_ms)]:
            self._in_flight.remove(batch)
            batch.attempt_ended(out, error=NO_ANSWER, reason="delivery.timeout.ms is over")
            expired.append(batch)
        for batch in expired:
            if self._sequences is not None:
                self._sequences.failed(batch, "TimeoutException", may_reuse=False)
                if batch.retried:
                    self._sequences.left_unresolved(batch)
            self._end_failed(now, out, batch, "TimeoutException")

    def _send_ready(self, now: Now, out: Outbox) -> bool:
        """Send the batches that may leave; whether there were any."""
        by_node: dict[str, list[TopicPartition]] = {}
        broker_of: dict[str, BrokerId] = {}
        for key in self._accumulator.waiting():
            leader = self._metadata.leader(*key)
            if leader is None:
                self._metadata.request_update()
            elif is_due(now, self._accumulator.sendable_at_ms(key)) and self._may_leave(key):
                by_node.setdefault(leader.node, []).append(key)
                broker_of[leader.node] = leader.broker
        sent = False
        for node, keys in by_node.items():
            if not self._closed and self._connections.ready(now, out, node):
                self._send_to(now, out, node, broker_of[node], keys)
                sent = True
        return sent

    def _may_leave(self, key: TopicPartition) -> bool:
        if self._transactions is not None and not self._transactions.may_leave(key):
            return False
        return self._sequences is None or self._sequences.may_leave(self._accumulator.first(key))

    def _send_to(self, now: Now, out: Outbox, node: str, broker: BrokerId, keys: list[TopicPartition]) -> None:
        """Send one request: a batch of each partition, as many as fit.

        Each turn begins with another partition.
        """
        settings = self._settings
        self._turn += 1
        start = self._turn % len(keys)
        batches: list[ProducerBatch] = []
        size = 0
        for key in keys[start:] + keys[:start]:
            size += self._accumulator.first(key).size_bytes
            if batches and size > settings.max_request_size:
                break
            batch = self._accumulator.take(key)
            if self._sequences is not None:
                self._sequences.number(batch)
            if settings.max_in_flight_requests_per_connection == 1 and settings.acks != 0:
                self._accumulator.muted.add(key)
            batches.append(batch)
        transactional = self._transactions is not None
        partitions = [
            ProducePartition(*batch.key, batch.seal(settings.compression_type, is_transactional=transactional))
            for batch in batches
        ]
        for batch in batches:
            batch.attempt_sent(out, broker, settings.wait_ms)
        self._connections.send(
            now,
            out,
            node,
            ProduceRequest(
                settings.acks, int(settings.request_timeout_ms), partitions, settings.transactional_id or None
            ),
            wait_ms=settings.wait_ms,
            answered=None if settings.acks == 0 else lambda now, out, answer: self._answered(now, out, batches, answer),
            version=PLAIN_PRODUCE_VERSION if self._transactions is None else self._transactions.produce_version,
        )
        if settings.acks == 0:
            for batch in batches:
                batch.attempt_ended(out, error=0)
                self._end(now, out, batch, 0)
        else:
            self._in_flight += batches

    def _set_timer(self, now: Now, out: Outbox) -> None:
        deadlines_ms = [
            self._connections.next_at_ms(),
            self._metadata.next_at_ms(),
            self._accumulator.next_expiry_ms(),
            earliest_ms([batch.deadline_ms for batch in self._in_flight]),
            self._blocked.next_at_ms(),
            NEVER if self._identity is None else self._identity.next_at_ms(),
        ]
        if self._transactions is not None:
            deadlines_ms += self._transactions.deadlines_ms()
        deadlines_ms += [self._accumulator.sendable_at_ms(key) for key in self._accumulator.waiting()]
        self._timer.set(now, out, deadlines_ms)

    # --- answers ----------------------------------------------------------------------------------------------

    def _answered(self, now: Now, out: Outbox, batches: list[ProducerBatch], answer: Message | Failure) -> None:
        results: dict[TopicPartition, ProduceResult] = {}
        if isinstance(answer, ProduceResponse):
            results = {(result.topic, result.partition): result for result in answer.partitions}
        for batch in batches:
            self._accumulator.muted.discard(batch.key)
            if isinstance(answer, Failure):
                result = ProduceResult(*batch.key, ErrorCode.NETWORK_EXCEPTION, log_start=NO_OFFSET)
            else:
                result = results.get(batch.key) or ProduceResult(*batch.key, ErrorCode.UNKNOWN_SERVER_ERROR)
            if batch.done:
                self._late(batch, result)
                continue
            self._in_flight.remove(batch)
            if isinstance(answer, Failure):
                batch.attempt_ended(out, error=NO_ANSWER, reason=f"{answer.error}: {answer.reason}")
            else:
                batch.attempt_ended(
                    out, error=result.error, offset=result.base_offset, topic_id=result.topic_id
                )
            self._settle(now, out, batch, result)

    def _settle(self, now: Now, out: Outbox, batch: ProducerBatch, result: ProduceResult) -> None:
        """Handle a batch's result: success, a retry, or the end."""
        error = result.error
        if error in _REFRESHING:
            self._metadata.request_update()
        tries_left = batch.attempts <= self._settings.retries and not is_due(now, batch.deadline_ms)
        if succeeded(error):
            if self._sequences is not None:
                self._sequences.completed(batch, result.base_offset)
            self._end(now, out, batch, 0, result.base_offset)
        elif tries_left and self._can_retry(batch, result):
            batch.retried = True
            self._accumulator.put_back(now, batch)
        else:
            if self._sequences is not None:
                if tries_left and error in _RETRIABLE and self._sequences.outlived(batch):
                    error = int(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)  # as Java's caller sees it
                self._sequences.failed(batch, error, may_reuse=self._may_reuse(batch))
            self._end_failed(now, out, batch, error, result.base_offset)

    def _can_retry(self, batch: ProducerBatch, result: ProduceResult) -> bool:
        if self._sequences is None:
            return result.error in _RETRIABLE
        return self._sequences.can_retry(batch, result.error, result.log_start)

    def _late(self, batch: ProducerBatch, result: ProduceResult) -> None:
        """Handle a response to a batch that was given up: only the sequences use it."""
        if self._sequences is None:
            return
        if succeeded(result.error):
            self._sequences.completed(batch, result.base_offset)
        else:
            self._sequences.failed(batch, result.error, may_reuse=self._may_reuse(batch))

    def _may_reuse(self, batch: ProducerBatch) -> bool:
        """Whether a failed batch leaves its numbers to others: as in Kafka, while tries are left."""
        return batch.attempts <= self._settings.retries

    def _connection_lost(self, now: Now, out: Outbox) -> None:
        self._metadata.request_update()

    def _end_failed(
        self, now: Now, out: Outbox, batch: ProducerBatch, error: int | str, offset: Offset = NO_OFFSET
    ) -> None:
        """End a batch that is given up; its transaction may only be aborted."""
        if self._transactions is not None:
            self._transactions.batch_failed(now, out, error)
        self._end(now, out, batch, error, offset)

    def _end(self, now: Now, out: Outbox, batch: ProducerBatch, error: int | str, offset: Offset = NO_OFFSET) -> None:
        self._accumulator.free(batch)
        self.unfinished -= len(batch)
        batch.end(now, out, error, offset)

    def _refuse(self, now: Now, out: Outbox, send: BlockedSend, error: int | str) -> None:
        self.unfinished -= 1
        send.refuse(now, out, error)
