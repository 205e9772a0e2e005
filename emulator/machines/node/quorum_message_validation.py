"""Validation of messages from peers of the quorum.

It finds messages that are well-formed, and still impossible for a node of this quorum. The quorum's node relies on it:
leaders and candidates are voters, a sender speaks for itself, epochs and offsets are in range, and records continue the
log. A request that is not valid costs its connection; a response counts as none.
"""

from collections.abc import Collection
from typing import Final

from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import (
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    QuorumFetchRequest,
    QuorumFetchResponse,
    QuorumRequest,
    QuorumResponse,
    VoteRequest,
)
from protocol.records.errors import RecordsError
from protocol.records.format import has_right_crc, iter_headers

EPOCH_MAX: Final = 2**30
"""No quorum has so many elections; beyond it an epoch would overflow."""
OFFSET_MAX: Final = 2**62
RECORD_MAGIC: Final = 2


def is_valid_request(request: QuorumRequest, sender: BrokerId, voters: Collection[BrokerId]) -> bool:
    """Whether this sender may send the request. Its answer may still be a refusal."""
    if not -1 <= request.epoch <= EPOCH_MAX:
        return False
    match request:
        case VoteRequest(candidate=candidate):
            return sender == candidate and candidate in voters
        case BeginQuorumEpochRequest(leader=leader) | EndQuorumEpochRequest(leader=leader):
            return sender == leader and leader in voters
        case QuorumFetchRequest(replica=replica, offset=offset):
            return sender == replica and 0 <= offset <= OFFSET_MAX


def is_valid_response(response: QuorumResponse, voters: Collection[BrokerId], log_end: Offset) -> bool:
    """Whether a voter can have sent the response, to a fetch from `log_end`."""
    if not -1 <= response.epoch <= EPOCH_MAX or (response.leader != NO_BROKER and response.leader not in voters):
        return False
    if not isinstance(response, QuorumFetchResponse):
        return True
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
