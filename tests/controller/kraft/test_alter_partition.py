"""AlterPartition at KRaft's controller: each check, in order, and the written change.

Kraft-semantics 5.1 and 5.2.
"""

from typing import Any

import pytest

from protocol.errors import ErrorCode
from protocol.ids import BrokerId, LeaderEpoch
from protocol.messages.leadership_messages import IsrChanged
from protocol.messages.placement import AlterPartitionReassignmentsRequest, Reassigned
from tests.controller.kraft.controller_case import NEW, OLD, ControllerCase


def cluster(version: str = NEW, **settings: Any) -> ControllerCase:
    case = ControllerCase(version, **settings).claim().start(0, 1, 2)
    case.create("t", [0, 1, 2])
    return case


def in_force(leader_epoch: int, isr: list[int], partition_epoch: int) -> list[IsrChanged]:
    """The response with broker 0's state."""
    members = [BrokerId(one) for one in isr]
    return [IsrChanged("t", 0, 0, BrokerId(0), LeaderEpoch(leader_epoch), members, partition_epoch)]


@pytest.mark.parametrize(
    ("isr", "changes", "error"),
    [
        ([0, 1], {"topic_id": "AAAAAAAAAAAAAAAAAAAAAA"}, ErrorCode.UNKNOWN_TOPIC_ID),
        ([0, 1], {"partition": 1}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ([0, 1], {"leader_epoch": 1}, ErrorCode.NOT_CONTROLLER),
        ([0, 1], {"partition_epoch": 9}, ErrorCode.NOT_CONTROLLER),
        ([0, 1], {"leader_epoch": -1}, ErrorCode.FENCED_LEADER_EPOCH),
        ([0, 1], {"sender": 1}, ErrorCode.INVALID_REQUEST),
        ([0, 1], {"partition_epoch": -1}, ErrorCode.INVALID_UPDATE_VERSION),
        ([0, 1, 1], {}, ErrorCode.INVALID_REQUEST),
        ([0, 3], {}, ErrorCode.INVALID_REQUEST),
        ([1, 2], {}, ErrorCode.INVALID_REQUEST),
        ([0, 1], {"broker_epochs": [-1]}, ErrorCode.INVALID_REQUEST),
        ([0, 1], {"broker_epochs": [-1, 0]}, ErrorCode.INELIGIBLE_REPLICA),
    ],
)
def test_a_change_that_is_not_allowed(isr: list[int], changes: dict[str, Any], error: ErrorCode) -> None:
    case = cluster()
    end = case.log.end
    response = case.alter(isr, **changes)
    assert [(one.error, one.leader, one.isr) for one in response.partitions] == [(error, -1, [])]
    assert case.log.end == end


def test_a_request_without_ids_names_its_topic() -> None:
    case = cluster()
    unknown = case.proposal([0, 1], topic_id="")
    unknown.partitions[0].topic = "u"
    assert case.call(unknown).partitions[0].error == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert case.alter([0, 1], topic_id="").partitions[0].error == ErrorCode.NONE


@pytest.mark.parametrize("broker_epoch", [0, 10_000])
def test_another_broker_epoch_is_stale(broker_epoch: int) -> None:
    case = cluster()
    response = case.alter([0, 1], broker_epoch=broker_epoch)
    assert (response.error, response.partitions) == (ErrorCode.STALE_BROKER_EPOCH, [])
    assert case.alter([0, 1], sender=7, broker_epoch=broker_epoch).error == ErrorCode.STALE_BROKER_EPOCH


def test_the_earlier_check_decides() -> None:
    case = cluster()
    response = case.alter([0, 7], partition_epoch=-1, leader_epoch=9)
    assert response.partitions[0].error == ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("state", ["fenced", "shutting-down", "unregistered", "other-epoch"])
def test_only_active_incarnations_join(state: str) -> None:
    case = cluster()
    case.alter([0, 1])
    case.heartbeat(0)
    epochs = [-1, -1, case.state.brokers[BrokerId(2)].epoch]
    if state == "fenced":
        case.heartbeat(2, want_fence=True)
    elif state == "shutting-down":
        case.create("u", [2, 0])
        case.heartbeat(2, want_shut_down=True)
    elif state == "unregistered":
        case.heartbeat(2, want_shut_down=True)
    else:
        epochs[2] -= 1
    assert case.alter([0, 1, 2], broker_epochs=epochs).partitions[0].error == ErrorCode.INELIGIBLE_REPLICA
    assert case.partition().isr == (0, 1)


def test_a_replica_with_its_present_epoch_joins() -> None:
    case = cluster()
    case.alter([0, 1])
    epochs = [-1, -1, case.state.brokers[BrokerId(2)].epoch]
    assert case.alter([0, 1, 2], broker_epochs=epochs).partitions == in_force(0, [0, 1, 2], 2)


@pytest.mark.parametrize(("version", "leader_epoch"), [("3.5", 1), ("3.6", 0), (OLD, 0), (NEW, 0)])
def test_a_shrink_raises_the_leader_epoch_before_3_6(version: str, leader_epoch: int) -> None:
    case = cluster(version)
    assert case.alter([0, 1]).partitions == in_force(leader_epoch, [0, 1], 1)
    expanded = case.alter([0, 1, 2]).partitions
    assert expanded == in_force(leader_epoch, [0, 1, 2], 2)


def test_the_present_isr_writes_nothing() -> None:
    case = cluster()
    end = case.log.end
    assert case.alter([0, 1, 2]).partitions == in_force(0, [0, 1, 2], 0)
    assert case.log.end == end


@pytest.mark.parametrize(("version", "isr"), [("4.1", (0, 2, 1)), ("4.3", (0, 1, 2))])
def test_a_joining_replica_comes_last_before_4_3(version: str, isr: tuple[int, ...]) -> None:
    case = cluster(version)
    case.alter([0, 2])
    case.alter([1, 2, 0])
    assert case.partition().isr == isr


@pytest.mark.parametrize("version", [OLD, NEW])
def test_a_change_that_completes_a_reassignment_may_move_the_leader(version: str) -> None:
    case = cluster(version).start(3)
    wanted = Reassigned("t", 0, [BrokerId(3), BrokerId(1)])
    assert case.call(AlterPartitionReassignmentsRequest([wanted])).partitions[0].error == 0
    assert case.partition().replicas == (3, 1, 0, 2)
    assert case.alter([0, 1, 2, 3]).partitions == [IsrChanged("t", 0, ErrorCode.NEW_LEADER_ELECTED)]
    state = case.partition()
    assert (state.leader, set(state.isr), state.replicas) == (3, {1, 3}, (3, 1))
    assert (state.adding, state.removing, state.leader_epoch) == ((), (), 1)


def test_with_elr_a_member_below_the_minimum_stays_eligible() -> None:
    case = cluster(min_insync_replicas=2)
    case.alter([0, 1])
    assert case.partition().elr == ()
    case.alter([0])
    assert case.partition().elr == (1,)
    case.alter([0, 2])
    assert case.partition().elr == ()


def test_an_unclean_leader_recovers_with_its_next_change() -> None:
    case = cluster(OLD, unclean_leader_election_enable=True)
    case.alter([0])
    case.heartbeat(0, want_fence=True)
    assert (case.summary()[:3], case.partition().recovering) == ((1, 1, [1]), True)
    case.alter([1, 2])
    assert (case.summary(), case.partition().recovering) == ((1, 1, [1, 2], 3), False)
