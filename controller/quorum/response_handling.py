"""Responses of other nodes. Each may also tell of a newer epoch, or of this epoch's leader.

Source: KafkaRaftClient.handleResponse, maybeHandleCommonResponse, handleVoteResponse, handleFetchResponse.
"""

from controller.quorum.epoch_states import Candidate, Follower, Prospective, Resigned
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.quorum_inputs import RequestFailed, ResponseReceived, SnapshotStored
from controller.quorum.quorum_log import EpochEnd, SnapshotId, truncation_offset
from controller.quorum.snapshot_requests import SnapshotRequests
from controller.quorum.state_transitions import QuorumFault
from controller.quorum.voter_requests import VoterRequests
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId
from protocol.messages.quorum_messages import (
    BeginQuorumEpochResponse,
    EndQuorumEpochResponse,
    FetchSnapshotResponse,
    QuorumFetchResponse,
    QuorumResponse,
    VoteResponse,
)
from protocol.messages.voter_messages import (
    AddRaftVoterResponse,
    RemoveRaftVoterResponse,
    SupportedFeaturesResponse,
    UpdateRaftVoterResponse,
)

EpochResponse = (
    VoteResponse
    | BeginQuorumEpochResponse
    | EndQuorumEpochResponse
    | QuorumFetchResponse
    | FetchSnapshotResponse
    | UpdateRaftVoterResponse
)
"""Responses with epoch and leader of the node that responds."""
MOVED = (ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.NOT_LEADER_OR_FOLLOWER)
"""Errors of a node whose epoch or leader is newer."""


