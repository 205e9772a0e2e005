"""Voters in the log: added, removed and updated at the leader (KIP-853)."""

import msgspec
import pytest

from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import RequestReceived, Respond, SendRequest
from controller.quorum.settings import QuorumSettings
from protocol.errors import ErrorCode as E
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import (
    BeginQuorumEpochRequest,
    QuorumFetchRequest,
    QuorumRequest,
    QuorumResponse,
    VoteRequest,
)
from protocol.messages.voter_messages import (
    AddRaftVoterRequest,
    AddRaftVoterResponse,
    RemoveRaftVoterRequest,
    RemoveRaftVoterResponse,
    SupportedFeaturesRequest,
    SupportedFeaturesResponse,
    UpdateRaftVoterRequest,
    UpdateRaftVoterResponse,
)
from protocol.records.quorum_control_records import KRaftVersion, Voters
from tests.controller.quorum.quorum_case import QuorumCase, answered, directory_of, fetched, host_of, sent, voter_of

ADMIN = BrokerId(-1)
ADD = AddRaftVoterRequest(BrokerId(3), directory_of(3), host_of(3))


def fetches(case: QuorumCase, node: int, offset: int | None = None) -> None:
    """Node `node` has all records up to `offset`, by default to the log's end, and waits not."""
    end = case.log.end if offset is None else Offset(offset)
    last = case.log.end_of_epoch(case.epoch).epoch if end else LeaderEpoch(0)
    request = QuorumFetchRequest(case.epoch, BrokerId(node), end, last, 0, Offset(-1), directory_of(node))
    case.request(request, node)


def leading(voters: tuple[int, ...] = (0, 1, 2), *, commits: bool = True, version: str = "4.1") -> QuorumCase:
    """A leader of voters in the log, whose first records are committed."""
    case = QuorumCase(version, voters, in_log=True)
    case.lead()
    if commits:
        for voter in voters[1:]:
            fetches(case, voter)
    return case


def admin(case: QuorumCase, request: QuorumRequest) -> list[QuorumResponse]:
    """The responses to an administrator's request, in this step."""
    effects = case.step(RequestReceived(ADMIN, 1, request))
    case.effects = effects
    return [one.response for one in effects if isinstance(one, Respond) and one.receiver == ADMIN]


def features(case: QuorumCase, newest: int = 1) -> list[QuorumResponse]:
    """Answer the leader's question to the new voter."""
    (question,) = [one for one in case.effects if getattr(one, "request", None) == SupportedFeaturesRequest()]
    return answered(case.answer(question, SupportedFeaturesResponse(E.NONE, newest)))


def voters(case: QuorumCase) -> list[int]:
    return list(case.node.voters)


def records(case: QuorumCase) -> list[object]:
    return [record for _, record in case.log.control_records(Offset(0), case.log.end)]


def test_the_first_leader_writes_the_voters_of_the_bootstrap_snapshot() -> None:
    case = leading()
    known = Voters(tuple(map(voter_of, (0, 1, 2))))
    assert records(case)[1:] == [KRaftVersion(1), known]
    assert (case.node.voter_history.last_offset, case.log.end) == (2, 3)


def test_a_vote_has_the_directories_of_both() -> None:
    case = QuorumCase("4.1", (0, 1), in_log=True)
    case.start()
    (request,) = sent(case.wake())
    assert isinstance(request, VoteRequest)
    assert (request.directory, request.voter_directory) == (directory_of(0), directory_of(1))


def test_a_vote_for_another_directory_is_refused() -> None:
    case = QuorumCase("3.9", (0, 1), in_log=True)
    case.start()
    request = VoteRequest(
        LeaderEpoch(1), BrokerId(1), LeaderEpoch(0), Offset(0), False, directory_of(1), voter_directory=directory_of(9)
    )
    (response,) = answered(case.request(request))
    assert (response.error, case.epoch) == (E.INVALID_VOTER_KEY, 1)
    (response,) = answered(case.request(msgspec.structs.replace(request, voter_directory="")))
    assert response.error == E.NONE and case.node.state.voted_directory == directory_of(1)


