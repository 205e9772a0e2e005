"""Contents of znodes are Kafka's (semantics 5.1)."""

import pytest

from protocol import znodes
from protocol.ids import NO_BROKER, BrokerId, ControllerEpoch, LeaderEpoch
from protocol.znodes import BrokerRegistration, Leadership, ReplicaAssignment, UnreadableZnode
from tests.ids import brokers


def test_contents_are_kafkas_byte_for_byte() -> None:
    assert znodes.encode_controller(BrokerId(0), 1234.5) == b'{"version":1,"brokerid":0,"timestamp":"1234"}'
    assert znodes.encode_controller_epoch(ControllerEpoch(3)) == b"3"
    assert znodes.encode_topic({0: ReplicaAssignment(brokers(1, 0, 2))}) == b'{"version":1,"partitions":{"0":[1,0,2]}}'
    assert (
        znodes.encode_state(Leadership(BrokerId(0), LeaderEpoch(0), brokers(0, 1, 2), ControllerEpoch(1), 5))
        == b'{"controller_epoch":1,"leader":0,"version":1,"leader_epoch":0,"isr":[0,1,2]}'
    )
    assert znodes.encode_partitions([("T", 0)]) == b'{"version":1,"partitions":[{"topic":"T","partition":0}]}'
    assert (
        znodes.encode_topic({0: ReplicaAssignment(brokers(2, 0), brokers(2), brokers(0))}, with_reassignment=True)
        == b'{"version":2,"partitions":{"0":[2,0]},"adding_replicas":{"0":[2]},"removing_replicas":{"0":[0]}}'
    )


def test_what_is_written_can_be_read() -> None:
    state = Leadership(NO_BROKER, LeaderEpoch(4), brokers(2, 1), ControllerEpoch(3), 7)
    assert znodes.decode_state("t", 0, znodes.encode_state(state), 7) == state
    broker = BrokerRegistration(BrokerId(2), "broker-2", 9092, "az-2", 77)
    assert znodes.decode_broker(BrokerId(2), znodes.encode_broker(broker, 0.0), 77) == broker
    assignment = {0: ReplicaAssignment(brokers(2, 0), brokers(2), brokers(0)), 10: ReplicaAssignment(brokers(1))}
    assert znodes.decode_topic("t", znodes.encode_topic(assignment, with_reassignment=True)) == assignment
    targets = {("t", 0): brokers(1, 2), ("u", 3): brokers(0)}
    assert znodes.decode_reassignment(znodes.encode_reassignment(targets)) == targets
    assert znodes.decode_topic_config("t", znodes.encode_config({"a": "b"})) == {"a": "b"}


def test_a_log_dir_event_names_its_broker() -> None:
    assert znodes.decode_log_dir_event("/x", b'{"version":1,"broker":4,"event":1}') == 4


def test_newer_versions_of_a_content_are_read_too() -> None:
    data = b'{"version":3,"topic_id":"x","partitions":{"0":[1]},"adding_replicas":{},"removing_replicas":{}}'
    assert znodes.decode_topic("t", data) == {0: ReplicaAssignment(brokers(1))}


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"leader":"x"}', b"\xff"])
def test_what_is_unreadable_names_its_path(data: bytes) -> None:
    with pytest.raises(UnreadableZnode, match="/brokers/topics/t/partitions/3/state"):
        znodes.decode_state("t", 3, data, 0)


def test_a_partition_that_is_no_number_is_unreadable() -> None:
    with pytest.raises(UnreadableZnode, match="/brokers/topics/t"):
        znodes.decode_topic("t", b'{"version":1,"partitions":{"zero":[1]}}')


def test_the_path_of_a_state_names_its_partition() -> None:
    assert znodes.state_partition(znodes.state_path("a.b-c", 12)) == ("a.b-c", 12)
    for other in ("/", "/brokers/topics/t", "/brokers/topics/t/partitions/x/state", "/a/b/c/d/1/state"):
        assert znodes.state_partition(other) is None
