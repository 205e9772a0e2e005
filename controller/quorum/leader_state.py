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
from protocol.gates import Gates
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.records.types import RecordFields

CHECK_QUORUM_FACTOR = 1.5
"""Fetch timeouts without a majority's fetches after which a leader resigns."""


OBSERVER_TIMEOUT_MS = 300_000.0


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

    `log_ends`: {voter: end of its log}, -1 before its first fetch. `pending`: records that wait for the linger time.
    """

    name = "leader"

    def __init__(
        self,
        me: BrokerId,
        voters: Sequence[BrokerId],
        epoch: LeaderEpoch,
        epoch_start: Offset,
        granting: Sequence[BrokerId],
        fetch_timeout_ms: float,
        now_ms: float,
    ) -> None:
        super().__init__(epoch, me, NO_BROKER, NO_OFFSET, float("inf"))
        self.me = me
        self.voters = list(voters)
        self.epoch_start = epoch_start
        self.granting = list(granting)
        self.log_ends: dict[BrokerId, Offset] = dict.fromkeys(voters, NO_OFFSET)
        self.observer_ends: dict[BrokerId, Offset] = {}
        self.fetch_times: dict[BrokerId, FetchTimes] = {}
        """Of voters and observers that have fetched."""
        self.has_begun = False
        """Whether the leader change is in the log."""
        self.pending: list[bytes | RecordFields] = []
        self.drains_at_ms = 0.0
        self.resigns = False
        self._acknowledged: set[BrokerId] = {me}
        self._fetched: set[BrokerId] = set()
        self._check_quorum_ms = fetch_timeout_ms * CHECK_QUORUM_FACTOR
        self._begin_period_ms = float(int(fetch_timeout_ms) // 2)
        self.quorum_ends_ms = now_ms + self._check_quorum_ms
        self.begins_at_ms = now_ms

    # --- progress ---

    def note_own_end(self, end: Offset) -> bool:
        """Count the leader's own log; whether the high watermark rose."""
        self.log_ends[self.me] = end
        return self._advance()

    def note_fetch(self, replica: BrokerId, offset: Offset, now_ms: float) -> bool:
        """Count a valid fetch; whether the high watermark rose. Observers never count."""
        self._note_times(replica, offset, now_ms)
        if replica not in self.log_ends:
            self.observer_ends[replica] = offset
            return False
        self.log_ends[replica] = offset
        self._acknowledged.add(replica)
        self._fetched.add(replica)
        if len(self._fetched) + 1 >= self._majority:
            self._fetched.clear()
            self.quorum_ends_ms = now_ms + self._check_quorum_ms
        return self._advance()

    def _note_times(self, replica: BrokerId, offset: Offset, now_ms: float) -> None:
        """Note when the replica has fetched, and when it had all records.

        Source: ReplicaState.updateFollowerState.
        """
        known = self.fetch_times.get(replica)
        end, caught_up_ms = self.log_ends[self.me], -1.0
        if offset >= end:
            caught_up_ms = now_ms
        elif known is not None:
            has_older_end = known.leader_end > 0 and offset >= known.leader_end
            caught_up_ms = known.fetched_ms if has_older_end else known.caught_up_ms
        self.fetch_times[replica] = FetchTimes(now_ms, caught_up_ms, end)

    def active_observers(self, now_ms: float) -> dict[BrokerId, Offset]:
        """{observer: end of its log}; one that has not fetched for 5 minutes is forgotten.

        Source: LeaderState.clearInactiveObservers.
        """
        for observer in list(self.observer_ends):
            if now_ms - self.fetch_times[observer].fetched_ms >= OBSERVER_TIMEOUT_MS:
                del self.observer_ends[observer], self.fetch_times[observer]
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
        return len(self.voters) // 2 + 1

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
        never = FetchTimes(float("-inf"), -1.0, NO_OFFSET)
        return [voter for voter in others if self.fetch_times.get(voter, never).fetched_ms <= since_ms]

    def announced(self, now_ms: float) -> None:
        self.begins_at_ms = now_ms + self._begin_period_ms

    # --- records that wait ---

    def collect(self, values: Sequence[bytes | RecordFields], now_ms: float, linger_ms: float) -> Offset:
        """Collect records for the next batch; the offset of the last one, given the log's own end."""
        if not self.pending:
            self.drains_at_ms = now_ms + linger_ms
        self.pending += values
        assert self.has_begun, self.epoch
        return self.log_ends[self.me] + (len(self.pending) - 1)

    def drain(self) -> list[bytes | RecordFields]:
        pending, self.pending = self.pending, []
        return pending