def test_an_observer_that_has_caught_up_is_added() -> None:
    case = leading()
    fetches(case, 3)
    assert admin(case, ADD) == []
    assert voters(case) == [0, 1, 2]
    assert features(case) == []
    assert voters(case) == [0, 1, 2, 3], "a voter counts as soon as its record is in the log"
    fetches(case, 1)
    assert case.node.state.high_watermark == 3, "three of four are needed"
    effects = case.request(
        QuorumFetchRequest(case.epoch, BrokerId(3), case.log.end, case.epoch, 0, Offset(-1), directory_of(3)), 3
    )
    assert AddRaftVoterResponse(E.NONE) in answered(effects)
    assert case.node.state.high_watermark == case.log.end == 4


@pytest.mark.parametrize(("newest", "error"), [(0, E.INVALID_REQUEST), (-1, E.INVALID_REQUEST)])
def test_a_node_that_does_not_know_such_voters_is_not_added(newest: int, error: E) -> None:
    case = leading()
    fetches(case, 3)
    admin(case, ADD)
    assert features(case, newest) == [AddRaftVoterResponse(error)]
    assert voters(case) == [0, 1, 2]


def test_an_observer_that_lags_is_not_added() -> None:
    case = leading()
    fetches(case, 3, 0)
    admin(case, ADD)
    assert features(case) == [AddRaftVoterResponse(E.REQUEST_TIMED_OUT)]


@pytest.mark.parametrize(
    ("request_", "error"),
    [
        (AddRaftVoterRequest(BrokerId(1), directory_of(9), "h"), E.DUPLICATE_VOTER),
        (AddRaftVoterRequest(BrokerId(3), "", "h"), E.INVALID_REQUEST),
        (RemoveRaftVoterRequest(BrokerId(3), directory_of(3)), E.VOTER_NOT_FOUND),
        (RemoveRaftVoterRequest(BrokerId(1), directory_of(9)), E.VOTER_NOT_FOUND),
    ],
)
def test_a_wrong_change_is_refused(request_: QuorumRequest, error: E) -> None:
    (response,) = admin(leading(), request_)
    assert response.error == error


def test_a_change_waits_for_the_high_watermark_and_for_the_change_before() -> None:
    early = leading(commits=False)
    assert admin(early, ADD) == [AddRaftVoterResponse(E.REQUEST_TIMED_OUT)]
    case = leading()
    assert admin(case, RemoveRaftVoterRequest(BrokerId(2), directory_of(2))) == []
    assert voters(case) == [0, 1]
    second = RemoveRaftVoterRequest(BrokerId(1), directory_of(1))
    assert admin(case, second) == [RemoveRaftVoterResponse(E.REQUEST_TIMED_OUT)]


def test_a_change_that_is_not_committed_times_out_and_still_blocks_others() -> None:
    case = leading()
    admin(case, RemoveRaftVoterRequest(BrokerId(2), directory_of(2)))
    case.at(case.now_ms + 2000)
    assert RemoveRaftVoterResponse(E.REQUEST_TIMED_OUT) in answered(case.step_due())
    assert voters(case) == [0, 1]
    assert admin(case, ADD) == [AddRaftVoterResponse(E.REQUEST_TIMED_OUT)]


def test_static_voters_do_not_change() -> None:
    case = QuorumCase("4.1", (0,))
    case.lead()
    assert admin(case, ADD) == [AddRaftVoterResponse(E.UNSUPPORTED_VERSION)]


def test_another_node_than_the_leader_changes_no_voters() -> None:
    case = QuorumCase("4.1", (0, 1, 2), in_log=True)
    case.start()
    assert admin(case, ADD) == [AddRaftVoterResponse(E.NOT_LEADER_OR_FOLLOWER)]


