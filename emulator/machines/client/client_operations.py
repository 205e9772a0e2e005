"""Recorded operations of clients: invoked, sent, answered, ended.

An operation stores a record or reads records; an attempt is one request for it. An operation ends exactly once: ok,
failed (certainly not done) or unknown. One indefinite attempt makes a failure unknown: a request that timed out may
have been executed although the retry was refused.
"""

from collections.abc import Sequence
from typing import TypeAlias

from emulator.machines.client.client_state import (
    FetchedEntry,
    Kept,
    KeptTransaction,
    Left,
    Read,
    Requested,
    TransactionChange,
)
from protocol.errors import TRAITS
from protocol.events import (
    AttemptEnded,
    AttemptSent,
    OperationEnded,
    OperationInvoked,
    PositionLeft,
    ProducerTransactionChanged,
    RecordsRead,
)
from protocol.events.record_values import values_text
from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.outbox import Outbox

KeptOperations: TypeAlias = Kept["Operation"]
"""Operations kept for later queries."""
_DEFINITE = frozenset(int(code) for code, traits in TRAITS.items() if traits.definite)
NO_ANSWER = -2
"""`AttemptEnded.error` without a response: refused, lost or timed out."""


def is_definite(error: int) -> bool:
    """Whether a response with `error` proves that nothing was done; unknown codes prove nothing."""
    return error in _DEFINITE


class Operation:
    """One operation. `identifier` is unique in the run; `attempts` counts sent attempts from 1.

    The caller's knowledge at the end:

    - `outcome` ("" until then), `offset` and `digest` of the record written (until then `digest` is of the last one
      sent);
    - `reads`: entries received; `left`: positions left. Both are empty without `kept`, because a consumer may read
      for ever.

    `topic_id`: of the topic that a produce was written to, from the last response that names it. `requested_offset`:
    of the invocation. `broker`: the last attempt's. `over`: number of kept operations that had begun when it ended.
    `transaction`, `isolation`: see `OperationInvoked`.

    Only for a consumer's operation, by its node's clock:

    - `answered_ms`: times of the first and the last fetch response without an error;
    - `silent_ms`: the longest time between two.
    """

    __slots__ = (
        "acks", "answered_ms", "attempts", "broker", "digest", "doubtful", "ended", "idempotent", "identifier",
        "isolation", "kept", "kind", "left", "offset", "outcome", "over", "partition", "reads", "records", "requested",
        "requested_offset", "silent_ms", "topic", "topic_id", "transaction", "value",
    )  # fmt: skip

    def __init__(
        self,
        identifier: str,
        kind: str,
        topic: str,
        partition: int,
        acks: int,
        value: str,
        *,
        requested_offset: int = NO_OFFSET,
        kept: KeptOperations | None = None,
        records: int = 1,
        transaction: str = "",
        isolation: str = "",
    ) -> None:
        self.identifier = identifier
        self.kind = kind
        self.topic = topic
        self.topic_id = ""
        self.partition = partition
        self.acks = acks
        self.value = value
        self.requested_offset = requested_offset
        self.kept = kept
        self.records = records
        self.transaction = transaction
        self.isolation = isolation
        self.attempts = 0
        self.broker = int(NO_BROKER)
        self.idempotent = False
        self.over = 0
        self.doubtful = False
        self.ended = False
        self.outcome = ""
        self.offset = -1
        self.digest = 0
        self.reads: list[Read] = []
        self.left: list[Left] = []
        self.requested: Requested | None = None
        self.answered_ms: tuple[float, float] | None = None
        self.silent_ms = 0.0

    def attempt_sent(
        self, out: Outbox, *, broker: BrokerId, timeout_ms: float, digest: int = 0, idempotent: bool = False
    ) -> None:
        """Record a new try that is about to leave.

        `digest`, `timeout_ms`: see `AttemptSent`; `idempotent`: of its producer (see `OperationEnded`).
        """
        assert not self.ended, f"{self.identifier} ended before this attempt"
        self.attempts += 1
        self.broker, self.idempotent, self.digest = broker, idempotent, digest
        if self.kept is not None:
            self.requested = Requested(self.identifier, self.attempts, broker, int(timeout_ms))
            self.kept.tried(self.requested)
        out.emit(AttemptSent(self.identifier, self.attempts, broker, digest, int(timeout_ms)))

    def attempt_ended(
        self,
        out: Outbox,
        *,
        error: int,
        offset: Offset = NO_OFFSET,
        reason: str = "",
        definite: bool | None = None,
        topic_id: str = "",
    ) -> None:
        """Record the end of a try: Kafka's code, or NO_ANSWER and a `reason`.

        `definite` overrides the code's own trait: a refused connection carried nothing, a lost one may have.
        `topic_id`: of the response.
        """
        assert not self.ended, f"{self.identifier} ended before its attempt"
        if not (is_definite(error) if definite is None else definite):
            self.doubtful = True
        self.topic_id = topic_id or self.topic_id
        if self.kept is not None and self.requested is not None:
            self.requested.ended = True
            self.kept.news.append(self.requested)
        out.emit(AttemptEnded(self.identifier, self.attempts, error, offset, reason))

    def fetch_answered(self, now_ms: float) -> None:
        """Note a fetch response, maybe without new records."""
        first, last = self.answered_ms or (now_ms, now_ms)
        if now_ms - last > self.silent_ms:
            self.silent_ms = now_ms - last
        self.answered_ms = first, now_ms

    def given(
        self,
        out: Outbox,
        entry: FetchedEntry,
        *,
        high_watermark: int,
        broker: int,
        topic_id: str = "",
        last_stable_offset: int = NO_OFFSET,
    ) -> None:
        """Record an entry that a consumer received. `last_stable_offset`: at read_committed."""
        first, last = entry.records[0].offset, entry.records[-1].offset
        if self.kept is not None:
            ended = len(self.kept.ended)
            content = (first, last, entry.leader_epoch, entry.digest)
            self.reads.append(Read(*content, high_watermark, broker, ended, topic_id, last_stable_offset))
        out.emit(
            RecordsRead(
                operation=self.identifier,
                topic=self.topic,
                partition=self.partition,
                base_offset=first,
                last_offset=last,
                leader_epoch=entry.leader_epoch,
                digest=entry.digest,
                high_watermark=high_watermark,
                broker=broker,
                topic_id=topic_id,
                last_stable_offset=last_stable_offset,
            )
        )

    def position_left(
        self, out: Outbox, offset: Offset, reason: str, *, stopped: bool, diverging_offset: Offset = NO_OFFSET
    ) -> None:
        """Record that a consumer does not read on at `offset` (see `PositionLeft`)."""
        if self.kept is not None:
            self.left.append(Left(len(self.reads), offset, reason))
        out.emit(PositionLeft(self.identifier, self.topic, self.partition, offset, reason, stopped, diverging_offset))

    def end(
        self,
        out: Outbox,
        *,
        error: int,
        offset: Offset = NO_OFFSET,
        leader_epoch: LeaderEpoch = EPOCH_UNKNOWN,
        digest: int = 0,
    ) -> str:
        """End the operation; returns its outcome: ok with error 0, else failed or unknown."""
        assert not self.ended, f"{self.identifier} ended twice"
        self.ended = True
        outcome = "ok" if not error else "unknown" if self.doubtful else "failed"
        self.outcome, self.offset, self.digest = outcome, offset, digest
        if self.kept is not None:
            self.over = len(self.kept)
            self.kept.ended.append(self)
        out.emit(
            OperationEnded(
                operation=self.identifier,
                kind=self.kind,
                outcome=outcome,
                error=error,
                topic=self.topic,
                partition=self.partition,
                offset=offset,
                leader_epoch=leader_epoch,
                digest=digest,
                acks=self.acks,
                broker=self.broker,
                attempts=self.attempts,
                idempotent=self.idempotent,
                records=self.records,
                topic_id=self.topic_id,
            )
        )
        return outcome


