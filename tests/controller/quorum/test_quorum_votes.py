"""Votes and pre-votes: what a node of each state answers (kraft-semantics 1.3)."""

import pytest

from controller.quorum.election_file import Election
from controller.quorum.epoch_votes import EpochVotes
from controller.quorum.quorum_inputs import LeaderChanged, QuorumFailed, Respond, SendRequest
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from protocol.messages.quorum_messages import UNSUPPORTED_PRE_VOTE, BeginQuorumEpochRequest, VoteRequest
from tests.controller.quorum.quorum_case import (
    BEFORE_PRE_VOTE,
    ME,
    VOTERS,
    WITH_PRE_VOTE,
    QuorumCase,
    answered,
    fetched,
    granted,
    receivers,
    rejected,
    sent,
    vote,
)

NONE = NO_BROKER
VERSIONS = (BEFORE_PRE_VOTE, WITH_PRE_VOTE)
FOLLOWED = Election(LeaderEpoch(5), BrokerId(2))


def started(version: str = WITH_PRE_VOTE, election: Election | None = None, epochs: tuple[int, ...] = ()) -> QuorumCase:
    case = QuorumCase(version, election=election, epochs=epochs)
    case.start()
    return case


def prospective(case: QuorumCase) -> QuorumCase:
    case.at(2000.0).step_due()
    assert case.node.state_name == "prospective"
    return case


def candidate(case: QuorumCase) -> QuorumCase:
    case.at(2000.0)
    requests = case.step_due()
    while case.node.state_name != "candidate":
        requests = case.answer(requests[-1], granted(case.epoch, case.node.state.leader))
    return case


def leading(version: str = WITH_PRE_VOTE) -> QuorumCase:
    case = QuorumCase(version)
    case.lead()
    return case


# --- votes ---


@pytest.mark.parametrize("version", VERSIONS)
def test_an_unattached_voter_votes_once_an_epoch(version: str) -> None:
    case = started(version)
    case.at(400.0)
    effects = case.request(vote(3, 1))
    assert effects[0] == LeaderChanged(NONE, LeaderEpoch(3))
    assert Respond(BrokerId(1), 7, granted(3)) in effects
    assert case.election == (3, NONE, 1)
    assert case.node.state.ends_ms == 1400.0, "a vote begins the election timeout anew"
    assert answered(case.request(vote(3, 2), 2)) == [rejected(3)]
    assert answered(case.request(vote(3, 1))) == [granted(3)], "the same candidate again"
    assert case.election == (3, NONE, 1)


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize(
    ("last_epoch", "last_offset", "grants"),
    [(5, 2, True), (5, 3, True), (6, 0, True), (5, 1, False), (4, 9, False), (0, 0, False)],
)
def test_a_candidate_needs_a_log_as_long(version: str, last_epoch: int, last_offset: int, grants: bool) -> None:
    case = started(version, epochs=(5, 5))
    response = answered(case.request(vote(8, 1, last_epoch=last_epoch, last_offset=last_offset)))
    assert response == [granted(8) if grants else rejected(8)]
    assert case.election == (8, NONE, 1 if grants else NONE), "it moves to the epoch in any case"


@pytest.mark.parametrize("version", VERSIONS)
def test_an_older_epoch_is_fenced(version: str) -> None:
    case = started(version, FOLLOWED, (5,))
    assert answered(case.request(vote(4, 1))) == [rejected(5, 2, ErrorCode.FENCED_LEADER_EPOCH)]


@pytest.mark.parametrize(
    "request_",
    [
        vote(3, 1, last_epoch=3), vote(3, 1, last_epoch=-1), vote(3, 1, last_offset=-1), vote(3, -1),
        vote(3, 1, last_epoch=4, pre_vote=True),
    ],
)  # fmt: skip
def test_an_impossible_request_is_invalid(request_: VoteRequest) -> None:
    case = started()
    assert answered(case.request(request_)) == [rejected(0, error=ErrorCode.INVALID_REQUEST)]
    assert case.state == ("unattached", 0, NONE)


