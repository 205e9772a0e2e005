"""Requests and responses among the nodes of a quorum, with the fields of Kafka's messages.

Each is about the one partition of the metadata log. The fields keep Kafka's names; -1 is none. Of a request the
receiver learns the sender from its input (`quorum_inputs`).

Source: VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest (KIP-595, KIP-996, KIP-1166).
"""

from typing import Final

import msgspec

from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset

FETCH_MAX_WAIT_MS: Final = 500
"""Limit of a fetch's wait at the leader: KafkaRaftClient.MAX_FETCH_WAIT_MS."""


class VoteRequest(msgspec.Struct, frozen=True, gc=False):
    """A candidate's request, or with `pre_vote` a prospective voter's. `last_*`: its log's end."""

    epoch: LeaderEpoch
    candidate: BrokerId
    last_epoch: LeaderEpoch
    last_offset: Offset
    pre_vote: bool = False


class BeginQuorumEpochRequest(msgspec.Struct, frozen=True, gc=False):
    """A new leader's announcement."""

    epoch: LeaderEpoch
    leader: BrokerId


class EndQuorumEpochRequest(msgspec.Struct, frozen=True, gc=False):
    """A resigned leader's announcement. `successors`: voters, the longest log first."""

    epoch: LeaderEpoch
    leader: BrokerId
    successors: tuple[BrokerId, ...]


class QuorumFetchRequest(msgspec.Struct, frozen=True, gc=False):
    """A replica's fetch from `offset`, the end of its log. `high_watermark`: its own (KIP-1166)."""

    epoch: LeaderEpoch
    replica: BrokerId
    offset: Offset
    last_fetched_epoch: LeaderEpoch
    max_wait_ms: int
    high_watermark: Offset = NO_OFFSET


QuorumRequest = VoteRequest | BeginQuorumEpochRequest | EndQuorumEpochRequest | QuorumFetchRequest


class VoteResponse(msgspec.Struct, frozen=True, gc=False):
    """`epoch`, `leader`: of the responding node, as in every response."""

    error: ErrorCode
    epoch: LeaderEpoch
    leader: BrokerId
    granted: bool = False


class BeginQuorumEpochResponse(msgspec.Struct, frozen=True, gc=False):
    error: ErrorCode
    epoch: LeaderEpoch
    leader: BrokerId


class EndQuorumEpochResponse(msgspec.Struct, frozen=True, gc=False):
    error: ErrorCode
    epoch: LeaderEpoch
    leader: BrokerId


class QuorumFetchResponse(msgspec.Struct, frozen=True, gc=False):
    """Records, or with `diverging_epoch` >= 0 the end of that epoch in the leader's log."""

    error: ErrorCode
    epoch: LeaderEpoch
    leader: BrokerId
    high_watermark: Offset = NO_OFFSET
    diverging_epoch: LeaderEpoch = LeaderEpoch(-1)
    diverging_end: Offset = NO_OFFSET
    records: bytes = b""


class UnsupportedVersion(msgspec.Struct, frozen=True, gc=False):
    """Response of a release that does not know the request's version: a pre-vote before 4.0."""

    error: ErrorCode = ErrorCode.UNSUPPORTED_VERSION
    epoch: LeaderEpoch = LeaderEpoch(-1)
    leader: BrokerId = NO_BROKER


QuorumResponse = (
    VoteResponse | BeginQuorumEpochResponse | EndQuorumEpochResponse | QuorumFetchResponse | UnsupportedVersion
)
