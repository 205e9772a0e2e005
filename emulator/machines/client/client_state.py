"""Structs of clients: results, failures, received records, operations kept for queries."""

from collections.abc import Callable
from typing import TypeVar

import msgspec

from protocol.ids import EPOCH_UNKNOWN, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.leadership_messages import MetadataResponse
from protocol.messages.membership import NO_GENERATION
from protocol.messages.message_base import Message
from protocol.outbox import Outbox
from protocol.records.compression import Compression


class Sent(msgspec.Struct, frozen=True):
    """Final result of a record. `error`: Kafka's code, or the name of the producer's exception.

    `outcome`: ok, failed (certainly not stored) or unknown. `offset` is None where the response had none.
    """

    operation: str
    topic: str
    partition: int
    value: bytes
    error: int | str
    offset: Offset | None
    outcome: str


Done = Callable[[Now, Outbox, Sent], None]


class Failure(msgspec.Struct, frozen=True):
    """No response came. `error`: the exception's name.

    `sent`: whether the request had left (and may have been executed).
    """

    error: str
    reason: str
    sent: bool


class TooManyExchanges(RuntimeError):
    """More exchanges of one owner at once than EXCHANGES_MAX (`exchange`)."""


class TooManyClientRequests(RuntimeError):
    """More requests at once than REQUESTS_MAX (`client_requests`)."""


class Leader(msgspec.Struct, frozen=True):
    """A partition's leader, as far as the client knows. `epoch` -1: not in the response."""

    broker: BrokerId
    node: str
    epoch: LeaderEpoch


class Identity(msgspec.Struct, frozen=True):
    """Generation and ids with which a member commits."""

    generation: int = NO_GENERATION
    member: str = ""
    instance: str | None = None


NO_MEMBER = Identity()
"""Identity of a client that is no member."""


class FetchedRecord(msgspec.Struct, frozen=True):
    """One record. `leader_epoch` -1 where the format has none (before 0.11)."""

    offset: Offset
    leader_epoch: LeaderEpoch
    value: bytes


class FetchedEntry(msgspec.Struct, frozen=True):
    """One entry of the log with its requested records; `records` is never empty."""

    leader_epoch: LeaderEpoch
    digest: int
    next_offset: Offset
    records: tuple[FetchedRecord, ...]


class WriteOrder(msgspec.Struct, frozen=True):
    """Values to write, and how. Each of `batches` is one batch; `timeout_ms` goes to the broker."""

    broker: BrokerId
    topic: str
    partition: int
    batches: tuple[tuple[bytes, ...], ...]
    acks: int
    timeout_ms: int
    socket_timeout_ms: float
    retries: int
    compression: Compression
    magic: int


ErrorOrName = int | str
"""Kafka's code, or the name of an exception without a response (`exchange`)."""


class Attempt(msgspec.Struct, frozen=True):
    """One try of a produce. `value` is its first record's.

    `offset` is None without a response, -1 if the response had none. With `acks` 0 error is 0 and offset -1 as soon
    as the request has left.
    """

    operation: str
    broker: BrokerId
    value: str
    acks: int
    attempt: int
    error: ErrorOrName
    offset: Offset | None


class Fetched(msgspec.Struct, frozen=True):
    """Result of a fetch. Without a response `high_watermark` and `records` are None.

    At read_committed: `next_offset`, after the last entry, delivered or not, and `last_stable_offset`; else -1.
    """

    operation: str
    broker: BrokerId
    error: ErrorOrName
    high_watermark: Offset | None
    records: tuple[FetchedRecord, ...] | None
    next_offset: Offset = NO_OFFSET
    last_stable_offset: Offset = NO_OFFSET


class Described(msgspec.Struct, frozen=True):
    """A broker's metadata. `metadata` is None without a response."""

    operation: str
    broker: BrokerId
    error: ErrorOrName
    metadata: MetadataResponse | None


class Listed(msgspec.Struct, frozen=True):
    """First and end offset of a partition for consumers; None: `error` has the reason.

    `leader_epoch` -1: not in the response.
    """

    operation: str
    broker: BrokerId
    error: ErrorOrName
    earliest: int | None
    latest: int | None
    leader_epoch: LeaderEpoch = EPOCH_UNKNOWN


def failure_terms(answer: Message | Failure | None) -> tuple[str, bool | None]:
    """Reason and definiteness of an attempt; a response's code decides both by itself."""
    if not isinstance(answer, Failure):
        return "", None
    return f"{answer.error}: {answer.reason}", not answer.sent


Operation = TypeVar("Operation")


class Read(msgspec.Struct, frozen=True):
    """One entry of a log as a consumer received it: records [base_offset, last_offset].

    `high_watermark` came with it, from `broker`, and so did the `topic_id` and `last_stable_offset` (-1 at
    read_uncommitted). `ended`: number of the kept operations that had ended by then.
    """

    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    high_watermark: int
    broker: int
    ended: int = 0
    topic_id: str = ""
    last_stable_offset: int = NO_OFFSET


class Left(msgspec.Struct, frozen=True):
    """A consumer left the position `offset` (see `PositionLeft`).

    `reads`: number of entries it had received.
    """

    reads: int
    offset: int
    reason: str


class Requested(msgspec.Struct):
    """One try of a kept operation. `timeout_ms` as in `AttemptSent`.

    `sent_ms`, `ended_ms`: set by an observer, None until then. `ended`: a response came, or the client gave up.
    """

    operation: str
    attempt: int
    broker: int
    timeout_ms: int
    sent_ms: float | None = None
    ended_ms: float | None = None
    ended: bool = False


class TransactionChange(msgspec.Struct, frozen=True):
    """A change of a transaction (see `ProducerTransactionChanged`).

    `ended`: number of the kept operations that had ended by then.
    """

    change: str
    reason: str
    producer_id: int
    producer_epoch: int
    ended: int


class KeptTransaction(msgspec.Struct, frozen=True):
    """A transaction of a producer of ours, with its changes in their order."""

    transactional_id: str
    transaction: str
    number: int
    changes: list[TransactionChange]


class Kept(list[Operation]):
    """Operations (`operations.KeptOperations`) in the order in which they began.

    `ended`: ended ones, in the order of their ends. `requested`: all their tries, in the order of sending. `news`:
    tries that left or ended since the last `noted`. `transactions`: by name, in the order in which they began.
    """

    def __init__(self) -> None:
        super().__init__()
        self.ended: list[Operation] = []
        self.requested: list[Requested] = []
        self.news: list[Requested] = []
        self.transactions: dict[str, KeptTransaction] = {}

    def tried(self, requested: Requested) -> None:
        """Add a try that is about to leave."""
        self.requested.append(requested)
        self.news.append(requested)

    def noted(self, at_ms: float) -> None:
        """Set the time of the new tries: they have left, or ended, by now."""
        for requested in self.news:
            if requested.sent_ms is None:
                requested.sent_ms = at_ms
            if requested.ended and requested.ended_ms is None:
                requested.ended_ms = at_ms
        self.news.clear()
