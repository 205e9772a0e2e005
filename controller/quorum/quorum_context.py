"""State and services of one node's parts, and the transitions with their consequences.

Source: KafkaRaftClient.transitionTo..., onBecome..., onUpdateLeaderHighWatermark.
"""

from collections.abc import Callable, Sequence

from controller.quorum.election_file import ElectionStore
from controller.quorum.epoch_states import Candidate, EpochState, Prospective
from controller.quorum.leader_notices import LeaderNotices
from controller.quorum.leader_state import Leader
from controller.quorum.parked_fetches import ParkedFetches
from controller.quorum.peer_requests import PeerRequests
from controller.quorum.quorum_inputs import QuorumEffect, Respond, SendRequest
from controller.quorum.quorum_log import QuorumLog
from controller.quorum.settings import QuorumSettings
from controller.quorum.state_transitions import QuorumFault, QuorumState
from protocol.errors import ErrorCode
from protocol.gates import Gates
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from protocol.messages.quorum_messages import QuorumFetchResponse, QuorumRequest, QuorumResponse

SHORT_BACKOFF_STEP_MS = 50
BACKOFF_STEP_MS = 100


class QuorumContext:
    """One node's parts. `shutdown_ends_ms`: -1 unless an orderly stop is under way."""

    def __init__(
        self,
        me: BrokerId,
        voters: Sequence[BrokerId],
        settings: QuorumSettings,
        gates: Gates,
        log: QuorumLog,
        store: ElectionStore,
        draw: Callable[[int], int],
    ) -> None:
        self.me = me
        self.settings = settings
        self.gates = gates
        self.log = log
        self.draw = draw
        self.effects: list[QuorumEffect] = []
        self.quorum = QuorumState(me, voters, settings, gates, store, draw)
        # A fetch of a node from itself finds no leader, so it is left out of the search, unlike in Kafka.
        others = [voter for voter in voters if voter != me]
        self.requests = PeerRequests(others, settings.request_timeout_ms, settings.retry_backoff_ms, draw)
        self.parked = ParkedFetches()
        self.notices = LeaderNotices(gates, self.effects)
        self.shutdown_ends_ms = -1.0

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

    def send(self, now_ms: float, receiver: BrokerId, request: QuorumRequest) -> None:
        self.effects.append(SendRequest(receiver, self.requests.sent(receiver, now_ms), request))

    # --- transitions ---

    def become_unattached(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId = NO_BROKER) -> None:
        """Enter an epoch without a known leader.

        Parked fetches of a deposed leader stay, as in Kafka, until it follows another one.
        """
        self.quorum.to_unattached(now_ms, epoch, leader)
        self.notices.state_changed(self.state)
        self.requests.forget_all()

    def become_follower(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId) -> None:
        self.quorum.to_follower(now_ms, epoch, leader)
        self.notices.state_changed(self.state)
        self.requests.forget_all()
        self._refuse_parked()

    def become_prospective(self, now_ms: float) -> None:
        prospective = self.quorum.to_prospective(now_ms)
        if not self.advance_election(now_ms, prospective):
            self.requests.forget_all()

    def become_candidate(self, now_ms: float) -> None:
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
        self.quorum.to_resigned(now_ms, leader.successors)
        self.requests.forget_all()

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
        elif leader != NO_BROKER and not state.has_leader:
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
