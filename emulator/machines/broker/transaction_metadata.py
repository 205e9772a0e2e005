"""State of one transactional id at its coordinator, and its transitions (semantics 12.1).

    Empty --> Ongoing --> PrepareCommit --> CompleteCommit --> Ongoing, Empty
                  \\-----> PrepareAbort  --> CompleteAbort  --> Ongoing, Empty

A transition begins (`pending` is set), its record is appended, and it ends when the in-sync replicas have that. One
transition at a time. During the markers `pending` is the Complete state.

Source: TransactionMetadata, TransactionState, TxnTransitMetadata.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from protocol.ids import TopicPartition
from protocol.messages.transactions import NO_PRODUCER_EPOCH, NO_PRODUCER_ID
from protocol.records.transaction_states import StoredTransaction, TransactionState

EPOCH_MAX: Final = 32_767
"""Largest epoch, for fencing alone; a producer's own is below."""
EPOCH_EXHAUSTED: Final = EPOCH_MAX - 1

S = TransactionState
_ENDED: Final = frozenset((S.EMPTY, S.COMPLETE_COMMIT, S.COMPLETE_ABORT))
ALLOWED_FROM: Final[dict[TransactionState, frozenset[TransactionState]]] = {
    S.EMPTY: _ENDED,
    S.ONGOING: _ENDED | {S.ONGOING},
    S.PREPARE_COMMIT: frozenset((S.ONGOING,)),
    S.PREPARE_ABORT: _ENDED | {S.ONGOING, S.PREPARE_EPOCH_FENCE},
    S.COMPLETE_COMMIT: frozenset((S.PREPARE_COMMIT,)),
    S.COMPLETE_ABORT: frozenset((S.PREPARE_ABORT,)),
    S.DEAD: _ENDED,
    S.PREPARE_EPOCH_FENCE: frozenset((S.ONGOING,)),
}
"""{state: the states before it}.

PrepareAbort of an ended transaction needs transaction version 2.
"""
PREPARED: Final = frozenset((S.PREPARE_COMMIT, S.PREPARE_ABORT))


class Fenced(Exception):
    """The producer's own epoch is not the stored one (PRODUCER_FENCED)."""


class Transition(NamedTuple):
    """The state after a transition; its record has these values."""

    state: TransactionState
    producer_id: int
    producer_epoch: int
    last_epoch: int
    timeout_ms: int
    partitions: frozenset[TopicPartition]
    started_ms: int
    updated_ms: int
    next_producer_id: int = NO_PRODUCER_ID
    client_version: int = 0

    def record(self) -> StoredTransaction:
        partitions = tuple(sorted(self.partitions))
        return StoredTransaction(
            self.producer_id, self.producer_epoch, self.timeout_ms, self.state, partitions, self.updated_ms,
            self.started_ms, self.client_version,
        )  # fmt: skip