def test_a_leader_that_removes_itself_leads_until_the_others_have_committed_it() -> None:
    case = leading()
    assert admin(case, RemoveRaftVoterRequest(BrokerId(0), directory_of(0))) == []
    state = case.node.state
    assert isinstance(state, Leader) and not case.node.is_voter
    assert state.log_ends == {1: 3, 2: 3}, "its own log does not count any more"
    fetches(case, 1)
    assert state.high_watermark == 3
    end, last = case.log.end, case.epoch
    effects = case.request(QuorumFetchRequest(last, BrokerId(2), end, last, 0, Offset(-1), directory_of(2)), 2)
    assert RemoveRaftVoterResponse(E.NONE) in answered(effects)
    assert case.state == ("resigned", 1, 0)


def test_a_removed_leader_of_the_past_observes() -> None:
    case = leading()
    admin(case, RemoveRaftVoterRequest(BrokerId(0), directory_of(0)))
    fetches(case, 1)
    fetches(case, 2)
    for _ in range(10):
        if case.node.state_name != "resigned":
            break
        case.wake()
    assert case.state == ("unattached", 2, -1)


def test_a_new_leader_takes_an_uncommitted_change_for_valid() -> None:
    """Its log has the record of another leader, which it commits with its own epoch."""
    case = QuorumCase("4.1", (0, 1, 2), in_log=True)
    case.log.append_control(LeaderEpoch(1), [KRaftVersion(1), Voters(tuple(map(voter_of, (0, 1))))], 0.0)
    case.lead()
    assert voters(case) == [0, 1]
    fetches(case, 1)
    assert case.node.state.high_watermark == case.log.end


def test_truncated_voters_do_not_count() -> None:
    case = QuorumCase("3.9", (0, 1, 2), in_log=True)
    case.log.append_control(LeaderEpoch(1), [KRaftVersion(1), Voters(tuple(map(voter_of, (0, 1))))], 0.0)
    case.start()
    assert voters(case) == [0, 1]
    vote = VoteRequest(LeaderEpoch(3), BrokerId(2), LeaderEpoch(2), Offset(9), False, directory_of(2), directory_of(0))
    case.request(vote, 2)
    effects = case.request(BeginQuorumEpochRequest(LeaderEpoch(3), BrokerId(2), directory_of(0)), 2)
    (fetch,) = [one for one in effects if isinstance(getattr(one, "request", None), QuorumFetchRequest)]
    case.answer(fetch, fetched(3, 2, diverging=(0, 0)))
    assert voters(case) == [0, 1, 2]


def test_a_voter_with_another_endpoint_updates_its_record() -> None:
    case = leading()
    request = UpdateRaftVoterRequest(case.epoch, BrokerId(1), directory_of(1), "moved", 1)
    assert answered(case.request(request)) == [UpdateRaftVoterResponse(E.NONE, case.epoch, BrokerId(0))]
    known = case.node.voter_history.last.of(BrokerId(1))
    assert known is not None and known.host == "moved"
    assert answered(case.request(request))[0].error == E.REQUEST_TIMED_OUT, "it is not committed yet"


@pytest.mark.parametrize(("version", "joins"), [("4.1", False), ("4.2", True)])
def test_an_observer_requests_to_become_a_voter_from_4_2_on(version: str, joins: bool) -> None:
    settings = QuorumSettings(auto_join_enable=True)
    case = QuorumCase(version, (1, 2), in_log=True, settings=settings)
    effects = case.start()
    wanted = AddRaftVoterRequest(BrokerId(0), directory_of(0), host_of(0), acks_when_committed=False)
    while sent(effects) != [wanted] and case.now_ms < 8000:
        (fetch,) = [one for one in effects if isinstance(one, SendRequest)]
        effects = case.at(case.now_ms + 500).answer(fetch, fetched(1, 1))
    assert (sent(effects) == [wanted]) is joins
    assert case.now_ms == (6500 if joins else 8000), "three fetch timeouts after it has found the leader"


def test_a_join_is_answered_when_the_record_is_in_the_log() -> None:
    case = leading()
    fetches(case, 3)
    joins = AddRaftVoterRequest(BrokerId(3), directory_of(3), host_of(3), acks_when_committed=False)
    assert admin(case, joins) == []
    assert features(case) == [AddRaftVoterResponse(E.NONE)]
    assert voters(case) == [0, 1, 2, 3]
