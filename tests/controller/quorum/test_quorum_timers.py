"""Timers of each state and what their end does (kraft-semantics 1.2)."""

import pytest

from controller.quorum.election_file import Election
from controller.quorum.epoch_states import Candidate
from controller.quorum.quorum_inputs import LeaderChanged, RequestFailed, SendRequest
from controller.quorum.settings import QuorumSettings
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch
from protocol.messages.quorum_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    QuorumFetchRequest,
    VoteRequest,
)
from tests.controller.quorum.quorum_case import (
    BEFORE_PRE_VOTE,
    ME,
    WITH_PRE_VOTE,
    QuorumCase,
    fetch,
    fetched,
    granted,
    receivers,
    rejected,
    sent,
    vote,
)

NONE = NO_BROKER
FOLLOWED = Election(LeaderEpoch(5), BrokerId(1))


@pytest.mark.parametrize(("jitter", "ends_ms"), [(0, 1000.0), (500, 1500.0), (10_000, 1999.0)])
def test_an_election_timeout_is_random_in_one_to_two_times_the_setting(jitter: int, ends_ms: float) -> None:
    case = QuorumCase(BEFORE_PRE_VOTE, jitter=jitter)
    case.start()
    assert case.node.state.ends_ms == case.wakes_at_ms == ends_ms


def test_before_4_0_an_unattached_voter_becomes_candidate() -> None:
    case = QuorumCase(BEFORE_PRE_VOTE)
    assert case.start() == []
    effects = case.wake()
    assert case.state == ("candidate", 1, NONE)
    assert case.election == (1, NONE, ME)
    assert effects == [
        LeaderChanged(NONE, LeaderEpoch(1)),
        SendRequest(BrokerId(1), 1, vote(1, ME)),
        SendRequest(BrokerId(2), 2, vote(1, ME)),
    ]


def test_from_4_0_on_it_requests_pre_votes_in_its_old_epoch() -> None:
    case = QuorumCase(WITH_PRE_VOTE)
    probe = case.start()
    assert sent(probe) == [fetch(0, ME, 0, 0)], "it also looks for a leader"
    case.at(1000.0)
    effects = case.step_due()
    assert case.state == ("prospective", 0, NONE)
    assert case.election == (0, NONE, NONE), "a prospective state is not durable"
    assert sent(effects) == [vote(0, ME, pre_vote=True), vote(0, ME, pre_vote=True)]


@pytest.mark.parametrize(("version", "after"), [(BEFORE_PRE_VOTE, "candidate"), (WITH_PRE_VOTE, "prospective")])
def test_a_followers_fetch_timeout_makes_it_campaign(version: str, after: str) -> None:
    case = QuorumCase(version, election=FOLLOWED, epochs=(5,))
    assert sent(case.start(), 1) == [fetch(5, ME, 1, 5)]
    assert case.node.state.ends_ms == 2000.0, "the fetch timeout is not random"
    case.at(2000.0)
    effects = case.step_due()
    assert case.node.state_name == after
    requests = [one for one in sent(effects) if isinstance(one, VoteRequest)]
    epoch, pre_vote = (6, False) if after == "candidate" else (5, True)
    assert requests == [vote(epoch, ME, last_epoch=5, last_offset=1, pre_vote=pre_vote)] * 2


def test_only_a_fetch_without_an_error_restarts_the_fetch_timeout() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(5,))
    (request,) = [one for one in case.start() if isinstance(one, SendRequest)]
    case.at(300.0)
    case.answer(request, fetched(5, 1, error=ErrorCode.UNKNOWN_SERVER_ERROR))
    assert case.node.state.ends_ms == 2000.0


def test_a_successful_fetch_restarts_the_fetch_timeout() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(5,))
    (request,) = [one for one in case.start() if isinstance(one, SendRequest)]
    case.at(300.0)
    effects = case.answer(request, fetched(5, 1))
    assert case.node.state.ends_ms == 2300.0
    assert sent(effects, 1) == [fetch(5, ME, 1, 5)], "and the next fetch follows at once"


# --- candidates ---


def candidate(version: str) -> tuple[QuorumCase, list[SendRequest]]:
    """A candidate of epoch 1 at 1000 ms, and its vote requests."""
    case = QuorumCase(version)
    case.start()
    requests = [one for one in case.at(1000.0).step_due() if isinstance(one, SendRequest)]
    assert case.state == ("candidate", 1, NONE)
    return case, requests


