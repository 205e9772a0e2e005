"""Brokers and controllers of KRaft together, under faults. Kraft-semantics 3 to 9."""

import pytest

from protocol.errors import ErrorCode
from protocol.events import LogDeleted, NodeStopped
from protocol.messages.administration import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
)
from protocol.messages.configuration import (
    TOPIC_RESOURCE,
    DescribeConfigsRequest,
    DescribeConfigsResponse,
    DescribedResourceName,
)
from protocol.messages.groups import FindCoordinatorRequest, FindCoordinatorResponse
from protocol.messages.leadership_messages import MetadataRequest, MetadataResponse
from tests.emulator.machines.node.kraft_cluster import T0, KraftCluster

VERSIONS = ("3.3", "3.5", "3.6", "3.7", "3.9", "4.0", "4.1", "4.4")


def isr_is(cluster: KraftCluster, *isr: int) -> bool:
    leader = cluster.leader()
    return leader is not None and sorted(leader.isr) == list(isr) and leader.pending is None


@pytest.mark.parametrize("version", VERSIONS)
def test_the_killed_leader_is_replaced_and_joins_the_isr_again(version: str) -> None:
    cluster = KraftCluster(version).create(min_insync_replicas="2")
    assert cluster.produce(0, "a", "b").error == 0
    cluster.world.kill("broker-0")
    took_ms = cluster.until(lambda: (leader := cluster.leader()) is not None and leader.context.broker == 1)
    assert 5_000 < took_ms < 12_000
    assert cluster.produce(1, "c").error == 0
    cluster.world.start("broker-0")
    cluster.until(lambda: isr_is(cluster, 0, 1, 2))
    cluster.go_on(1_000)
    assert len({cluster.records(1)}) == 1
    ends = {cluster.partition(number).the_log.log_end for number in range(3)}
    assert ends == {3}
    assert {cluster.partition(number).leader_epoch for number in range(3)} == {cluster.partition(1).leader_epoch}


@pytest.mark.parametrize("version", VERSIONS)
def test_an_orderly_stop_moves_the_leadership_first(version: str) -> None:
    cluster = KraftCluster(version).create()
    assert cluster.produce(0, "a").error == 0
    cluster.world.stop("broker-0")
    took_ms = cluster.until(lambda: not cluster.alive(0))
    assert took_ms < 5_000
    leader = cluster.leader()
    assert leader is not None and leader.context.broker == 1
    (stopped,) = cluster.events("broker-0", NodeStopped)
    assert (stopped.code, stopped.reason) == (0, "stopped")
    cluster.world.start("broker-0")
    cluster.until(lambda: isr_is(cluster, 0, 1, 2))


@pytest.mark.parametrize("version", VERSIONS)
def test_a_cut_leader_serves_with_its_old_image_and_follows_after_the_heal(version: str) -> None:
    cluster = KraftCluster(version).create()
    assert cluster.produce(0, "a").error == 0
    rule = cluster.cut("az-0")
    cluster.until(lambda: (leader := cluster.leader()) is not None and leader.context.broker == 1)
    assert cluster.partition(0).leads, "it has learned nothing"
    cluster.world.heal(rule)
    cluster.until(lambda: isr_is(cluster, 0, 1, 2))
    assert not cluster.partition(0).leads
    assert cluster.produce(1, "b").error == 0


@pytest.mark.parametrize("version", ["3.9", "4.1", "4.4"])
def test_a_combined_cluster_survives_a_kill_of_each_node_in_turn(version: str) -> None:
    cluster = KraftCluster(version, combined=True).create()
    for number in range(3):
        cluster.world.kill(f"broker-{number}")
        cluster.go_on(16_000)
        leader = cluster.leader()
        assert leader is not None
        assert cluster.produce(leader.context.broker, f"v{number}").error == 0
        cluster.world.start(f"broker-{number}")
        cluster.until(lambda: isr_is(cluster, 0, 1, 2), 60_000)
    cluster.go_on(1_000)
    assert {cluster.partition(number).the_log.log_end for number in range(3)} == {3}


