"""Work of each state as time passes: timeouts, requests to send, records to append.

`poll` does what is due and returns the time of the next poll; a time that has come means at once.

Kraft-semantics 1.2.

Source: KafkaRaftClient.pollLeader, pollCandidate, pollProspective, pollFollower, pollUnattached, pollResigned.
"""

from collections.abc import Callable, Sequence
from functools import partial

from controller.quorum.epoch_states import Candidate, Follower, Prospective, Resigned, Unattached
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_context import QuorumContext
from controller.quorum.request_handling import RequestHandling
from controller.quorum.response_handling import ResponseHandling
from controller.quorum.snapshot_requests import SnapshotRequests
from controller.quorum.state_transitions import NEVER_MS
from controller.quorum.voter_requests import VoterRequests, next_voters
from controller.quorum.voter_sets import VoterSet
from protocol.ids import NO_OFFSET, BrokerId, LeaderEpoch
from protocol.messages.quorum_messages import (
    FETCH_MAX_WAIT_MS,
    BeginQuorumEpochRequest,
    EndQuorumEpochRequest,
    FetchSnapshotRequest,
    QuorumFetchRequest,
    QuorumRequest,
    VoteRequest,
)
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest, UpdateRaftVoterRequest
from protocol.records.quorum_control_records import ControlRecord, KRaftVersion, Voters
from protocol.records.quorum_records import LeaderChange


