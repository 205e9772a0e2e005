"""Brokers that come, go and bounce (semantics 4.2): the order of what follows."""

import pytest

from protocol.events import BrokersHandled, BrokersSeen, StateDecided
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import (
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.session_messages import Create
from tests.controller.cluster import Cluster


def started(version: str = "2.8", brokers: int = 3) -> Cluster:
    c = Cluster(brokers, version)
    c.start(2, *(broker for broker in range(brokers) if broker != 2))
    return c


def seen(c: Cluster) -> list[tuple[str, str, str, str]]:
    events = [event for event in c.brokers[2].events if isinstance(event, BrokersSeen)]
    return [(event.added, event.removed, event.bounced, event.live) for event in events]


def test_a_new_broker_receives_all_states_and_the_others_only_live_brokers() -> None:
    """2.2 and later."""
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.die(1)
    c.forget_requests()
    c.start(1)
    new, old = c.requests(1), c.requests(0)
    assert isinstance(new[0], UpdateMetadataRequest)
    assert [p.topic for p in new[0].partitions] == ["t"]
    assert isinstance(new[1], LeaderAndIsrRequest)
    assert [(p.leader, p.leader_epoch, p.isr, p.is_new) for p in new[1].partitions] == [(0, 1, [0, 2], False)]
    assert isinstance(old[0], UpdateMetadataRequest)
    assert old[0].partitions == []
    assert [b.broker for b in old[0].live_brokers] == [0, 1, 2]
    assert not any(isinstance(message, LeaderAndIsrRequest) for message in old), "no election, no new epoch"
    assert c.states()[2:] == []


@pytest.mark.parametrize(("version", "reported"), [("0.8.2", []), ("0.10.2", [UpdateMetadataRequest] * 2)])
def test_0_8_2_sends_no_metadata_about_a_broker_without_replicas(version: str, reported: list[type]) -> None:
    """Neither when it comes nor when it goes."""
    c = started(version)
    c.create_topic("t", (0, 2))
    c.die(1)
    c.forget_requests()
    c.start(1)
    assert [type(message) for message in c.requests(1)] == [UpdateMetadataRequest]
    c.die(1)
    assert [type(message) for message in c.requests(0)] == reported


@pytest.mark.parametrize("version", ["0.10.2", "1.1", "2.8"])
def test_a_dead_leader_is_replaced_before_its_replica_leaves_the_isr(version: str) -> None:
    """The election takes it out of the ISR already.
    The same epoch is sent again and will be ignored.
    """
    c = started(version)
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    c.die(0)
    epochs = [p.leader_epoch for m in c.requests(1) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert epochs == [1, 1]


def test_metadata_follows_the_death_of_a_broker_only_where_no_partition_lost_its_leader() -> None:
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    c.die(1)
    sent = c.requests(0)
    assert [type(message) for message in sent] == [LeaderAndIsrRequest, UpdateMetadataRequest, UpdateMetadataRequest]
    assert isinstance(sent[2], UpdateMetadataRequest)
    assert sent[2].partitions == []
    assert [b.broker for b in sent[2].live_brokers] == [0, 2]
    c.die(0)
    sent = c.requests(2)
    assert not isinstance(sent[-1], UpdateMetadataRequest) or sent[-1].partitions


@pytest.mark.parametrize(("version", "reported"), [("0.11", True), ("1.0", False), ("2.8", False)])
def test_a_partition_without_leader_counts_as_lost_again_from_1_0(version: str, reported: bool) -> None:
    """One partition is leaderless since before.
    From 1.0 the death of another broker then sends no metadata of its own.
    """
    c = started(version, brokers=4)
    c.create_topic("t", (0,))
    c.die(0)
    c.forget_requests()
    c.die(3)
    assert bool(c.requests(1)) == reported


def test_offline_replicas_are_named_in_metadata() -> None:
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.die(1)
    last = [m for m in c.requests(0) if isinstance(m, UpdateMetadataRequest) and m.partitions][-1]
    assert last.partitions[0].offline_replicas == [1]


def test_a_dead_replica_is_sent_nothing() -> None:
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    c.die(1)
    assert c.requests(1) == []
    assert not any(isinstance(m, StopReplicaRequest) for m in c.requests(0) + c.requests(2))


def _bounce(c: Cluster, broker: int) -> None:
    """Gone and back before the controller looks."""
    node = c.brokers[broker]
    path = f"/brokers/ids/{broker}"
    data = c.service.znodes[path].data
    c.service._remove(path)
    c.service.put(path, data)
    c.service.znodes[path].owner = node.session
    c.settle()


def test_a_bounced_broker_fails_and_starts_again_from_2_2() -> None:
    """KIP-380: a larger czxid under the same id."""
    c = started("2.2")
    c.create_topic("t", (0, 1, 2))
    _bounce(c, 0)
    assert seen(c)[-1] == ("", "", "0", "0,1,2")
    assert c.states()[1:] == [(1, 1, [1, 2], 1, 1)]


def test_up_to_2_1_a_bounce_goes_unnoticed() -> None:
    """KAFKA-7235."""
    c = started("2.1")
    c.create_topic("t", (0, 1, 2))
    _bounce(c, 0)
    assert c.states()[1:] == []


@pytest.mark.parametrize(("version", "leader"), [("2.1", -1), ("2.2", 1)])
def test_a_broker_that_bounces_while_it_shuts_down_is_elected_no_more_up_to_2_1(version: str, leader: int) -> None:
    """KAFKA-7235, semantics 4.2: the controller still takes the broker to shut down.
    It has not seen the broker go.
    """
    c = started(version)
    c.create_topic("t", (0, 1))
    c.shut_down(2, ControlledShutdownRequest(BrokerId(1), c.brokers[1].broker_epoch))
    assert c.brokers[2].controller.takes_for_leaving(BrokerId(1))
    _bounce(c, 1)
    assert c.brokers[2].controller.takes_for_leaving(BrokerId(1)) is (version == "2.1")
    c.leader_writes_isr(0, 1)
    c.die(0)
    assert c.state().leader == leader


def test_requests_after_a_bounce_carry_the_new_broker_epoch() -> None:
    c = started("2.8")
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    _bounce(c, 1)
    assert {m.broker_epoch for m in c.requests(1)} == {c.service.znodes["/brokers/ids/1"].czxid}  # type: ignore[attr-defined]


def test_brokers_seen_has_the_arrivals_and_departures() -> None:
    c = started()
    c.die(0)
    c.start(0)
    assert seen(c)[-2:] == [("", "0", "", "1,2"), ("0", "", "", "0,1,2")]


def test_a_moved_broker_is_announced_to_all_brokers() -> None:
    c = started()
    c.forget_requests()
    znode = c.service.znodes["/brokers/ids/1"]
    c.service.put("/brokers/ids/1", znode.data.replace(b"az-1", b"az-9"))
    c.settle()
    sent = c.requests(0)
    assert isinstance(sent[0], UpdateMetadataRequest)
    assert {b.broker: b.rack for b in sent[0].live_brokers} == {0: "az-0", 1: "az-9", 2: "az-2"}


def _lose_log_dir(c: Cluster, broker: int, *partitions: tuple[str, int]) -> None:
    """The broker tells by a znode, and by its answers to LeaderAndIsr."""
    c.brokers[broker].storage_errors = set(partitions)
    event = b'{"version":1,"broker":%d,"event":1}' % broker
    c.service.apply(0, Create("/log_dir_event_notification/log_dir_event_", event, sequential=True))
    c.settle()


def test_a_failed_log_directory_takes_its_replicas_offline() -> None:
    """KIP-112: told by the answer to LeaderAndIsr."""
    c = started()
    c.create_topic("t", (0, 1, 2), (0, 1))
    _lose_log_dir(c, 0, ("t", 0))
    assert c.states()[1:] == [(1, 1, [1, 2], 1, 1)]
    assert len(c.states(("t", 1))) == 1, "the other directory is in order"
    assert c.service.children("/log_dir_event_notification") == []


def test_a_replica_on_a_failed_log_directory_is_elected_for_nothing_until_its_broker_starts_anew() -> None:
    c = started()
    c.create_topic("t", (0, 1), (0, 1))
    _lose_log_dir(c, 0, ("t", 0))
    _lose_log_dir(c, 0, ("t", 0), ("t", 1))
    assert [c.state(("t", number)).leader for number in (0, 1)] == [1, 1]
    c.leader_writes_isr(1, 0)
    c.die(1)
    assert c.state().leader == -1
    c.die(0)
    c.start(0)
    assert c.state().leader == 0


def test_a_replica_that_is_served_again_is_online_again() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    _lose_log_dir(c, 0, ("t", 0))
    _lose_log_dir(c, 0)
    c.leader_writes_isr(1, 0)
    c.die(1)
    assert c.state().leader == 0


def test_news_of_other_partitions_does_not_bring_a_failed_replica_back() -> None:
    c = started()
    c.create_topic("t", (0, 1))
    _lose_log_dir(c, 0, ("t", 0))
    c.create_topic("u", (0, 1))
    c.leader_writes_isr(1, 0)
    c.die(1)
    assert [state[0] for state in c.states()] == [0, 1, 1, -1]
    assert c.state(("u", 0)).leader == 0


def test_brokers_are_handled_after_they_are_seen_and_before_anything_is_decided() -> None:
    """Order of the lines in the controller's log (semantics 9)."""
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.brokers[2].events.clear()
    c.die(0)
    c.start(0)
    reported = [
        event for event in c.brokers[2].events if isinstance(event, BrokersSeen | BrokersHandled | StateDecided)
    ]
    assert reported == [
        BrokersSeen("", "0", "", "1,2"),
        BrokersHandled("failure", "0"),
        StateDecided("t", 0, 1, 1, "1,2", 1, 1, "offline-election", topic_id="16"),
        BrokersSeen("0", "", "", "0,1,2"),
        BrokersHandled("startup", "0"),
    ]


def test_a_replica_that_leaves_the_isr_is_named() -> None:
    """Not one that an election took out of it (semantics 9)."""
    c = started()
    c.create_topic("t", (0, 1, 2))
    c.die(1)
    decided = [event for event in c.brokers[2].events if isinstance(event, StateDecided)]
    assert [(event.reason, event.replica) for event in decided] == [("created", -1), ("offline-replica", 1)]
