"""Controller errors that came and went with releases (semantics 8).
Each is tested on both sides.
"""

import pytest

from controller.settings import ControllerSettings
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import ControlledShutdownRequest, LeaderAndIsrRequest, UpdateMetadataRequest
from protocol.messages.session_messages import Delete
from protocol.versions import LADDER, since
from protocol.znodes import (
    CONTROLLER,
    CONTROLLER_EPOCH,
    REASSIGN_PARTITIONS,
    ReplicaAssignment,
    decode_topic,
    encode_reassignment,
    encode_topic,
    state_path,
    topic_path,
)
from tests.controller.cluster import Cluster
from tests.ids import brokers


def started(version: str, settings: ControllerSettings | None = None, *, of: int = 3) -> Cluster:
    """The last broker is controller."""
    c = Cluster(of, version=version, settings=settings)
    c.start(of - 1, *range(of - 1))
    return c


def delete(c: Cluster, topic: str = "t") -> None:
    c.service.put(f"/admin/delete_topics/{topic}")
    c.settle()


def reassign(c: Cluster, *target: int, partition: tuple[str, int] = ("t", 0)) -> None:
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment({partition: brokers(*target)}))
    c.settle()


def assigned(c: Cluster, topic: str = "t") -> tuple[int, ...]:
    return decode_topic(topic, c.service.znodes[topic_path(topic)].data)[0].replicas


def last_leaders(c: Cluster, broker: int) -> dict[tuple[str, int], int]:
    """The leader in the last UpdateMetadata of each partition.
    Takes what was sent.
    """
    metadata = [m for m in c.requests(broker) if isinstance(m, UpdateMetadataRequest)]
    return {(p.topic, p.partition): p.leader for m in metadata for p in m.partitions}


# --- KAFKA-3175 ---


def deletion_is_off() -> ControllerSettings:
    return ControllerSettings(auto_leader_rebalance_enable=False, delete_topic_enable=False)


@pytest.mark.parametrize("version", LADDER)
def test_only_0_8_2_reports_a_marked_topic_as_deleted_where_deletion_is_off(version: str) -> None:
    c = started(version, deletion_is_off())
    c.create_topic("t", (0, 1))
    c.create_topic("u", (0, 1))
    delete(c)
    c.forget_requests()
    c.die(2)
    affected = version == "0.8.2"
    assert last_leaders(c, 0) == {("t", 0): -2 if affected else 0, ("u", 0): 0}
    assert c.state(("t", 0)).leader == 0, "and it is led all the same"
    assert (c.service.children("/admin/delete_topics") == ["t"]) is affected


def test_the_controller_that_sees_the_mark_reports_nothing_in_0_8_2() -> None:
    c = started("0.8.2", deletion_is_off())
    c.create_topic("t", (0, 1))
    delete(c)
    c.forget_requests()
    c.die(1)
    assert last_leaders(c, 0) == {("t", 0): 0}


def test_partitions_that_the_topic_gets_later_are_not_reported_as_deleted_in_0_8_2() -> None:
    """TopicDeletionManager.partitionsToBeDeleted is filled once, when the controller takes over."""
    c = started("0.8.2", deletion_is_off())
    c.create_topic("t", (0, 1))
    delete(c)
    c.die(2)
    c.forget_requests()
    c.create_topic("t", (0, 1), (0, 1))
    assert last_leaders(c, 0) == {("t", 0): -2, ("t", 1): 0}


def test_in_0_8_2_a_mark_of_a_topic_that_is_not_there_goes_also_where_deletion_is_off() -> None:
    """DeleteTopicsListener.handleChildChange deletes the mark of a missing topic.
    It does so before it checks whether deletion is allowed.
    """
    c = started("0.8.2", deletion_is_off())
    delete(c, "nothing")
    assert c.service.children("/admin/delete_topics") == []


# --- KAFKA-2937, KAFKA-6650 ---


@pytest.mark.parametrize("version", LADDER)
def test_a_topic_with_a_partition_that_never_led_is_not_deleted_in_0_8_2_and_1_1(version: str) -> None:
    c = started(version)
    c.die(1)
    c.create_topic("t", (0,), (1,))
    delete(c)
    assert topic_path("t") in c.service.znodes, "a replica is away"
    c.start(1)
    assert (topic_path("t") in c.service.znodes) is (version in ("0.8.2", "1.1"))
    c.die(2)
    assert (topic_path("t") in c.service.znodes) is (version in ("0.8.2", "1.1")), "nor by the next controller"


# --- KAFKA-9212 ---