@pytest.mark.parametrize("version", ["3.3", "3.9", "4.4"])
def test_a_broker_without_controllers_goes_on_and_requests_to_the_controller_time_out(version: str) -> None:
    cluster = KraftCluster(version).create()
    for number in range(3):
        cluster.world.kill(f"controller-{number}")
    cluster.go_on(30_000)
    assert cluster.produce(0, "a").error == 0
    assert cluster.broker(0).listens
    began_ms = cluster.world.now_ms
    response = cluster.answer(1, CreateTopicsRequest([NewTopic("u", 1, 1)], 5_000), CreateTopicsResponse)
    assert [one.error for one in response.topics] == [ErrorCode.REQUEST_TIMED_OUT]
    assert 59_000 < cluster.world.now_ms - began_ms < 62_000
    for number in range(3):
        cluster.world.start(f"controller-{number}")
    cluster.until(lambda: cluster.broker(0).member.leader >= 0)
    cluster.create(topic="u", through=2)


def test_metadata_name_an_unfenced_broker_as_controller_and_fenced_replicas_as_offline() -> None:
    cluster = KraftCluster("3.9").create()
    cluster.world.kill("broker-2")
    cluster.until(lambda: set(cluster.broker(0).broker.metadata.live) == {0, 1})
    seen = set()
    for _ in range(8):
        response = cluster.answer(0, MetadataRequest(["t"]), MetadataResponse, 9)
        seen.add(response.controller)
        assert [(one.isr, one.offline_replicas) for one in response.partitions] == [([0, 1], [2])]
    assert seen == {0, 1}


def test_a_topic_has_its_own_settings_and_a_deleted_one_leaves_nothing() -> None:
    cluster = KraftCluster("3.9").create(min_insync_replicas="2")
    assert cluster.partition(0).min_isr == 2
    describe = DescribeConfigsRequest([DescribedResourceName(TOPIC_RESOURCE, "t", ["min.insync.replicas"])])
    (resource,) = cluster.answer(1, describe, DescribeConfigsResponse).resources
    assert [(one.name, one.value) for one in resource.settings] == [("min.insync.replicas", "2")]
    response = cluster.answer(2, DeleteTopicsRequest(["t"], 5_000), DeleteTopicsResponse)
    assert [one.error for one in response.topics] == [0]
    cluster.until(lambda: not any(T0 in cluster.broker(number).broker.replicas.partitions for number in range(3)))
    cluster.go_on(100)
    for name in ("broker-0", "broker-1", "broker-2"):
        assert [event.reason for event in cluster.events(name, LogDeleted)] == ["topic-deleted"]


@pytest.mark.parametrize("anew", [True, False])
def test_a_log_of_a_topic_that_was_deleted_meanwhile_is_deleted_at_the_start(anew: bool) -> None:
    """Also if another topic has its name by then: it has another id."""
    cluster = KraftCluster("3.9").create()
    assert cluster.produce(0, "a", "b").error == 0
    cluster.world.kill("broker-2")
    cluster.go_on(12_000)
    cluster.answer(0, DeleteTopicsRequest(["t"], 5_000), DeleteTopicsResponse)
    if anew:
        cluster.create(0, 1)
        cluster.go_on(100)
    files = cluster.world.nodes["broker-2"].files
    assert files.exists("t-0/partition.metadata")
    cluster.world.start("broker-2")
    cluster.until(lambda: cluster.broker(2).listens)
    assert not files.list("t-0")


def test_the_offsets_topic_is_created_through_the_controller() -> None:
    cluster = KraftCluster("3.9", offsets_topic_num_partitions=3)
    cluster.until(lambda: len(cluster.broker(1).broker.metadata.live) == 3)
    response = cluster.answer(1, FindCoordinatorRequest("g"), FindCoordinatorResponse)
    assert response.error == ErrorCode.COORDINATOR_NOT_AVAILABLE
    cluster.until(lambda: cluster.broker(1).broker.metadata.partition_count("__consumer_offsets") == 3)
    assert cluster.answer(1, FindCoordinatorRequest("g"), FindCoordinatorResponse).error == 0


@pytest.mark.parametrize("version", VERSIONS)
def test_a_power_loss_of_all_nodes_loses_no_registration(version: str) -> None:
    cluster = KraftCluster(version).create()
    assert cluster.produce(0, "a").error == 0
    cluster.go_on(2_000)
    for name in cluster.nodes:
        cluster.world.kill(name)
    cluster.go_on(1_000)
    for name in cluster.nodes:
        cluster.world.start(name)
    cluster.until(lambda: all(cluster.broker(number).listens for number in range(3)), 60_000)
    cluster.until(lambda: isr_is(cluster, 0, 1, 2), 60_000)
    assert cluster.partition(0).the_log.log_end == 1
