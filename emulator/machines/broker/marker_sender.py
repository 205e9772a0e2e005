"""Markers of ended transactions, from their coordinator to their partitions' leaders.

Semantics 12.3.

    prepared --> a queue per broker --one request in flight--> leader: marker appended --> all partitions: completed

A partition whose leader is not alive waits in a queue of its own and is looked up again. A deleted partition needs no
marker. There is no time limit. A newer coordinator takes over: its markers have a higher coordinator epoch.

Source: TransactionMarkerChannelManager, TransactionMarkerRequestCompletionHandler.
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_link import BrokerLinks
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.transaction_log import Held, TransactionLog
from emulator.machines.broker.transaction_metadata import Transition
from protocol.errors import ErrorCode
from protocol.ids import TopicPartition
from protocol.messages.groups import GroupPartition
from protocol.messages.message_base import Message
from protocol.messages.transactions import TransactionMarkers, WriteTxnMarkersRequest, WriteTxnMarkersResponse
from protocol.records.transaction_states import TransactionState

LOOK_AGAIN: Final = ("transaction-markers", "look-again")
RETRIED: Final = frozenset((
    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.NOT_ENOUGH_REPLICAS,
    ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND,
    ErrorCode.REQUEST_TIMED_OUT,
    ErrorCode.KAFKA_STORAGE_ERROR,
))
"""Errors after which the leader is looked up and the marker sent again."""
GIVEN_UP: Final = frozenset((ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.TRANSACTION_COORDINATOR_FENCED))
"""Errors after which this coordinator sends no further marker of the transaction."""
VERSION: Final = 1


class _Pending(NamedTuple):
    """A transaction whose markers are being written. `completion`: its last transition."""

    held: Held
    producer_id: int
    producer_epoch: int
    commits: bool
    completion: Transition


class _Entry(NamedTuple):
    pending: _Pending
    partitions: list[TopicPartition]


class MarkerSender:
    """Sends the markers of one coordinator."""

    def __init__(self, context: BrokerContext, metadata: MetadataCache, log: TransactionLog) -> None:
        self._context = context
        self._metadata = metadata
        self._log = log
        self._links = BrokerLinks(context, "transaction-markers")
        self._queues: dict[str, list[_Entry]] = {}
        self._unknown: list[_Entry] = []
        self._pending: dict[str, _Pending] = {}
        self._retries: list[_Pending] = []
        self._awake = False

    def send(self, held: Held, completion: Transition) -> None:
        """Send the markers of a prepared transaction, then append its completion."""
        metadata = held.metadata
        commits = metadata.state == TransactionState.PREPARE_COMMIT
        pending = _Pending(held, metadata.producer_id, metadata.producer_epoch, commits, completion)
        self._pending[metadata.transactional_id] = pending
        self._queue(pending, sorted(metadata.partitions))
        self._maybe_complete(pending)
        self._wake()

    def forget(self, number: int) -> None:
        """Drop the markers of a partition of the transactions topic: its leader has changed."""

        def others(entries: Iterable[_Entry]) -> list[_Entry]:
            return [one for one in entries if self._log.partition_of(_id(one.pending)) != number]

        self._queues = {node: others(entries) for node, entries in self._queues.items()}
        self._unknown = others(self._unknown)
        self._pending = {name: one for name, one in self._pending.items() if self._log.partition_of(name) != number}

    def close(self) -> None:
        """Stop: the broker stops."""
        self._links.close()
        self._context.out.cancel_timer(LOOK_AGAIN)

    # --- queues ---

    def _queue(self, pending: _Pending, partitions: Iterable[TopicPartition]) -> None:
        """Queue markers by their partitions' leaders."""
        by_node: dict[str | None, list[TopicPartition]] = {}
        for topic_partition in partitions:
            state = self._metadata.partitions.get(topic_partition)
            if state is None:
                pending.held.metadata.partitions.discard(topic_partition)
            else:
                by_node.setdefault(self._metadata.node_of(state.leader), []).append(topic_partition)
        for node, of_node in by_node.items():
            entries = self._unknown if node is None else self._queues.setdefault(node, [])
            entries.append(_Entry(pending, of_node))

    def _wake(self) -> None:
        """Run the sender's loop at the end of this step."""
        if not self._awake:
            self._awake = True
            self._context.threads.ready.append(self._loop)

    def _loop(self) -> None:
        """Retry appends and look-ups, and send a request to each broker that has none in flight."""
        self._awake = False
        retries, self._retries = self._retries, []
        for pending in retries:
            self._complete(pending)
        unknown, self._unknown = self._unknown, []
        for entry in unknown:
            if self._is_current(entry.pending):
                self._queue(entry.pending, entry.partitions)
                self._maybe_complete(entry.pending)
        for node in sorted(self._queues):
            if self._queues[node] and not self._links.is_busy(node):
                self._send(node, self._queues.pop(node))
        if self._unknown or self._retries:
            self._context.set_timer(LOOK_AGAIN, self._context.settings.request_timeout_ms, self._loop)

    def _is_current(self, pending: _Pending) -> bool:
        """Whether this broker still coordinates the transaction, in the same epoch."""
        current = self._pending.get(_id(pending)) is pending and not self._log.still(pending.held)
        if not current and self._pending.get(_id(pending)) is pending:
            del self._pending[_id(pending)]
        return current

    # --- requests ---

    def _send(self, node: str, entries: list[_Entry]) -> None:
        markers = [
            TransactionMarkers(
                one.pending.producer_id,
                one.pending.producer_epoch,
                one.pending.commits,
                [GroupPartition(*topic_partition) for topic_partition in one.partitions],
                one.pending.held.coordinator_epoch,
            )
            for one in entries
        ]
        request = WriteTxnMarkersRequest(markers)
        self._links.send(node, request, VERSION, lambda answer: self._answered(entries, answer))

    def _answered(self, entries: list[_Entry], answer: Message | None) -> None:
        if answer is None:
            for entry in entries:
                if self._is_current(entry.pending):
                    self._queue(entry.pending, entry.partitions)
                    self._maybe_complete(entry.pending)
        else:
            assert isinstance(answer, WriteTxnMarkersResponse), answer
            for entry, written in zip(entries, answer.markers, strict=True):
                if self._is_current(entry.pending):
                    errors = {(one.topic, one.partition): ErrorCode(one.error) for one in written.partitions}
                    self._written(entry.pending, errors)
        self._wake()

    def _written(self, pending: _Pending, errors: dict[TopicPartition, ErrorCode]) -> None:
        """Take one transaction's results."""
        if GIVEN_UP & set(errors.values()):
            del self._pending[_id(pending)]
            return
        again = [topic_partition for topic_partition, error in errors.items() if error in RETRIED]
        pending.held.metadata.partitions.difference_update(errors.keys() - set(again))
        if again:
            self._queue(pending, again)
        self._maybe_complete(pending)

    # --- completion ---

    def _maybe_complete(self, pending: _Pending) -> None:
        """Append the completion if every partition has its marker."""
        if pending.held.metadata.partitions or self._pending.get(_id(pending)) is not pending:
            return
        del self._pending[_id(pending)]
        self._complete(pending)

    def _complete(self, pending: _Pending) -> None:
        def ended(error: ErrorCode) -> None:
            if error == ErrorCode.COORDINATOR_NOT_AVAILABLE:
                self._retries.append(pending)
                self._context.set_timer(LOOK_AGAIN, self._context.settings.request_timeout_ms, self._loop)

        work = self._log.append(
            pending.held, pending.completion, ended, lambda error: error == ErrorCode.COORDINATOR_NOT_AVAILABLE
        )
        self._context.threads.start("transaction-marker-sender", f"completion of {_id(pending)}", work)


def _id(pending: _Pending) -> str:
    return pending.held.metadata.transactional_id
