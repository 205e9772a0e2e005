"""Verification of transactions by partition leaders and group coordinators (KIP-890).

Semantics 12.6.

Before the first batch of a transaction is appended, its coordinator is asked whether the partition is part of the
transaction; with transaction version 2 the coordinator adds it. One request to a coordinator is in flight; those that
come meanwhile go together in the next one.

Source: AddPartitionsToTxnManager, ReplicaManager.handleProduceAppend.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_link import BrokerLinks
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.coordinator_lookup import coordinator_of
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.groups import GroupPartition
from protocol.messages.message_base import Message
from protocol.messages.transactions import (
    FIRST_BETWEEN_BROKERS,
    AddedPartitions,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from protocol.records.transaction_states import TRANSACTIONS_TOPIC

RETRY_MS: Final = 20.0
RETRIED_MS: Final = 100.0
"""Kafka's own settings: add.partitions.to.txn.retry.backoff.ms and …max.ms."""
Errors = Mapping[TopicPartition, ErrorCode]
"""Error of each partition that is not verified; empty: all are."""
Verified = Callable[[Errors], None]
"""Callback of a verification, once."""

RETRIED_LATER: Final = frozenset((
    ErrorCode.CONCURRENT_TRANSACTIONS,
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
))
"""Errors that a produce answers with NOT_ENOUGH_REPLICAS, which older producers retry."""


class Subject(NamedTuple):
    """A producer's transaction, and the partitions to be verified.

    `adds`: transaction version 2. `names_abortable`: the client knows TRANSACTION_ABORTABLE.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int
    partitions: tuple[TopicPartition, ...]
    adds: bool = False
    names_abortable: bool = False

    def all_with(self, error: ErrorCode) -> Errors:
        return dict.fromkeys(self.partitions, error)


class _Waiting(NamedTuple):
    subject: Subject
    verified: Verified


class TransactionVerification:
    """Verifications of one broker."""

    def __init__(self, context: BrokerContext, metadata: MetadataCache) -> None:
        self._context = context
        self._metadata = metadata
        self._links = BrokerLinks(context, "transaction-verification")
        self._waiting: dict[str, dict[str, _Waiting]] = {}
        """{node: {transactional id: its verification}}, for the next request."""
        self._retries = 0

    def applies(self, *, of_client: bool) -> bool:
        """Whether transactional batches of clients, or of group coordinators, are verified here."""
        gates = self._context.gates
        verified = gates.transactions_verified if of_client else gates.offset_commits_verified
        return verified and self._context.settings.transaction_partition_verification_enable

    def close(self) -> None:
        """Drop all connections: the broker stops."""
        self._links.close()

    def verify(self, subject: Subject, verified: Verified) -> None:
        """Verify, or add, the partitions of a transaction.

        With transaction version 2, one that still ends is asked for again for `RETRIED_MS`.
        """
        if not subject.adds:
            self._queue(subject, verified)
            return
        began_ms = self._context.now.mono_ms

        def again(errors: Errors) -> None:
            passed_ms = self._context.now.mono_ms - began_ms
            ends = ErrorCode.CONCURRENT_TRANSACTIONS in errors.values()
            if not ends or passed_ms >= RETRIED_MS:
                verified(errors)
                return
            self._retries += 1
            self._context.set_timer(
                ("transaction-verification", "retry", self._retries),
                RETRY_MS,
                lambda: self._queue(subject, again),
            )

        self._queue(subject, again)

    def _queue(self, subject: Subject, verified: Verified) -> None:
        coordinator = coordinator_of(self._metadata, TRANSACTIONS_TOPIC, subject.transactional_id)
        if coordinator is None:
            verified(subject.all_with(ErrorCode.COORDINATOR_NOT_AVAILABLE))
            return
        _, node = coordinator
        waiting = self._waiting.setdefault(node, {})
        known = waiting.get(subject.transactional_id)
        if known is not None:
            if known.subject.producer_epoch > subject.producer_epoch:
                verified(subject.all_with(ErrorCode.INVALID_PRODUCER_EPOCH))
                return
            same = known.subject.producer_epoch == subject.producer_epoch
            replaced = ErrorCode.NETWORK_EXCEPTION if same else ErrorCode.INVALID_PRODUCER_EPOCH
            del waiting[subject.transactional_id]
            known.verified(known.subject.all_with(replaced))
        waiting[subject.transactional_id] = _Waiting(subject, verified)
        self._send(node)

    def _send(self, node: str) -> None:
        if self._links.is_busy(node) or not self._waiting.get(node):
            return
        sent = list(self._waiting.pop(node).values())
        request = AddPartitionsToTxnRequest([
            AddedPartitions(
                one.subject.transactional_id,
                one.subject.producer_id,
                one.subject.producer_epoch,
                [GroupPartition(*topic_partition) for topic_partition in one.subject.partitions],
                verify_only=not one.subject.adds,
            )
            for one in sent
        ])
        self._links.send(node, request, FIRST_BETWEEN_BROKERS, lambda answer: self._answered(node, sent, answer))

    def _answered(self, node: str, sent: list[_Waiting], answer: Message | None) -> None:
        if answer is None:
            for one in sent:
                one.verified(one.subject.all_with(ErrorCode.NETWORK_EXCEPTION))
        else:
            assert isinstance(answer, AddPartitionsToTxnResponse), answer
            for one, result in zip(sent, answer.transactions, strict=True):
                errors = {(each.topic, each.partition): ErrorCode(each.error) for each in result.partitions}
                found = {place: _for_client(error, one.subject) for place, error in errors.items() if error}
                one.verified(found)
        self._send(node)


def _for_client(error: ErrorCode, subject: Subject) -> ErrorCode:
    """The coordinator's error as a client knows it."""
    if error == ErrorCode.PRODUCER_FENCED:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    if error == ErrorCode.TRANSACTION_ABORTABLE and not subject.names_abortable:
        return ErrorCode.INVALID_TXN_STATE
    return error


def error_of_produce(error: ErrorCode, *, adds: bool) -> ErrorCode:
    """The error of a produce whose verification failed."""
    if error == ErrorCode.CONCURRENT_TRANSACTIONS and adds:
        return error
    return ErrorCode.NOT_ENOUGH_REPLICAS if error in RETRIED_LATER else error


