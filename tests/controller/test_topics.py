"""Topics are created, grow and are deleted (semantics 4.4, 4.5)."""

import pytest

from controller.settings import ControllerSettings
from protocol.events import TopicDeletionChanged, TopicRemoved
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.messages.leadership_messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from protocol.messages.session_messages import Delete
from protocol.znodes import Leadership, ReplicaAssignment, encode_state, encode_topic, state_path, topic_path
from tests.controller.cluster import Cluster
from tests.controller.test_leader_epochs import VERSIONS
from tests.ids import brokers


def started(version: str = "2.8", settings: ControllerSettings | None = None) -> Cluster:
    c = Cluster(version=version, settings=settings)
    c.start(2, 0, 1)
    return c


@pytest.mark.parametrize("version", VERSIONS)
def test_a_new_partition_is_led_by_its_first_live_replica_with_all_live_ones_in_sync(version: str) -> None:
    c = started(version)
    c.die(0)
    c.create_topic("t", (0, 1, 2))
    assert c.states() == [(1, 0, [1, 2], 1, 0)]
    reported = [p for m in c.requests(1) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert [(p.leader, p.is_new) for p in reported] == [(1, c.gates.leader_and_isr_version >= 1)]


def test_a_partition_without_live_replicas_waits_for_one() -> None:
    c = started()
    c.die(0)
    c.create_topic("t", (0,))
    assert "/brokers/topics/t/partitions/0/state" not in c.service.znodes
    c.start(0)
    assert c.states() == [(0, 0, [0], 1, 0)]


@pytest.mark.parametrize("version", VERSIONS)
def test_no_broker_receives_an_existing_first_state_before_the_next_controller(version: str) -> None:
    """Semantics 4.2: it was written, and the answer got lost.
    The controller asks again, and takes it for another's.
    """
    c = started(version)
    c.service.put(
        state_path("t", 0), encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(0, 1), ControllerEpoch(1)))
    )
    c.forget_requests()
    c.create_topic("t", (0, 1))
    assert not any(isinstance(m, LeaderAndIsrRequest) for broker in (0, 1) for m in c.requests(broker))
    c.die(1)
    c.start(1)
    reported = [p for b in (0, 1) for m in c.requests(b) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert reported == [], "tried again, in vain"
    c.die(2)
    reported = [p for b in (0, 1) for m in c.requests(b) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert {(p.leader, p.leader_epoch) for p in reported} == {(0, 0)}


def test_an_absent_replica_joins_no_isr_when_it_comes() -> None:
    c = started()
    c.die(0)
    c.create_topic("t", (0, 1))
    c.start(0)
    assert c.states() == [(1, 0, [1], 1, 0)]
    reported = [p for m in c.requests(0) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert [(p.leader, p.isr) for p in reported] == [(1, [1])]


def test_partitions_are_added_to_a_topic() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    grown = {0: ReplicaAssignment(brokers(0, 1)), 1: ReplicaAssignment(brokers(1, 2))}
    c.service.put(topic_path("t"), encode_topic(grown))
    c.settle()
    assert c.states(("t", 1)) == [(1, 0, [1, 2], 1, 0)]
    assert len(c.states(("t", 0))) == 1


def _delete(c: Cluster, topic: str = "t") -> None:
    c.service.put(f"/admin/delete_topics/{topic}")
    c.settle()


@pytest.mark.parametrize("version", VERSIONS)
def test_deletion_informs_brokers_stops_replicas_and_removes_the_znodes(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1), config={"min.insync.replicas": "2"})
    c.create_topic("u", (0, 1))
    c.forget_requests()
    _delete(c)
    sent = c.requests(0)
    assert isinstance(sent[0], UpdateMetadataRequest)
    assert {p.topic: p.leader for p in sent[0].partitions}["t"] == -2
    stopped = [p for m in sent if isinstance(m, StopReplicaRequest) for p in m.partitions]
    assert [(p.topic, p.delete) for p in stopped] == [("t", False), ("t", True)]
    if c.gates.stop_replica_version >= 3:
        assert {p.leader_epoch for p in stopped} == {-2}
    left = [path for path in c.service.znodes if "/t" in path.replace("/topics", "")]
    assert left == []
    c.die(0)
    assert c.state(("u", 0)).leader == 1, "and the controller goes on"


def test_deletion_waits_for_a_replica_on_a_dead_broker() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    c.die(0)
    _delete(c)
    assert topic_path("t") in c.service.znodes
    c.start(0)
    assert topic_path("t") not in c.service.znodes
    assert c.service.children("/admin/delete_topics") == []


def test_a_deletion_that_waits_is_left_alone_by_others() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    c.create_topic("u", (1, 2))
    c.die(0)
    _delete(c, "t")
    c.forget_requests()
    _delete(c, "u")
    every = [m for broker in (1, 2) for m in c.requests(broker)]
    named = {p.topic for m in every if isinstance(m, UpdateMetadataRequest) for p in m.partitions}
    assert named == {"u"}


def test_a_replica_that_dies_while_it_is_deleted_holds_deletion_up() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    c.brokers[0].silent = True
    _delete(c)
    assert topic_path("t") in c.service.znodes
    c.die(0)
    assert topic_path("t") in c.service.znodes
    c.start(0)
    assert topic_path("t") not in c.service.znodes


def test_a_new_controller_finishes_a_deletion() -> None:
    c = Cluster(4)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0, 1))
    c.brokers[0].silent = True
    _delete(c)
    c.brokers[0].silent = False
    c.die(3)
    assert topic_path("t") not in c.service.znodes


def test_a_deleted_topic_can_be_created_again() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    _delete(c)
    c.create_topic("t", (1, 2))
    assert c.states()[-1] == (1, 0, [1, 2], 1, 0)


def test_requests_to_delete_what_is_not_there_or_may_not_be_deleted_are_removed() -> None:
    c = started()
    _delete(c, "nothing")
    assert c.service.children("/admin/delete_topics") == []
    c = started(settings=ControllerSettings(auto_leader_rebalance_enable=False, delete_topic_enable=False))
    c.create_topic("t", (0, 1))
    _delete(c)
    assert c.service.children("/admin/delete_topics") == []
    assert topic_path("t") in c.service.znodes


def test_a_topic_whose_znodes_were_removed_by_hand_is_forgotten() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    for path in sorted((p for p in c.service.znodes if p.startswith(topic_path("t"))), reverse=True):
        c.service.apply(0, Delete(path))
    c.settle()
    c.create_topic("t", (1, 2))
    assert c.states()[-1] == (1, 0, [1, 2], 1, 0)


def test_up_to_0_10_0_a_mark_that_may_not_be_followed_stays_for_a_controller_that_may() -> None:
    """Semantics 4.5, `removes_refused_deletions`."""
    off = ControllerSettings(auto_leader_rebalance_enable=False, delete_topic_enable=False)
    c = started("0.8.2", settings=off)
    c.create_topic("t", (0, 1))
    _delete(c)
    c.die(2)
    c.start(2)
    assert c.service.children("/admin/delete_topics") == ["t"]
    assert topic_path("t") in c.service.znodes


def test_the_controller_reports_the_course_of_a_deletion() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    c.die(0)
    _delete(c)
    c.start(0)
    reported = [
        e for node in c.brokers.values() for e in node.events if isinstance(e, TopicDeletionChanged | TopicRemoved)
    ]
    assert [getattr(e, "change", "removed") for e in reported] == ["asked", "begun", "halted", "begun", "removed"]
    assert {e.topic for e in reported} == {"t"}
