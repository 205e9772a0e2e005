"""Behaviour of the quorum by release, from 3.3 on.

All other code tests a named feature, never a version.
"""

from typing import Final

import msgspec

from protocol.versions import KRAFT_LADDER, UnknownVersion, rank
from protocol.versions import since as is_since

RELEASES: Final = KRAFT_LADDER
"""The releases with a quorum for production, oldest first."""


class QuorumFeatures(msgspec.Struct, frozen=True, kw_only=True):
    """Features of one release. The source of each stands beside its version in `features_of`."""

    pre_vote: bool
    """A voter first requests votes without a new epoch (KIP-996).

    A rejected candidate does not back off.
    """
    check_quorum: bool
    """A leader without fetches of a majority resigns (KAFKA-15489)."""
    voted_is_a_state: bool
    """An unattached voter that has voted is called Voted."""
    begins_until_acknowledged: bool
    """BeginQuorumEpoch is repeated until each voter has acknowledged it; later, periodically."""
    begins_to_silent_voters_only: bool
    """The periodic BeginQuorumEpoch goes only to voters that have not fetched within a period."""
    voters_probe: bool
    """A voter fetches from a random voter while its leader is unknown, backs off or times out."""
    high_watermark_completes_fetches: bool
    """A higher high watermark completes parked fetches (KIP-1166)."""
    leads_after_change_record: bool
    """The state machine learns of its leadership when it has read beyond the epoch's start."""
    resigned_is_notified: bool
    """A restarted ex-leader is notified of its former leadership (KAFKA-17333)."""
    short_first_backoff: bool
    """A candidate's backoff counts in steps of 50 ms and has a jitter at its limit."""


def features_of(version: str) -> QuorumFeatures:
    """Features of a release or patch release. Raises UnknownVersion."""
    try:
        known = rank(version) >= rank(RELEASES[0])
    except UnknownVersion:
        known = False
    if not known:
        raise UnknownVersion(f"no Kafka version with a quorum: {version!r}; one of: {', '.join(RELEASES)}")

    def since(first: str) -> bool:
        return is_since(version, first)

    return QuorumFeatures(
        pre_vote=since("4.0"),  # KafkaRaftClient.pollProspective, QuorumState.transitionToProspective
        check_quorum=since("3.7"),  # LeaderState.timeUntilCheckQuorumExpires
        voted_is_a_state=not since("3.9"),  # VotedState
        begins_until_acknowledged=not since("3.9"),  # LeaderState.nonAcknowledgingVoters
        begins_to_silent_voters_only=since("4.2"),  # LeaderState.needToSendBeginQuorumRequests
        voters_probe=since("3.9"),  # KafkaRaftClient.maybeSendFetchToBestNode, pollUnattachedCommon
        high_watermark_completes_fetches=since("4.1"),  # KafkaRaftClient.onUpdateLeaderHighWatermark
        leads_after_change_record=since("3.6"),  # ListenerContext.maybeFireLeaderChange
        resigned_is_notified=not since("3.9"),  # KafkaRaftClient.pollListeners
        short_first_backoff=since("3.9") and not since("4.0"),  # RaftUtil.binaryExponentialElectionBackoffMs
    )
