"""Wrong quorums: each breaks one rule of Raft, and an invariant detects it.

`python -m verification.quorum --mutants` plays seeds with each until one breaks. The same seed is then played with
correct machines, and must be good.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec

from controller.quorum import quorum_log, request_handling, response_handling
from controller.quorum.election_file import Election
from controller.quorum.epoch_states import Candidate, Follower, Prospective, Unattached
from controller.quorum.epoch_votes import EpochVotes
from controller.quorum.leader_state import Leader
from controller.quorum.peer_requests import PeerRequests
from controller.quorum.response_handling import ResponseHandling
from controller.quorum.state_transitions import QuorumState
from controller.quorum.vote_rules import grants_vote
from emulator.machines.node.metadata_log import MetadataLog
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import QuorumFetchResponse, VoteResponse
from verification.quorum import voter_mutants

if TYPE_CHECKING:
    from collections.abc import Callable

    from controller.quorum.epoch_states import EpochState
    from controller.quorum.quorum_log import QuorumLog
    from controller.quorum.voter_sets import ReplicaKey
    from verification.mutants.mutant import Patches


class QuorumMutant(msgspec.Struct, frozen=True):
    """A quorum that is wrong in one way. `invariants`: those that may detect it."""

    wrong: str
    patches: Callable[[], Patches]
    invariants: tuple[str, ...]


# --- votes ---


def votes_twice() -> Patches:
    def grants(state: EpochState, candidate: ReplicaKey, log_is_up_to_date: bool) -> bool:
        return log_is_up_to_date and isinstance(state, Unattached | Prospective)

    def add_vote(self: QuorumState, now_ms: float, candidate: ReplicaKey) -> None:
        self.state.voted = NO_BROKER
        add(self, now_ms, candidate)

    def vote(self: request_handling.RequestHandling, now_ms: float, request: Any) -> Any:
        state = self._context.state
        if request.epoch == state.epoch and not request.pre_vote and isinstance(state, Unattached | Prospective):
            state.voted = NO_BROKER
        return voted(self, now_ms, request)

    add, voted = QuorumState.add_vote, request_handling.RequestHandling._vote
    return [
        (request_handling, "grants_vote", grants),
        (QuorumState, "add_vote", add_vote),
        (request_handling.RequestHandling, "_vote", vote),
    ]


def forgets_its_vote() -> Patches:
    initial = QuorumState._initial

    def without_vote(self: QuorumState, now_ms: float, election: Election, last_epoch: LeaderEpoch) -> EpochState:
        return initial(self, now_ms, Election(election.epoch, election.leader), last_epoch)

    return [(QuorumState, "_initial", without_vote)]


def votes_without_a_file() -> Patches:
    durably = QuorumState._durably

    def in_memory(self: QuorumState, state: EpochState) -> None:
        if isinstance(state, Unattached) and state.voted != NO_BROKER:
            self.state = state
        else:
            durably(self, state)

    return [(QuorumState, "_durably", in_memory)]


def votes_for_a_shorter_log() -> Patches:
    return [(request_handling, "grants_vote", lambda state, candidate, _: grants_vote(state, candidate, True))]


def campaigns_in_the_same_epoch() -> Patches:
    to_candidate = QuorumState.to_candidate

    def again(self: QuorumState, now_ms: float) -> Candidate:
        state = self.state
        if state.epoch > 0 and not state.has_leader:
            state.epoch = LeaderEpoch(state.epoch - 1)
        return to_candidate(self, now_ms)

    return [(QuorumState, "to_candidate", again)]


def wins_without_a_majority() -> Patches:
    return [(EpochVotes, "majority", property(lambda self: max(1, len(self._voters) // 2)))]


# --- commitment ---


def commits_an_old_epochs_entry() -> Patches:
    advance = Leader._advance

    def earlier(self: Leader) -> bool:
        start, self.epoch_start = self.epoch_start, Offset(-1)
        try:
            return advance(self)
        finally:
            self.epoch_start = start

    return [(Leader, "_advance", earlier)]


def commits_without_a_majority() -> Patches:
    def at_the_longest(self: Leader) -> bool:
        reached = max(self.log_ends.values())
        if reached <= max(self.epoch_start, self.high_watermark):
            return False
        self.high_watermark = reached
        return True

    return [(Leader, "_advance", at_the_longest)]


def counts_observers() -> Patches:
    note_fetch = Leader.note_fetch

    def noted(self: Leader, replica: ReplicaKey, offset: Offset, now_ms: float) -> bool:
        if replica.id not in self.log_ends:
            self.log_ends[replica.id] = offset
            ends = sorted(self.log_ends.values(), reverse=True)
            del self.log_ends[replica.id]
            reached = ends[len(self.voters) // 2]
            if reached <= max(self.epoch_start, self.high_watermark):
                return False
            self.high_watermark = reached
            return True
        return note_fetch(self, replica, offset, now_ms)

    return [(Leader, "note_fetch", noted)]


def fetches_before_the_sync() -> Patches:
    return [(MetadataLog, "flush", lambda self: None)]


# --- logs ---


def compares_no_logs() -> Patches:
    compared = quorum_log.divergence

    def within(log: QuorumLog, offset: Offset, epoch: LeaderEpoch) -> quorum_log.EpochEnd | None:
        return None if offset <= log.end else compared(log, offset, epoch)

    return [(request_handling, "divergence", within)]


def skips_truncation() -> Patches:
    return [(MetadataLog, "truncate", lambda self, offset: None)]


def truncates_to_the_leaders_end() -> Patches:
    def beyond(log: QuorumLog, diverging: quorum_log.EpochEnd) -> Offset:
        return min(diverging.end, log.end)

    return [(response_handling, "truncation_offset", beyond)]


# --- leaders ---


def never_checks_its_quorum() -> Patches:
    return [(Leader, "check_quorum_at_ms", lambda self, gates: float("inf"))]


def takes_an_older_epochs_response() -> Patches:
    by_epoch = ResponseHandling._handled_by_epoch

    def handled(self: ResponseHandling, now_ms: float, response: Any) -> bool | None:
        context = self._context
        if response.error == ErrorCode.NONE and response.epoch < context.epoch:
            if isinstance(response, QuorumFetchResponse) and isinstance(context.state, Follower):
                return None
            if isinstance(response, VoteResponse):
                return None
        return by_epoch(self, now_ms, response)

    def expected(self: PeerRequests, node: BrokerId, correlation: int) -> bool:
        return True

    def answered(self: PeerRequests, node: BrokerId, correlation: int, success: bool, now_ms: float) -> None:
        if known(self, node, correlation):
            noted(self, node, correlation, success, now_ms)

    known, noted = PeerRequests.is_expected, PeerRequests.answered
    return [
        (ResponseHandling, "_handled_by_epoch", handled),
        (PeerRequests, "is_expected", expected),
        (PeerRequests, "answered", answered),
    ]


ELECTED = ("single-leader", "one-vote", "vote-on-disk")
LOST = (
    "leader-completeness", "committed-unchanged", "majority-holds-committed", "monotone-high-watermark", "no-failure",
)  # fmt: skip

QUORUM_MUTANTS: dict[str, QuorumMutant] = {
    "votes-twice": QuorumMutant("a voter grants two votes in an epoch", votes_twice, ELECTED),
    "forgets-its-vote": QuorumMutant("a restarted voter votes again", forgets_its_vote, ELECTED),
    "votes-without-a-file": QuorumMutant("a vote is sent before it is on disk", votes_without_a_file, ELECTED),
    "votes-for-a-shorter-log": QuorumMutant("a candidate needs no long log", votes_for_a_shorter_log, LOST),
    "campaigns-in-the-same-epoch": QuorumMutant(
        "a candidate begins no new epoch", campaigns_in_the_same_epoch, (*ELECTED, "monotone-epoch"),
    ),
    "wins-without-a-majority": QuorumMutant("half of the votes are enough", wins_without_a_majority, (*ELECTED, *LOST)),
    "commits-an-old-epochs-entry": QuorumMutant(
        "a new leader commits what a majority has of earlier epochs", commits_an_old_epochs_entry, LOST,
    ),
    "commits-without-a-majority": QuorumMutant("the leader's own log is enough", commits_without_a_majority, LOST),
    "counts-observers": QuorumMutant("an observer counts for the high watermark", counts_observers, LOST),
    "fetches-before-the-sync": QuorumMutant("a voter syncs nothing", fetches_before_the_sync, (*LOST, "log-matching")),
    "compares-no-logs": QuorumMutant(
        "the leader takes every offset for valid", compares_no_logs, (*LOST, "log-matching"),
    ),
    "skips-truncation": QuorumMutant("a follower keeps its diverging tail", skips_truncation, ("no-progress",)),
    "truncates-to-the-leaders-end": QuorumMutant(
        "a follower without the leader's epoch truncates to its end", truncates_to_the_leaders_end,
        (*LOST, "no-progress", "log-matching"),
    ),
    "never-checks-its-quorum": QuorumMutant("an isolated leader stays", never_checks_its_quorum, ("check-quorum",)),
    "takes-an-older-epochs-response": QuorumMutant(
        "a response of an earlier epoch counts", takes_an_older_epochs_response, (*ELECTED, *LOST, "log-matching"),
    ),
    "changes-voters-twice-at-once": QuorumMutant(
        "a change of the voters does not wait for the one before", voter_mutants.changes_voters_twice_at_once,
        ("one-voter-change",),
    ),
    "counts-a-voter-twice": QuorumMutant(
        "a leader counts its own log twice", voter_mutants.counts_a_voter_twice, LOST,
    ),
    "counts-itself-after-its-removal": QuorumMutant(
        "a leader counts its own log after its removal", voter_mutants.counts_itself_after_its_removal, LOST,
    ),
    "counts-the-voters-before": QuorumMutant(
        "a leader and its voters use the set before the last", voter_mutants.counts_the_voters_before,
        (*LOST, *ELECTED, "no-progress", "one-voter-change"),
    ),
    "keeps-truncated-voters": QuorumMutant(
        "voters whose record was truncated count", voter_mutants.keeps_truncated_voters,
        (*LOST, *ELECTED, "one-voter-change", "no-progress"),
    ),
    "snapshots-uncommitted-records": QuorumMutant(
        "a snapshot ends above the high watermark", voter_mutants.snapshots_uncommitted_records,
        ("snapshot-committed",),
    ),
    "loads-a-half-written-snapshot": QuorumMutant(
        "a snapshot whose writing was interrupted counts", voter_mutants.loads_a_half_written_snapshot,
        ("snapshot-content", "no-failure", "monotone-epoch"),
    ),
    "snapshots-without-voters": QuorumMutant(
        "a snapshot has no voters", voter_mutants.snapshots_without_voters, ("no-progress", *LOST),
    ),
    "deletes-the-log-before-a-snapshot": QuorumMutant(
        "records are deleted that no snapshot has", voter_mutants.deletes_the_log_before_a_snapshot,
        ("snapshot-at-log-start",),
    ),
    "loads-an-earlier-snapshot": QuorumMutant(
        "a state machine loads another snapshot than the latest", voter_mutants.loads_an_earlier_snapshot,
        ("snapshot-content", "crashed"),
    ),
}  # fmt: skip

