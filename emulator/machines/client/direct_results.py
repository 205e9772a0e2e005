"""Results of the direct client."""

import msgspec

from emulator.machines.client.failure import Failure
from emulator.machines.client.fetched_entry import FetchedRecord
from protocol.ids import EPOCH_UNKNOWN, BrokerId, LeaderEpoch, Offset
from protocol.messages.leadership_messages import MetadataResponse
from protocol.messages.message_base import Message

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
    """Result of a fetch. Without a response `high_watermark` and `records` are None."""

    operation: str
    broker: BrokerId
    error: ErrorOrName
    high_watermark: Offset | None
    records: tuple[FetchedRecord, ...] | None


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