@pytest.mark.parametrize(
    ("version", "jitter", "backoff_ms"),
    [
        ("3.8", 0, 0.0), ("3.8", 1, 100.0), ("3.8", 10_000, 100.0),
        ("3.9", 0, 50.0), ("3.9", 1, 100.0), ("3.9", 10_000, 100.0),
    ],
)  # fmt: skip
def test_a_rejected_candidate_backs_off_before_4_0(version: str, jitter: int, backoff_ms: float) -> None:
    case, requests = candidate(version)
    case.jitter = jitter
    state = case.node.state
    assert isinstance(state, Candidate)
    for request in requests:
        case.answer(request, rejected(1))
    if backoff_ms:
        assert state.backs_off_until_ms == case.wakes_at_ms == 1000.0 + backoff_ms
        case.jitter = 0
        case.wake()
    assert case.state == ("candidate", 2, NONE), "after the backoff it campaigns in the next epoch"
    assert case.election == (2, NONE, ME)


@pytest.mark.parametrize(("retries", "most_ms"), [(1, 100.0), (2, 300.0), (3, 700.0), (4, 1000.0), (30, 1000.0)])
def test_the_backoff_grows_up_to_its_limit(retries: int, most_ms: float) -> None:
    case = QuorumCase("3.8", jitter=1 << 30)
    assert case.node._context.election_backoff_ms(retries) == most_ms


def test_the_backoff_of_3_9_grows_in_steps_of_50_ms_with_a_jitter_at_its_limit() -> None:
    case = QuorumCase("3.9", jitter=1 << 30)
    assert [case.node._context.election_backoff_ms(retries) for retries in (1, 2, 3, 4, 5)] == [
        100.0, 200.0, 400.0, 800.0, 1049.0,
    ]  # fmt: skip


def test_a_candidate_whose_election_times_out_backs_off_before_4_0() -> None:
    case, _ = candidate("3.8")
    case.jitter = 1
    case.at(2000.0)
    case.step_due()
    assert case.state == ("candidate", 1, NONE)
    assert case.wakes_at_ms == 2100.0


def test_from_4_0_on_a_candidate_waits_and_is_prospective_again() -> None:
    case = QuorumCase(WITH_PRE_VOTE)
    case.start()
    case.at(1000.0)
    pre_votes = [one for one in case.step_due() if isinstance(one, SendRequest)]
    votes = [one for one in case.answer(pre_votes[0], granted(0)) if isinstance(one, SendRequest)]
    assert case.state == ("candidate", 1, NONE)
    assert case.election == (1, NONE, ME)
    for request in votes:
        case.answer(request, rejected(1))
    assert case.state == ("candidate", 1, NONE)
    assert case.wakes_at_ms == 2000.0, "the rest of its election timeout"
    case.wake()
    assert case.state == ("prospective", 1, NONE)


def test_unanswered_votes_are_repeated_after_the_request_timeout() -> None:
    case = QuorumCase("3.8", settings=QuorumSettings(request_timeout_ms=300))
    case.start()
    case.wake()
    assert case.wakes_at_ms == 1300.0
    assert case.wake() == [SendRequest(BrokerId(1), 3, vote(1, ME)), SendRequest(BrokerId(2), 4, vote(1, ME))]
    case.answer(SendRequest(BrokerId(1), 1, vote(1, ME)), granted(1))
    assert case.state == ("candidate", 1, NONE), "a response to the first request comes too late"


def test_a_voter_that_is_not_reached_gets_another_request_after_its_backoff() -> None:
    case, _ = candidate("3.8")
    assert case.step(RequestFailed(BrokerId(1), 1)) == []
    assert case.wakes_at_ms == 1020.0, "controller.quorum.retry.backoff.ms"
    assert case.wake() == [SendRequest(BrokerId(1), 3, vote(1, ME))]


# --- prospective ---


def test_a_prospective_voter_that_is_rejected_returns_to_its_leader() -> None:
    case = QuorumCase(election=FOLLOWED, epochs=(5,))
    case.start()
    case.at(2000.0)
    requests = [one for one in case.step_due() if isinstance(one, SendRequest)]
    case.answer(requests[0], rejected(5, 1))
    effects = case.answer(requests[1], rejected(5, 1))
    assert case.state == ("follower", 5, 1)
    assert sent(effects, 1) == [fetch(5, ME, 1, 5)]
    assert case.node.state.ends_ms == 4000.0


