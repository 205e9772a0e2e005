"""State of a leader: its voters' progress, the high watermark, the check of its quorum.

    log      ...| epoch 6 ...| epoch 7 (own)       |
                             ^ epoch start         ^ end
    voters   own end 120, others 118, 97           -> a majority has 118
    exposed  only if it is above the epoch's start: then all earlier records are committed as well

Kraft-semantics 1.4.

Source: LeaderState.
"""

from collections.abc import Sequence
from typing import NamedTuple

from controller.quorum.epoch_states import EpochState
from controller.quorum.voter_change import VoterChange
from controller.quorum.voter_sets import ReplicaKey, VoterSet, matches
from protocol.gates import Gates
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.records.types import RecordFields

CHECK_QUORUM_FACTOR = 1.5
"""Fetch timeouts without a majority's fetches after which a leader resigns."""


OBSERVER_TIMEOUT_MS = 300_000.0
CAUGHT_UP_MS = 3_600_000.0
"""Time since the last fetch within which an observer may become a voter."""


class FetchTimes(NamedTuple):
    """Times of a replica: of its last fetch, and when it last had all records (-1: never).

    Monotonic.

    `leader_end`: end of the leader's log at the last fetch.
    """

    fetched_ms: float
    caught_up_ms: float
    leader_end: Offset


