"""Fetches at leader and follower: parking, divergence, the high watermark.

Kraft-semantics 1.3 and 1.4.
"""

import pytest

from controller.quorum.election_file import Election
from controller.quorum.quorum_inputs import Committed, QuorumFailed, ResignRequested, Respond, SendRequest
from controller.quorum.quorum_log import EpochEnd, divergence, truncation_offset
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import BeginQuorumEpochRequest, QuorumFetchRequest, QuorumFetchResponse
from tests.controller.quorum.quorum_case import ME, QuorumCase, answered, fetch, fetched, sent, vote

ONE = BrokerId(1)
FOLLOWED = Election(LeaderEpoch(5), ONE)


def leading(version: str = "4.1", epochs: tuple[int, ...] = ()) -> QuorumCase:
    case = QuorumCase(version, epochs=epochs)
    case.lead()
    return case


def following(epochs: tuple[int, ...] = (5,), high_watermark: int = -1) -> tuple[QuorumCase, SendRequest]:
    """A follower of node 1, and its newest fetch."""
    case = QuorumCase(election=FOLLOWED, epochs=epochs)
    effects = case.start()
    if high_watermark >= 0:
        effects = case.answer(effects[0], fetched(5, 1, high_watermark=high_watermark))
    (request,) = [one for one in effects if isinstance(one, SendRequest)]
    return case, request


def one_response(case: QuorumCase, request: QuorumFetchRequest) -> QuorumFetchResponse:
    (response,) = answered(case.request(request, request.replica))
    assert isinstance(response, QuorumFetchResponse)
    return response


# --- errors ---


