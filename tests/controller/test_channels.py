"""Channels to brokers (semantics 4.3, 11.13)."""

import pytest

from controller import channels
from controller.settings import ControllerSettings
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import (
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from tests.controller.cluster import Cluster


def started(version: str = "2.8", **settings: float) -> Cluster:
    c = Cluster(
        version=version,
        settings=ControllerSettings(auto_leader_rebalance_enable=False, **settings),  # type: ignore[arg-type]
    )
    c.start(2, 0, 1)
    return c


def test_the_controller_talks_to_its_own_broker_through_a_channel_too() -> None:
    c = started()
    c.create_topic("t", (2, 0))
    assert 2 in c.brokers[2].connections.values()
    assert any(isinstance(message, LeaderAndIsrRequest) for message in c.requests(2))


def test_one_request_is_in_flight_and_the_others_wait_in_order() -> None:
    c = started()
    c.forget_requests()
    c.brokers[0].silent = True
    c.create_topic("t", (0, 1))
    c.create_topic("u", (0, 1))
    assert len(c.requests(0)) == 1
    assert c.states(("u", 0)) == [(0, 0, [0, 1], 1, 0)], "an answer that does not come holds nothing up"


def test_a_request_whose_connection_is_lost_is_sent_again_after_100_ms() -> None:
    c = started()
    c.forget_requests()
    c.brokers[0].silent = True
    c.create_topic("t", (0, 1))
    first = c.requests(0)
    c.kill(0)
    c.advance(1000)
    assert c.requests(0) == []
    c.brokers[0].alive, c.brokers[0].silent = True, False
    c.advance(99)
    assert c.requests(0) == []
    c.advance(1)
    again = c.requests(0)
    assert again[:1] == first
    assert len(again) > 1, "then what waited behind it"


def test_a_request_without_an_answer_in_time_is_repeated_on_a_new_connection() -> None:
    c = started(request_timeout_ms=5000)
    c.forget_requests()
    c.brokers[0].silent = True
    c.create_topic("t", (0, 1))
    before = {k for k, peer in c.brokers[2].connections.items() if peer == 0}
    first = c.requests(0)
    c.advance(4999)
    assert c.requests(0) == []
    c.brokers[0].silent = False
    c.advance(1)
    c.advance(100)
    assert c.requests(0)[:1] == first
    assert {k for k, peer in c.brokers[2].connections.items() if peer == 0} != before


def test_connecting_is_given_up_after_controller_socket_timeout_ms_and_begun_again() -> None:
    c = Cluster(settings=ControllerSettings(auto_leader_rebalance_enable=False, controller_socket_timeout_ms=3000))
    c.start(2, 1)
    c.cut.add(frozenset((0, 2)))
    c.start(0)
    assert c.requests(0) == []
    c.cut.clear()
    c.advance(2999)
    assert c.requests(0) == []
    c.advance(1 + c.gates.resends_after_ms)
    assert c.requests(0) != []


@pytest.mark.parametrize(("version", "pause_ms"), [("0.8.2", 300), ("0.10.2", 100)])
def test_a_request_that_failed_is_sent_again_after_a_pause(version: str, pause_ms: int) -> None:
    settings = ControllerSettings(auto_leader_rebalance_enable=False, controller_socket_timeout_ms=3000)
    c = Cluster(version=version, settings=settings)
    c.start(2, 1)
    c.create_topic("t", (1,))  # 0.8.2 sends no metadata without a partition
    c.cut.add(frozenset((0, 2)))
    c.start(0)
    c.cut.clear()
    c.advance(3000 + pause_ms - 1)
    assert c.requests(0) == []
    c.advance(1)
    assert c.requests(0) != []


def test_a_channel_is_closed_with_everything_in_it_when_the_znode_is_gone() -> None:
    c = started()
    c.brokers[0].silent = True
    c.create_topic("t", (0, 1))
    c.die(0)
    assert not any(key[:2] == ("controller", "channel") and key[2] == 0 for key in c.brokers[2].timers)
    c.start(0)
    sent = c.requests(0)
    assert isinstance(sent[0], UpdateMetadataRequest), "nothing of what was meant for the former life"


@pytest.mark.parametrize("version", ["0.10.2", "2.0.1"])
def test_up_to_2_0_removing_a_dead_broker_waits_for_its_sender(version: str) -> None:
    """Semantics 11.13; `kip101-case1@0.10.2` waits from 48 to 67 s."""
    c = started(version, request_timeout_ms=30_000)
    c.create_topic("t", (0, 1, 2))
    c.brokers[1].silent = True
    c.create_topic("u", (0, 1, 2))
    c.advance(10_000)
    c.cut.add(frozenset((1, 2)))
    c.expire(1)
    assert len(c.states()) == 1
    assert c.brokers[2].controller.busy_with == "children /brokers/ids"
    c.advance(19_999)
    assert len(c.states()) == 1
    c.advance(1)
    assert c.states()[1:] == [(0, 1, [0, 2], 1, 1)]


def test_from_2_1_it_does_not() -> None:
    c = started("2.1")
    c.create_topic("t", (0, 1, 2))
    c.brokers[1].silent = True
    c.create_topic("u", (0, 1, 2))
    c.expire(1)
    assert c.states()[1:] == [(0, 1, [0, 2], 1, 1)]


def test_a_sender_that_is_idle_or_pausing_holds_nothing_up() -> None:
    c = started("0.10.2")
    c.create_topic("t", (0, 1, 2))
    c.die(1)
    assert c.states()[1:] == [(0, 1, [0, 2], 1, 1)]


def test_an_overflowing_channel_ends_the_process_with_a_clear_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channels, "MAX_QUEUED", 5)
    c = started()
    c.brokers[0].silent = True
    for number in range(4):
        c.create_topic(f"topic{number}", (0, 1))
    assert c.brokers[2].exited == "controller, children /brokers/topics: 5 requests wait for broker 0 (broker-0)"


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.2", "2.4", "2.6", "2.8"])
def test_of_a_batch_leader_and_isr_go_first_then_metadata_then_stop_replica(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    c.shut_down(2, ControlledShutdownRequest(BrokerId(1)))
    kinds = [type(message) for message in c.requests(0)]
    assert kinds == [LeaderAndIsrRequest, UpdateMetadataRequest]
    kinds = [type(message) for message in c.requests(1)]
    assert kinds == [StopReplicaRequest, UpdateMetadataRequest, StopReplicaRequest]


@pytest.mark.parametrize(
    ("version", "expected"),
    [("0.8.2", (0, 0, 0)), ("0.10.2", (0, 3, 0)), ("1.1", (1, 4, 0)), ("2.2", (2, 5, 1)), ("2.6", (4, 6, 3))],
)
def test_requests_have_the_version_of_the_protocol_and_no_field_that_is_newer(
    version: str, expected: tuple[int, int, int]
) -> None:
    c = started(version)
    c.create_topic("t", (0, 1, 2))
    c.service.put("/admin/delete_topics/t")
    c.settle()
    versions = {message.API_NAME: version for _, message, version in c.brokers[0].received}
    assert (versions["LeaderAndIsr"], versions["UpdateMetadata"], versions["StopReplica"]) == expected
    epoch = c.brokers[0].broker_epoch if c.gates.broker_epochs else -1
    for message in c.requests(0):
        assert isinstance(message, LeaderAndIsrRequest | UpdateMetadataRequest | StopReplicaRequest)
        assert message.broker_epoch == epoch


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.0.1"])
def test_up_to_2_0_resigning_waits_for_the_senders_too(version: str) -> None:
    c = _expired_with_a_sender_that_waits(version)
    node = c.brokers[2]
    assert not node.controller.active
    assert node.connections
    c.advance(30_000)
    assert not node.connections
    assert not node.controller.busy_with
    assert c.active() == [c.controller_of()]


def test_a_resignation_that_meets_a_second_expiry_is_finished_before_the_next_session_begins() -> None:
    c = _expired_with_a_sender_that_waits("2.0.1")
    node = c.brokers[2]
    second = node.session
    c.isolate(2)
    c.expire(2)
    c.rejoin(2, expired=True)
    assert (node.expired, node.session, node.controller.busy_with) == (True, second, "expire")
    c.advance(30_000)
    assert not node.connections
    assert not node.timers
    assert not node.controller.busy_with
    assert (node.expired, node.session > second) == (False, True)


@pytest.mark.parametrize("version", ["1.1", "2.0.1"])
def test_an_event_that_waits_for_a_sender_is_over_before_there_is_a_new_session(version: str) -> None:
    """KafkaController.beforeInitializingSession.
    The Expire event is put behind it, and there is no session before that begins. What it asks after its wait fails.
    """
    c = started(version, request_timeout_ms=30_000)
    c.create_topic("t", (0, 1, 2))
    c.brokers[1].silent = True
    c.create_topic("u", (0, 1, 2))
    c.cut.add(frozenset((1, 2)))
    c.expire(1)
    node = c.brokers[2]
    first = node.session
    c.isolate(2)
    c.expire(2)
    c.rejoin(2, expired=True)
    assert (node.expired, node.session, node.controller.busy_with) == (True, first, "children /brokers/ids")
    assert node.controller.active
    before = c.states()
    c.advance(30_000)
    assert (node.expired, node.session > first, node.controller.busy_with) == (False, True, "")
    assert [state for state in c.states() if state not in before and state[3] == 1] == []
    assert len(c.active()) == 1


def _expired_with_a_sender_that_waits(version: str) -> Cluster:
    """The controller's session is over while broker 0 owes it an answer."""
    c = started(version, request_timeout_ms=30_000)
    c.brokers[0].silent = True
    c.create_topic("t", (0, 1))
    c.isolate(2)
    c.expire(2)
    c.rejoin(2, expired=True)
    return c