class TransactionMetadata:
    """State of one transactional id.

    `last_epoch`: the epoch before the producer raised it itself. `last_producer_id`: the id before the present one.
    `started_ms`: when its first partition was added. `fence_failed`: the append of a fence failed, so the epoch is
    above the one in the log. `client_version`: transaction version of the client of the last end.
    """

    __slots__ = (
        "client_version", "fence_failed", "last_epoch", "last_producer_id", "next_producer_id", "partitions",
        "pending", "producer_epoch", "producer_id", "started_ms", "state", "timeout_ms", "transactional_id",
        "updated_ms",
    )  # fmt: skip

    def __init__(self, transactional_id: str, producer_id: int, timeout_ms: int, updated_ms: int) -> None:
        """A new one, which is not in the log yet."""
        self.transactional_id = transactional_id
        self.producer_id = producer_id
        self.last_producer_id = NO_PRODUCER_ID
        self.next_producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.last_epoch = NO_PRODUCER_EPOCH
        self.timeout_ms = timeout_ms
        self.state = S.EMPTY
        self.pending: TransactionState | None = None
        self.partitions: set[TopicPartition] = set()
        self.started_ms = -1
        self.updated_ms = updated_ms
        self.fence_failed = False
        self.client_version = 0

    @classmethod
    def loaded(cls, transactional_id: str, stored: StoredTransaction) -> "TransactionMetadata":
        """From its last record."""
        known = cls(transactional_id, stored.producer_id, stored.timeout_ms, stored.updated_ms)
        known.producer_epoch = stored.producer_epoch
        known.state = stored.state
        known.partitions = set(stored.partitions)
        known.started_ms = stored.started_ms
        known.client_version = stored.client_version
        return known

    @property
    def epoch_exhausted(self) -> bool:
        return self.producer_epoch >= EPOCH_EXHAUSTED

    def has_timed_out(self, now_ms: int) -> bool:
        """Whether the transaction is open for longer than its time-out."""
        return self.state == S.ONGOING and self.pending is None and self.started_ms + self.timeout_ms < now_ms

    def may_expire(self, now_ms: int, after_ms: int) -> bool:
        """Whether the id may be forgotten (transactional.id.expiration.ms)."""
        return self.state in _ENDED and self.pending is None and self.updated_ms <= now_ms - after_ms

    # --- beginnings of transitions ---

    def begin_epoch(self, timeout_ms: int, expected_epoch: int | None, now_ms: int) -> Transition:
        """Raise the epoch for a producer that starts, or continues from `expected_epoch`.

        Raises Fenced.

        Where the last answer was lost, `expected_epoch` is the epoch before: the stored one is repeated.
        """
        assert not self.epoch_exhausted, self.transactional_id
        epoch, last_epoch = self.producer_epoch + 1, NO_PRODUCER_EPOCH
        if expected_epoch is not None:
            if self.producer_epoch in (NO_PRODUCER_EPOCH, expected_epoch):
                last_epoch = self.producer_epoch
            elif expected_epoch == self.last_epoch:
                epoch, last_epoch = self.producer_epoch, self.last_epoch
            else:
                raise Fenced(self.transactional_id)
        return self._begin(S.EMPTY, self.producer_id, epoch, last_epoch, timeout_ms, (), -1, now_ms)

    def begin_rotation(self, producer_id: int, timeout_ms: int, now_ms: int, *, keeps_last: bool) -> Transition:
        """Change to another producer id, because the epochs of the present one are used up."""
        last_epoch = self.producer_epoch if keeps_last else NO_PRODUCER_EPOCH
        return self._begin(S.EMPTY, producer_id, 0, last_epoch, timeout_ms, (), -1, now_ms)

    def begin_fence(self, *, failed_keeps_epoch: bool) -> Transition:
        """Raise the epoch in memory, to abort an open transaction of an earlier producer."""
        epoch = self.producer_epoch if self.fence_failed and failed_keeps_epoch else self.producer_epoch + 1
        assert epoch <= EPOCH_MAX, self.transactional_id
        return self._begin(
            S.PREPARE_EPOCH_FENCE, self.producer_id, epoch, NO_PRODUCER_EPOCH, self.timeout_ms, self.partitions,
            self.started_ms, self.updated_ms,
        )  # fmt: skip

    def begin_adding(self, partitions: Collection[TopicPartition], now_ms: int) -> Transition:
        """Add partitions; the first ones begin the transaction."""
        started_ms = now_ms if self.state in _ENDED else self.started_ms
        known = () if self.state in _ENDED else self.partitions
        return self._begin(
            S.ONGOING, self.producer_id, self.producer_epoch, self.last_epoch, self.timeout_ms,
            {*known, *partitions}, started_ms, now_ms,
        )  # fmt: skip

    def begin_end(
        self, state: TransactionState, now_ms: int, *, raises_epoch: bool, next_producer_id: int, client_version: int
    ) -> Transition:
        """Commit or abort (`state`).

        With `raises_epoch` the next transaction has the next epoch (KIP-890).
        """
        epoch, last_epoch = self.producer_epoch, self.last_epoch
        if raises_epoch:
            epoch, last_epoch = self.producer_epoch + 1, self.producer_epoch
        partitions = self.partitions if self.state == S.ONGOING else ()
        started_ms = self.started_ms if self.state == S.ONGOING else now_ms
        return self._begin(
            state, self.producer_id, epoch, last_epoch, self.timeout_ms, partitions, started_ms, now_ms,
            next_producer_id, client_version,
        )  # fmt: skip

    def begin_completion(self, now_ms: int) -> Transition:
        """Complete a prepared transaction, before its markers are sent."""
        assert self.state in PREPARED, self.state
        state = S.COMPLETE_COMMIT if self.state == S.PREPARE_COMMIT else S.COMPLETE_ABORT
        self.fence_failed = False
        producer_id, epoch = self.producer_id, self.producer_epoch
        if self.next_producer_id != NO_PRODUCER_ID:
            producer_id, epoch = self.next_producer_id, 0
        return self._begin(
            state, producer_id, epoch, self.last_epoch, self.timeout_ms, (), self.started_ms, now_ms, NO_PRODUCER_ID,
            self.client_version,
        )  # fmt: skip

    def begin_death(self) -> Transition:
        """Forget the id."""
        return self._begin(
            S.DEAD, self.producer_id, self.producer_epoch, self.last_epoch, self.timeout_ms, (), self.started_ms,
            self.updated_ms,
        )  # fmt: skip

    def _begin(
        self,
        state: TransactionState,
        producer_id: int,
        producer_epoch: int,
        last_epoch: int,
        timeout_ms: int,
        partitions: Collection[TopicPartition],
        started_ms: int,
        updated_ms: int,
        next_producer_id: int = NO_PRODUCER_ID,
        client_version: int = 0,
    ) -> Transition:
        assert self.pending is None, (self.transactional_id, self.pending, state)
        assert self.state in ALLOWED_FROM[state], (self.transactional_id, self.state, state)
        self.pending = state
        return Transition(
            state, producer_id, producer_epoch, last_epoch, timeout_ms, frozenset(partitions), started_ms, updated_ms,
            next_producer_id, client_version,
        )  # fmt: skip

    # --- ends of transitions ---

    def fenced(self, producer_epoch: int) -> None:
        """Take a fence's epoch; the abort begins."""
        assert self.pending == S.PREPARE_EPOCH_FENCE, self.pending
        self.pending = None
        self.producer_epoch = producer_epoch
        self.last_epoch = NO_PRODUCER_EPOCH

    def complete(self, transition: Transition) -> None:
        """End a transition whose record the in-sync replicas have."""
        assert self.pending == transition.state, (self.transactional_id, self.pending, transition.state)
        self.pending = None
        if transition.producer_id != self.producer_id:
            self.last_producer_id = self.producer_id
        self.state = transition.state
        self.producer_id = transition.producer_id
        self.producer_epoch = transition.producer_epoch
        self.last_epoch = transition.last_epoch
        self.timeout_ms = transition.timeout_ms
        self.partitions = set(transition.partitions)
        self.started_ms = transition.started_ms
        self.updated_ms = transition.updated_ms
        self.next_producer_id = transition.next_producer_id
        self.client_version = transition.client_version
