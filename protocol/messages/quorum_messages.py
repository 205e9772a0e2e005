"""Requests and responses among the nodes of a quorum, with the fields of Kafka's messages.

Each is about the one partition of the metadata log. The fields keep Kafka's names; -1 is none.

Source: VoteRequest, BeginQuorumEpochRequest, EndQuorumEpochRequest, FetchRequest (KIP-595, KIP-996, KIP-1166),
FetchSnapshotRequest (KIP-630).
"""

from typing import Final

from protocol.errors import ErrorCode
from protocol.ids import EPOCH_UNKNOWN, NO_BROKER, NO_OFFSET
from protocol.messages.message_base import (
    RESPONSE,
    Broker32,
    BrokerField,
    Bytes,
    Count,
    EpochField,
    ErrorField,
    Message,
    Millis,
    OffsetField,
    register,
)
from protocol.messages.voter_messages import Directory, VoterRequest, VoterResponse

FETCH_MAX_WAIT_MS: Final = 500
"""Limit of a fetch's wait at the leader: KafkaRaftClient.MAX_FETCH_WAIT_MS."""


@register
class VoteRequest(Message):
    """A candidate's request, or with `pre_vote` a prospective voter's. `last_*`: its log's end.

    `directory`: the candidate's. `voter_directory`: the receiver's, by the candidate's voters.
    """

    API_KEY = 52
    API_NAME = "Vote"
    VERSIONS = (0, 2)

    epoch: EpochField
    candidate: BrokerField
    last_epoch: EpochField
    last_offset: OffsetField
    pre_vote: bool = False
    directory: Directory = ""
    voter_directory: Directory = ""


@register
class BeginQuorumEpochRequest(Message):
    """A new leader's announcement. `voter_directory`: the receiver's, by the leader's voters."""

    API_KEY = 53
    API_NAME = "BeginQuorumEpoch"
    VERSIONS = (0, 1)

    epoch: EpochField
    leader: BrokerField
    voter_directory: Directory = ""


@register
class EndQuorumEpochRequest(Message):
    """A resigned leader's announcement. `successors`: voters, the longest log first."""

    API_KEY = 54
    API_NAME = "EndQuorumEpoch"
    VERSIONS = (0, 1)

    epoch: EpochField
    leader: BrokerField
    successors: tuple[Broker32, ...]


@register
class QuorumFetchRequest(Message):
    """A replica's fetch from `offset`, the end of its log. `high_watermark`: its own (KIP-1166).

    `directory`: of the replica's log.
    """

    API_KEY = 1193
    API_NAME = "QuorumFetch"
    VERSIONS = (0, 18)

    epoch: EpochField
    replica: BrokerField
    offset: OffsetField
    last_fetched_epoch: EpochField
    max_wait_ms: Millis
    high_watermark: OffsetField = NO_OFFSET
    directory: Directory = ""


@register
class FetchSnapshotRequest(Message):
    """A replica's fetch of a snapshot's bytes from `position` on. `snapshot_*`: its name."""

    API_KEY = 59
    API_NAME = "FetchSnapshot"
    VERSIONS = (0, 1)

    epoch: EpochField
    replica: BrokerField
    snapshot_end: OffsetField
    snapshot_epoch: EpochField
    position: Count
    max_bytes: Bytes
    directory: Directory = ""


QuorumRequest = (
    VoteRequest
    | BeginQuorumEpochRequest
    | EndQuorumEpochRequest
    | QuorumFetchRequest
    | FetchSnapshotRequest
    | VoterRequest
)


@register
class VoteResponse(Message):
    """`epoch`, `leader`: of the responding node, as in every response."""

    API_KEY = 52
    API_NAME = "Vote"
    DIRECTION = RESPONSE
    VERSIONS = (0, 2)

    error: ErrorField
    epoch: EpochField
    leader: BrokerField
    granted: bool = False


@register
class BeginQuorumEpochResponse(Message):
    API_KEY = 53
    API_NAME = "BeginQuorumEpoch"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)
    error: ErrorField
    epoch: EpochField
    leader: BrokerField


@register
class EndQuorumEpochResponse(Message):
    API_KEY = 54
    API_NAME = "EndQuorumEpoch"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)
    error: ErrorField
    epoch: EpochField
    leader: BrokerField


@register
class QuorumFetchResponse(Message):
    """Records, or with `diverging_epoch` >= 0 the end of that epoch in the leader's log.

    With `snapshot_epoch` >= 0 the replica must fetch that snapshot.
    """

    API_KEY = 1193
    API_NAME = "QuorumFetch"
    DIRECTION = RESPONSE
    VERSIONS = (0, 18)

    error: ErrorField
    epoch: EpochField
    leader: BrokerField
    high_watermark: OffsetField = NO_OFFSET
    diverging_epoch: EpochField = EPOCH_UNKNOWN
    diverging_end: OffsetField = NO_OFFSET
    records: bytes = b""
    snapshot_end: OffsetField = NO_OFFSET
    snapshot_epoch: EpochField = EPOCH_UNKNOWN


@register
class FetchSnapshotResponse(Message):
    """Bytes of a snapshot from `position` on. `size_bytes`: of the whole snapshot."""

    API_KEY = 59
    API_NAME = "FetchSnapshot"
    DIRECTION = RESPONSE
    VERSIONS = (0, 1)

    error: ErrorField
    epoch: EpochField
    leader: BrokerField
    snapshot_end: OffsetField = NO_OFFSET
    snapshot_epoch: EpochField = EPOCH_UNKNOWN
    size_bytes: Count = 0
    position: Count = 0
    data: bytes = b""


QuorumResponse = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | QuorumFetchResponse
    | FetchSnapshotResponse
    | VoterResponse
)

UNSUPPORTED_PRE_VOTE: Final = VoteResponse(ErrorCode.UNSUPPORTED_VERSION, EPOCH_UNKNOWN, NO_BROKER)
"""Response of a release before 4.0 to a pre-vote."""
