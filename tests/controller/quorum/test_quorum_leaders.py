"""Leaders: beginning of an epoch, commitment, check of the quorum, resignation.

Kraft-semantics 1.4.
"""

import pytest

from controller.quorum.election_file import Election
from controller.quorum.epoch_states import Follower, Resigned
from controller.quorum.leader_state import Leader
from controller.quorum.quorum_inputs import (
    Accepted,
    AppendRequested,
    Committed,
    LeaderChanged,
    NotLeader,
    ResignRequested,
    Respond,
    ShutdownCompleted,
    ShutdownRequested,
)
from controller.quorum.voter_sets import ReplicaKey
from protocol.errors import ErrorCode
from protocol.ids import NO_BROKER, NO_OFFSET, BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import (
    BeginQuorumEpochRequest,
    BeginQuorumEpochResponse,
    EndQuorumEpochRequest,
    EndQuorumEpochResponse,
)
from protocol.records.format import iter_headers, read_records
from protocol.records.quorum_records import LeaderChange, decode_leader_change
from tests.controller.quorum.quorum_case import (
    ME,
    QuorumCase,
    answered,
    fetch,
    fetched,
    granted,
    receivers,
    sent,
    vote,
)

ONE, TWO = BrokerId(1), BrokerId(2)
VERSIONS = ("3.3", "3.8", "3.9", "4.0", "4.1", "4.4")


def leading(version: str = "4.1", **more: object) -> QuorumCase:
    case = QuorumCase(version, **more)  # type: ignore[arg-type]
    case.lead()
    return case


# --- the beginning of an epoch ---


@pytest.mark.parametrize("version", VERSIONS)
def test_a_leader_begins_its_epoch_with_a_control_record(version: str) -> None:
    case = leading(version, epochs=(0, 0))
    state = case.node.state
    assert isinstance(state, Leader)
    assert (state.epoch_start, case.log.end, case.log.last_epoch) == (2, 3, 1)
    data = case.log.read(Offset(2))
    ((_, header),) = iter_headers(data)
    (record,) = read_records(data)
    assert header.is_control
    assert decode_leader_change(record.key, record.value) == LeaderChange(ME, (ME, ONE, TWO), (ME, ONE))
    assert case.log._log.recovery_point == 3, "it is synced"


@pytest.mark.parametrize(("version", "early"), [("3.5", True), ("3.6", False)])
def test_a_leader_learns_of_its_leadership_when_its_epoch_is_committed(version: str, early: bool) -> None:
    """Until 3.5 when the epoch's start is reached, which an empty log has at once."""
    case = QuorumCase(version)
    changed = LeaderChanged(ME, LeaderEpoch(1))
    assert (changed in case.lead()) is early
    effects = case.request(fetch(1, 1, 1, 1))
    assert Committed(Offset(0), Offset(1)) in effects
    assert (changed in effects) is not early


def test_the_high_watermark_of_a_former_state_is_forgotten() -> None:
    case = QuorumCase(election=Election(LeaderEpoch(5), ONE), epochs=(5, 5))
    request = case.start()[0]
    case.answer(request, fetched(5, 1, high_watermark=2))
    assert case.node.state.high_watermark == 2
    effects = case.at(2000.0).step_due()
    effects = case.answer(effects[-1], granted(5, 1))
    case.answer(effects[-1], granted(6))
    assert case.state == ("leader", 6, ME)
    assert case.node.state.high_watermark == NO_OFFSET


# --- commitment ---


@pytest.mark.parametrize(
    ("ends", "high_watermark"),
    [
        ({}, NO_OFFSET),
        ({1: 2}, NO_OFFSET),  # up to the epoch's start: an earlier epoch's records alone
        ({1: 3}, 3),
        ({1: 4}, 4),
        ({1: 3, 2: 4}, 4),
        ({1: 4, 2: 4}, 4),
    ],
)
def test_a_majority_commits_only_beyond_the_epochs_start(ends: dict[int, int], high_watermark: int) -> None:
    case = leading(epochs=(0, 0))
    case.append(b"a")
    assert case.log.end == 4
    for voter, end in ends.items():
        case.request(fetch(1, voter, end, 1 if end > 2 else 0), voter)
    assert case.node.state.high_watermark == high_watermark


def test_a_majority_of_five_voters() -> None:
    case = QuorumCase(voters=(0, 1, 2, 3, 4))
    case.lead()
    case.append(b"a")
    for voter, end, known in ((1, 2, -1), (2, 1, 1), (3, 2, 2), (4, 2, 2)):
        case.request(fetch(1, voter, end, 1), voter)
        assert case.node.state.high_watermark == known


def test_an_observer_commits_nothing() -> None:
    case = leading()
    case.request(fetch(1, 7, 1, 1), 7)
    assert case.node.state.high_watermark == NO_OFFSET
    state = case.node.state
    assert isinstance(state, Leader)
    assert state.observer_ends == {ReplicaKey(BrokerId(7)): 1}


