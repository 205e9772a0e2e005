"""Partitions move to other brokers (semantics 4.2, 4.4)."""

import pytest

from controller.reassignment import towards
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import AlterIsrRequest, IsrChange, LeaderAndIsrRequest, StopReplicaRequest
from protocol.messages.session_messages import Delete
from protocol.znodes import (
    REASSIGN_PARTITIONS,
    ReplicaAssignment,
    decode_topic,
    delete_topic_path,
    encode_reassignment,
    topic_path,
)
from tests.controller.cluster import Cluster
from tests.controller.test_leader_epochs import VERSIONS
from tests.ids import brokers


def started(version: str = "2.8") -> Cluster:
    c = Cluster(5, version)
    c.start(4, 0, 1, 2, 3)
    c.create_topic("t", (0, 1))
    c.forget_requests()
    return c


def ask(c: Cluster, *target: int) -> None:
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment({("t", 0): brokers(*target)}))
    c.settle()


def join(c: Cluster, *isr: int) -> None:
    """The leader takes the new replicas into the ISR, in its version's way."""
    state = c.state()
    if c.gates.alter_isr:
        change = IsrChange("t", 0, state.leader, state.leader_epoch, list(brokers(*isr)), state.zk_version)
        c.alter_isr(4, AlterIsrRequest(state.leader, c.brokers[state.leader].broker_epoch, [change]))
    else:
        c.leader_writes_isr(*isr, notify=False)


def assignment(c: Cluster) -> ReplicaAssignment:
    return decode_topic("t", c.service.znodes[topic_path("t")].data)[0]