class StatePolls:
    """Polls of one node."""

    def __init__(
        self,
        context: QuorumContext,
        requests: RequestHandling,
        responses: ResponseHandling,
        voters: VoterRequests,
        snapshots: SnapshotRequests,
    ) -> None:
        self._context = context
        self._requests = requests
        self._responses = responses
        self._voters = voters
        self._snapshots = snapshots

    def poll(self, now_ms: float, wall_ms: float) -> float:
        state = self._context.state
        if isinstance(state, Leader):
            return self._leader(now_ms, wall_ms, state)
        if isinstance(state, Candidate):
            return self._candidate(now_ms, state)
        if isinstance(state, Prospective):
            return self._prospective(now_ms, state)
        if isinstance(state, Follower):
            return self._follower(now_ms, state)
        if isinstance(state, Resigned):
            return self._resigned(now_ms, state)
        assert isinstance(state, Unattached), state.name
        return self._unattached(now_ms, state)

    # --- leader ---

    def _leader(self, now_ms: float, wall_ms: float, state: Leader) -> float:
        context = self._context
        check_at_ms = state.check_quorum_at_ms(context.gates)
        if context.is_shutting_down or state.resigns or now_ms >= check_at_ms:
            context.become_resigned(now_ms, state)
            return now_ms
        self._append_pending(now_ms, wall_ms, state)
        drains_at_ms = state.drains_at_ms if state.pending else NEVER_MS
        change_ends_ms = state.change.ends_ms if state.change is not None else NEVER_MS
        return min(check_at_ms, drains_at_ms, change_ends_ms, self._announce(now_ms, state))

    def _append_pending(self, now_ms: float, wall_ms: float, state: Leader) -> None:
        """Append what is due, count it, then sync. Source: maybeAppendBatches, flushLeaderLog."""
        log = self._context.log
        voters = next_voters(state)
        if not state.has_begun:
            log.append_control(state.epoch, self._first_records(state), wall_ms)
            state.has_begun = True
        elif state.pending and (voters is not None or now_ms >= state.drains_at_ms):
            log.append(state.epoch, state.drain(), wall_ms)
        elif voters is None:
            return
        if voters is not None:
            self._append_voters(state, voters, wall_ms)
        self._requests.log_grew(now_ms, state)
        log.flush()
        self._voters.appended(state)

    def _append_voters(self, state: Leader, voters: VoterSet, wall_ms: float) -> None:
        """Append the record of a change behind all records so far. It counts from now on."""
        log = self._context.log
        if state.update is not None:
            state.update = None
        elif state.change is not None:
            state.change.offset = log.end
        log.append_control(state.epoch, [Voters(voters.voters)], wall_ms)

    def _first_records(self, state: Leader) -> list[ControlRecord]:
        """The control records that begin an epoch.

        The voters are among them if they are of a bootstrap snapshot alone, or have another record of this node.

        Source: LeaderState.appendStartOfEpochControlRecords.
        """
        context = self._context
        records: list[ControlRecord] = [LeaderChange(state.me, tuple(state.voters), tuple(state.granting))]
        history, own = context.history, context.own_voter
        if history.is_in_log and (history.last_offset == NO_OFFSET or history.last.of(state.me) != own):
            records += [KRaftVersion(history.level), Voters(history.last.with_voter(own).voters)]
        return records

    def _announce(self, now_ms: float, state: Leader) -> float:
        """BeginQuorumEpoch, until acknowledged or in periods."""
        gates = self._context.gates

        def request(voter: BrokerId) -> BeginQuorumEpochRequest:
            return BeginQuorumEpochRequest(state.epoch, state.me, self._directory_of(voter))

        if gates.begins_until_acknowledged:
            return self._send_to(now_ms, state.unacknowledged(), request)
        if now_ms >= state.begins_at_ms:
            self._send_to(now_ms, state.to_announce(gates, now_ms), request)
            state.announced(now_ms)
        return state.begins_at_ms

    # --- elections ---

    def _candidate(self, now_ms: float, state: Candidate) -> float:
        context = self._context
        if context.is_shutting_down:
            return min(context.shutdown_ends_ms, self._send_votes(now_ms, state))
        if state.is_backing_off:
            if now_ms < state.backs_off_until_ms:
                return state.backs_off_until_ms
            context.become_candidate(now_ms)
            return now_ms
        if now_ms < state.ends_ms:
            return min(state.ends_ms, self._send_votes(now_ms, state))
        if context.gates.pre_vote:
            context.become_prospective(now_ms)
            return now_ms
        state.backs_off_until_ms = now_ms + context.election_backoff_ms(state.retries)
        return state.backs_off_until_ms

    def _prospective(self, now_ms: float, state: Prospective) -> float:
        context = self._context
        if context.is_shutting_down:
            return min(context.shutdown_ends_ms, self._send_votes(now_ms, state))
        if now_ms < state.ends_ms:
            return min(state.ends_ms, self._send_votes(now_ms, state))
        self._responses.election_lost(now_ms, state)
        return now_ms

    def _send_votes(self, now_ms: float, state: Prospective | Candidate) -> float:
        """Request the missing votes, while a majority is possible."""
        if state.votes.is_lost:
            return NEVER_MS
        context = self._context
        log, pre_vote = context.log, isinstance(state, Prospective)

        def request(voter: BrokerId) -> VoteRequest:
            return VoteRequest(
                state.epoch, context.me, log.last_epoch, log.end, pre_vote, context.key.directory,
                self._directory_of(voter),
            )  # fmt: skip

        return self._send_to(now_ms, state.votes.unrecorded, request)

    def _directory_of(self, voter: BrokerId) -> str:
        """The directory that a voter's record has; "" unknown."""
        known = self._context.history.last.of(voter)
        return known.directory if known is not None else ""

    def _campaign(self, now_ms: float) -> float:
        if self._context.gates.pre_vote:
            self._context.become_prospective(now_ms)
        else:
            self._context.become_candidate(now_ms)
        return now_ms

    def _resigned(self, now_ms: float, state: Resigned) -> float:
        context = self._context
        request = EndQuorumEpochRequest(state.epoch, context.me, state.successors)
        sends_at_ms = self._send_to(now_ms, list(state.unacknowledged), lambda voter: request)
        if context.is_shutting_down:
            return min(context.shutdown_ends_ms, sends_at_ms)
        if now_ms < state.ends_ms:
            return min(state.ends_ms, sends_at_ms)
        if context.gates.pre_vote or not context.quorum.is_voter:
            context.become_unattached(now_ms, LeaderEpoch(state.epoch + 1))
        else:
            context.become_candidate(now_ms)
        return now_ms

    # --- replicas ---

    def _unattached(self, now_ms: float, state: Unattached) -> float:
        context = self._context
        if not context.quorum.is_voter:
            return self._probe(now_ms)
        if context.is_shutting_down:
            return context.shutdown_ends_ms
        if now_ms >= state.ends_ms:
            return self._campaign(now_ms)
        return min(state.ends_ms, self._probe(now_ms) if context.gates.voters_probe else NEVER_MS)

    def _follower(self, now_ms: float, state: Follower) -> float:
        context = self._context
        if state.voter_update_ms == NEVER_MS and context.history.is_in_log:
            context.quorum.voter_looked_at(now_ms, state)  # it has read of such voters just now
        if context.quorum.is_voter:
            if context.is_shutting_down:
                return context.shutdown_ends_ms
            if now_ms >= state.ends_ms:
                return self._campaign(now_ms)
            update = self._update_request() if now_ms >= state.voter_update_ms else None
            if now_ms >= state.voter_update_ms:
                context.quorum.voter_looked_at(now_ms, state)
            if update is not None:
                self._send(now_ms, state.leader, lambda: update)
            limit_ms = min(state.ends_ms, state.voter_update_ms)
            if not context.gates.voters_probe:
                return min(limit_ms, self._send(now_ms, state.leader, self._fetch_request))
            return min(limit_ms, self._fetch_from_best(now_ms, state))
        if now_ms >= state.ends_ms:
            return self._probe(now_ms)
        return min(state.ends_ms, self._joins(now_ms, state), self._fetch_from_best(now_ms, state))

    def _update_request(self) -> UpdateRaftVoterRequest | None:
        """A request to replace this voter's record, if that is another one.

        Source: pollFollowerAsVoter.
        """
        context = self._context
        own = context.own_voter
        if not context.history.is_in_log or context.history.last.of(context.me) == own:
            return None
        return UpdateRaftVoterRequest(context.epoch, own.id, own.directory, own.host, own.kraft_version_max)

    def _joins(self, now_ms: float, state: Follower) -> float:
        """Ask the leader to make this observer a voter; the time of the next request.

        A voter with this id and another directory is a former life of the node, and is removed first.

        Source: KafkaRaftClient.pollFollowerAsObserver, shouldSendAddOrRemoveVoterRequest (4.2).
        """
        context = self._context
        if not (context.joins and context.history.is_in_log):
            return NEVER_MS
        if now_ms >= state.voter_update_ms:
            if not context.requests.is_ready(state.leader, now_ms):
                return context.requests.waits_until_ms(state.leader)
            former = context.history.last.of(context.me)
            if former is not None:
                context.send(now_ms, state.leader, RemoveRaftVoterRequest(context.me, former.directory))
            else:
                own = context.own_voter
                request = AddRaftVoterRequest(own.id, own.directory, own.host, acks_when_committed=False)
                context.send(now_ms, state.leader, request)
            context.quorum.voter_looked_at(now_ms, state)
        return state.voter_update_ms

    def _fetch_from_best(self, now_ms: float, state: Follower) -> float:
        """Fetch from the leader, or from any voter if the leader fails.

        Source: maybeSendFetchToBestNode.
        """
        requests = self._context.requests
        if requests.has_timed_out(state.leader, now_ms):
            requests.forget(state.leader)
            return self._probe(now_ms)
        if requests.is_backing_off(state.leader, now_ms):
            return self._probe(now_ms)
        if not requests.has_any_in_flight(now_ms):
            return self._send(now_ms, state.leader, self._fetch_request)
        return requests.server_ready_at_ms(now_ms)

    def _probe(self, now_ms: float) -> float:
        """Fetch from any voter, to find a leader. Source: maybeSendFetchToAnyBootstrap."""
        server = self._context.requests.ready_server(now_ms)
        if server is None:
            return self._context.requests.server_ready_at_ms(now_ms)
        return self._send(now_ms, server, self._fetch_request)

    def _fetch_request(self) -> QuorumFetchRequest | FetchSnapshotRequest:
        """The next fetch: of records, or of a snapshot that is under way."""
        context = self._context
        log, state = context.log, context.state
        if isinstance(state, Follower) and state.download is not None:
            return self._snapshots.request(state)
        known = state.high_watermark
        return QuorumFetchRequest(
            state.epoch, context.me, log.end, log.last_epoch, FETCH_MAX_WAIT_MS, known, context.key.directory
        )

    # --- sending ---

    def _send_to(
        self, now_ms: float, receivers: Sequence[BrokerId], request: Callable[[BrokerId], QuorumRequest]
    ) -> float:
        """Send to each receiver, unless a request is in flight; the time of the next one's end."""
        times = [self._send(now_ms, receiver, partial(request, receiver)) for receiver in receivers]
        return min(times, default=NEVER_MS)

    def _send(self, now_ms: float, receiver: BrokerId, request: Callable[[], QuorumRequest]) -> float:
        """Send, unless a request is in flight or the receiver backs off; the time of its end."""
        requests = self._context.requests
        if requests.is_ready(receiver, now_ms):
            self._context.send(now_ms, receiver, request())
        return requests.waits_until_ms(receiver)
