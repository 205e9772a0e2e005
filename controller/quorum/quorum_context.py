"""State and services of one node's parts, and the transitions with their consequences.

Source: KafkaRaftClient.transitionTo..., onBecome..., onUpdateLeaderHighWatermark.
"""

from collections.abc import Callable, Sequence

from controller.quorum.election_file import ElectionStore
from controller.quorum.epoch_states import Candidate, EpochState, Follower, Prospective
from controller.quorum.leader_notices import LeaderNotices
from controller.quorum.leader_state import Leader
from controller.quorum.parked_fetches import ParkedFetches
from controller.quorum.peer_requests import PeerRequests
from controller.quorum.quorum_inputs import QuorumEffect, Respond, SendRequest
from controller.quorum.quorum_log import QuorumLog
from controller.quorum.settings import QuorumSettings
from controller.quorum.state_transitions import QuorumFault, QuorumState
from controller.quorum.voter_sets import ReplicaKey, VoterHistory, VoterSet
from protocol.errors import ErrorCode
from protocol.gates import Gates
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import QuorumFetchResponse, QuorumRequest, QuorumResponse
from protocol.messages.voter_messages import AddRaftVoterRequest, AddRaftVoterResponse, RemoveRaftVoterResponse
from protocol.records.quorum_control_records import Voter

SHORT_BACKOFF_STEP_MS = 50
BACKOFF_STEP_MS = 100