def test_the_target_comes_first_in_its_order() -> None:
    assert towards(ReplicaAssignment(brokers(1, 2, 3)), brokers(4, 2, 1)) == ReplicaAssignment(
        brokers(4, 2, 1, 3), brokers(4), brokers(3)
    )
    assert towards(ReplicaAssignment(brokers(4, 1, 2), brokers(4), brokers(1)), brokers(3, 2)) == ReplicaAssignment(
        brokers(3, 2, 1), brokers(3), brokers(1)
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_it_waits_for_the_target_to_be_in_sync_then_moves_and_cleans_up(version: str) -> None:
    c = started(version)
    ask(c, 2, 3)
    assert c.states()[1:] == [(0, 1, [0, 1], 1, 1)], "a new epoch announces the new replicas to all"
    assert assignment(c).replicas == (2, 3, 0, 1)
    assert assignment(c).being_reassigned == c.gates.topic_znode_keeps_reassignment
    reported = [p for m in c.requests(2) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert reported[0].leader == 0
    join(c, 0, 1, 2)
    assert c.state().leader == 0
    join(c, 0, 1, 2, 3)
    assert assignment(c) == ReplicaAssignment(brokers(2, 3))
    assert (c.state().leader, c.state().isr) == (2, (2, 3))
    assert REASSIGN_PARTITIONS not in c.service.znodes
    for gone in (0, 1):
        stopped = [p.delete for m in c.requests(gone) if isinstance(m, StopReplicaRequest) for p in m.partitions]
        assert stopped == [False, True]


@pytest.mark.parametrize("version", VERSIONS)
def test_one_to_the_replicas_that_are_there_is_refused_up_to_2_3_and_done_later(version: str) -> None:
    """2.4: onPartitionReassignment sends a new epoch to all brokers."""
    c = started(version)
    ask(c, 0, 1)
    assert REASSIGN_PARTITIONS not in c.service.znodes
    assert c.state().leader_epoch == (0 if c.gates.ignores_reassignment_to_same_replicas else 1)
    assert c.gates.ignores_reassignment_to_same_replicas == (not c.gates.topic_znode_keeps_reassignment)


def test_one_to_a_dead_broker_is_refused_by_0_8_2_alone() -> None:
    for version in ("0.8.2", "0.10.2"):
        c = started(version)
        c.die(3)
        ask(c, 2, 3)
        assert (REASSIGN_PARTITIONS in c.service.znodes) == (version != "0.8.2")
        assert assignment(c).replicas == ((0, 1) if version == "0.8.2" else (2, 3, 0, 1))


@pytest.mark.parametrize("version", ["1.1", "2.8"])
def test_a_leader_that_stays_keeps_leading(version: str) -> None:
    c = started(version)
    ask(c, 0, 2)
    join(c, 0, 1, 2)
    assert (c.state().leader, c.state().isr) == (0, (0, 2))
    assert assignment(c) == ReplicaAssignment(brokers(0, 2))


@pytest.mark.parametrize("version", VERSIONS)
def test_one_that_is_done_leaves_the_others_as_they_are(version: str) -> None:
    """The controller's own write of the remaining reassignments begins nothing anew.
    Source: PartitionReassignmentHandler.handleCreation; up to 1.0 PartitionReassignment.process.
    """
    c = Cluster(5, version)
    c.start(4, 0, 1, 2, 3)
    c.create_topic("t", (0, 1), (0, 1))
    requested = {("t", 0): brokers(0, 2), ("t", 1): brokers(0, 3)}
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment(requested))
    c.settle()
    c.forget_requests()
    join(c, 0, 1, 2)
    assert assignment(c) == ReplicaAssignment(brokers(0, 2))
    assert c.service.znodes[REASSIGN_PARTITIONS].data == encode_reassignment({("t", 1): brokers(0, 3)})
    assert c.states(("t", 1))[1:] == [(0, 1, [0, 1], 1, 1)], "one epoch for its new replicas, and no other"
    reported = [p for m in c.requests(3) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert reported == [], "nor is it told again"


@pytest.mark.parametrize(("version", "moved"), [("1.0", True), ("1.1", False), ("2.8", False)])
def test_what_is_written_into_the_znode_later_is_noticed_up_to_1_0(version: str, moved: bool) -> None:
    c = Cluster(5, version)
    c.start(4, 0, 1, 2, 3)
    c.create_topic("t", (0, 1), (0, 1))
    first = {("t", 0): brokers(0, 2)}
    for requested in (first, {**first, ("t", 1): brokers(0, 3)}):
        c.service.put(REASSIGN_PARTITIONS, encode_reassignment(requested))
        c.settle()
    assert c.state().leader_epoch == 1
    assert c.state(("t", 1)).leader_epoch == int(moved)


@pytest.mark.parametrize("deleted", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_after_one_was_done_the_next_is_noticed(version: str, deleted: bool) -> None:
    """Also if an operator deleted the znode meanwhile, which stops nothing."""
    c = started(version)
    for target in ((0, 2), (0, 3)):
        ask(c, *target)
        if deleted:
            c.service.apply(0, Delete(REASSIGN_PARTITIONS))
            c.settle()
        join(c, *sorted({0, 1, *c.state().isr, *target}))
        assert assignment(c) == ReplicaAssignment(brokers(*target))


@pytest.mark.parametrize("version", VERSIONS)
def test_up_to_2_3_removed_replicas_receive_the_last_leader_and_isr(version: str) -> None:
    """moveReassignedPartitionLeaderIfRequired, oldAndNewReplicas.
    From 2.4 on the new replicas alone.
    """
    c = Cluster(5, version)
    c.start(4, 0, 1, 2)
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    ask(c, 0, 1)
    assert (c.state().leader, c.state().isr) == (0, (0, 1))
    reported = [p for m in c.requests(2) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    expected_up_to_2_3 = [] if c.gates.topic_znode_keeps_reassignment else [(1, [0, 1])]
    assert [(p.leader_epoch, p.replicas) for p in reported] == expected_up_to_2_3


@pytest.mark.parametrize("version", VERSIONS)
def test_up_to_2_3_a_target_that_is_in_sync_is_written_once_and_sent_again(version: str) -> None:
    """onPartitionReassignment, areReplicasInIsr.
    All of the target become OnlineReplica, one by one.
    """
    c = Cluster(5, version)
    c.start(4, 0, 1, 2)
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    ask(c, 2, 1)
    written = [decode_topic("t", data)[0] for path, data, _ in c.service.history if path == topic_path("t")][1:]
    reported = [p for m in c.requests(1) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    known, moved = (0, 0, [0, 1, 2]), (2, 1, [2, 1])
    target = ReplicaAssignment(brokers(2, 1))
    if c.gates.topic_znode_keeps_reassignment:
        assert written == [towards(ReplicaAssignment(brokers(0, 1, 2)), brokers(2, 1)), target]
    else:
        assert written == [target]
        assert [(p.leader, p.leader_epoch, p.replicas) for p in reported][:2] == [known, moved]


@pytest.mark.parametrize("version", VERSIONS)
def test_another_order_waits_up_to_2_3_until_all_are_in_sync(version: str) -> None:
    c = started(version)
    c.leader_writes_isr(0, notify=False)
    ask(c, 1, 0)
    assert (REASSIGN_PARTITIONS in c.service.znodes) is not c.gates.topic_znode_keeps_reassignment
    if not c.gates.topic_znode_keeps_reassignment:
        join(c, 0, 1)
    assert REASSIGN_PARTITIONS not in c.service.znodes
    assert assignment(c) == ReplicaAssignment(brokers(1, 0))


@pytest.mark.parametrize("version", ["1.0", "1.1", "2.3", "2.4", "2.6", "2.7", "2.8"])
def test_added_replicas_are_flagged_as_new_at_once_from_2_7(version: str) -> None:
    """updateLeaderEpochAndSendRequest, then NewReplica.
    The latter takes the epoch from ZooKeeper up to 1.0, later from the controller's memory, which up to 2.3 does not
    have the one that was just written (KAFKA-9212).
    """
    c = started(version)
    ask(c, 0, 2)
    reported = [p for m in c.requests(2) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    remembered = 0 if version in ("1.1", "2.3") else 1
    assert [(p.leader_epoch, p.is_new) for p in reported] == [(1, version in ("2.7", "2.8")), (remembered, True)]


def test_a_new_controller_goes_on() -> None:
    c = started()
    ask(c, 2, 3)
    c.die(4)
    join_at = c.controller_of()
    state = c.state()
    change = IsrChange("t", 0, state.leader, state.leader_epoch, list(brokers(0, 1, 2, 3)), state.zk_version)
    c.alter_isr(join_at, AlterIsrRequest(state.leader, c.brokers[state.leader].broker_epoch, [change]))
    assert assignment(c) == ReplicaAssignment(brokers(2, 3))


def successor_while_a_deletion_waits(version: str) -> Cluster:
    """A topic moves from (0, 1) to (0, 2), and is to be deleted; the controller dies."""
    c = started(version)
    ask(c, 0, 2)
    c.service.put(delete_topic_path("t"))
    c.settle()
    c.die(4)
    assert topic_path("t") in c.service.znodes
    return c


@pytest.mark.parametrize("version", ["0.8.2", "0.10.2", "1.0", "2.4", "2.8"])
def test_a_new_controller_moves_first_then_deletes(version: str) -> None:
    c = successor_while_a_deletion_waits(version)
    state = c.state()
    if c.gates.alter_isr:
        change = IsrChange("t", 0, BrokerId(0), state.leader_epoch, list(brokers(0, 1, 2)), state.zk_version)
        c.alter_isr(c.controller_of(), AlterIsrRequest(BrokerId(0), c.brokers[0].broker_epoch, [change]))
    else:
        c.leader_writes_isr(0, 1, 2, notify=False)
    assert topic_path("t") not in c.service.znodes


@pytest.mark.parametrize("version", ["1.1", "2.0.1", "2.3"])
def test_1_1_to_2_3_a_new_controller_gives_the_move_up_and_the_deletion_waits_for_a_start(version: str) -> None:
    """KafkaController.maybeTriggerPartitionReassignment; nothing resumes the topic's deletion."""
    c = successor_while_a_deletion_waits(version)
    assert REASSIGN_PARTITIONS not in c.service.znodes
    c.leader_writes_isr(0, 1, 2)
    assert topic_path("t") in c.service.znodes
    c.die(2)
    c.start(2)
    assert topic_path("t") not in c.service.znodes


def test_unusable_requests_are_removed() -> None:
    c = started()
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment({("t", 9): brokers(1)}))
    c.settle()
    assert REASSIGN_PARTITIONS not in c.service.znodes
    c.service.put(REASSIGN_PARTITIONS, b"[]")
    c.settle()
    assert REASSIGN_PARTITIONS not in c.service.znodes
    assert len(c.states()) == 1
    ask(c, 1, 0)
    assert assignment(c) == ReplicaAssignment(brokers(1, 0)), "the watch is set again each time"
