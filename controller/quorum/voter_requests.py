"""Changes of the voters at the leader: add, remove, update (KIP-853).

    add     question to the new voter for its features -> record of the voters -> committed -> response
    remove  record of the voters -> committed -> response; a leader outside the new set resigns
    update  record of the voters -> response at once

A change needs a high watermark of this epoch, `kraft.version` 1, and a committed last record of the voters. So two sets
that follow each other differ by one voter, and their majorities overlap.

Source: KafkaRaftClient.handleAddVoterRequest, AddVoterHandler, RemoveVoterHandler, UpdateVoterHandler.
"""

from controller.quorum.leader_state import Leader
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.quorum_inputs import RequestReceived
from controller.quorum.voter_change import VoterChange
from controller.quorum.voter_sets import ReplicaKey, VoterSet
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.quorum_messages import QuorumResponse
from protocol.messages.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    SupportedFeaturesRequest,
    SupportedFeaturesResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from protocol.records.quorum_control_records import Voter


class VoterRequests:
    """Handles one node's requests that change voters."""

    def __init__(self, context: QuorumContext) -> None:
        self._context = context

    def handle(self, now_ms: float, received: RequestReceived, error: ErrorCode) -> QuorumResponse | None:
        """The response; None: it waits. `error`: of a request that only a leader serves."""
        request = received.request
        if isinstance(request, AddRaftVoterRequest):
            added = self._add(now_ms, received, request) if error == ErrorCode.NONE else error
            return AddRaftVoterResponse(added) if added is not None else None
        if isinstance(request, RemoveRaftVoterRequest):
            removed = self._remove(now_ms, received, request) if error == ErrorCode.NONE else error
            return RemoveRaftVoterResponse(removed) if removed is not None else None
        if isinstance(request, UpdateRaftVoterRequest):
            error = self._update(now_ms, request) if error == ErrorCode.NONE else error
            return UpdateRaftVoterResponse(error, self._context.epoch, self._context.state.leader)
        return SupportedFeaturesResponse(ErrorCode.NONE, self._context.gates.kraft_version_max)

    def _refusal(self, now_ms: float, leader: Leader) -> ErrorCode:
        """The error of a change that is not possible now."""
        self.expire(now_ms)
        history = self._context.history
        if leader.change is not None or leader.high_watermark < 0:
            return ErrorCode.REQUEST_TIMED_OUT
        if not history.is_in_log:
            return ErrorCode.UNSUPPORTED_VERSION
        offset = history.last_offset
        uncommitted = offset is None or offset >= leader.high_watermark or leader.update is not None
        return ErrorCode.REQUEST_TIMED_OUT if uncommitted else ErrorCode.NONE

    # --- add ---

    def _add(self, now_ms: float, received: RequestReceived, request: AddRaftVoterRequest) -> ErrorCode | None:
        """The error; None: the request waits."""
        context, leader = self._context, self._context.state
        assert isinstance(leader, Leader), leader.name
        if request.voter < 0 or not request.directory or not request.host:
            return ErrorCode.INVALID_REQUEST
        error = self._refusal(now_ms, leader)
        if error != ErrorCode.NONE:
            return error
        if context.history.last.of(request.voter) is not None:
            return ErrorCode.DUPLICATE_VOTER
        if not context.requests.is_ready(request.voter, now_ms):
            return ErrorCode.REQUEST_TIMED_OUT
        change = VoterChange(
            received.sender, received.correlation, request, now_ms + context.settings.request_timeout_ms
        )
        change.inquiry = context.send(now_ms, request.voter, SupportedFeaturesRequest())
        leader.change = change
        return None

    def features_answered(
        self, now_ms: float, sender: BrokerId, correlation: int, response: SupportedFeaturesResponse | None
    ) -> None:
        """Go on with the new voter's features; None: the question failed.

        Source: AddVoterHandler.handleApiVersionsResponse.
        """
        context, leader = self._context, self._context.state
        change = leader.change if isinstance(leader, Leader) else None
        if change is None or change.inquiry != correlation:
            return
        assert isinstance(leader, Leader) and isinstance(change.request, AddRaftVoterRequest)
        request = change.request
        change.inquiry = -1
        key = ReplicaKey(request.voter, request.directory)
        if response is None or response.error != ErrorCode.NONE:
            context.end_change(leader, ErrorCode.REQUEST_TIMED_OUT)
        elif response.kraft_version_max < context.history.level:
            context.end_change(leader, ErrorCode.INVALID_REQUEST)
        elif not leader.is_caught_up(key, now_ms):
            context.end_change(leader, ErrorCode.REQUEST_TIMED_OUT)
        else:
            voter = Voter(request.voter, request.directory, request.host, response.kraft_version_max)
            change.voters = context.history.last.with_voter(voter)

    # --- remove and update ---

    def _remove(self, now_ms: float, received: RequestReceived, request: RemoveRaftVoterRequest) -> ErrorCode | None:
        """The error; None: the request waits."""
        context, leader = self._context, self._context.state
        assert isinstance(leader, Leader), leader.name
        if request.voter < 0 or not request.directory:
            return ErrorCode.INVALID_REQUEST
        error = self._refusal(now_ms, leader)
        if error != ErrorCode.NONE:
            return error
        voters = context.history.last
        key = ReplicaKey(request.voter, request.directory)
        if not voters.has(key) or len(voters.voters) == 1:
            return ErrorCode.VOTER_NOT_FOUND
        ends_ms = now_ms + context.settings.request_timeout_ms
        leader.change = VoterChange(received.sender, received.correlation, request, ends_ms, voters.without(key))
        return None

    def _update(self, now_ms: float, request: UpdateRaftVoterRequest) -> ErrorCode:
        """Replace a voter's record. The response does not wait for the commitment."""
        context, leader = self._context, self._context.state
        assert isinstance(leader, Leader), leader.name
        error = self._refusal(now_ms, leader)
        if error != ErrorCode.NONE:
            return error
        history = context.history
        if request.kraft_version_max < history.level or not request.host or not request.directory:
            return ErrorCode.INVALID_REQUEST
        if not history.last.has(ReplicaKey(request.voter, request.directory)):
            return ErrorCode.VOTER_NOT_FOUND
        leader.update = history.last.with_voter(
            Voter(request.voter, request.directory, request.host, request.kraft_version_max)
        )
        return ErrorCode.NONE

    # --- progress ---

    def expire(self, now_ms: float) -> None:
        """End a change that has taken too long; its record may still be committed."""
        leader = self._context.state
        if isinstance(leader, Leader) and leader.change is not None and now_ms >= leader.change.ends_ms:
            self._context.end_change(leader, ErrorCode.REQUEST_TIMED_OUT)

    def appended(self, leader: Leader) -> None:
        """The record of the pending change is in the leader's log."""
        change = leader.change
        if change is None or change.offset is None or not isinstance(change.request, AddRaftVoterRequest):
            return
        if not change.request.acks_when_committed:
            self._context.end_change(leader, ErrorCode.NONE)

    def committed(self, leader: Leader) -> None:
        """End a change whose record is committed. A leader outside the new voters resigns."""
        context, change = self._context, leader.change
        if change is None or change.offset is None or leader.high_watermark <= change.offset:
            return
        context.end_change(leader, ErrorCode.NONE)
        if isinstance(change.request, RemoveRaftVoterRequest) and not context.quorum.is_voter:
            leader.resigns = True


def next_voters(leader: Leader) -> VoterSet | None:
    """The set whose record the leader appends next; None: there is none."""
    if leader.update is not None:
        return leader.update
    return leader.change.voters if leader.change is not None and leader.change.offset is None else None
