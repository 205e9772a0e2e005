"""Rules and errors of the controller of 3.0 to 3.9 (semantics 1.6, 4.2, 4.4, 8).

Each is tested on both sides.
"""

import pytest
from msgspec.structs import replace

from controller.settings import ControllerSettings
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import AlterIsrRequest, UpdateMetadataRequest
from protocol.znodes import REASSIGN_PARTITIONS, encode_reassignment, topic_id_of, topic_path
from tests.controller.cluster import Cluster
from tests.controller.test_isr_changes import errors, request, started
from tests.ids import brokers


def by_id(c: Cluster, requested: AlterIsrRequest, topic_id: str = "") -> AlterIsrRequest:
    """The same from version 2 on; by default with the topic's own id."""
    own = topic_id or topic_id_of(c.service.znodes[topic_path("t")].czxid)
    return replace(requested, partitions=[replace(change, topic_id=own) for change in requested.partitions])


# --- AlterPartition (1.6) ---


@pytest.mark.parametrize(
    ("change", "before", "after"),
    [
        ({"zk_version": 1}, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": 1}, ErrorCode.NONE, ErrorCode.NOT_CONTROLLER),
        ({"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.FENCED_LEADER_EPOCH),
        ({"zk_version": -1}, ErrorCode.NONE, ErrorCode.INVALID_UPDATE_VERSION),
    ],
)
def test_epochs_that_the_controller_does_not_have(
    change: dict[str, int], before: ErrorCode, after: ErrorCode
) -> None:
    """KAFKA-14154. ZooKeeper takes -1 for any version, so up to 3.2 the last one is written."""
    for version, error in (("3.2", before), ("3.3", after)):
        c = started(version)
        assert errors(c, request(c, 0, 2, **change)) == [0, error], version


def test_a_state_that_is_as_requested_is_confirmed_whatever_its_version() -> None:
    c = started("3.9")
    assert errors(c, request(c, 0, 2)) == [0, 0]
    assert errors(c, request(c, 0, 2)) == [0, 0]
    assert c.states()[-1] == (0, 0, [0, 2], 1, 1)


@pytest.mark.parametrize(("version", "refuses"), [("3.2", False), ("3.3", True)])
def test_a_member_that_is_not_alive_is_refused_from_3_3(version: str, refuses: bool) -> None:
    """KIP-841, KAFKA-14140."""
    c = started(version)
    c.die(1)
    wanted = request(c, 0, 2, 1, leader_epoch=1, zk_version=1)
    assert errors(c, wanted) == [0, ErrorCode.OPERATION_NOT_ATTEMPTED if refuses else 0]
    if refuses:
        assert errors(c, by_id(c, wanted)) == [0, ErrorCode.INELIGIBLE_REPLICA]


def test_a_topic_is_known_by_its_id_from_version_2_on() -> None:
    c = started("3.3")
    assert errors(c, by_id(c, request(c, 0, 2), "another")) == [0, ErrorCode.UNKNOWN_TOPIC_ID]
    assert errors(c, by_id(c, request(c, 0, 2))) == [0, 0]
    older = started("3.2")
    assert errors(older, by_id(older, request(older, 0, 2), "another")) == [0, 0], "it knows version 1"


# --- leader recovery (KIP-704) ---


@pytest.mark.parametrize(("version", "marks"), [("3.1", False), ("3.2", True)])
def test_an_unclean_election_marks_the_state_until_the_next_isr_change_from_3_2(version: str, marks: bool) -> None:
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1), config={"unclean.leader.election.enable": "true"})
    c.die(1)
    c.die(0)
    c.start(1)
    assert (c.state().leader, c.state().isr, c.state().recovering) == (1, (1,), marks)
    c.start(0)
    state = c.state()
    wanted = request(c, 1, 0, leader_epoch=state.leader_epoch, zk_version=state.zk_version, broker=1)
    assert errors(c, wanted) == [0, 0]
    assert (c.state().isr, c.state().recovering) == ((1, 0), False)


# --- KAFKA-13225 ---


@pytest.mark.parametrize(("version", "learns"), [("3.0", False), ("3.1", True)])
def test_while_a_partition_has_no_leader_a_death_elsewhere_is_not_reported_up_to_3_0(
    version: str, learns: bool
) -> None:
    c = Cluster(4, version=version)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0,))
    c.die(0)
    c.forget_requests()
    c.die(1)
    reported = [message for message in c.requests(2) if isinstance(message, UpdateMetadataRequest)]
    assert [sorted(one.broker for one in message.live_brokers) for message in reported] == ([[2, 3]] if learns else [])


# --- KAFKA-10149 ---


@pytest.mark.parametrize(("version", "leader"), [("3.3", 1), ("3.4", 0)])
def test_leaders_are_not_balanced_during_a_reassignment_up_to_3_3(version: str, leader: int) -> None:
    c = Cluster(4, version=version, settings=ControllerSettings(auto_leader_rebalance_enable=True))
    c.start(3, 0, 1)
    c.create_topic("t", (0, 1))
    c.create_topic("u", (1,))
    c.die(0)
    c.start(0)
    c.leader_writes_isr(1, 0)
    c.service.put(REASSIGN_PARTITIONS, encode_reassignment({("u", 0): brokers(2)}))
    c.settle()
    c.advance(400_000.0)
    assert c.state().leader == BrokerId(leader)