class QuorumContext:
    """One node's parts. `shutdown_ends_ms`: -1 unless an orderly stop is under way.

    `servers`: the nodes to search for a leader. `host`: of the node's own listener.
    """

    def __init__(
        self,
        me: ReplicaKey,
        host: str,
        voters: VoterSet,
        servers: Sequence[BrokerId],
        settings: QuorumSettings,
        gates: Gates,
        log: QuorumLog,
        store: ElectionStore,
        draw: Callable[[int], int],
        *,
        may_vote: bool,
    ) -> None:
        self.may_vote = may_vote
        """The process is a controller: it syncs what it fetches, because it may become a voter."""
        self.joins = may_vote and settings.auto_join_enable and gates.observers_join
        self.me = me.id
        self.key = me
        self.host = host
        self.settings = settings
        self.gates = gates
        self.log = log
        self.draw = draw
        self.effects: list[QuorumEffect] = []
        self.history = VoterHistory(voters)
        self.quorum = QuorumState(me, self.history, settings, gates, store, draw)
        # A fetch of a node from itself finds no leader, so it is left out of the search, unlike in Kafka.
        others = [server for server in servers if server != me.id]
        self.requests = PeerRequests(others, settings.request_timeout_ms, settings.retry_backoff_ms, draw)
        self.parked = ParkedFetches()
        self.notices = LeaderNotices(gates, self.effects, log)
        self.shutdown_ends_ms = -1.0

    # --- the log ---

    def log_changed(self) -> None:
        """Read the voters of what the log has got, or of its snapshot. Raises QuorumFault.

        Source: KRaftControlRecordStateMachine.updateState.
        """
        try:
            self._read_voters()
        except ValueError as error:
            raise QuorumFault(f"metadata log: {error}") from error

    def _read_voters(self) -> None:
        history, log = self.history, self.log
        snapshots = log.snapshots
        if snapshots and (history.next_offset == 0 or history.next_offset < log.start):
            latest = snapshots[-1]
            history.clear()
            for record in log.snapshot_control_records(latest):
                history.note(Offset(latest.end - 1), record)
            history.next_offset = latest.end
        if log.end > history.next_offset:
            for offset, record in log.control_records(history.next_offset, log.end):
                history.note(offset, record)
            history.next_offset = log.end

    def log_truncated(self, end: Offset) -> None:
        self.history.truncate(end)

    @property
    def own_voter(self) -> Voter:
        """This node, as a record of the voters has it."""
        return Voter(self.me, self.key.directory, self.host, self.gates.kraft_version_max)

    @property
    def state(self) -> EpochState:
        return self.quorum.state

    @property
    def epoch(self) -> LeaderEpoch:
        return self.quorum.state.epoch

    @property
    def is_shutting_down(self) -> bool:
        return self.shutdown_ends_ms >= 0

    # --- messages ---

    def respond(self, receiver: BrokerId, correlation: int, response: QuorumResponse) -> None:
        self.effects.append(Respond(receiver, correlation, response))

    def send(self, now_ms: float, receiver: BrokerId, request: QuorumRequest) -> int:
        """Send a request; its correlation."""
        correlation = self.requests.sent(receiver, now_ms)
        self.effects.append(SendRequest(receiver, correlation, request))
        return correlation

    # --- transitions ---

    def become_unattached(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId = NO_BROKER) -> None:
        """Enter an epoch without a known leader.

        Parked fetches of a deposed leader stay, as in Kafka, until it follows another one.
        """
        self._leave_state()
        self.quorum.to_unattached(now_ms, epoch, leader)
        self.notices.state_changed(self.state)
        self.requests.forget_all()

    def become_follower(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId) -> None:
        self._leave_state()
        self.quorum.to_follower(now_ms, epoch, leader)
        self.notices.state_changed(self.state)
        self.requests.forget_all()
        self._refuse_parked()

    def become_prospective(self, now_ms: float) -> None:
        self._leave_state()
        prospective = self.quorum.to_prospective(now_ms)
        if not self.advance_election(now_ms, prospective):
            self.requests.forget_all()

    def become_candidate(self, now_ms: float) -> None:
        self._leave_state()
        candidate = self.quorum.to_candidate(now_ms)
        self.notices.state_changed(self.state)
        if not self.advance_election(now_ms, candidate):
            self.requests.forget_all()

    def advance_election(self, now_ms: float, state: Prospective | Candidate) -> bool:
        """Take the next step of a won election; whether there was one."""
        if not state.votes.is_won:
            return False
        if isinstance(state, Prospective):
            self.become_candidate(now_ms)
        else:
            self.quorum.to_leader(now_ms, self.log.end)
            self.log.begin_epoch(self.epoch)
            self.requests.forget_all()
        return True

    def become_resigned(self, now_ms: float, leader: Leader) -> None:
        self._refuse_parked()
        self.end_change(leader, ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self.quorum.to_resigned(now_ms, leader.successors)
        self.requests.forget_all()

    def _leave_state(self) -> None:
        """End what a follower downloads, and what waits at a leader for a change of the voters."""
        state = self.state
        if isinstance(state, Follower) and state.download is not None:
            self.log.drop_download()
        elif isinstance(state, Leader):
            self.end_change(state, ErrorCode.NOT_LEADER_OR_FOLLOWER)

    def end_change(self, leader: Leader, error: ErrorCode) -> None:
        """Respond to the change of the voters that is under way, if there is one."""
        change, leader.change = leader.change, None
        if change is not None:
            adds = isinstance(change.request, AddRaftVoterRequest)
            response = AddRaftVoterResponse(error) if adds else RemoveRaftVoterResponse(error)
            self.respond(change.sender, change.correlation, response)

    def _refuse_parked(self) -> None:
        """Complete the parked fetches, so that their replicas look for the new leader."""
        state = self.state
        for fetch in self.parked.take_all():
            error = QuorumFetchResponse(ErrorCode.NOT_LEADER_OR_FOLLOWER, state.epoch, state.leader)
            self.respond(fetch.sender, fetch.correlation, error)

    # --- peers' view of the leader ---

    def learn_leader(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId) -> None:
        """Follow a peer's newer epoch, or the leader of this one.

        Raises QuorumFault if the peer names another leader of this epoch. Source: maybeTransition.
        """
        state = self.state
        if leader == self.me:
            consistent = isinstance(state, Leader) and epoch <= state.epoch
        else:
            unknown = NO_BROKER in (leader, state.leader)
            consistent = epoch != state.epoch or unknown or leader == state.leader
        if not consistent:
            raise QuorumFault(f"leader {leader} of epoch {epoch} from a peer, own view {state.leader} of {state.epoch}")
        if epoch > state.epoch:
            if leader != NO_BROKER:
                self.become_follower(now_ms, epoch, leader)
            else:
                self.become_unattached(now_ms, epoch)
        elif leader != NO_BROKER and not state.reaches_leader:
            self.become_follower(now_ms, epoch, leader)

    # --- backoff ---

    def election_backoff_ms(self, retries: int) -> float:
        """Backoff of a candidate after its `retries`-th election.

        Source: binaryExponentialElectionBackoffMs.
        """
        most_ms = self.settings.election_backoff_max_ms
        if self.gates.short_first_backoff:
            backoff_ms = SHORT_BACKOFF_STEP_MS * (1 + self.draw(2 << min(10, retries - 1)))
            return min(backoff_ms, most_ms + self.draw(SHORT_BACKOFF_STEP_MS))
        return min(BACKOFF_STEP_MS * self.draw(2 << min(20, retries - 1)), most_ms)

    def successor_delay_ms(self, successors: Sequence[BrokerId]) -> float:
        """Delay of this node's campaign, by its place. Source: strictExponentialElectionBackoffMs."""
        most_ms = self.settings.election_backoff_max_ms
        if self.me not in successors:
            return most_ms if successors else 0
        place = successors.index(self.me)
        if place == 0:
            return 0
        return min(most_ms, (most_ms >> (len(successors) - 1)) << (place - 1))