class OperationLog:
    """Creates a node's operations. All clients of a node share one, so that names are unique.

    `kept`: every operation is added to it, for an owner that has few operations and queries them later.
    """

    __slots__ = ("_count", "_kept", "_prefix", "node")

    def __init__(self, node: str, incarnation: int, kept: KeptOperations | None = None) -> None:
        self.node = node
        self._prefix = f"{node}.{incarnation}:"
        self._count = 0
        self._kept = kept

    def invoke(
        self,
        out: Outbox,
        *,
        kind: str,
        topic: str,
        partition: int,
        acks: int = 0,
        value: bytes = b"",
        broker: BrokerId = NO_BROKER,
        offset: Offset = NO_OFFSET,
        client: str = "",
        values: Sequence[bytes] = (),
        records: int = 1,
        transaction: str = "",
        isolation: str = "",
    ) -> Operation:
        """Record a new operation, before a request leaves.

        `kind`, `transaction`, `isolation`: see `OperationInvoked`. `offset`: of a fetch, or the committed one.
        `client`: a Kafka client's, other than the emulator's own. `values`: those of the `records` of one batch,
        instead of `value`; empty if unknown.
        """
        identifier = self.next_identifier()
        text = values_text(values) if values else value.decode("utf-8", "replace")
        invoked = OperationInvoked(
            identifier, kind, topic, partition, acks, text, broker, offset, client, records, transaction, isolation
        )
        out.emit(invoked)
        operation = Operation(
            identifier, kind, topic, partition, acks, text, requested_offset=offset, kept=self._kept, records=records,
            transaction=transaction, isolation=isolation,
        )  # fmt: skip
        if self._kept is not None:
            self._kept.append(operation)
        return operation

    def next_identifier(self) -> str:
        """A name, unique in the run, of an operation or a transaction."""
        self._count += 1
        return f"{self._prefix}{self._count}"

    def transaction_changed(self, out: Outbox, event: ProducerTransactionChanged) -> None:
        """Record a change of a transactional producer."""
        out.emit(event)
        if self._kept is None or not event.transaction:
            return
        known = self._kept.transactions.get(event.transaction)
        if known is None:
            known = KeptTransaction(event.transactional_id, event.transaction, event.number, [])
            self._kept.transactions[event.transaction] = known
        ended = len(self._kept.ended)
        known.changes.append(
            TransactionChange(event.change, event.reason, event.producer_id, event.producer_epoch, ended)
        )