def test_the_high_watermark_never_falls() -> None:
    case = leading()
    case.append(b"a")
    case.request(fetch(1, 1, 2, 1))
    case.request(fetch(1, 1, 1, 1))
    assert case.node.state.high_watermark == 2


def test_records_wait_for_the_linger_time_and_become_one_batch() -> None:
    case = leading()
    assert case.step(AppendRequested(case.epoch, [b"a", b"b"])) == [Accepted(Offset(2))]
    began = case.now_ms
    assert case.wakes_at_ms == began + 25
    case.at(began + 10)
    assert case.step(AppendRequested(case.epoch, [b"c"])) == [Accepted(Offset(3))]
    assert case.log.end == 1
    case.at(began + 24)
    case.step_due()
    assert case.log.end == 1
    case.at(began + 25)
    case.step_due()
    assert case.log.end == 4
    assert len(case.log.batches(Offset(1), Offset(4))) == 1
    assert [record.value for record in read_records(case.log.read(Offset(1)))] == [b"a", b"b", b"c"]


def test_an_append_of_another_epoch_or_node_is_refused() -> None:
    case = QuorumCase()
    case.start()
    assert case.step(AppendRequested(LeaderEpoch(0), [b"a"])) == [NotLeader(LeaderEpoch(0))]
    case = leading()
    assert case.step(AppendRequested(LeaderEpoch(0), [b"a"])) == [NotLeader(LeaderEpoch(1))]


def test_a_deposed_leader_appends_nothing_of_what_waits() -> None:
    case = leading()
    case.step(AppendRequested(case.epoch, [b"a"]))
    case.request(vote(4, 1, last_epoch=1, last_offset=1))
    case.at(case.now_ms + 25)
    case.step_due()
    assert case.log.end == 1


# --- check of the quorum ---


@pytest.mark.parametrize(("version", "resigns"), [("3.6", False), ("3.7", True), ("4.1", True)])
def test_a_leader_without_fetches_of_a_majority_resigns_from_3_7_on(version: str, resigns: bool) -> None:
    case = leading(version)
    began = case.now_ms
    case.at(began + 2999.0).step_due()
    assert case.node.state_name == "leader"
    case.at(began + 3000.0)
    effects = case.step_due()
    assert case.state == (("resigned" if resigns else "leader"), 1, ME)
    assert [one for one in sent(effects) if isinstance(one, EndQuorumEpochRequest)] == (
        [EndQuorumEpochRequest(LeaderEpoch(1), ME, (ONE, TWO))] * 2 if resigns else []
    )
    assert case.election == (1, ME, NO_BROKER), "resignation is not durable"


def test_a_majority_of_fetches_restarts_the_check() -> None:
    case = QuorumCase("3.9", voters=(0, 1, 2, 3, 4))
    case.lead()
    began = case.now_ms
    case.at(began + 100.0).request(fetch(1, 1, 1, 1), 1)
    case.at(began + 200.0).request(fetch(1, 1, 1, 1), 1)
    state = case.node.state
    assert isinstance(state, Leader)
    assert state.quorum_ends_ms == began + 3000.0, "twice the same voter is no majority"
    case.at(began + 300.0).request(fetch(1, 2, 1, 1), 2)
    assert state.quorum_ends_ms == began + 3300.0
    case.at(began + 400.0).request(fetch(1, 3, 1, 1), 3)
    case.at(began + 400.0).request(fetch(1, 9, 1, 1), 9)
    assert state.quorum_ends_ms == began + 3300.0, "an observer does not count"


def test_a_completed_parked_fetch_counts_once_more() -> None:
    case = QuorumCase("3.9", voters=(0, 1, 2, 3, 4))
    case.lead()
    began = case.now_ms
    for voter in (1, 2):
        case.at(began + 100.0).request(fetch(1, voter, 1, 1), voter)
    case.at(began + 400.0)
    case.append(b"a")
    state = case.node.state
    assert isinstance(state, Leader)
    assert state.quorum_ends_ms == began + 3425.0


def test_a_paused_leader_resigns_before_it_handles_what_waits() -> None:
    case = leading()
    case.at(case.now_ms + 4000.0)
    effects = case.request(fetch(1, 1, 1, 1))
    assert case.state == ("resigned", 1, ME)
    assert answered(effects) == [fetched(1, ME, error=ErrorCode.NOT_LEADER_OR_FOLLOWER)]


def test_a_sole_voter_never_resigns() -> None:
    case = QuorumCase(voters=[ME])
    case.start()
    case.at(60_000.0).step_due()
    assert case.node.state_name == "leader"


# --- the end of an epoch ---


