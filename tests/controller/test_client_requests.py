"""Client requests to a controller, partition by partition.
Elections (KIP-460) and reassignments (KIP-455).
"""

import pytest

from controller.leader_requests import Elected, Elections
from controller.partition_states import Strategy
from controller.reassignment_requests import Begun, Reassignments, Target
from protocol.errors import ErrorCode as E
from protocol.ids import TopicPartition
from protocol.znodes import REASSIGN_PARTITIONS, ReplicaAssignment, encode_reassignment
from tests.controller.cluster import Cluster
from tests.controller.test_reassignment import assignment, join, started
from tests.ids import brokers

T0: TopicPartition = ("t", 0)


def elected(c: Cluster, *partitions: TopicPartition, strategy: Strategy = Strategy.PREFERRED, at: int = 4) -> Elections:
    answers: list[Elections] = []
    node = c.brokers[at]
    node.controller.elect_leaders(c.now, node.out, partitions, strategy, lambda n, o, answer: answers.append(answer))
    c.settle()
    (answer,) = answers
    return answer


def errors(results: Elections) -> dict[TopicPartition, E]:
    return {partition: one.error for partition, one in results.items()}


@pytest.mark.parametrize("version", ["2.2", "2.8"])
def test_the_preferred_replica_is_elected_where_it_can_lead(version: str) -> None:
    c = started(version)
    assert errors(elected(c, T0)) == {T0: E.ELECTION_NOT_NEEDED if version == "2.8" else E.NONE}
    c.die(0)
    assert c.state().leader == 1
    assert errors(elected(c, T0)) == {T0: E.PREFERRED_LEADER_NOT_AVAILABLE}, "it is dead"
    c.start(0)
    assert errors(elected(c, T0)) == {T0: E.PREFERRED_LEADER_NOT_AVAILABLE}, "it is not in sync"
    join(c, 1, 0)
    assert elected(c, T0) == {T0: Elected(leader=brokers(0)[0])}
    assert c.state().leader == 0


def test_an_unclean_election_takes_any_live_replica_and_only_of_leaderless_partitions() -> None:
    c = started()
    assert errors(elected(c, T0, strategy=Strategy.UNCLEAN)) == {T0: E.ELECTION_NOT_NEEDED}
    c.die(1)
    c.die(0)
    assert c.state().leader == -1
    assert errors(elected(c, T0, strategy=Strategy.UNCLEAN)) == {T0: E.ELIGIBLE_LEADERS_NOT_AVAILABLE}
    c.start(1)
    assert c.state().leader == -1, "it has been out of sync"
    assert elected(c, T0, strategy=Strategy.UNCLEAN)[T0].leader == 1
    assert "unclean-election" in c.decided(4)


def test_requests_about_missing_topics_and_to_no_controller() -> None:
    c = started()
    assert errors(elected(c, ("no", 0), T0)) == {("no", 0): E.UNKNOWN_TOPIC_OR_PARTITION, T0: E.ELECTION_NOT_NEEDED}
    assert errors(elected(c, T0, at=2)) == {T0: E.NOT_CONTROLLER}
    c.die(1)
    c.service.put("/admin/delete_topics/t")
    c.settle()
    assert errors(elected(c, T0)) == {T0: E.INVALID_TOPIC_EXCEPTION}, "it waits for a replica on a dead broker"
    assert reassigned(c, {T0: brokers(2)}).begun[T0].error == E.UNKNOWN_TOPIC_OR_PARTITION
    assert c.brokers[4].controller.is_being_deleted("t")


def test_a_controller_that_loses_its_session_on_the_way_reports_that_it_is_none() -> None:
    c = started()
    c.create_topic("u", (0, 1))
    node, reported = c.brokers[4], list[object]()
    c.cut_off(4)
    node.controller.alter_reassignments(c.now, node.out, {T0: brokers(2)}, lambda n, o, answer: reported.append(answer))
    node.controller.elect_leaders(
        c.now, node.out, [T0], Strategy.PREFERRED, lambda n, o, answer: reported.append(answer)
    )
    c.settle()
    assert reported == [], "both wait"
    c.expire(4)
    c.rejoin(4, expired=True)
    assert reported == [Reassignments(E.NOT_CONTROLLER), {T0: Elected(E.NOT_CONTROLLER)}]