@pytest.mark.parametrize("version", LADDER)
def test_up_to_2_3_the_epoch_that_a_reassignment_writes_is_reported_to_no_broker_later(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1))
    reassign(c, 1, 0)
    assert c.state().leader_epoch == 1
    c.forget_requests()
    c.die(1)
    c.start(1)
    metadata = [m for m in c.requests(1) if isinstance(m, UpdateMetadataRequest) and m.partitions]
    leadership = [m for m in c.requests(0) if isinstance(m, LeaderAndIsrRequest)]
    assert metadata and leadership
    assert {p.leader_epoch for m in metadata for p in m.partitions} == {2}, "the state was read, and written, since"


@pytest.mark.parametrize("version", LADDER)
def test_up_to_2_3_metadata_after_a_reassignment_name_the_epoch_before(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1))
    c.forget_requests()
    reassign(c, 1, 0)
    received = [p.leader_epoch for m in c.requests(2) if isinstance(m, UpdateMetadataRequest) for p in m.partitions]
    assert received and set(received) == ({1} if since(version, "2.4") else {0})
    assert c.state().leader_epoch == 1


# --- KAFKA-7482 ---


@pytest.mark.parametrize("version", LADDER)
def test_from_1_1_to_2_0_a_broker_that_goes_down_receives_no_successor(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1))
    c.forget_requests()
    c.shut_down(2, ControlledShutdownRequest(BrokerId(0)))
    assert (c.state().leader, c.state().leader_epoch) == (1, 1)
    received = [p.leader for m in c.requests(0) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert received == ([] if version in ("1.1", "2.0.0", "2.0.1") else [1])
    assert [p.leader for m in c.requests(1) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions] == [1]


# --- KAFKA-5310 ---


@pytest.mark.parametrize("version", LADDER)
def test_up_to_0_10_2_a_controller_that_is_elected_again_repeats_what_it_was_moving(version: str) -> None:
    c = started(version, of=2)
    c.create_topic("t", (0,))
    reassign(c, 1)
    assert assigned(c) == (1, 0), "the target is not in sync yet"
    c.cut_off(1)
    c.expire(1)
    assert c.controller_of() == 0
    c.rejoin(1, expired=True)
    c.service.apply(0, Delete(REASSIGN_PARTITIONS))
    c.service.put(topic_path("t"), encode_topic({0: ReplicaAssignment(brokers(0))}))
    c.die(0)
    assert c.controller_of() == 1
    assert assigned(c) == ((1, 0) if version in ("0.8.2", "0.10.2") else (0,))


# --- a batch that was never sent ---


def refused_while_a_replica_goes_offline(version: str) -> Cluster:
    """Broker 2 is a controller of the past when it takes dead broker 1 out of an ISR.
    It is elected again later.
    """
    c = started(version)
    c.create_topic("t", (0, 1))
    c.kill(1)
    epoch = c.service.znodes[CONTROLLER_EPOCH]
    c.service.put(CONTROLLER_EPOCH, epoch.data)
    c.expire(1)
    c.service.apply(0, Delete(CONTROLLER))
    c.told_first = 2
    c.settle()
    return c


@pytest.mark.parametrize("version", LADDER)
def test_from_2_1_a_refused_batch_blocks_the_replicas_of_a_controller_that_is_elected_again(version: str) -> None:
    c = refused_while_a_replica_goes_offline(version)
    c.die(0)
    c.start(0)
    assert c.controller_of() == 2
    c.forget_requests()
    c.start(1)
    received = [p for m in c.requests(1) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert bool(received) is not since(version, "2.1")


# --- KAFKA-6612 ---


@pytest.mark.parametrize("version", LADDER)
def test_from_2_0_partitions_of_a_topic_that_waits_for_its_deletion_are_taken_back(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1))
    c.die(0)
    delete(c)
    c.create_topic("t", (0, 1), (1,))
    partitions = set(decode_topic("t", c.service.znodes[topic_path("t")].data))
    assert partitions == ({0} if since(version, "2.0.0") else {0, 1})
    assert state_path("t", 1) not in c.service.znodes, "no controller creates it"
    c.start(0)
    assert topic_path("t") not in c.service.znodes, "it goes with the topic"


@pytest.mark.parametrize(("version", "stuck"), [("0.8.2", True), ("0.10.2", False), ("1.1", True), ("2.0.0", False)])
def test_what_was_added_meanwhile_holds_the_deletion_up_for_a_new_controller_of_0_8_2_and_1_1(
    version: str, stuck: bool
) -> None:
    """The new one reads the added partition, which never had a leader (KAFKA-6650)."""
    c = started(version)
    c.create_topic("t", (0, 1))
    c.die(0)
    delete(c)
    c.create_topic("t", (0, 1), (1,))
    c.die(2)
    c.start(0)
    assert (topic_path("t") in c.service.znodes) is stuck


# --- KAFKA-7299, KAFKA-5642: one by one ---


def leadership_requests(c: Cluster, broker: int) -> list[list[int]]:
    """Partitions of each LeaderAndIsr."""
    return [[p.partition for p in m.partitions] for m in c.requests(broker) if isinstance(m, LeaderAndIsrRequest)]


@pytest.mark.parametrize("version", LADDER)
def test_up_to_2_0_0_leaders_are_balanced_one_by_one(version: str) -> None:
    balanced = ControllerSettings(auto_leader_rebalance_enable=True, leader_imbalance_check_interval_seconds=60)
    c = started(version, balanced)
    c.create_topic("t", (0, 1), (0, 1), (0, 1))
    c.die(0)
    c.start(0)
    for number in range(3):
        c.leader_writes_isr(1, 0, partition=("t", number))
    c.forget_requests()
    c.advance(61_000)
    assert [c.state(("t", number)).leader for number in range(3)] == [0, 0, 0]
    assert leadership_requests(c, 0) == ([[0, 1, 2]] if since(version, "2.0.1") else [[0], [1], [2]])


@pytest.mark.parametrize("version", LADDER)
def test_up_to_2_5_leaders_are_balanced_by_the_isr_in_zookeeper(version: str) -> None:
    """KAFKA-9866. The notification is on its way, or (0.8.2) there is none."""
    balanced = ControllerSettings(auto_leader_rebalance_enable=True, leader_imbalance_check_interval_seconds=60)
    c = started(version, balanced)
    c.create_topic("t", (0, 1))
    c.die(0)
    c.start(0)
    c.leader_writes_isr(1, 0, notify=False)
    c.advance(61_000)
    assert c.state().leader == (1 if since(version, "2.6") else 0)


@pytest.mark.parametrize("version", LADDER)
def test_up_to_1_0_a_controlled_shutdown_moves_one_by_one(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1), (1, 0), (0, 1))
    c.forget_requests()
    c.shut_down(2, ControlledShutdownRequest(BrokerId(0)))
    assert [c.state(("t", number)).leader for number in range(3)] == [1, 1, 1]
    assert leadership_requests(c, 1) == ([[0, 2], [1]] if since(version, "1.1") else [[0], [1], [2]])


