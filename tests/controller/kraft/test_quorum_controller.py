"""Claim, writes, waiting responses and renouncing of KRaft's controller.

Kraft-semantics 2.
"""

import pytest

from controller.kraft.feature_levels import ELR_VERSION, METADATA_VERSION
from protocol.errors import ErrorCode
from protocol.events import (
    BrokerRegistrationCommitted,
    ControllerChanged,
    PartitionStateCommitted,
    TopicRemoved,
)
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.messages.administration import CreateTopicsRequest, CreateTopicsResponse, DeleteTopicsRequest, NewTopic
from protocol.messages.kraft_messages import BrokerHeartbeatRequest, BrokerRegistrationResponse
from protocol.messages.placement import (
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)
from protocol.messages.quorum_messages import VoteRequest
from protocol.records.metadata_records import ConfigRecord, FeatureLevelRecord, NoOpRecord
from tests.controller.kraft.controller_case import ME, NEW, OLD, ControllerCase, registration
from verification.kraft.shared_log import SharedLog


def test_a_new_cluster_gets_its_features_at_the_first_claim() -> None:
    assert ControllerCase("3.9").claim().records() == [FeatureLevelRecord(METADATA_VERSION, 21)]
    assert ControllerCase("4.0").claim().records() == [FeatureLevelRecord(METADATA_VERSION, 25)]
    assert ControllerCase("4.4", min_insync_replicas=2).claim().records() == [
        FeatureLevelRecord(METADATA_VERSION, 33),
        FeatureLevelRecord(ELR_VERSION, 1),
        ConfigRecord(4, "", "min.insync.replicas", "2"),
    ]
    off = ControllerCase("4.4", eligible_leader_replicas_version=0).claim()
    assert off.records() == [FeatureLevelRecord(METADATA_VERSION, 33)]


def test_a_later_claim_writes_nothing() -> None:
    case = ControllerCase().claim()
    before = case.records()
    case.lose()
    assert case.claim().records() == before


def test_the_minimum_of_the_isr_is_written_when_it_is_missing() -> None:
    log = ControllerCase("4.0", eligible_leader_replicas_version=1).claim().log
    upgraded = ControllerCase("4.1", log).claim()
    assert upgraded.records()[-1] == ConfigRecord(4, "", "min.insync.replicas", "1")


def test_claims_and_renouncings_are_events() -> None:
    case = ControllerCase().claim()
    case.lose(BrokerId(101))
    case.claim()
    case.lose()
    changes = [event for event in case.events if isinstance(event, ControllerChanged)]
    assert [(one.active, one.controller_epoch, one.reason) for one in changes] == [
        (True, 1, "leads-quorum"), (False, 1, "another-leader"), (True, 2, "leads-quorum"), (False, 2, "no-leader"),
    ]  # fmt: skip
    assert case.log.resigned == [1, 2]


def test_a_standby_controller_refuses_but_lists() -> None:
    case = ControllerCase()
    assert case.call(registration(0)).error == ErrorCode.NOT_CONTROLLER
    refused = case.call(CreateTopicsRequest([NewTopic("t"), NewTopic("u")], timeout_ms=1))
    assert [one.error for one in refused.topics] == [ErrorCode.NOT_CONTROLLER] * 2
    assert case.call(ListPartitionReassignmentsRequest(None)) == ListPartitionReassignmentsResponse([])
    with pytest.raises(ValueError, match="no request of the controller"):
        case.sent(VoteRequest(LeaderEpoch(1), BrokerId(1), LeaderEpoch(0), Offset(0)))


def test_a_response_waits_for_its_record_and_a_read_for_what_it_saw() -> None:
    case = ControllerCase().claim()
    written, read = case.sent(registration(0)), case.sent(ElectLeadersRequest(None, timeout_ms=1))
    assert (written, read) == ([], [])
    case.commit()
    assert isinstance(written[0], BrokerRegistrationResponse)
    assert len(read) == 1
    assert len(case.sent(ElectLeadersRequest(None, timeout_ms=1))) == 1  # nothing is uncommitted


def test_a_response_comes_when_its_own_batch_is_committed() -> None:
    case = ControllerCase().claim()
    first, second = case.sent(registration(0)), case.sent(registration(1))
    case.controller.committed(case.now, case.log.batches[case.delivered : case.delivered + 1])
    assert (len(first), len(second)) == (1, 0)


def test_a_decision_sees_those_that_are_not_committed() -> None:
    case = ControllerCase().claim().start(0)
    case.sent(CreateTopicsRequest([NewTopic("t", 1, 1)], timeout_ms=1))
    again = case.sent(CreateTopicsRequest([NewTopic("t", 1, 1)], timeout_ms=1))
    assert "t" not in case.state.topics
    case.commit()
    assert isinstance(again[0], CreateTopicsResponse)
    assert again[0].topics[0].error == ErrorCode.TOPIC_ALREADY_EXISTS