def test_a_prospective_voter_without_a_leader_is_unattached_with_a_new_timeout() -> None:
    case = QuorumCase()
    case.start()
    case.at(1000.0)
    requests = [one for one in case.step_due() if isinstance(one, SendRequest)]
    case.jitter = 7
    for request in requests:
        case.answer(request, rejected(0))
    assert case.state == ("unattached", 0, NONE)
    assert case.node.state.ends_ms == 2007.0


def test_a_pre_election_that_times_out_is_repeated_at_once() -> None:
    case = QuorumCase()
    case.start()
    case.at(1000.0)
    case.step_due()
    case.at(2000.0)
    effects = case.step_due()
    assert case.state == ("prospective", 0, NONE), "unattached keeps the time that is left: none"
    assert sent(effects) == [vote(0, ME, pre_vote=True)] * 2
    assert case.node.state.ends_ms == 3000.0


# --- resigned ---


@pytest.mark.parametrize(("version", "after"), [(BEFORE_PRE_VOTE, "candidate"), (WITH_PRE_VOTE, "prospective")])
def test_a_resigned_leader_leaves_its_epoch_at_the_election_timeout(version: str, after: str) -> None:
    case = QuorumCase(version, election=Election(LeaderEpoch(5), ME), epochs=(5,))
    case.start()
    assert case.state == ("resigned", 5, ME)
    case.at(1000.0)
    case.step_due()
    assert case.state == (after, 6, NONE), "from 4.0 on: unattached in the next epoch, with no time left"
    assert case.election[0] == 6


# --- observers ---


def test_an_observer_fetches_from_any_voter_and_never_campaigns() -> None:
    case = QuorumCase(BEFORE_PRE_VOTE, voters=(1, 2, 3), jitter=1)
    assert case.start() == [SendRequest(BrokerId(2), 1, fetch(0, ME, 0, 0))]
    moved = fetched(4, 3, error=ErrorCode.FENCED_LEADER_EPOCH)
    effects = case.answer(SendRequest(BrokerId(2), 1, fetch(0, ME, 0, 0)), moved)
    assert case.state == ("follower", 4, 3)
    assert effects == [LeaderChanged(BrokerId(3), LeaderEpoch(4)), SendRequest(BrokerId(3), 2, fetch(4, ME, 0, 0))]
    case.jitter = 0
    case.at(2000.0)
    assert case.step_due() == [SendRequest(BrokerId(1), 3, fetch(4, ME, 0, 0))], "its leader's request has timed out"
    assert case.state == ("follower", 4, 3), "it keeps the leader until a node names a newer epoch"


@pytest.mark.parametrize(("version", "receivers"), [("3.8", [1]), ("3.9", [2])])
def test_a_voting_follower_probes_other_voters_from_3_9_on(version: str, receivers: list[int]) -> None:
    case = QuorumCase(version, election=FOLLOWED, epochs=(5,), jitter=1)
    (request,) = [one for one in case.start() if isinstance(one, SendRequest)]
    effects = case.step(RequestFailed(request.receiver, request.correlation))
    if version == "3.8":
        assert effects == []
        effects = case.wake()
    assert [one.receiver for one in effects if isinstance(one, SendRequest)] == receivers
    assert all(isinstance(one, QuorumFetchRequest) for one in sent(effects))


# --- leaders ---


@pytest.mark.parametrize(("version", "at_1000"), [("3.8", []), ("3.9", [1, 2]), ("4.1", [1, 2]), ("4.2", [2])])
def test_begin_quorum_epoch_by_release(version: str, at_1000: list[int]) -> None:
    """Until 3.8 until acknowledged; then periodically; from 4.2 on to voters that do not fetch."""
    case = QuorumCase(version)
    announced = [one for one in case.lead() if isinstance(one, SendRequest)]
    begun = case.now_ms
    assert [(one.receiver, one.request) for one in announced] == [
        (voter, BeginQuorumEpochRequest(case.epoch, ME)) for voter in (1, 2)
    ]
    case.at(begun + 500.0).request(fetch(case.epoch, 1, 1, case.epoch), 1)
    case.at(begun + 999.0)
    assert receivers(case.step_due()) == []
    for request in announced:
        case.answer(request, BeginQuorumEpochResponse(ErrorCode.NONE, case.epoch, ME))
    case.at(begun + 1000.0)
    assert receivers(case.step_due()) == at_1000
