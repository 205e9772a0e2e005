"""Topics, elections and reassignments that clients request of KRaft's controller.

Kraft-semantics 6.9 and 6.11.
"""

import pytest

from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.administration import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    GrownTopic,
    NewTopic,
    PlacedPartition,
)
from protocol.messages.configuration import (
    AlteredSetting,
)
from protocol.messages.leadership_messages import IsrChange
from protocol.messages.placement import (
    UNCLEAN,
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
    Moving,
    PartitionNamed,
    Reassigned,
)
from protocol.records.compact_fields import is_uuid
from tests.controller.kraft.controller_case import NEW, OLD, ControllerCase, altered, cluster

E = ErrorCode
VERSIONS = pytest.mark.parametrize("version", [OLD, NEW])


def ids(*brokers: int) -> list[BrokerId]:
    return [BrokerId(broker) for broker in brokers]


def assigned(*rows: tuple[int, ...]) -> list[PlacedPartition]:
    return [PlacedPartition(number, ids(*row)) for number, row in enumerate(rows)]


# --- topics ---


@VERSIONS
def test_an_assigned_topic(version: str) -> None:
    case = cluster(version)
    case.heartbeat(1, want_fence=True)
    result = case.create("t", [1, 0, 2], [2, 1, 0]).topics[0]
    assert (result.error, result.partitions, result.replication_factor) == (E.NONE, 2, 3)
    assert (case.summary(number=0), case.summary(number=1)) == ((0, 0, [0, 2], 0), (2, 0, [2, 0], 0))
    assert is_uuid(case.state.topics["t"].topic_id)


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("a/b", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t_a", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("t.a", 1, 1), E.TOPIC_ALREADY_EXISTS),
        (NewTopic("u", 0, 1), E.INVALID_PARTITIONS),
        (NewTopic("u", 10_001, 1), E.INVALID_PARTITIONS),
        (NewTopic("u", 1, 0), E.INVALID_REPLICATION_FACTOR),
        (NewTopic("u", 1, 4), E.INVALID_REPLICATION_FACTOR),
        (NewTopic("u", 1, -1, assigned((0,))), E.INVALID_REQUEST),
        (NewTopic("u", -1, 1, assigned((0,))), E.INVALID_REQUEST),
        (NewTopic("u", assignment=[PlacedPartition(1, ids(0))]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("u", assignment=[PlacedPartition(0, ids(0))] * 2), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("u", assignment=assigned(())), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("u", assignment=assigned((0, 0))), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("u", assignment=assigned((7,))), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("u", assignment=assigned((0, 1), (0,))), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("u", assignment=assigned((2,))), E.INVALID_REPLICA_ASSIGNMENT),  # fenced
        (NewTopic("u", 1, 1, configs={"min.insync.replicas": "0"}), E.INVALID_CONFIG),
        (NewTopic("u", 1, 1, configs={"min.insync.replicas": None}), E.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be(topic: NewTopic, error: ErrorCode) -> None:
    case = cluster()
    case.heartbeat(2, want_fence=True)
    case.create("t.a", [0])
    end = case.log.end
    response = case.call(CreateTopicsRequest([topic], timeout_ms=1))
    assert [one.error for one in response.topics] == [error]
    assert response.topics[0].message
    assert case.log.end == end


def test_each_topic_has_its_own_result() -> None:
    case = cluster()
    request = CreateTopicsRequest(
        [NewTopic("a", 1, 1), NewTopic("b", 1, 9), NewTopic("c"), NewTopic("c")], timeout_ms=1
    )
    response = case.call(request)
    assert [one.error for one in response.topics] == [0, E.INVALID_REPLICATION_FACTOR, *[E.INVALID_REQUEST] * 2]
    assert list(case.state.topics) == ["a"]


@pytest.mark.parametrize("seed", range(5))
def test_fenced_brokers_are_placed_last(seed: int) -> None:
    case = ControllerCase(seed=seed, num_partitions=5, default_replication_factor=3).claim().start(0, 1, 2, 3)
    case.heartbeat(0, want_fence=True)
    case.heartbeat(2, want_fence=True)
    assert case.call(CreateTopicsRequest([NewTopic("t")], timeout_ms=1)).topics[0].partitions == 5
    for _, _, state in case.state.partitions():
        assert (set(state.isr), state.replicas[2], state.leader) == ({1, 3}, 0, state.replicas[0])


def test_no_topic_without_a_live_broker() -> None:
    case = cluster(brokers=1)
    case.heartbeat(0, want_fence=True)
    response = case.call(CreateTopicsRequest([NewTopic("t", 1, 1)], timeout_ms=1))
    assert response.topics[0].error == E.INVALID_REPLICATION_FACTOR


def test_validation_alone_writes_nothing() -> None:
    case = cluster()
    case.create("t", [0])
    end = case.log.end
    new = CreateTopicsRequest([NewTopic("u", 1, 1)], timeout_ms=1, validate_only=True)
    grown = CreatePartitionsRequest([GrownTopic("t", 2)], timeout_ms=1, validate_only=True)
    assert [case.call(one).topics[0].error for one in (new, grown)] == [0, 0]
    assert case.log.end == end


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (GrownTopic("t", 3, [ids(1, 0)]), E.NONE),
        (GrownTopic("t", 4), E.NONE),
        (GrownTopic("u", 4), E.UNKNOWN_TOPIC_OR_PARTITION),
        (GrownTopic("t", 2), E.INVALID_PARTITIONS),
        (GrownTopic("t", 1), E.INVALID_PARTITIONS),
        (GrownTopic("t", 10_001), E.INVALID_PARTITIONS),
        (GrownTopic("t", 4, [ids(1, 0)]), E.INVALID_REPLICA_ASSIGNMENT),
        (GrownTopic("t", 3, [ids(1)]), E.INVALID_REPLICA_ASSIGNMENT),
    ],
)
def test_a_topic_grows(topic: GrownTopic, error: ErrorCode) -> None:
    case = cluster()
    case.create("t", [0, 1], [1, 0])
    response = case.call(CreatePartitionsRequest([topic], timeout_ms=1))
    assert response.topics[0].error == error
    partitions = case.state.topics["t"].partitions
    assert sorted(partitions) == list(range(2 if error else topic.partitions))
    assert {len(state.replicas) for state in partitions.values()} == {2}


def test_topics_are_deleted_once() -> None:
    case = cluster()
    case.create("t", [0], min_insync_replicas="1")
    response = case.call(DeleteTopicsRequest(["t", "u", "v", "v"], timeout_ms=1))
    wanted = [0, E.UNKNOWN_TOPIC_OR_PARTITION, E.INVALID_REQUEST, E.INVALID_REQUEST]
    assert [one.error for one in response.topics] == wanted
    assert not case.state.topics
    first = case.create("t", [0])
    assert first.topics[0].error == 0
    assert case.state.config(2, "t", "min.insync.replicas") is None


def test_deletion_may_be_disabled() -> None:
    case = cluster(delete_topic_enable=False)
    case.create("t", [0])
    response = case.call(DeleteTopicsRequest(["t"], timeout_ms=1))
    assert response.topics[0].error == E.TOPIC_DELETION_DISABLED
    assert "t" in case.state.topics


# --- elections ---


@VERSIONS
def test_elections_that_a_client_requests(version: str) -> None:
    case = cluster(version, eligible_leader_replicas_version=0)
    case.create("t", [0, 1])
    t, u = PartitionNamed("t", 0), PartitionNamed("u", 0)

    def elect(kind: int, *partitions: PartitionNamed) -> list[int]:
        response = case.call(ElectLeadersRequest(list(partitions) or None, 1000, kind))
        return [int(one.error) for one in response.partitions]

    assert elect(0, t, u) == [E.ELECTION_NOT_NEEDED, E.UNKNOWN_TOPIC_OR_PARTITION]
    assert elect(0) == []
    assert elect(UNCLEAN, t) == [E.ELECTION_NOT_NEEDED]
    case.heartbeat(0, want_fence=True)
    assert elect(0, t) == [E.PREFERRED_LEADER_NOT_AVAILABLE]
    case.heartbeat(0)
    case.alter([1, 0])
    assert elect(0) == [0]
    assert case.summary()[:2] == (0, 2)
    case.alter([0])
    case.heartbeat(0, want_fence=True)
    assert (case.partition().leader, elect(UNCLEAN, t)) == (-1, [0])
    assert (case.partition().leader, case.partition().isr, case.partition().recovering) == (1, (1,), True)
    case.heartbeat(1, want_fence=True)
    assert elect(UNCLEAN, t) == [E.ELIGIBLE_LEADERS_NOT_AVAILABLE]


@VERSIONS
@pytest.mark.parametrize(("enabled", "leader"), [(True, 0), (False, 1)])
def test_preferred_leaders_come_back_by_themselves(version: str, leader: int, *, enabled: bool) -> None:
    case = cluster(version, auto_leader_rebalance_enable=enabled, leader_imbalance_check_interval_seconds=30)
    case.create("t", [0, 1])
    case.heartbeat(0, want_fence=True)
    case.heartbeat(0)
    case.alter([1, 0])
    started_ms = case.now_ms
    for _ in range(14):
        case.after(2_000)
        case.heartbeat(0)
        case.heartbeat(1)
    assert case.partition().leader == 1
    case.at(started_ms + 30_000)
    assert case.partition().leader == leader


@pytest.mark.parametrize(("version", "leader"), [("3.8", -1), (OLD, 1), (NEW, 1)])
def test_from_3_9_on_a_task_elects_unclean_leaders(version: str, leader: int) -> None:
    case = cluster(version, eligible_leader_replicas_version=0, broker_session_timeout_ms=1_000_000)
    case.create("t", [0, 1])
    case.alter([0])
    case.heartbeat(0, want_fence=True)
    assert altered(case, 2, "t", AlteredSetting("unclean.leader.election.enable", "true")) == 0
    case.after(299_000)
    assert case.partition().leader == -1
    case.after(1_000)
    assert case.partition().leader == leader


@VERSIONS
def test_the_tasks_go_on_while_nothing_can_be_elected(version: str) -> None:
    case = cluster(version, eligible_leader_replicas_version=0, broker_session_timeout_ms=10_000_000)
    case.create("t", [0, 1])
    case.alter([0])
    case.heartbeat(0, want_fence=True)
    case.after(700_000)
    assert altered(case, 2, "t", AlteredSetting("unclean.leader.election.enable", "true")) == 0
    case.after(300_000)
    assert case.partition().leader == 1


@VERSIONS
def test_a_run_elects_1000_leaders_and_goes_on_soon(version: str) -> None:
    case = cluster(version, brokers=2, broker_session_timeout_ms=1_000_000)
    new = NewTopic("t", assignment=assigned(*[(0, 1)] * 1_500))
    assert case.call(CreateTopicsRequest([new], timeout_ms=1)).topics[0].error == 0
    case.heartbeat(0, want_fence=True)
    case.heartbeat(0)
    expansion = case.proposal([1, 0])
    one = expansion.partitions[0]
    expansion.partitions = [
        IsrChange("t", number, one.leader, one.leader_epoch, one.isr, one.zk_version, one.topic_id)
        for number in range(1_500)
    ]
    assert {result.error for result in case.call(expansion).partitions} == {0}
    moved = []
    for at_ms in (299_999, 300_000, 300_009, 300_010):
        case.at(at_ms)
        moved.append(sum(case.partition(number=number).leader == 0 for number in range(1_500)))
    assert moved == [0, 1_000, 1_000, 1_500]


# --- reassignments ---


def reassign(case: ControllerCase, *brokers: int, cancel: bool = False) -> int:
    wanted = Reassigned("t", 0, None if cancel else ids(*brokers))
    return int(case.call(AlterPartitionReassignmentsRequest([wanted])).partitions[0].error)


@VERSIONS
def test_a_reassignment_runs_to_its_end(version: str) -> None:
    case = cluster(version, brokers=4)
    case.create("t", [0, 1])
    assert reassign(case, 2, 1) == 0
    state = case.partition()
    assert (state.replicas, state.adding, state.removing) == ((2, 1, 0), (2,), (0,))
    assert case.summary() == (0, 0, [0, 1], 1)
    listed = case.call(ListPartitionReassignmentsRequest(None)).partitions
    assert listed == [Moving("t", 0, ids(2, 1, 0), ids(2), ids(0))]
    assert case.call(ListPartitionReassignmentsRequest([PartitionNamed("u", 0)])).partitions == []
    case.alter([0, 1, 2])
    assert (case.partition().replicas, case.partition().adding, case.partition().removing) == ((2, 1), (), ())
    assert case.call(ListPartitionReassignmentsRequest([PartitionNamed("t", 0)])).partitions == []


@VERSIONS
def test_another_order_completes_at_once(version: str) -> None:
    case = cluster(version)
    case.create("t", [0, 1])
    assert reassign(case, 1, 0) == 0
    assert (case.partition().replicas, case.summary()) == ((1, 0), (0, 0, [0, 1], 1))


@VERSIONS
def test_a_reassignment_is_cancelled(version: str) -> None:
    case = cluster(version)
    case.create("t", [0, 1])
    assert reassign(case, cancel=True) == E.NO_REASSIGNMENT_IN_PROGRESS
    reassign(case, 0, 2)
    assert reassign(case, cancel=True) == 0
    state = case.partition()
    assert (set(state.replicas), state.adding, state.removing, state.leader) == ({0, 1}, (), (), 0)


@pytest.mark.parametrize(
    ("brokers", "error"),
    [
        ((), E.INVALID_REPLICA_ASSIGNMENT),
        ((0, 0), E.INVALID_REPLICA_ASSIGNMENT),
        ((0, 7), E.INVALID_REPLICA_ASSIGNMENT),
        ((0, 1), E.NONE),
    ],
)
def test_a_target_is_checked(brokers: tuple[int, ...], error: ErrorCode) -> None:
    case = cluster()
    case.create("t", [0, 1])
    end = case.log.end
    assert reassign(case, *brokers) == error
    assert case.log.end == end
    unknown = [Reassigned("u", 0, ids(0)), Reassigned("t", 9, ids(0))]
    response = case.call(AlterPartitionReassignmentsRequest(unknown))
    assert [one.error for one in response.partitions] == [E.UNKNOWN_TOPIC_OR_PARTITION] * 2


@pytest.mark.parametrize(("unclean", "error"), [("false", E.INVALID_REPLICA_ASSIGNMENT), ("true", 0)])
def test_cancelling_may_need_an_unclean_election(unclean: str, error: int) -> None:
    case = cluster(eligible_leader_replicas_version=0)
    case.create("t", [0], unclean_leader_election_enable=unclean)
    case.start(3)
    reassign(case, 1, 3)
    case.alter([0, 1])
    case.heartbeat(0, want_fence=True)
    assert (case.partition().leader, case.partition().isr) == (1, (1,))
    assert reassign(case, cancel=True) == error