@pytest.mark.parametrize("version", VERSIONS)
def test_a_follower_a_candidate_and_a_leader_refuse_a_vote_of_their_epoch(version: str) -> None:
    follower = started(version, FOLLOWED, (5,))
    assert answered(follower.request(vote(5, 1, last_epoch=4, last_offset=9))) == [rejected(5, 2)]
    running = candidate(started(version, FOLLOWED, (5,)))
    assert answered(running.request(vote(6, 1, last_epoch=5, last_offset=9))) == [rejected(6)]
    leader = leading(version)
    assert answered(leader.request(vote(1, 1))) == [rejected(1, ME)]


@pytest.mark.parametrize("version", VERSIONS)
def test_a_higher_epoch_deposes_a_leader_even_if_the_vote_is_refused(version: str) -> None:
    case = leading(version)
    assert answered(case.request(vote(4, 1))) == [rejected(4)]
    assert case.state == ("unattached", 4, NONE)
    assert case.election == (4, NONE, NONE)


def test_a_prospective_voter_without_a_leader_votes_and_stays_prospective() -> None:
    case = prospective(started())
    case.at(2100.0)
    assert answered(case.request(vote(0, 1, pre_vote=True))) == [granted(0)]
    case = prospective(started(election=Election(LeaderEpoch(3))))
    case.at(2100.0)
    assert answered(case.request(vote(3, 1))) == [granted(3)]
    assert case.state == ("prospective", 3, NONE)
    assert case.election == (3, NONE, 1)
    assert case.node.state.ends_ms == 3100.0


def test_a_prospective_voter_with_a_leader_refuses() -> None:
    case = prospective(started(election=FOLLOWED, epochs=(5,)))
    assert answered(case.request(vote(5, 1, last_epoch=4, last_offset=9))) == [rejected(5, 2)]


def test_a_prospective_voter_keeps_its_vote_in_its_epoch() -> None:
    case = prospective(started(election=Election(LeaderEpoch(3), NONE, BrokerId(2))))
    assert answered(case.request(vote(3, 1))) == [rejected(3)]
    assert answered(case.request(vote(3, 2), 2)) == [granted(3)]


# --- pre-votes ---


def test_a_pre_vote_promises_nothing() -> None:
    case = started()
    assert answered(case.request(vote(0, 1, pre_vote=True))) == [granted(0)]
    assert answered(case.request(vote(0, 2, pre_vote=True), 2)) == [granted(0)]
    assert case.election == (0, NONE, NONE)


def test_a_pre_vote_of_a_higher_epoch_moves_the_voter_up() -> None:
    case = started(election=FOLLOWED, epochs=(5,))
    assert answered(case.request(vote(7, 1, last_epoch=5, last_offset=1, pre_vote=True))) == [granted(7)]
    assert case.state == ("unattached", 7, NONE)


def test_a_follower_grants_a_pre_vote_until_it_has_fetched() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(5,))
    (fetch_request,) = [one for one in case.start() if isinstance(one, SendRequest)]
    pre_vote = vote(5, 1, last_epoch=5, last_offset=1, pre_vote=True)
    assert answered(case.request(pre_vote)) == [granted(5, 2)]
    case.answer(fetch_request, fetched(5, 2))
    assert answered(case.request(pre_vote)) == [rejected(5, 2)]


def test_candidate_and_resigned_grant_a_pre_vote_and_a_leader_refuses_it() -> None:
    running = candidate(started(election=FOLLOWED, epochs=(5,)))
    assert answered(running.request(vote(6, 1, last_epoch=5, last_offset=1, pre_vote=True))) == [granted(6)]
    resigned = started(election=Election(LeaderEpoch(5), ME), epochs=(5,))
    assert answered(resigned.request(vote(5, 1, last_epoch=5, last_offset=1, pre_vote=True))) == [granted(5, ME)]
    leader = leading()
    assert answered(leader.request(vote(1, 1, last_epoch=1, last_offset=1, pre_vote=True))) == [rejected(1, ME)]


