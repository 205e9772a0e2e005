"""Batches of requests (semantics 4.3, 11.4)."""

import pytest

from controller.request_batches import RequestBatch
from controller.state import ControllerState
from protocol.gates import gates_for
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch
from protocol.messages.leadership_messages import LeaderAndIsrRequest, StopReplicaRequest, UpdateMetadataRequest
from protocol.znodes import BrokerRegistration, Leadership, ReplicaAssignment
from tests.controller.cluster import Cluster
from tests.ids import brokers

T0 = ("t", 0)


def filled(version: str = "2.8") -> tuple[RequestBatch, ControllerState]:
    """An empty batch; brokers 0 to 2, one partition."""
    state = ControllerState()
    state.epoch = ControllerEpoch(5)
    state.brokers = {
        broker: BrokerRegistration(broker, f"broker-{broker}", epoch=100 + broker) for broker in brokers(0, 1, 2)
    }
    state.assignments = {T0: ReplicaAssignment(brokers(0, 1, 2))}
    state.states = {T0: Leadership(BrokerId(0), LeaderEpoch(3), brokers(0, 1), ControllerEpoch(4), 7)}
    return RequestBatch(BrokerId(2), gates_for(version), state), state


def test_an_entry_has_everything_about_the_partition() -> None:
    batch, state = filled()
    batch.add_leader_and_isr([BrokerId(1)], T0, state.states[T0])
    ((broker, request, version), *_) = batch.outgoing()
    assert (broker, version) == (1, 4)
    assert isinstance(request, LeaderAndIsrRequest)
    assert (request.controller, request.controller_epoch, request.broker_epoch) == (2, 5, 101)
    assert [endpoint.node for endpoint in request.live_leaders] == ["broker-0"]
    (entry,) = request.partitions
    assert (entry.controller_epoch, entry.leader, entry.leader_epoch) == (4, 0, 3)
    assert (entry.isr, entry.zk_version, entry.replicas) == ([0, 1], 7, [0, 1, 2])


def test_the_last_of_several_changes_is_what_is_sent() -> None:
    batch, state = filled()
    batch.add_leader_and_isr(list(brokers(0, 1)), T0, state.states[T0], is_new=True)
    state.states[T0] = Leadership(BrokerId(1), LeaderEpoch(4), brokers(1), ControllerEpoch(5), 8)
    batch.add_leader_and_isr([BrokerId(1)], T0, state.states[T0])
    sent = batch.outgoing()
    reported = {o.broker: o.request.partitions[0] for o in sent if isinstance(o.request, LeaderAndIsrRequest)}
    assert {broker: (entry.leader_epoch, entry.is_new) for broker, entry in reported.items()} == {
        0: (3, True),
        1: (4, True),
    }
    metadata = [o.request for o in sent if isinstance(o.request, UpdateMetadataRequest)]
    assert [entry.leader_epoch for request in metadata for entry in request.partitions] == [4, 4, 4]


@pytest.mark.parametrize(
    ("version", "all_reported"), [("0.8.2", True), ("1.1", True), ("2.0.0", False), ("2.8", False)]
)
def test_up_to_1_1_every_metadata_update_lists_topics_to_be_deleted(version: str, all_reported: bool) -> None:
    batch, state = filled(version)
    gone = ("gone", 0)
    state.assignments[gone] = ReplicaAssignment(brokers(1, 2))
    state.states[gone] = Leadership(BrokerId(1), LeaderEpoch(2), brokers(1, 2), ControllerEpoch(4), 3)
    state.to_be_deleted = {"gone"}
    batch.add_update_metadata([BrokerId(0)], [T0])
    ((_, request, _),) = batch.outgoing()
    assert isinstance(request, UpdateMetadataRequest)
    reported = {(entry.topic, entry.leader) for entry in request.partitions}
    assert reported == ({("gone", -2), ("t", 0)} if all_reported else {("t", 0)})


def test_a_deletion_once_ordered_stays_one() -> None:
    batch, _ = filled()
    batch.add_stop_replica(BrokerId(1), T0, delete=True)
    batch.add_stop_replica(BrokerId(1), T0, delete=False)
    ((_, request, _),) = batch.outgoing()
    assert isinstance(request, StopReplicaRequest)
    assert [(p.delete, p.leader_epoch) for p in request.partitions] == [(True, 3)]


def test_before_version_3_deleting_and_stopping_are_two_requests_without_leader_epochs() -> None:
    batch, state = filled("2.4")
    state.assignments["t", 1] = ReplicaAssignment(brokers(1))
    batch.add_stop_replica(BrokerId(1), T0, delete=False)
    batch.add_stop_replica(BrokerId(1), ("t", 1), delete=True)
    requests = [o.request for o in batch.outgoing()]
    stopped = [[(p.partition, p.delete, p.leader_epoch) for p in r.partitions] for r in requests]  # type: ignore[attr-defined]
    assert stopped == [[(1, True, -1)], [(0, False, -1)]]


def test_brokers_that_are_gone_get_nothing() -> None:
    batch, state = filled()
    del state.brokers[BrokerId(1)]
    batch.add_leader_and_isr(list(brokers(0, 1)), T0, state.states[T0])
    batch.add_stop_replica(BrokerId(1), T0, delete=False)
    assert {o.broker for o in batch.outgoing()} == {0, 2}


def test_a_batch_is_empty_after_it_was_sent() -> None:
    batch, state = filled()
    batch.add_leader_and_isr([BrokerId(0)], T0, state.states[T0])
    assert batch.outgoing()
    assert batch.outgoing() == []


def test_a_state_sent_again_carries_the_epoch_of_the_controller_of_now() -> None:
    """A replica outside the ISR dies: the new controller changes no state of it.
    It sends the state to the others again.
    """
    c = Cluster(5)
    c.start(3, 4, 0, 1, 2)
    c.create_topic("t", (0, 1, 2))
    c.leader_writes_isr(0, 1)
    c.die(3)
    c.forget_requests()
    c.die(2)
    reported = [p for m in c.requests(0) if isinstance(m, LeaderAndIsrRequest) for p in m.partitions]
    assert [(p.leader_epoch, p.controller_epoch, p.isr) for p in reported] == [(0, 2, [0, 1])]
    assert c.state().controller_epoch == 1
