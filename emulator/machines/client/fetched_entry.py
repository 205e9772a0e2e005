"""One entry of a log, and one record, as a consumer receives them."""

import msgspec

from protocol.ids import LeaderEpoch, Offset


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
