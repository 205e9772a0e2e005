"""The table of leader epochs in semantics 4.2: what each event adds, per version."""

import pytest

from controller.settings import ControllerSettings
from protocol.ids import BrokerId, LeaderEpoch
from protocol.messages.leadership_messages import AlterIsrRequest, ControlledShutdownRequest, IsrChange
from protocol.messages.session_messages import SessionRequest, SessionResponse, SetData
from tests.controller.cluster import Cluster
from tests.ids import brokers

VERSIONS = ("0.10.2", "1.1", "2.2", "2.3", "2.6", "2.8")


def cluster(version: str, *assignment: int, unclean: bool = False) -> Cluster:
    """Three brokers, broker-2 is controller."""
    settings = ControllerSettings(auto_leader_rebalance_enable=False, unclean_leader_election_enable=unclean)
    made = Cluster(version=version, settings=settings)
    made.start(2, 0, 1)
    made.create_topic("t", assignment)
    assert made.active() == [2]
    return made


@pytest.mark.parametrize("version", VERSIONS)
def test_leader_dies_and_the_controller_survives_adds_one(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    c.die(0)
    assert c.states()[1:] == [(1, 1, [1, 2], 1, 1)]
    assert c.decided(2) == ["created", "offline-election"]


@pytest.mark.parametrize("version", VERSIONS)
def test_leader_and_controller_die_together_adds_two_from_2_3_and_one_before(version: str) -> None:
    c = cluster(version, 2, 0, 1)
    c.die(2)
    if version in ("2.3", "2.6", "2.8"):
        assert c.states()[1:] == [(-1, 1, [0, 1], 2, 1), (0, 2, [0, 1], 2, 2)]
    else:
        assert c.states()[1:] == [(0, 1, [0, 1], 2, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_follower_and_controller_die_together_shrinks_the_isr_only_from_2_3(version: str) -> None:
    """KAFKA-3143: before, the ISR keeps the dead follower until the leader removes it."""
    c = cluster(version, 0, 1, 2)
    c.die(2)
    if version in ("2.3", "2.6", "2.8"):
        assert c.states()[1:] == [(0, 1, [0, 1], 2, 1)]
    else:
        assert c.states()[1:] == []


@pytest.mark.parametrize("version", VERSIONS)
def test_follower_in_the_isr_dies_adds_one(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    c.die(1)
    assert c.states()[1:] == [(0, 1, [0, 2], 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_follower_outside_the_isr_dies_adds_nothing(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    c.leader_writes_isr(0, 2)
    c.die(1)
    assert c.states()[1:] == [(0, 0, [0, 2], 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_two_followers_dead_in_one_event_cost_one_write_and_one_epoch_each_but_one_leader_and_isr(
    version: str,
) -> None:
    """Semantics 11.4."""
    c = Cluster(4, version)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    for broker in (1, 2):
        c.brokers[broker].alive = False
    c.service.end(c.brokers[1].session)
    c.service.end(c.brokers[2].session)
    c.settle()
    assert c.states()[1:] == [(0, 1, [0, 2], 1, 1), (0, 2, [0], 1, 2)]
    reported = [p.leader_epoch for m in c.requests(0) if m.API_NAME == "LeaderAndIsr" for p in m.partitions]  # type: ignore[attr-defined]
    assert reported == [2]


@pytest.mark.parametrize("unclean", [False, True])
@pytest.mark.parametrize("version", VERSIONS)
def test_sole_member_dies_adds_one_and_the_isr_keeps_it_but_up_to_1_0_where_unclean_is_allowed(
    version: str, unclean: bool
) -> None:
    c = cluster(version, 0, 1, unclean=unclean)
    c.die(1)
    c.die(0)
    empty = unclean and version == "0.10.2"
    assert c.states()[1:] == [(0, 1, [0], 1, 1), (-1, 2, [] if empty else [0], 1, 2)]


@pytest.mark.parametrize("version", VERSIONS)
def test_the_sole_member_returns_adds_one(version: str) -> None:
    c = cluster(version, 0, 1)
    c.die(1)
    c.die(0)
    c.start(1)
    assert c.state().leader == -1, "broker 1 is not in the ISR and must wait"
    c.start(0)
    assert c.states()[3:] == [(0, 3, [0], 1, 3)]


@pytest.mark.parametrize("version", VERSIONS)
def test_unclean_election_adds_one(version: str) -> None:
    c = cluster(version, 0, 1, unclean=True)
    c.die(1)
    c.die(0)
    c.start(1)
    assert c.states()[3:] == [(1, 3, [1], 1, 3)]
    assert c.decided(2)[-1] == "unclean-election"


@pytest.mark.parametrize("version", VERSIONS)
def test_a_topics_own_setting_of_unclean_election_wins(version: str) -> None:
    c = cluster(version, 2)
    c.create_topic("u", (0, 1), config={"unclean.leader.election.enable": "true"})
    c.die(1)
    c.die(0)
    c.start(1)
    assert c.state(("u", 0)).leader == 1


@pytest.mark.parametrize("version", VERSIONS)
def test_preferred_election_adds_one_and_leaves_the_isr_alone(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    c.die(0)
    c.start(0)
    c.leader_writes_isr(1, 2, 0)
    c.service.put("/admin/preferred_replica_election", b'{"version":1,"partitions":[{"topic":"t","partition":0}]}')
    c.settle()
    assert c.states()[-1] == (0, 2, [1, 2, 0], 1, 3)
    assert "/admin/preferred_replica_election" not in c.service.znodes


@pytest.mark.parametrize("version", VERSIONS)
def test_controlled_shutdown_of_a_leader_adds_one(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    epoch = c.brokers[0].broker_epoch if c.gates.broker_epochs else -1
    answers = c.shut_down(2, ControlledShutdownRequest(BrokerId(0), epoch))
    assert [answer.remaining for answer in answers] == [[]]
    assert c.states()[1:] == [(1, 1, [1, 2], 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_controlled_shutdown_of_a_follower_adds_one(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    c.shut_down(2, ControlledShutdownRequest(BrokerId(1)))
    assert c.states()[1:] == [(0, 1, [0, 2], 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_an_isr_change_written_by_the_leader_adds_nothing(version: str) -> None:
    c = cluster(version, 0, 1, 2)
    c.leader_writes_isr(0, 2)
    assert c.states()[1:] == [(0, 0, [0, 2], 1, 1)]


def test_an_isr_change_through_the_controller_adds_nothing() -> None:
    c = cluster("2.8", 0, 1, 2)
    change = IsrChange("t", 0, BrokerId(0), LeaderEpoch(0), list(brokers(0, 2)), 0)
    c.alter_isr(2, AlterIsrRequest(BrokerId(0), c.brokers[0].broker_epoch, [change]))
    assert c.states()[1:] == [(0, 0, [0, 2], 1, 1)]


@pytest.mark.parametrize("version", VERSIONS)
def test_nothing_changes_when_a_new_controller_finds_everything_in_order(version: str) -> None:
    """Semantics 11.7: states keep the epoch of the controller that wrote them."""
    c = Cluster(4, version)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0, 1, 2))
    c.die(3)
    assert c.states() == [(0, 0, [0, 1, 2], 1, 0)]
    assert len(c.active()) == 1


@pytest.mark.parametrize(
    ("version", "added"), [("0.10.2", 1), ("1.0", 1), ("1.1", 2), ("2.0.1", 2), ("2.1", 2), ("2.8", 2)]
)
def test_a_write_whose_answer_was_lost_is_recognized_up_to_1_0_and_costs_one_epoch_more_later(
    version: str, added: int
) -> None:
    """ReplicationUtils compares what it finds with what it wrote.
    KafkaZkClient takes it for a conflict.
    """
    c = cluster(version, 0, 1, 2)
    original_request = c.service.request
    lost: list[SessionResponse] = []

    def twice(session: int, request: SessionRequest) -> SessionResponse:
        last = request.ops[-1]
        if isinstance(last, SetData) and last.path.endswith("/state") and not lost:
            lost.append(original_request(session, request))
        return original_request(session, request)

    c.service.request = twice  # type: ignore[method-assign]
    c.die(0)
    assert lost
    assert c.state().leader_epoch == added
    assert c.brokers[2].controller.active
