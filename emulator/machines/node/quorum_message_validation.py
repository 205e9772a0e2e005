"""Validation of messages from peers of the quorum.

It finds messages that are well-formed, and still impossible for a node of this quorum. The quorum's node relies on it:
leaders and candidates are voters, a sender speaks for itself, epochs and offsets are in range, and records continue the
log. A request that is not valid costs its connection; a response counts as none.
"""

from collections.abc import Collection
from typing import Final

from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    QuorumFetchRequest,
    QuorumFetchResponse,
    QuorumRequest,
    QuorumResponse,
    VoteRequest,
)
from protocol.messages.voter_messages import (
    EPOCHLESS,
    AddRaftVoterRequest,
    RemoveRaftVoterRequest,
    SupportedFeaturesRequest,
    UpdateRaftVoterRequest,
)
from protocol.records.compact_fields import is_uuid
from protocol.records.errors import RecordsError
from protocol.records.format import has_right_crc, iter_headers

EPOCH_MAX: Final = 2**30
"""No quorum has so many elections; beyond it an epoch would overflow."""
OFFSET_MAX: Final = 2**62
SNAPSHOT_BYTES_MAX: Final = 2**31 - 1
"""Bound of a snapshot: Kafka does not read beyond it."""
RECORD_MAGIC: Final = 2


def is_valid_request(request: QuorumRequest, sender: BrokerId, voters: Collection[BrokerId]) -> bool:
    """Whether this sender may send the request. Its answer may still be a refusal."""
    if not isinstance(request, EPOCHLESS) and not -1 <= request.epoch <= EPOCH_MAX:
        return False
    match request:
        case VoteRequest(candidate=candidate):
            return sender == candidate and candidate in voters
        case BeginQuorumEpochRequest(leader=leader) | EndQuorumEpochRequest(leader=leader):
            return sender == leader and leader in voters
        case QuorumFetchRequest(replica=replica, offset=offset):
            return sender == replica and 0 <= offset <= OFFSET_MAX
        case FetchSnapshotRequest(replica=replica, snapshot_end=end, position=position):
            return sender == replica and 0 <= end <= OFFSET_MAX and position <= OFFSET_MAX
        case AddRaftVoterRequest() | RemoveRaftVoterRequest() | UpdateRaftVoterRequest():
            known = not request.directory or is_uuid(request.directory)
            return sender == request.voter and sender in voters and known
        case SupportedFeaturesRequest():
            return sender in voters


def is_valid_response(response: QuorumResponse, voters: Collection[BrokerId], log_end: Offset) -> bool:
    """Whether a voter can have sent the response, to a fetch from `log_end`."""
    if isinstance(response, EPOCHLESS):
        return True
    if not -1 <= response.epoch <= EPOCH_MAX or (response.leader != NO_BROKER and response.leader not in voters):
        return False
    if isinstance(response, FetchSnapshotResponse):
        whole = response.position + len(response.data) <= response.size_bytes <= SNAPSHOT_BYTES_MAX
        return response.error != ErrorCode.NONE or (bool(response.data) and whole)
    if not isinstance(response, QuorumFetchResponse):
        return True
    if response.snapshot_epoch >= 0:
        return response.snapshot_epoch <= response.epoch and log_end <= response.snapshot_end <= OFFSET_MAX
    if not NO_OFFSET <= response.high_watermark <= OFFSET_MAX:
        return False
    if response.diverging_epoch >= 0:
        return response.diverging_epoch <= response.epoch and 0 <= response.diverging_end <= OFFSET_MAX
    return continues(response.records, log_end, response.epoch)


def continues(records: bytes, log_end: Offset, epoch: LeaderEpoch) -> bool:
    """Whether the records are whole batches of this epoch or earlier ones, from `log_end` on."""
    offset = log_end
    try:
        for position, header in iter_headers(records):
            sound = header.magic == RECORD_MAGIC and has_right_crc(records, position, header)
            if not sound or header.base_offset != offset or not 0 <= header.leader_epoch <= epoch:
                return False
            offset = Offset(header.next_offset)
    except RecordsError:
        return False
    return True
