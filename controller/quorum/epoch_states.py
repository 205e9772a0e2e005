"""The states of a node but the leader's: one object for each stay in a state.

| state | timer | at its end |
|---|---|---|
| Unattached: no leader known; it may have voted | election | campaign |
| Prospective: requests votes for an epoch that it has not begun | election | back to its leader, or unattached |
| Candidate: in a new epoch, voted for itself | election | campaign again |
| Follower | fetch | campaign |
| Resigned: a former leader in its epoch | election | campaign, or unattached in the next epoch |

`leader_state` has the sixth. `high_watermark` -1: unknown. Times are absolute.

Source: UnattachedState, VotedState, ProspectiveState, CandidateState, FollowerState, ResignedState.
"""

from collections.abc import Sequence

from controller.quorum.election_file import Election
from controller.quorum.epoch_votes import EpochVotes
from controller.quorum.quorum_log import SnapshotId
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset


class EpochState:
    """Fields of every state.

    `voted`: the vote of this epoch, -1: none; `voted_directory` "": unknown.
    """

    name = "none"

    def __init__(
        self,
        epoch: LeaderEpoch,
        leader: BrokerId,
        voted: BrokerId,
        high_watermark: Offset,
        ends_ms: float,
        voted_directory: str = "",
    ) -> None:
        self.epoch = epoch
        self.leader = leader
        self.voted = voted
        self.high_watermark = high_watermark
        self.ends_ms = ends_ms
        self.voted_directory = voted_directory

    @property
    def election(self) -> Election:
        """The durable part."""
        return Election(self.epoch, self.leader, self.voted, self.voted_directory)

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_BROKER

    @property
    def reaches_leader(self) -> bool:
        """Whether the leader's endpoint is known, too: of an unattached node it is not."""
        return self.has_leader


class Unattached(EpochState):
    name = "unattached"

    @property
    def reaches_leader(self) -> bool:
        return False


class Prospective(EpochState):
    name = "prospective"

    def __init__(
        self,
        me: BrokerId,
        voters: Sequence[BrokerId],
        epoch: LeaderEpoch,
        leader: BrokerId,
        voted: BrokerId,
        high_watermark: Offset,
        ends_ms: float,
        voted_directory: str = "",
    ) -> None:
        super().__init__(epoch, leader, voted, high_watermark, ends_ms, voted_directory)
        self.votes = EpochVotes(me, voters)


class Candidate(EpochState):
    """`retries`: elections in a row, with this one. `backs_off_until_ms`: -1 while it does not."""

    name = "candidate"

    def __init__(
        self,
        me: BrokerId,
        voters: Sequence[BrokerId],
        epoch: LeaderEpoch,
        high_watermark: Offset,
        ends_ms: float,
        retries: int,
        directory: str = "",
    ) -> None:
        super().__init__(epoch, NO_BROKER, me, high_watermark, ends_ms, directory)
        self.votes = EpochVotes(me, voters)
        self.retries = retries
        self.backs_off_until_ms = -1.0

    @property
    def is_backing_off(self) -> bool:
        return self.backs_off_until_ms >= 0


class Follower(EpochState):
    """`has_fetched`: successfully from its leader in this epoch.

    `download`: the snapshot that it fetches.
    `voter_update_ms`: time at which it next compares its voter's record with itself.
    """

    name = "follower"

    def __init__(
        self,
        epoch: LeaderEpoch,
        leader: BrokerId,
        voted: BrokerId,
        high_watermark: Offset,
        ends_ms: float,
        voted_directory: str = "",
        voter_update_ms: float = float("inf"),
    ) -> None:
        super().__init__(epoch, leader, voted, high_watermark, ends_ms, voted_directory)
        self.has_fetched = False
        self.download: SnapshotId | None = None
        self.voter_update_ms = voter_update_ms


class Resigned(EpochState):
    """`unacknowledged`: voters that have not answered EndQuorumEpoch."""

    name = "resigned"

    def __init__(
        self,
        me: BrokerId,
        voters: Sequence[BrokerId],
        epoch: LeaderEpoch,
        ends_ms: float,
        successors: tuple[BrokerId, ...],
    ) -> None:
        super().__init__(epoch, me, NO_BROKER, NO_OFFSET, ends_ms)
        self.unacknowledged = [voter for voter in voters if voter != me]
        self.successors = successors