# --- reassignments ---


def reassigned(c: Cluster, targets: dict[TopicPartition, Target], at: int = 4) -> Reassignments:
    answers: list[Reassignments] = []
    node = c.brokers[at]
    node.controller.alter_reassignments(c.now, node.out, targets, lambda n, o, answer: answers.append(answer))
    c.settle()
    (answer,) = answers
    return answer


def moving(c: Cluster, *partitions: TopicPartition, at: int = 4) -> Reassignments:
    answers: list[Reassignments] = []
    node = c.brokers[at]
    requested = partitions or None
    node.controller.list_reassignments(c.now, node.out, requested, lambda n, o, answer: answers.append(answer))
    c.settle()
    (answer,) = answers
    return answer


def test_a_move_is_listed_until_its_target_is_in_sync() -> None:
    c = started()
    assert reassigned(c, {T0: brokers(2, 3)}) == Reassignments(begun={T0: Begun()})
    now = ReplicaAssignment(brokers(2, 3, 0, 1), brokers(2, 3), brokers(0, 1))
    assert moving(c).moving == {T0: now} == moving(c, T0, ("no", 0)).moving
    join(c, 0, 1, 2, 3)
    assert moving(c).moving == {} == moving(c, T0).moving
    assert assignment(c) == ReplicaAssignment(brokers(2, 3))


def test_it_can_be_replaced_and_given_up_on_the_way() -> None:
    c = started()
    reassigned(c, {T0: brokers(2, 3)})
    reassigned(c, {T0: brokers(3, 0)})
    assert moving(c).moving == {T0: ReplicaAssignment(brokers(3, 0, 1), brokers(3), brokers(1))}
    assert reassigned(c, {T0: None}).begun == {T0: Begun()}
    assert moving(c).moving == {}
    assert assignment(c) == ReplicaAssignment(brokers(0, 1))
    assert reassigned(c, {T0: None}).begun[T0].error == E.NO_REASSIGNMENT_IN_PROGRESS, "twice"


def test_the_latest_takes_precedence_over_the_znode() -> None:
    c = started()
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment({T0: brokers(2, 3)}))
    c.settle()
    reassigned(c, {T0: brokers(1, 2)})
    assert REASSIGN_PARTITIONS not in c.service.znodes
    assert moving(c).moving[T0].target == (1, 2)


@pytest.mark.parametrize(
    ("target", "error"),
    [
        ((), E.INVALID_REPLICA_ASSIGNMENT),
        ((1, 1), E.INVALID_REPLICA_ASSIGNMENT),
        ((0, -1), E.INVALID_REPLICA_ASSIGNMENT),
        ((0, 9), E.INVALID_REPLICA_ASSIGNMENT),
        (None, E.NO_REASSIGNMENT_IN_PROGRESS),
    ],
)
def test_a_target_that_cannot_be_is_refused_and_the_others_move(target: tuple[int, ...] | None, error: E) -> None:
    c = started()
    c.create_topic("u", (0, 1))
    begun = reassigned(c, {T0: None if target is None else brokers(*target), ("u", 0): brokers(1, 2)}).begun
    assert {partition: one.error for partition, one in begun.items()} == {T0: error, ("u", 0): E.NONE}
    assert sorted(moving(c).moving) == [("u", 0)]


def test_an_unknown_partition_a_dead_origin_and_another_broker() -> None:
    c = started()
    assert reassigned(c, {("no", 0): brokers(1)}).begun[("no", 0)].error == E.UNKNOWN_TOPIC_OR_PARTITION
    assert reassigned(c, {("no", 0): None}).begun[("no", 0)].error == E.NO_REASSIGNMENT_IN_PROGRESS
    assert reassigned(c, {T0: brokers(2)}, at=1).error == moving(c, at=1).error == E.NOT_CONTROLLER
    c.die(1)
    begun = reassigned(c, {T0: brokers(0, 1)}).begun[T0]
    assert begun.error == E.NONE, "only what is new has to live"