def test_a_shorter_log_gets_no_pre_vote() -> None:
    case = started(epochs=(5, 5))
    assert answered(case.request(vote(5, 1, last_epoch=5, last_offset=1, pre_vote=True))) == [rejected(5)]


def test_a_release_without_pre_votes_does_not_support_the_request() -> None:
    case = started(BEFORE_PRE_VOTE)
    assert answered(case.request(vote(3, 1, pre_vote=True))) == [UNSUPPORTED_PRE_VOTE]
    assert case.state == ("unattached", 0, NONE)


def test_such_an_answer_makes_a_prospective_voter_candidate_at_once() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(5,))
    case.start()
    requests = case.at(2000.0).step_due()
    effects = case.answer(requests[0], UNSUPPORTED_PRE_VOTE)
    assert case.state == ("candidate", 6, NONE)
    assert sent(effects) == [vote(6, ME, last_epoch=5, last_offset=1)] * 2


# --- counting ---


@pytest.mark.parametrize("version", VERSIONS)
def test_a_majority_of_grants_makes_a_leader(version: str) -> None:
    case = QuorumCase(version, voters=(0, 1, 2, 3, 4))
    case.start()
    requests = case.at(1000.0).step_due()
    if version == WITH_PRE_VOTE:
        case.answer(requests[0], granted(0))
        requests = case.answer(requests[1], granted(0))
        assert case.state == ("candidate", 1, NONE)
    assert receivers(requests) == [1, 2, 3, 4]
    requests = [one for one in requests if isinstance(one, SendRequest)]
    case.answer(requests[0], granted(1))
    case.answer(requests[1], rejected(1))
    assert case.state == ("candidate", 1, NONE)
    case.answer(requests[2], granted(1))
    assert case.state == ("leader", 1, ME)
    assert case.election == (1, ME, NONE)


def test_a_vote_of_an_earlier_epoch_does_not_count() -> None:
    case = QuorumCase(BEFORE_PRE_VOTE)
    case.start()
    requests = case.at(1000.0).step_due()
    case.request(vote(7, 2), 2)
    assert case.node.state.epoch == 7
    case.answer(next(one for one in requests if isinstance(one, SendRequest)), granted(1))
    assert case.node.state_name == "voted"


def test_a_response_of_a_higher_epoch_ends_the_election() -> None:
    case = QuorumCase(BEFORE_PRE_VOTE)
    case.start()
    requests = [one for one in case.at(1000.0).step_due() if isinstance(one, SendRequest)]
    case.answer(requests[0], rejected(6, 2, ErrorCode.FENCED_LEADER_EPOCH))
    assert case.state == ("follower", 6, 2)
    case = QuorumCase(BEFORE_PRE_VOTE)
    case.start()
    requests = [one for one in case.at(1000.0).step_due() if isinstance(one, SendRequest)]
    case.answer(requests[0], rejected(6, error=ErrorCode.FENCED_LEADER_EPOCH))
    assert case.state == ("unattached", 6, NONE)
    assert case.node.state.ends_ms == 2000.0, "the candidate's election timeout goes on"


def test_another_leader_of_the_same_epoch_is_a_fault() -> None:
    case = started(election=FOLLOWED, epochs=(5,))
    (failure,) = case.request(BeginQuorumEpochRequest(LeaderEpoch(5), BrokerId(1)))
    assert isinstance(failure, QuorumFailed)
    assert "leader 1 of epoch 5" in failure.reason
    assert case.node.ended


def test_votes_are_counted_once_and_by_voters_alone() -> None:
    votes = EpochVotes(ME, VOTERS)
    assert (votes.is_won, votes.is_lost, votes.unrecorded) == (False, False, [1, 2])
    votes.grant(BrokerId(9))
    votes.reject(BrokerId(1))
    votes.grant(BrokerId(1))
    assert (votes.granting, votes.is_won, votes.is_lost) == ([0], False, False)
    votes.reject(BrokerId(2))
    assert votes.is_lost
    assert EpochVotes(ME, [ME]).is_won
