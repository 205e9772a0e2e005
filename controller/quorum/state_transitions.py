"""Transitions between the states of a node: guards, timers, and the election's file.

A durable transition writes the file first. Resigned and Prospective are not durable: they change nothing of it.

Kraft-semantics 1.1.

Source: QuorumState.
"""

from collections.abc import Callable

from controller.quorum.election_file import Election, ElectionStore, decode_election, encode_election
from controller.quorum.epoch_states import Candidate, EpochState, Follower, Prospective, Resigned, Unattached
from controller.quorum.leader_state import Leader
from controller.quorum.settings import QuorumSettings
from controller.quorum.voter_sets import ReplicaKey, VoterHistory
from protocol.gates import Gates
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset

NEVER_MS = float("inf")
VOTER_UPDATE_FETCH_TIMEOUTS = 3
"""Fetch timeouts between a follower's looks at its voter's record."""


class QuorumFault(Exception):
    """The node cannot go on: peers contradict each other, or data that was committed is gone."""


class QuorumState:
    """The present state of one node. `draw(n)`: a uniform number in [0, n)."""

    def __init__(
        self,
        me: ReplicaKey,
        history: VoterHistory,
        settings: QuorumSettings,
        gates: Gates,
        store: ElectionStore,
        draw: Callable[[int], int],
    ) -> None:
        self.me = me.id
        self.key = me
        self.history = history
        self._settings = settings
        self._gates = gates
        self._store = store
        self._draw = draw
        self.state: EpochState = Unattached(LeaderEpoch(0), NO_BROKER, NO_BROKER, NO_OFFSET, NEVER_MS)

    @property
    def voters(self) -> list[BrokerId]:
        """Ids of the voters that count now."""
        return self.history.last.ids

    @property
    def is_voter(self) -> bool:
        return self.history.last.has(self.key)

    @property
    def is_only_voter(self) -> bool:
        return self.is_voter and len(self.history.last.voters) == 1

    @property
    def name(self) -> str:
        """The state's name in this release."""
        state = self.state
        voted = self._gates.voted_is_a_state and isinstance(state, Unattached) and state.voted != NO_BROKER
        return "voted" if voted else state.name

    # --- start ---

    def start(self, now_ms: float, last_epoch: LeaderEpoch) -> None:
        """Take the state of the file and the log's `last_epoch`.

        Raises ElectionFileDamaged, StorageError.
        """
        data = self._store.read()
        election = Election(LeaderEpoch(0)) if data is None else decode_election(data)
        self._durably(self._initial(now_ms, election, last_epoch))

    def _initial(self, now_ms: float, election: Election, last_epoch: LeaderEpoch) -> EpochState:
        """The first state.

        A former leader resigns: the records of its epoch stay unique even if some of them are lost.
        """
        epoch, leader, voted = election.epoch, election.leader, election.voted
        if epoch < last_epoch:
            return Unattached(last_epoch, NO_BROKER, NO_BROKER, NO_OFFSET, self._election_ends_ms(now_ms))
        if leader == self.me:
            return Resigned(self.me, self.voters, epoch, self._election_ends_ms(now_ms), ())
        directory = election.voted_directory
        own_vote = voted == self.me and directory in ("", self.key.directory)
        if own_vote and self.is_voter:
            return Candidate(
                self.me, self.voters, epoch, NO_OFFSET, self._election_ends_ms(now_ms), 1, self.key.directory
            )
        if leader in self.voters:
            ends_ms = now_ms + self._settings.fetch_timeout_ms
            return Follower(epoch, leader, voted, NO_OFFSET, ends_ms, directory, self._voter_update_ms(now_ms))
        return Unattached(epoch, leader, voted, NO_OFFSET, self._election_ends_ms(now_ms), directory)

    # --- transitions ---

    def to_unattached(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId = NO_BROKER) -> None:
        """An epoch without a known leader; the same one only from Prospective, which keeps its vote."""
        state = self.state
        same = epoch == state.epoch
        assert epoch > state.epoch or (same and isinstance(state, Prospective)), (state.name, state.epoch, epoch)
        ends_ms = state.ends_ms if self._keeps_election_timer(state) else self._election_ends_ms(now_ms)
        voted, directory = (state.voted, state.voted_directory) if same else (NO_BROKER, "")
        limit_ms = ends_ms if self.is_voter else NEVER_MS
        self._durably(Unattached(epoch, leader, voted, state.high_watermark, limit_ms, directory))

    def _keeps_election_timer(self, state: EpochState) -> bool:
        if isinstance(state, Prospective):
            return not state.votes.is_lost
        return isinstance(state, Candidate | Unattached) or (isinstance(state, Resigned) and self._gates.pre_vote)

    def add_vote(self, now_ms: float, candidate: ReplicaKey) -> None:
        """Vote for another node in this epoch; the election timer begins anew."""
        state = self.state
        voted, directory = candidate
        assert candidate != self.key and state.voted == NO_BROKER, (candidate, state.voted)
        ends_ms = self._election_ends_ms(now_ms)
        if isinstance(state, Prospective):
            self._durably(
                Prospective(
                    self.me, self.voters, state.epoch, state.leader, voted, state.high_watermark, ends_ms, directory
                )
            )
        else:
            assert isinstance(state, Unattached), state.name
            self._durably(Unattached(state.epoch, state.leader, voted, state.high_watermark, ends_ms, directory))

    def to_follower(self, now_ms: float, epoch: LeaderEpoch, leader: BrokerId) -> None:
        state = self.state
        assert leader not in (self.me, NO_BROKER), leader
        assert epoch >= state.epoch, (epoch, state.epoch)
        assert epoch > state.epoch or not isinstance(state, Follower | Leader), state.name
        keeps = epoch == state.epoch and self._gates.pre_vote
        voted, directory = (state.voted, state.voted_directory) if keeps else (NO_BROKER, "")
        ends_ms = now_ms + self._settings.fetch_timeout_ms
        update_ms = self._voter_update_ms(now_ms)
        self._durably(Follower(epoch, leader, voted, state.high_watermark, ends_ms, directory, update_ms))

    def to_prospective(self, now_ms: float) -> Prospective:
        state = self.state
        assert self.is_voter and not isinstance(state, Leader | Prospective), state.name
        ends_ms = self._election_ends_ms(now_ms)
        self.state = Prospective(
            self.me, self.voters, state.epoch, state.leader, state.voted, state.high_watermark, ends_ms,
            state.voted_directory,
        )  # fmt: skip
        return self.state

    def to_candidate(self, now_ms: float) -> Candidate:
        """Begin the next epoch, and vote for this node."""
        state = self.state
        assert self.is_voter and not isinstance(state, Leader), state.name
        retries = state.retries + 1 if isinstance(state, Candidate) else 1
        epoch = LeaderEpoch(state.epoch + 1)
        ends_ms = self._election_ends_ms(now_ms)
        directory = self.key.directory
        candidate = Candidate(self.me, self.voters, epoch, state.high_watermark, ends_ms, retries, directory)
        self._durably(candidate)
        return candidate

    def to_leader(self, now_ms: float, epoch_start: Offset) -> Leader:
        """Lead the candidate's epoch.

        The high watermark is unknown again: only an end beyond the epoch's start is sure not to fall.
        """
        state = self.state
        assert isinstance(state, Candidate) and state.votes.is_won, state.name
        leader = Leader(
            self.key,
            self.history.last,
            state.epoch,
            epoch_start,
            state.votes.granting,
            self._settings.fetch_timeout_ms,
            now_ms,
        )
        self._durably(leader)
        return leader

    def to_resigned(self, now_ms: float, successors: tuple[BrokerId, ...]) -> None:
        state = self.state
        assert isinstance(state, Leader), state.name
        self.state = Resigned(self.me, self.voters, state.epoch, self._election_ends_ms(now_ms), successors)

    def _durably(self, state: EpochState) -> None:
        in_log = self.history.is_in_log
        self._store.write(encode_election(state.election, self.voters, voters_in_log=in_log))
        self.state = state

    def _voter_update_ms(self, now_ms: float) -> float:
        """Time of a follower's next look at its voter's record; never while voters are static.

        Source: FollowerState.updateVoterPeriodMs.
        """
        if not self.history.is_in_log:
            return NEVER_MS
        return now_ms + VOTER_UPDATE_FETCH_TIMEOUTS * self._settings.fetch_timeout_ms

    def voter_looked_at(self, now_ms: float, state: Follower) -> None:
        state.voter_update_ms = self._voter_update_ms(now_ms)

    def _election_ends_ms(self, now_ms: float) -> float:
        """End of an election timeout: random in [T, 2T)."""
        timeout_ms = self._settings.election_timeout_ms
        return now_ms + timeout_ms + (self._draw(timeout_ms) if timeout_ms else 0)
