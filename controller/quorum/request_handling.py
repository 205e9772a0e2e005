"""Requests of other nodes: votes, announcements of leaders, and fetches at the leader.

Source: KafkaRaftClient.handleVoteRequest, handleBeginQuorumEpochRequest, handleEndQuorumEpochRequest,
handleFetchRequest, tryCompleteFetchRequest.
"""

from controller.quorum.epoch_states import Follower, Prospective, Unattached
from controller.quorum.leader_state import Leader
from controller.quorum.parked_fetches import ParkedFetch
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.quorum_inputs import RequestReceived
from controller.quorum.quorum_log import divergence, needed_snapshot
from controller.quorum.snapshot_requests import SnapshotRequests
from controller.quorum.vote_rules import grants_pre_vote, grants_vote
from controller.quorum.voter_requests import VoterRequests
from controller.quorum.voter_sets import ReplicaKey
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from protocol.messages.quorum_messages import (
    UNSUPPORTED_PRE_VOTE,
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
    FetchSnapshotRequest,
    QuorumFetchRequest,
    QuorumFetchResponse,
    QuorumResponse,
    VoteRequest,
    VoteResponse,
)
from protocol.messages.voter_messages import UpdateRaftVoterRequest


class RequestHandling:
    """Handles the requests that one node receives."""

    def __init__(self, context: QuorumContext, voters: VoterRequests, snapshots: SnapshotRequests) -> None:
        self._context = context
        self._voter_requests = voters
        self._snapshots = snapshots

    def handle(self, now_ms: float, received: RequestReceived) -> None:
        request = received.request
        response: QuorumResponse | None
        if isinstance(request, VoteRequest):
            response = self._vote(now_ms, request)
        elif isinstance(request, BeginQuorumEpochRequest):
            response = self._begin(now_ms, request)
        elif isinstance(request, EndQuorumEpochRequest):
            response = self._end(now_ms, request)
        elif isinstance(request, FetchSnapshotRequest):
            response = self._snapshots.fetch(now_ms, request, self._invalid_at_leader(request.epoch))
        elif not isinstance(request, QuorumFetchRequest):
            epoch = request.epoch if isinstance(request, UpdateRaftVoterRequest) else self._context.epoch
            response = self._voter_requests.handle(now_ms, received, self._invalid_at_leader(epoch))
        else:
            response = self._fetch(now_ms, received.sender, received.correlation, request)
        if response is not None:
            self._context.respond(received.sender, received.correlation, response)

    # --- elections ---

    def _vote(self, now_ms: float, request: VoteRequest) -> QuorumResponse:
        """Move up to the sender's epoch whatever the answer; write a vote before it is sent."""
        context = self._context
        if request.pre_vote and not context.gates.pre_vote:
            return UNSUPPORTED_PRE_VOTE
        beyond = request.last_epoch > request.epoch if request.pre_vote else request.last_epoch >= request.epoch
        error = self._invalid_sender(request.epoch, request.candidate)
        if request.last_offset < 0 or request.last_epoch < 0 or beyond:
            error = ErrorCode.INVALID_REQUEST
        if error != ErrorCode.NONE:
            return self._vote_response(error, granted=False)
        if request.epoch > context.epoch:
            context.become_unattached(now_ms, request.epoch)
        if request.voter_directory not in ("", context.key.directory):
            return self._vote_response(ErrorCode.INVALID_VOTER_KEY, granted=False)
        state, log = context.state, context.log
        candidate = ReplicaKey(request.candidate, request.directory)
        up_to_date = (request.last_epoch, request.last_offset) >= (log.last_epoch, log.end)
        if request.pre_vote:
            return self._vote_response(ErrorCode.NONE, granted=grants_pre_vote(state, up_to_date))
        granted = grants_vote(state, candidate, up_to_date)
        if granted and state.voted == NO_BROKER:
            assert isinstance(state, Unattached | Prospective), state.name
            context.quorum.add_vote(now_ms, candidate)
        return self._vote_response(ErrorCode.NONE, granted=granted)

    def _vote_response(self, error: ErrorCode, *, granted: bool) -> VoteResponse:
        state = self._context.state
        return VoteResponse(error, state.epoch, state.leader, granted)

    def _invalid_sender(self, epoch: LeaderEpoch, sender: BrokerId) -> ErrorCode:
        if epoch < self._context.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.INVALID_REQUEST if sender < 0 else ErrorCode.NONE

    # --- leaders ---

    def _begin(self, now_ms: float, request: BeginQuorumEpochRequest) -> BeginQuorumEpochResponse:
        error = self._invalid_sender(request.epoch, request.leader)
        if error == ErrorCode.NONE:
            self._context.learn_leader(now_ms, request.epoch, request.leader)
            if request.voter_directory not in ("", self._context.key.directory):
                error = ErrorCode.INVALID_VOTER_KEY
        state = self._context.state
        return BeginQuorumEpochResponse(error, state.epoch, state.leader)

    def _end(self, now_ms: float, request: EndQuorumEpochRequest) -> EndQuorumEpochResponse:
        """Campaign soon, the best successor at once."""
        context = self._context
        error = self._invalid_sender(request.epoch, request.leader)
        if error == ErrorCode.NONE:
            context.learn_leader(now_ms, request.epoch, request.leader)
            state = context.state
            if isinstance(state, Follower) and state.leader == request.leader:
                state.ends_ms = now_ms + context.successor_delay_ms(request.successors)
        state = context.state
        return EndQuorumEpochResponse(error, state.epoch, state.leader)

    # --- fetches ---

    def _fetch(
        self, now_ms: float, sender: BrokerId, correlation: int, request: QuorumFetchRequest
    ) -> QuorumFetchResponse | None:
        """The response; None: the fetch is parked."""
        invalid = request.offset < 0 or request.last_fetched_epoch < 0 or request.last_fetched_epoch > request.epoch
        if invalid or request.max_wait_ms < 0:
            return self._fetch_error(ErrorCode.INVALID_REQUEST)
        response = self._read(now_ms, request)
        learns = self._context.gates.high_watermark_completes_fetches and (
            request.high_watermark < response.high_watermark
        )
        needs = response.diverging_epoch >= 0 or response.snapshot_epoch >= 0
        decided = response.error != ErrorCode.NONE or response.records or needs
        if decided or learns or request.max_wait_ms == 0:
            return response
        self._context.parked.park(ParkedFetch(sender, correlation, request, response, now_ms + request.max_wait_ms))
        return None

    def _read(self, now_ms: float, request: QuorumFetchRequest) -> QuorumFetchResponse:
        """Validate and read; a valid offset counts as the replica's log end."""
        context = self._context
        state, log = context.state, context.log
        error = self._invalid_at_leader(request.epoch)
        if error != ErrorCode.NONE:
            return self._fetch_error(error)
        assert isinstance(state, Leader) and request.replica != context.me, (state.name, request)
        snapshot = needed_snapshot(
            log, request.offset, request.last_fetched_epoch,
            empty_needs_snapshot=context.gates.empty_replica_fetches_snapshot,
        )  # fmt: skip
        if snapshot is not None:
            return QuorumFetchResponse(
                ErrorCode.NONE, state.epoch, state.leader, state.high_watermark,
                snapshot_end=snapshot.end, snapshot_epoch=snapshot.epoch,
            )  # fmt: skip
        end = divergence(log, request.offset, request.last_fetched_epoch)
        if end is not None:
            return QuorumFetchResponse(
                ErrorCode.NONE, state.epoch, state.leader, state.high_watermark, end.epoch, end.end
            )
        records = log.read(request.offset)
        replica = ReplicaKey(request.replica, request.directory)
        if request.replica >= 0 and state.note_fetch(replica, request.offset, now_ms):
            self.high_watermark_rose(now_ms, state)
        return QuorumFetchResponse(ErrorCode.NONE, state.epoch, state.leader, state.high_watermark, records=records)

    def _invalid_at_leader(self, epoch: LeaderEpoch) -> ErrorCode:
        """Source: validateLeaderOnlyRequest. A newer epoch does not move the node."""
        context = self._context
        if epoch < context.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        if epoch > context.epoch:
            return ErrorCode.UNKNOWN_LEADER_EPOCH
        if not isinstance(context.state, Leader):
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.BROKER_NOT_AVAILABLE if context.is_shutting_down else ErrorCode.NONE

    def _fetch_error(self, error: ErrorCode) -> QuorumFetchResponse:
        state = self._context.state
        return QuorumFetchResponse(error, state.epoch, state.leader)

    # --- progress of the leader ---

    def log_grew(self, now_ms: float, leader: Leader) -> None:
        """Count the leader's own end, and complete the fetches that it has records for."""
        context = self._context
        context.log_changed()
        end = context.log.end
        if leader.note_own_end(end, context.history.last):
            self.high_watermark_rose(now_ms, leader)
        self._complete(now_ms, context.parked.take_below(end))

    def high_watermark_rose(self, now_ms: float, leader: Leader) -> None:
        """Store it; from 4.1 on, complete all parked fetches with it.

        Source: onUpdateLeaderHighWatermark.
        """
        context = self._context
        context.log.note_high_watermark(leader.high_watermark)
        self._voter_requests.committed(leader)
        if context.gates.high_watermark_completes_fetches:
            self._complete(now_ms, context.parked.take_all())

    def expire(self, now_ms: float) -> None:
        """Complete the fetches and changes of voters that have waited for too long."""
        self._voter_requests.expire(now_ms)
        for fetch in self._context.parked.take_expired(now_ms):
            self._context.respond(fetch.sender, fetch.correlation, fetch.at_expiry)

    def _complete(self, now_ms: float, fetches: list[ParkedFetch]) -> None:
        for fetch in fetches:
            self._context.respond(fetch.sender, fetch.correlation, self._read(now_ms, fetch.request))