def test_a_requested_resignation_takes_effect_at_once() -> None:
    case = leading()
    case.append(b"a")
    case.request(fetch(1, 2, 2, 1), 2)
    case.request(fetch(1, 1, 1, 1), 1)
    assert case.step(ResignRequested(LeaderEpoch(0))) == []
    effects = case.step(ResignRequested(LeaderEpoch(1)))
    assert case.state == ("resigned", 1, ME)
    assert sent(effects) == [EndQuorumEpochRequest(LeaderEpoch(1), ME, (TWO, ONE))] * 2, "the longest log first"


def test_a_resigned_leader_repeats_the_request_to_voters_that_have_not_acknowledged() -> None:
    case = leading()
    effects = case.step(ResignRequested(LeaderEpoch(1)))
    state = case.node.state
    assert isinstance(state, Resigned)
    case.answer(effects[-2], EndQuorumEpochResponse(ErrorCode.NONE, LeaderEpoch(1), ME))
    assert state.unacknowledged == [TWO]


def test_an_orderly_stop_ends_when_another_leads() -> None:
    case = leading()
    effects = case.step(ShutdownRequested(5000))
    assert case.state == ("resigned", 1, ME)
    assert receivers(effects) == [1, 2]
    case.at(case.now_ms + 4000.0)
    assert case.step_due() != []
    assert case.state == ("resigned", 1, ME), "it does not campaign while it stops"
    effects = case.request(BeginQuorumEpochRequest(LeaderEpoch(2), TWO), 2)
    assert effects[-1] == ShutdownCompleted(False)
    assert case.node.ended


def test_an_orderly_stop_without_a_new_leader_times_out() -> None:
    case = leading()
    case.step(ShutdownRequested(5000))
    case.at(case.now_ms + 5000.0)
    assert case.step_due() == [ShutdownCompleted(True)]


def test_an_orderly_stop_of_a_follower_ends_at_once() -> None:
    case = QuorumCase(election=Election(LeaderEpoch(5), ONE), epochs=(5,))
    case.start()
    assert case.step(ShutdownRequested(5000)) == [ShutdownCompleted(False)]


# --- the voters' side ---


@pytest.mark.parametrize(
    ("successors", "delay_ms"),
    [((0, 2), 0), ((2, 0), 500), ((), 0), ((1, 2), 1000), ((1, 0, 2), 250), ((1, 2, 0), 500), ((1, 2, 3, 0), 500)],
)
def test_successors_campaign_in_their_order(successors: tuple[int, ...], delay_ms: float) -> None:
    case = QuorumCase(election=Election(LeaderEpoch(5), ONE), epochs=(5,))
    case.start()
    case.at(100.0)
    request = EndQuorumEpochRequest(LeaderEpoch(5), ONE, tuple(map(BrokerId, successors)))
    effects = case.request(request)
    assert EndQuorumEpochResponse(ErrorCode.NONE, LeaderEpoch(5), ONE) in answered(effects)
    if delay_ms:
        state = case.node.state
        assert isinstance(state, Follower)
        assert state.ends_ms == 100.0 + delay_ms
    else:
        assert case.node.state_name == "prospective"


def test_a_voter_learns_its_leader_from_begin_quorum_epoch() -> None:
    case = QuorumCase()
    case.start()
    effects = case.request(BeginQuorumEpochRequest(LeaderEpoch(3), TWO), 2)
    assert case.state == ("follower", 3, 2)
    assert case.election == (3, TWO, NO_BROKER)
    assert Respond(TWO, 7, BeginQuorumEpochResponse(ErrorCode.NONE, LeaderEpoch(3), TWO)) in effects
    assert sent(effects) == [fetch(3, ME, 0, 0)]
    old = answered(case.request(BeginQuorumEpochRequest(LeaderEpoch(2), ONE), 1))
    assert old == [BeginQuorumEpochResponse(ErrorCode.FENCED_LEADER_EPOCH, LeaderEpoch(3), TWO)]


def test_a_fenced_begin_quorum_epoch_deposes_the_leader() -> None:
    """So a voter with a higher epoch that returns ends a healthy epoch before 4.0."""
    case = QuorumCase("3.8")
    requests = case.lead()[-2:]
    case.answer(requests[0], BeginQuorumEpochResponse(ErrorCode.FENCED_LEADER_EPOCH, LeaderEpoch(9), NO_BROKER))
    assert case.state == ("unattached", 9, NO_BROKER)


def test_an_unreachable_epoch_is_ignored() -> None:
    case = QuorumCase("3.8")
    requests = case.lead()[-2:]
    case.answer(requests[0], BeginQuorumEpochResponse(ErrorCode.UNKNOWN_LEADER_EPOCH, LeaderEpoch(9), TWO))
    assert case.state == ("leader", 1, ME)


@pytest.mark.parametrize(("version", "notified"), [("3.8", True), ("3.9", False)])
def test_a_restarted_ex_leader_is_notified_before_3_9_alone(version: str, notified: bool) -> None:
    case = QuorumCase(version, election=Election(LeaderEpoch(5), ME), epochs=(5,))
    assert (LeaderChanged(ME, LeaderEpoch(5)) in case.start()) is notified