def test_renouncing_fails_waiting_responses_and_forgets_their_records() -> None:
    case = ControllerCase().claim().start(0)
    waiting = case.sent(CreateTopicsRequest([NewTopic("t", 1, 1)], timeout_ms=1))
    case.lose()
    assert isinstance(waiting[0], CreateTopicsResponse)
    assert waiting[0].topics[0].error == ErrorCode.NOT_CONTROLLER
    case.log.truncate()
    case.claim()
    assert case.call(CreateTopicsRequest([NewTopic("t", 1, 1)], timeout_ms=1)).topics[0].error == ErrorCode.NONE


def test_a_new_claim_waits_for_no_record_of_the_one_before() -> None:
    case = ControllerCase().claim().start(0)
    for broker in range(1, 6):
        case.sent(registration(broker))
    case.lose()
    case.log.truncate()
    case.claim()
    assert len(case.sent(ElectLeadersRequest(None, timeout_ms=1))) == 1


def test_a_refused_append_renounces() -> None:
    case = ControllerCase().claim()
    case.log.leads = False
    assert case.call(registration(0)).error == ErrorCode.NOT_CONTROLLER
    assert not case.controller.active
    assert case.events[-1] == ControllerChanged(False, 1, "append-refused")


def test_an_isolated_leader_notices_by_its_no_op_record() -> None:
    case = ControllerCase().claim()
    case.log.leads = False
    assert case.controller.due_at_ms == 500
    case.at(500)
    assert not case.controller.active
    assert case.controller.due_at_ms == float("inf")


@pytest.mark.parametrize("version", [OLD, NEW])
def test_no_op_records_come_at_their_period(version: str) -> None:
    case = ControllerCase(version).claim()
    assert case.at(2600).records().count(NoOpRecord()) == 5
    silent = ControllerCase(version, metadata_max_idle_interval_ms=0).claim()
    assert NoOpRecord() not in silent.at(2600).records()


def test_a_standby_has_the_state_of_the_committed_records() -> None:
    case = ControllerCase().claim().start(0, 1)
    case.create("t", [0, 1])
    standby = ControllerCase(log=case.log)
    standby.commit()
    assert standby.state.topics == case.state.topics
    assert standby.state.brokers == case.state.brokers
    assert not standby.controller.active


def test_committed_records_are_events_of_every_controller() -> None:
    case = ControllerCase().claim().start(0, 1)
    case.create("t", [0, 1])
    case.heartbeat(1, want_fence=True)
    topic_id = case.state.topics["t"].topic_id
    assert case.call(DeleteTopicsRequest(["t"], timeout_ms=1)).topics[0].error == 0
    standby = ControllerCase(log=case.log)
    standby.commit()
    kinds = (PartitionStateCommitted, BrokerRegistrationCommitted, TopicRemoved)
    for one in (case, standby):
        seen = [event for event in one.events if isinstance(event, kinds)]
        changes = [event.change for event in seen if isinstance(event, BrokerRegistrationCommitted)]
        assert changes == ["registered", "unfenced", "registered", "unfenced", "fenced"]
        states = [event for event in seen if isinstance(event, PartitionStateCommitted)]
        assert [(state.leader, state.isr, state.replicas, state.topic_id) for state in states] == [
            (0, "0,1", "0,1", topic_id), (0, "0", "0,1", topic_id),
        ]  # fmt: skip
        assert [state.offset for state in states] == sorted({state.offset for state in states})
        assert seen[-1] == TopicRemoved("t", 1, topic_id=topic_id)


def test_another_leader_changes_nothing_at_a_standby() -> None:
    case = ControllerCase()
    case.controller.leader_changed(case.now, BrokerId(101), LeaderEpoch(3))
    case.controller.leader_changed(case.now, NO_BROKER, LeaderEpoch(4))
    assert (case.events, case.log.resigned) == ([], [])


def test_a_leader_of_a_new_epoch_stays_active() -> None:
    case = ControllerCase().claim()
    case.log.lead()
    case.controller.leader_changed(case.now, ME, case.log.epoch)
    assert case.register(0).error == 0


def test_a_flood_of_requests_without_a_quorum_is_bounded() -> None:
    case = ControllerCase(log=SharedLog()).claim()
    requests = [BrokerHeartbeatRequest(BrokerId(0), 1, Offset(0))] * 10_001
    case.sent(registration(0))
    replies = [case.sent(request) for request in requests]
    assert [len(one) for one in replies] == [0] * 9_999 + [1, 1]
