"""Controlled shutdown (semantics 4.2)."""

import pytest

from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import ControlledShutdownRequest, LeaderAndIsrRequest, StopReplicaRequest
from protocol.znodes import REASSIGN_PARTITIONS, delete_topic_path, encode_reassignment
from tests.controller.cluster import Cluster
from tests.ids import brokers


def started() -> Cluster:
    c = Cluster()
    c.start(2, 0, 1)
    return c


def ask(c: Cluster, broker: int = 0, controller: int = 2) -> tuple[int, list[tuple[str, int]]]:
    (answer,) = c.shut_down(controller, ControlledShutdownRequest(BrokerId(broker), c.brokers[broker].broker_epoch))
    return answer.error, answer.remaining


def test_leaderships_move_and_followed_replicas_are_stopped_without_deletion() -> None:
    c = started()
    c.create_topic("t", (0, 1, 2), (1, 0))
    c.forget_requests()
    assert ask(c) == (0, [])
    assert c.states()[1:] == [(1, 1, [1, 2], 1, 1)]
    assert c.states(("t", 1))[1:] == [(1, 1, [1], 1, 1)]
    stopped = [p for m in c.requests(0) if isinstance(m, StopReplicaRequest) for p in m.partitions]
    assert {(p.topic, p.partition, p.delete) for p in stopped} == {("t", 1, False)}


@pytest.mark.parametrize(("version", "leader"), [("0.8.2", 2), ("0.10.2", 1), ("2.8", 1)])
def test_the_next_leader_is_the_first_of_the_assignment_in_0_8_2_of_the_isr(version: str, leader: int) -> None:
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1, 2))
    c.leader_writes_isr(0, 2, 1, notify=False)
    ask(c)
    assert (c.state().leader, c.state().isr) == (leader, (2, 1))


def test_the_broker_learns_that_it_leads_no_more() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    c.forget_requests()
    ask(c)
    reported = [p for m in c.requests(0) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert [(p.leader, p.leader_epoch) for p in reported] == [(1, 1)]


def test_partitions_without_another_possible_leader_remain() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    c.die(1)
    assert ask(c) == (0, [("t", 0)])
    c.start(1)
    c.leader_writes_isr(0, 1)
    assert ask(c) == (0, [])
    assert c.state().leader == 1


def test_a_partition_with_one_replica_is_left_alone() -> None:
    c = started()
    c.create_topic("t", (0,))
    assert ask(c) == (0, [])
    assert len(c.states()) == 1


@pytest.mark.parametrize(("version", "alone"), [("0.10.2", False), ("2.0.1", False), ("2.1", True), ("2.8", True)])
def test_a_topic_that_waits_for_its_deletion_is_left_alone_from_2_1_and_moved_before(version: str, alone: bool) -> None:
    c = Cluster(4, version)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0, 1), (1, 0))
    requested = {("t", partition): brokers(0, 1, 2) for partition in (0, 1)}
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment(requested))
    c.settle()
    c.service.put(delete_topic_path("t"))
    c.settle()
    c.forget_requests()
    assert ask(c, 0, controller=3) == (0, []), "nothing remains that the broker would wait for"
    assert c.state().leader == (0 if alone else 1)
    assert c.state(("t", 1)).isr == ((1, 0) if alone else (1,))
    stopped = [p for m in c.requests(0) if isinstance(m, StopReplicaRequest) for p in m.partitions]
    assert bool(stopped) is not alone


def test_a_broker_that_is_shutting_down_is_elected_for_nothing() -> None:
    c = started()
    c.create_topic("t", (0, 1, 2))
    ask(c, 1)
    c.leader_writes_isr(0, 1, 2)
    c.die(0)
    assert c.state().leader == 2


def test_its_return_makes_it_a_candidate_again() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    ask(c, 1)
    c.die(1)
    c.start(1)
    c.leader_writes_isr(0, 1)
    c.die(0)
    assert c.state().leader == 1


def test_a_refused_broker_receives_the_reason() -> None:
    c = started()
    assert ask(c, 0, controller=1)[0] == ErrorCode.NOT_CONTROLLER
    (answer,) = c.shut_down(2, ControlledShutdownRequest(BrokerId(7)))
    assert answer.error == ErrorCode.BROKER_NOT_AVAILABLE
    (answer,) = c.shut_down(2, ControlledShutdownRequest(BrokerId(7), 70))
    assert answer.error == ErrorCode.UNKNOWN_SERVER_ERROR
    (answer,) = c.shut_down(2, ControlledShutdownRequest(BrokerId(0), c.brokers[0].broker_epoch - 1))
    assert answer.error == ErrorCode.STALE_BROKER_EPOCH


def test_up_to_2_1_an_earlier_incarnation_may_send_requests() -> None:
    """Semantics 8, KAFKA-7235: the controller does not distinguish a broker's incarnations.
    It stops the replicas of the new one.
    """
    c = Cluster(version="2.1")
    c.start(2, 0, 1)
    c.create_topic("t", (1, 0))
    c.forget_requests()
    (answer,) = c.shut_down(2, ControlledShutdownRequest(BrokerId(0), c.brokers[0].broker_epoch - 1))
    assert (answer.error, answer.remaining) == (0, [])
    assert c.state().isr == (1,)
    assert any(isinstance(m, StopReplicaRequest) for m in c.requests(0))


def test_a_request_that_waits_when_the_session_expires_fails_with_not_controller() -> None:
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.cut_off(2)
    running = c.shut_down(2, ControlledShutdownRequest(BrokerId(0)))
    queued = c.shut_down(2, ControlledShutdownRequest(BrokerId(1)))
    c.expire(2)
    c.rejoin(2, expired=True)
    assert [answer.error for answer in running + queued] == [ErrorCode.NOT_CONTROLLER] * 2
