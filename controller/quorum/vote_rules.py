"""Whether a node grants a vote, or a pre-vote.

Kraft-semantics 1.3.

Source: EpochState.canGrantVote of each state, QuorumState.unattachedOrProspectiveCanGrantVote.
"""

from controller.quorum.epoch_states import Candidate, EpochState, Follower, Prospective, Resigned, Unattached
from controller.quorum.voter_sets import ReplicaKey
from protocol.ids import NO_BROKER


def grants_vote(state: EpochState, candidate: ReplicaKey, log_is_up_to_date: bool) -> bool:
    """A vote in the state's epoch: one candidate, and only while no leader is known."""
    if not isinstance(state, Unattached | Prospective):
        return False
    if state.voted != NO_BROKER:
        return state.voted == candidate.id and state.voted_directory in ("", candidate.directory)
    return not state.has_leader and log_is_up_to_date


def grants_pre_vote(state: EpochState, log_is_up_to_date: bool) -> bool:
    """A pre-vote promises nothing; a leader and a follower that fetches refuse it."""
    if isinstance(state, Follower):
        return log_is_up_to_date and not state.has_fetched
    return log_is_up_to_date and isinstance(state, Unattached | Prospective | Candidate | Resigned)