class ResponseHandling:
    """Handles the responses that one node receives."""

    def __init__(self, context: QuorumContext, voters: VoterRequests, snapshots: SnapshotRequests) -> None:
        self._context = context
        self._voters = voters
        self._snapshots = snapshots

    def handle(self, now_ms: float, received: ResponseReceived) -> None:
        """Handle a response, unless its request is forgotten. Raises QuorumFault."""
        requests = self._context.requests
        if requests.is_expected(received.sender, received.correlation):
            success = self._handled(now_ms, received.sender, received.correlation, received.response)
            requests.answered(received.sender, received.correlation, success, now_ms)

    def failed(self, now_ms: float, failed: RequestFailed) -> None:
        """Back off from a node that was not reached."""
        self._voters.features_answered(now_ms, failed.receiver, failed.correlation, None)
        self._context.requests.answered(failed.receiver, failed.correlation, False, now_ms)

    def _handled(self, now_ms: float, sender: BrokerId, correlation: int, response: QuorumResponse) -> bool:
        """Whether the response is a success; after another one the node backs off."""
        context = self._context
        if isinstance(response, SupportedFeaturesResponse):
            self._voters.features_answered(now_ms, sender, correlation, response)
            return response.error == ErrorCode.NONE
        if isinstance(response, AddRaftVoterResponse | RemoveRaftVoterResponse):
            return response.error in (ErrorCode.NONE, ErrorCode.REQUEST_TIMED_OUT, ErrorCode.DUPLICATE_VOTER)
        if response.error == ErrorCode.UNSUPPORTED_VERSION:
            if not isinstance(context.state, Prospective):
                return False
            context.become_candidate(now_ms)  # a voter of the quorum does not know pre-votes
            return True
        common = self._handled_by_epoch(now_ms, response)
        if common is not None:
            return common
        if isinstance(response, FetchSnapshotResponse) and response.error == ErrorCode.SNAPSHOT_NOT_FOUND:
            self._download(now_ms, response)
            return True
        if response.error != ErrorCode.NONE:
            return False
        if isinstance(response, VoteResponse):
            self._voted(now_ms, sender, response)
        elif isinstance(response, BeginQuorumEpochResponse):
            if isinstance(context.state, Leader):
                context.state.acknowledge(sender)
        elif isinstance(response, EndQuorumEpochResponse):
            state = context.state
            if isinstance(state, Resigned) and sender in state.unacknowledged:
                state.unacknowledged.remove(sender)
        elif isinstance(response, FetchSnapshotResponse):
            self._download(now_ms, response)
        elif isinstance(response, QuorumFetchResponse):
            self._fetched(now_ms, response)
        return True

    def _handled_by_epoch(self, now_ms: float, response: EpochResponse) -> bool | None:
        """Compare epochs; None: the response is of this epoch and needs its own handling."""
        context = self._context
        error, epoch, leader = response.error, response.epoch, response.leader
        if epoch < context.epoch or error == ErrorCode.UNKNOWN_LEADER_EPOCH:
            return True
        if epoch > context.epoch or error in MOVED:
            context.learn_leader(now_ms, epoch, leader)
            return True
        if leader != NO_BROKER and not context.state.reaches_leader:
            context.learn_leader(now_ms, epoch, leader)
            return None if error == ErrorCode.NONE else True
        if error == ErrorCode.BROKER_NOT_AVAILABLE:
            return False
        if error == ErrorCode.INVALID_VOTER_KEY:
            return True
        if error == ErrorCode.INVALID_REQUEST:
            raise QuorumFault("a peer refused a request as invalid")
        return None

    # --- votes ---

    def _voted(self, now_ms: float, sender: BrokerId, response: VoteResponse) -> None:
        state = self._context.state
        if not isinstance(state, Prospective | Candidate):
            return
        if response.granted:
            state.votes.grant(sender)
            self._context.advance_election(now_ms, state)
            return
        state.votes.reject(sender)
        if not state.votes.is_lost:
            return
        if isinstance(state, Prospective):
            self.election_lost(now_ms, state)
        elif not self._context.gates.pre_vote and not state.is_backing_off:
            state.backs_off_until_ms = now_ms + self._context.election_backoff_ms(state.retries)

    def election_lost(self, now_ms: float, state: Prospective) -> None:
        """Return to the known leader, or wait for one.

        Source: prospectiveTransitionAfterElectionLoss.
        """
        if state.has_leader:
            self._context.become_follower(now_ms, state.epoch, state.leader)
        else:
            self._context.become_unattached(now_ms, state.epoch)

    # --- records ---

    def _fetched(self, now_ms: float, response: QuorumFetchResponse) -> None:
        """Truncate, or append and learn the high watermark. Raises QuorumFault."""
        context = self._context
        state, log = context.state, context.log
        if not isinstance(state, Follower):
            raise QuorumFault(f"records of a fetch while {state.name}")
        if response.diverging_epoch >= 0:
            diverging = EpochEnd(response.diverging_epoch, response.diverging_end)
            if diverging.end < state.high_watermark:
                raise QuorumFault(f"truncation to {diverging.end} below the high watermark {state.high_watermark}")
            offset = truncation_offset(log, diverging)
            if offset < state.high_watermark:
                raise QuorumFault(f"truncation to {offset} below the high watermark {state.high_watermark}")
            log.truncate(offset)
            context.log_truncated(offset)
        elif response.snapshot_epoch >= 0 and response.snapshot_end >= 0:
            self._snapshots.begin(state, SnapshotId(response.snapshot_end, response.snapshot_epoch))
        else:
            if response.records:
                self._append(response.records)
                if context.quorum.is_voter or context.may_vote:
                    log.flush()
                context.log_changed()
            if response.high_watermark >= 0:
                self._raise_high_watermark(state, response)
        state.ends_ms = now_ms + context.settings.fetch_timeout_ms
        state.has_fetched = True

    def _download(self, now_ms: float, response: FetchSnapshotResponse) -> None:
        """Go on with a download; report a whole snapshot. Raises QuorumFault."""
        state = self._context.state
        download = state.download if isinstance(state, Follower) else None
        self._snapshots.fetched(now_ms, response)
        if download is not None and download in self._context.log.snapshots:
            self._context.effects.append(SnapshotStored(download.end, download.epoch, downloaded=True))

    def _append(self, records: bytes) -> None:
        try:
            self._context.log.append_from_leader(records)
        except ValueError as error:
            raise QuorumFault(f"records of the leader: {error}") from error

    def _raise_high_watermark(self, state: Follower, response: QuorumFetchResponse) -> None:
        """Source: updateFollowerHighWatermark, FollowerState.updateHighWatermark."""
        known = min(self._context.log.end, response.high_watermark)
        if known < state.high_watermark:
            raise QuorumFault(f"high watermark {known} after {state.high_watermark}")
        if known > state.high_watermark:
            state.high_watermark = known
            self._context.log.note_high_watermark(known)
