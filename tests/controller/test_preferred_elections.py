"""Preferred elections, asked and automatic (semantics 4.4)."""

import pytest

from controller.settings import ControllerSettings
from protocol.znodes import PREFERRED_REPLICA_ELECTION, encode_partitions
from tests.controller.cluster import Cluster


def ask(c: Cluster, *partitions: tuple[str, int]) -> None:
    c.service.put(PREFERRED_REPLICA_ELECTION, encode_partitions(list(partitions)))
    c.settle()


@pytest.mark.parametrize(
    ("version", "epochs"), [("0.10.2", 0), ("1.0", 0), ("1.1", 1), ("2.1", 1), ("2.2", 0), ("2.8", 0)]
)
def test_where_the_preferred_replica_leads_already_only_1_1_to_2_1_give_a_new_epoch(version: str, epochs: int) -> None:
    """`random-305@1.1` shows it: leader 1 of [1,2,0] goes from epoch 0 to 1."""
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    ask(c, ("t", 0))
    assert c.state().leader_epoch == epochs
    assert c.state().leader == 0


def test_it_can_be_requested_again_and_again() -> None:
    c = Cluster()
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    for turn in range(2):
        c.die(0)
        c.start(0)
        c.leader_writes_isr(1, 0)
        ask(c, ("t", 0), ("nothing", 3))
        assert c.state().leader == 0
        assert c.state().leader_epoch == 2 * (turn + 1)
        assert PREFERRED_REPLICA_ELECTION not in c.service.znodes


def test_a_preferred_replica_outside_the_isr_is_not_elected() -> None:
    c = Cluster()
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1))
    c.die(0)
    c.start(0)
    ask(c, ("t", 0))
    assert (c.state().leader, c.state().leader_epoch) == (1, 1)
    assert PREFERRED_REPLICA_ELECTION not in c.service.znodes


def test_an_unreadable_request_requests_nothing_and_goes() -> None:
    c = Cluster()
    c.start(2, 0, 1)
    c.service.put(PREFERRED_REPLICA_ELECTION, b"{broken")
    c.settle()
    assert PREFERRED_REPLICA_ELECTION not in c.service.znodes
    assert c.active() == [2]


def test_a_new_controller_takes_up_what_was_requested() -> None:
    c = Cluster(4)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0, 1))
    c.die(0)
    c.start(0)
    c.leader_writes_isr(1, 0)
    c.brokers[3].alive = False
    ask(c, ("t", 0))
    assert c.state().leader == 1
    c.expire(3)
    assert c.state().leader == 0
    assert PREFERRED_REPLICA_ELECTION not in c.service.znodes


def automatic(percentage: int = 10) -> Cluster:
    settings = ControllerSettings(
        leader_imbalance_per_broker_percentage=percentage, leader_imbalance_check_interval_seconds=300
    )
    c = Cluster(settings=settings)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1), (0, 1), (0, 1), (0, 1))
    c.leader_writes_isr(0, 1)
    return c


def test_leaders_move_back_by_themselves_5_s_after_a_failover_then_at_every_interval() -> None:
    c = automatic()
    c.die(0)
    c.start(0)
    c.leader_writes_isr(1, 0)
    c.advance(4_999)
    assert c.state().leader == 1
    c.advance(1)
    assert c.state().leader == 0
    c.die(0)
    c.start(0)
    c.leader_writes_isr(1, 0)
    c.advance(299_999)
    assert c.state().leader == 1
    c.advance(1)
    assert c.state().leader == 0


def test_leaders_stay_while_the_imbalance_is_within_the_percentage() -> None:
    c = automatic(percentage=25)
    partition = ("t", 3)
    state = c.state(partition)
    c.service.put(
        "/brokers/topics/t/partitions/3/state",
        b'{"controller_epoch":1,"leader":1,"version":1,"leader_epoch":1,"isr":[0,1]}',
    )
    c.leader_writes_isr(0, 1, partition=partition)
    assert state.leader == 0
    c.advance(5_000)
    assert c.state(partition).leader == 1, "one of four is not more than 25 %"


def test_a_controller_that_resigned_elects_no_more() -> None:
    c = automatic()
    c.isolate(2)
    c.expire(2)
    c.rejoin(2, expired=True)
    assert not c.brokers[2].timers