# --- KAFKA-10193 ---


@pytest.mark.parametrize(("version", "answers"), [("2.4", 0), ("2.6", 0), ("2.7", 1), ("2.8", 1)])
def test_up_to_2_6_a_reassignment_that_waits_when_the_session_expires_is_never_answered(
    version: str, answers: int
) -> None:
    c = started(version)
    c.create_topic("t", (0, 1))
    c.cut_off(2)
    node, found = c.brokers[2], []
    for _ in range(2):  # the first waits for ZooKeeper, the second for the first
        node.controller.alter_reassignments(c.now, node.out, {("t", 0): brokers(1, 0)}, lambda n, o, a: found.append(a))
    c.expire(2)
    c.rejoin(2, expired=True)
    assert len(found) == 1 + answers


# --- KAFKA-4443 ---


@pytest.mark.parametrize("version", LADDER)
def test_in_0_8_2_a_new_controller_sends_metadata_last(version: str) -> None:
    c = started(version)
    c.create_topic("t", (0, 1))
    c.create_topic("u", (0, 1))
    c.forget_requests()
    c.die(2)
    kinds = [type(m) for m in c.requests(0) if isinstance(m, LeaderAndIsrRequest | UpdateMetadataRequest)]
    first, last = (LeaderAndIsrRequest if version == "0.8.2" else UpdateMetadataRequest), kinds[-1]
    assert kinds[0] is first and last is UpdateMetadataRequest


# --- KAFKA-9089 ---


@pytest.mark.parametrize("version", [one for one in LADDER if one != "0.8.2"])
def test_up_to_2_3_a_reassignment_that_fails_is_given_up_half_way(version: str) -> None:
    """A partition that never had a leader has no epoch to raise (updateLeaderEpoch)."""
    c = started(version, of=4)
    c.die(1)
    c.create_topic("t", (1,))
    reassign(c, 0)
    given_up = not since(version, "2.4")
    assert assigned(c) == (0, 1), "the first step is written"
    assert (REASSIGN_PARTITIONS in c.service.znodes) is not given_up
    c.die(2)
    assert c.state().leader == 0, "a broker went, and all that have no leader get one"
    c.die(0)
    c.start(0)
    assert assigned(c) == ((0, 1) if given_up else (0,))


# --- KAFKA-1867 ---


@pytest.mark.parametrize("version", LADDER)
def test_in_0_8_2_live_brokers_are_announced_only_once_a_partition_has_a_leader(version: str) -> None:
    c = started(version)
    metadata = [m for m in c.requests(0) if isinstance(m, UpdateMetadataRequest)]
    assert (metadata == []) is (version == "0.8.2")
    c.create_topic("t", (1,))
    last = [m for m in c.requests(0) if isinstance(m, UpdateMetadataRequest)][-1]
    assert sorted(broker.broker for broker in last.live_brokers) == [0, 1, 2]