def test_only_the_leader_of_the_epoch_serves_fetches() -> None:
    case, _ = following()
    assert one_response(case, fetch(5, 2, 1, 5)) == fetched(5, 1, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert one_response(case, fetch(4, 2, 1, 4)) == fetched(5, 1, error=ErrorCode.FENCED_LEADER_EPOCH)
    assert one_response(case, fetch(6, 2, 1, 5)) == fetched(5, 1, error=ErrorCode.UNKNOWN_LEADER_EPOCH)
    assert case.state == ("follower", 5, 1), "a fetch of a higher epoch moves no node"


IMPOSSIBLE = (fetch(1, 2, -1, 0), fetch(1, 2, 0, -1), fetch(1, 2, 0, 2), fetch(1, 2, 0, 0, wait_ms=-1))


@pytest.mark.parametrize("request_", IMPOSSIBLE)
def test_an_impossible_fetch_is_invalid(request_: QuorumFetchRequest) -> None:
    assert one_response(leading(), request_) == fetched(1, ME, error=ErrorCode.INVALID_REQUEST)


def test_an_invalid_request_is_a_fault_of_the_sender() -> None:
    case, request = following()
    (failure,) = case.answer(request, fetched(5, 1, error=ErrorCode.INVALID_REQUEST))
    assert isinstance(failure, QuorumFailed)


# --- parking ---


def test_a_fetch_with_records_is_answered_at_once() -> None:
    case = leading()
    response = one_response(case, fetch(1, 1, 0, 0))
    assert (response.error, response.epoch, response.leader) == (ErrorCode.NONE, 1, ME)
    assert response.records == case.log.read(Offset(0))


def test_a_fetch_without_a_wait_is_answered_at_once() -> None:
    assert one_response(leading("3.8"), fetch(1, 1, 1, 1, wait_ms=0)) == fetched(1, ME, high_watermark=1)


def test_a_parked_fetch_is_completed_by_an_append() -> None:
    case = leading("3.8")
    assert answered(case.request(fetch(1, 1, 1, 1))) == []
    effects = case.append(b"a")
    (response,) = answered(effects)
    assert response == fetched(1, ME, high_watermark=1, records=case.log.read(Offset(1)))


def test_a_parked_fetch_ends_after_its_wait_with_the_response_of_its_arrival() -> None:
    case = QuorumCase("3.8", voters=(0, 1, 2, 3, 4))
    case.lead()
    began = case.now_ms
    case.request(fetch(1, 1, 1, 1), 1)
    case.request(fetch(1, 2, 1, 1), 2)
    assert case.node.state.high_watermark == 1
    case.at(began + 499.0)
    assert answered(case.step_due()) == []
    case.at(began + 500.0)
    assert answered(case.step_due()) == [fetched(1, ME), fetched(1, ME, high_watermark=1)]


@pytest.mark.parametrize(("version", "completes"), [("4.0", False), ("4.1", True)])
def test_the_high_watermark_completes_parked_fetches_from_4_1_on(version: str, completes: bool) -> None:
    case = QuorumCase(version, voters=(0, 1, 2, 3, 4))
    case.lead()
    case.request(fetch(1, 1, 1, 1), 1)
    effects = case.request(fetch(1, 2, 1, 1), 2)
    response = fetched(1, ME, high_watermark=1)
    expected = [Respond(ONE, 7, response), Respond(BrokerId(2), 7, response)]
    assert [one for one in effects if isinstance(one, Respond)] == (expected if completes else [])


@pytest.mark.parametrize(("known", "waits"), [(-1, False), (0, False), (1, True)])
def test_a_fetch_that_knows_less_is_answered_at_once(known: int, waits: bool) -> None:
    case = leading("4.1")
    case.request(fetch(1, 2, 1, 1), 2)
    at_once = [] if waits else [fetched(1, ME, high_watermark=1)]
    assert answered(case.request(fetch(1, 1, 1, 1, known=known))) == at_once


def test_a_resigning_leader_completes_parked_fetches_with_an_error() -> None:
    case = leading("3.8")
    case.request(fetch(1, 1, 1, 1))
    case.at(case.now_ms + 100.0)
    effects = case.step(ResignRequested(LeaderEpoch(1)))
    assert answered(effects) == [fetched(1, ME, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)]


def test_parked_fetches_of_a_deposed_leader_end_when_it_follows() -> None:
    case = leading("3.8")
    case.request(fetch(1, 1, 1, 1))
    case.request(vote(2, 2, last_epoch=1, last_offset=1), 2)
    assert case.state == ("voted", 2, NO_BROKER)
    effects = case.request(BeginQuorumEpochRequest(LeaderEpoch(2), BrokerId(2)), 2)
    assert fetched(2, 2, error=ErrorCode.NOT_LEADER_OR_FOLLOWER) in answered(effects)


# --- divergence ---


@pytest.mark.parametrize(
    ("offset", "epoch", "end"),
    [
        (0, 0, None), (0, 9, None), (1, 1, None), (2, 1, None), (3, 1, (1, 2)), (3, 3, None), (4, 3, None),
        (5, 3, (3, 4)), (4, 2, (1, 2)), (2, 2, (1, 2)), (6, 4, (3, 4)), (1, 0, (0, 0)),
    ],
)  # fmt: skip
def test_divergence_by_epoch_and_offset(offset: int, epoch: int, end: tuple[int, int] | None) -> None:
    """A log with epoch 1 at 0 and 1, epoch 3 at 2 and 3."""
    case = QuorumCase(epochs=(1, 1, 3, 3))
    assert divergence(case.log, Offset(offset), LeaderEpoch(epoch)) == end


@pytest.mark.parametrize(
    ("epoch", "end", "offset"),
    [(1, 2, 2), (1, 1, 1), (1, 9, 2), (3, 9, 4), (3, 3, 3), (2, 3, 2), (0, 1, 1), (0, 9, 4), (4, 9, 4)],
)
def test_truncation_to_the_shared_end(epoch: int, end: int, offset: int) -> None:
    case = QuorumCase(epochs=(1, 1, 3, 3))
    assert truncation_offset(case.log, EpochEnd(LeaderEpoch(epoch), Offset(end))) == offset


def test_a_diverging_fetch_gets_the_epochs_end_and_does_not_count() -> None:
    case = leading(epochs=(0,))
    assert one_response(case, fetch(1, 1, 5, 0)) == fetched(1, ME, diverging=(0, 1))
    assert case.node.state.high_watermark == -1


def test_a_follower_truncates_and_fetches_again() -> None:
    case, request = following((3, 4, 4))
    effects = case.answer(request, fetched(5, 1, diverging=(3, 1)))
    assert case.log.end == 1
    assert sent(effects) == [fetch(5, ME, 1, 3)]
    assert case.node.state.ends_ms == 2000.0


def test_truncation_below_the_high_watermark_is_a_fault() -> None:
    case, request = following((3, 4, 4), high_watermark=3)
    (failure,) = case.answer(request, fetched(5, 1, diverging=(3, 1)))
    assert isinstance(failure, QuorumFailed)
    assert "below the high watermark 3" in failure.reason
    assert case.log.end == 3
    assert case.node.ended


# --- records at the follower ---


def leaders_records(epoch: int, *values: bytes, after: tuple[int, ...] = (5,)) -> bytes:
    other = QuorumCase(epochs=after)
    end = other.log.end
    other.log.append(LeaderEpoch(epoch), list(values), 0.0)
    return other.log.read(end)


def test_a_follower_appends_syncs_and_fetches_on() -> None:
    case, request = following()
    records = leaders_records(5, b"a", b"b")
    effects = case.answer(request, fetched(5, 1, high_watermark=2, records=records))
    assert case.log.read(Offset(1)) == records
    assert case.log._log.recovery_point == 3, "a voter syncs before its next fetch"
    assert effects == [SendRequest(ONE, 2, fetch(5, ME, 3, 5, known=2)), Committed(Offset(0), Offset(2))]


def test_an_observer_does_not_sync() -> None:
    case = QuorumCase(voters=(1, 2), election=FOLLOWED, epochs=(5,))
    request = case.start()[0]
    case.answer(request, fetched(5, 1, records=leaders_records(5, b"a")))
    assert case.log.end == 2
    assert case.log._log.recovery_point == 1


def test_a_followers_high_watermark_is_at_most_its_own_end() -> None:
    case, request = following()
    case.answer(request, fetched(5, 1, high_watermark=9))
    assert case.node.state.high_watermark == 1


def test_an_unknown_high_watermark_changes_nothing() -> None:
    case, request = following(high_watermark=1)
    case.answer(request, fetched(5, 1))
    assert case.node.state.high_watermark == 1


def test_a_lower_high_watermark_is_a_fault() -> None:
    case, request = following((5, 5), high_watermark=2)
    (failure,) = case.answer(request, fetched(5, 1, high_watermark=1))
    assert isinstance(failure, QuorumFailed)


def test_records_that_do_not_continue_the_log_are_a_fault() -> None:
    case, request = following((5, 5))
    (failure,) = case.answer(request, fetched(5, 1, records=leaders_records(5, b"a")))
    assert isinstance(failure, QuorumFailed)
    assert case.log.end == 2


def test_a_response_of_an_older_epoch_is_ignored() -> None:
    case, request = following()
    case.request(vote(7, 2, last_epoch=5, last_offset=1), 2)
    case.answer(request, fetched(5, 1, records=leaders_records(5, b"a")))
    assert case.log.end == 1
    case, request = following()
    case.answer(request, fetched(4, 2, records=leaders_records(5, b"a")))
    assert (case.log.end, case.state) == (1, ("follower", 5, 1))


def test_an_unattached_voter_follows_the_leader_that_serves_its_probe() -> None:
    case = QuorumCase(election=Election(LeaderEpoch(5)), epochs=(5,))
    request = case.start()[0]
    effects = case.answer(request, fetched(5, 1, high_watermark=2, records=leaders_records(5, b"a")))
    assert case.state == ("follower", 5, 1)
    assert case.log.end == 2
    assert Committed(Offset(0), Offset(2)) in effects


def test_a_search_for_a_leader_pauses_between_its_fetches() -> None:
    """Departure: Kafka fetches again at each response."""
    case = QuorumCase(election=Election(LeaderEpoch(5)), epochs=(5,))
    request = case.start()[0]
    no_leader = fetched(5, NO_BROKER, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)
    assert case.at(1.0).answer(request, no_leader) == []
    assert case.wakes_at_ms == 20.0
    assert len(sent(case.wake())) == 1