class Leader(EpochState):
    """A leader of one epoch. `granting`: the voters that elected it.

    `log_ends`: {voter: end of its log}, -1 before its first fetch. A leader that is no voter any more is not in it.
    `pending`: records that wait for the linger time. `change`: a change of the voters that is under way; `update`: the
    set of another one, which has its response already.
    """

    name = "leader"

    def __init__(
        self,
        me: ReplicaKey,
        voters: VoterSet,
        epoch: LeaderEpoch,
        epoch_start: Offset,
        granting: Sequence[BrokerId],
        fetch_timeout_ms: float,
        now_ms: float,
    ) -> None:
        super().__init__(epoch, me.id, NO_BROKER, NO_OFFSET, float("inf"))
        self.me = me.id
        self.key = me
        self.voter_set = voters
        self.voters = voters.ids
        self.end = NO_OFFSET
        self.epoch_start = epoch_start
        self.granting = list(granting)
        self.log_ends: dict[BrokerId, Offset] = dict.fromkeys(self.voters, NO_OFFSET)
        self.observer_ends: dict[ReplicaKey, Offset] = {}
        self.fetch_times: dict[ReplicaKey, FetchTimes] = {}
        """Of voters and observers that have fetched."""
        self.has_begun = False
        """Whether the leader change is in the log."""
        self.pending: list[bytes | RecordFields] = []
        self.drains_at_ms = 0.0
        self.resigns = False
        self.change: VoterChange | None = None
        self.update: VoterSet | None = None
        self._acknowledged: set[BrokerId] = {me.id}
        self._fetched: set[BrokerId] = set()
        self._check_quorum_ms = fetch_timeout_ms * CHECK_QUORUM_FACTOR
        self._begin_period_ms = float(int(fetch_timeout_ms) // 2)
        self.quorum_ends_ms = now_ms + self._check_quorum_ms
        self.begins_at_ms = now_ms

    # --- progress ---

    def note_own_end(self, end: Offset, voters: VoterSet) -> bool:
        """Count the leader's own log, and the voters in it; whether the high watermark rose."""
        self.end = end
        if voters != self.voter_set:
            self._set_voters(voters)
        if self.me in self.log_ends:
            self.log_ends[self.me] = end
        return self._advance()

    def _set_voters(self, voters: VoterSet) -> None:
        """Adopt new voters. Replicas keep their progress.

        Source: LeaderState.updateVoterAndObserverStates.
        """
        before, before_ends = self.voter_set, self.log_ends
        self.voter_set, self.voters = voters, voters.ids
        self.log_ends = {}
        for voter in voters.voters:
            key, known = ReplicaKey(voter.id, voter.directory), before.of(voter.id)
            stays = known is not None and matches(known, key)
            self.log_ends[voter.id] = before_ends[voter.id] if stays else self.observer_ends.get(key, NO_OFFSET)
            self.observer_ends.pop(key, None)
        for voter in before.voters:
            key = ReplicaKey(voter.id, voter.directory)
            if not voters.has(key) and key != self.key:
                self.observer_ends.setdefault(key, before_ends[voter.id])
        self._fetched &= set(self.voters)

    def note_fetch(self, replica: ReplicaKey, offset: Offset, now_ms: float) -> bool:
        """Count a valid fetch; whether the high watermark rose. Observers never count."""
        self._note_times(replica, offset, now_ms)
        if not self.voter_set.has(replica):
            self.observer_ends[replica] = offset
            return False
        self.log_ends[replica.id] = offset
        self._acknowledged.add(replica.id)
        self.note_contact(replica, now_ms)
        return self._advance()

    def note_contact(self, replica: ReplicaKey, now_ms: float) -> None:
        """Count a fetch of records or of a snapshot for the check of the quorum.

        Source: LeaderState.updateCheckQuorumForFollowingVoter.
        """
        if not self.voter_set.has(replica):
            return
        self._fetched.add(replica.id)
        own = 1 if self.voter_set.has(self.key) else 0
        if len(self._fetched) + own >= self._majority:
            self._fetched.clear()
            self.quorum_ends_ms = now_ms + self._check_quorum_ms

    def _note_times(self, replica: ReplicaKey, offset: Offset, now_ms: float) -> None:
        """Note when the replica has fetched, and when it had all records.

        Source: ReplicaState.updateFollowerState.
        """
        known = self.fetch_times.get(replica)
        end, caught_up_ms = self.end, -1.0
        if offset >= end:
            caught_up_ms = now_ms
        elif known is not None:
            has_older_end = known.leader_end > 0 and offset >= known.leader_end
            caught_up_ms = known.fetched_ms if has_older_end else known.caught_up_ms
        self.fetch_times[replica] = FetchTimes(now_ms, caught_up_ms, end)

    def times_of(self, voter: BrokerId) -> FetchTimes | None:
        """Times of a voter; None: it has not fetched."""
        known = self.voter_set.of(voter)
        times = self.fetch_times.get(ReplicaKey(voter, known.directory)) if known is not None else None
        if times is None and known is not None and not known.directory:
            times = next((one for key, one in self.fetch_times.items() if key.id == voter), None)
        return times

    def is_caught_up(self, observer: ReplicaKey, now_ms: float) -> bool:
        """Whether an observer has had all records, and has fetched within the last hour.

        Source: LeaderState.isReplicaCaughtUp.
        """
        times = self.fetch_times.get(observer) if observer in self.observer_ends else None
        return times is not None and times.caught_up_ms >= 0 and now_ms - times.fetched_ms < CAUGHT_UP_MS

    def active_observers(self, now_ms: float) -> dict[ReplicaKey, Offset]:
        """{observer: end of its log}; one that has not fetched for 5 minutes is forgotten.

        Source: LeaderState.clearInactiveObservers.
        """
        for observer in list(self.observer_ends):
            times = self.fetch_times.get(observer)
            if times is None or now_ms - times.fetched_ms >= OBSERVER_TIMEOUT_MS:
                del self.observer_ends[observer]
                self.fetch_times.pop(observer, None)
        return self.observer_ends

    def _advance(self) -> bool:
        """Raise the high watermark to the end that a majority of voters has reached."""
        ends = sorted(self.log_ends.values(), reverse=True)
        reached = ends[len(ends) // 2]
        if reached <= self.epoch_start or reached <= self.high_watermark:
            return False
        self.high_watermark = reached
        return True

    @property
    def _majority(self) -> int:
        return self.voter_set.majority

    @property
    def successors(self) -> tuple[BrokerId, ...]:
        """The other voters, the longest log first."""
        others = [voter for voter in self.voters if voter != self.me]
        return tuple(sorted(others, key=lambda voter: (-self.log_ends[voter], voter)))

    # --- check of the quorum ---

    def check_quorum_at_ms(self, gates: Gates) -> float:
        """Time at which the leader resigns unless a majority fetches; a single voter never does."""
        return self.quorum_ends_ms if gates.check_quorum and len(self.voters) > 1 else float("inf")

    # --- announcements ---

    def acknowledge(self, voter: BrokerId) -> None:
        self._acknowledged.add(voter)

    def unacknowledged(self) -> list[BrokerId]:
        return [voter for voter in self.voters if voter not in self._acknowledged]

    def to_announce(self, gates: Gates, now_ms: float) -> list[BrokerId]:
        """The receivers of a periodic BeginQuorumEpoch."""
        others = [voter for voter in self.voters if voter != self.me]
        if not gates.begins_to_silent_voters_only:
            return others
        since_ms = now_ms - self._begin_period_ms
        times = {voter: self.times_of(voter) for voter in others}
        return [voter for voter, one in times.items() if one is None or one.fetched_ms <= since_ms]

    def announced(self, now_ms: float) -> None:
        self.begins_at_ms = now_ms + self._begin_period_ms

    # --- records that wait ---

    def collect(self, values: Sequence[bytes | RecordFields], now_ms: float, linger_ms: float) -> Offset:
        """Collect records for the next batch; the offset of the last one, given the log's own end."""
        if not self.pending:
            self.drains_at_ms = now_ms + linger_ms
        self.pending += values
        assert self.has_begun, self.epoch
        return Offset(self.end + (len(self.pending) - 1))

    def drain(self) -> list[bytes | RecordFields]:
        pending, self.pending = self.pending, []
        return pending
