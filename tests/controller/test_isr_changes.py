"""ISR changes by leaders, straight or through the controller (semantics 1.6, 4.3, 11.6)."""

from protocol.errors import ErrorCode
from protocol.ids import BrokerId, LeaderEpoch
from protocol.messages.leadership_messages import AlterIsrRequest, IsrChange, LeaderAndIsrRequest, UpdateMetadataRequest
from tests.controller.cluster import Cluster
from tests.ids import brokers


def started(version: str = "2.8") -> Cluster:
    c = Cluster(version=version)
    c.start(2, 0, 1)
    c.create_topic("t", (0, 1, 2))
    c.forget_requests()
    return c


def request(c: Cluster, *isr: int, leader_epoch: int = 0, zk_version: int = 0, broker: int = 0) -> AlterIsrRequest:
    change = IsrChange("t", 0, BrokerId(broker), LeaderEpoch(leader_epoch), list(brokers(*isr)), zk_version)
    return AlterIsrRequest(BrokerId(broker), c.brokers[broker].broker_epoch, [change])


def errors(c: Cluster, requested: AlterIsrRequest, controller: int = 2) -> list[int]:
    """The answer's own error, then those of its partitions."""
    (answer,) = c.alter_isr(controller, requested)
    return [answer.error, *(partition.error for partition in answer.partitions)]


def test_a_notification_is_answered_with_metadata_only_and_deleted() -> None:
    c = started("2.6")
    c.leader_writes_isr(0, 2)
    sent = c.requests(1)
    assert [type(message) for message in sent] == [UpdateMetadataRequest]
    assert isinstance(sent[0], UpdateMetadataRequest)
    assert [(p.isr, p.zk_version, p.leader_epoch) for p in sent[0].partitions] == [([0, 2], 1, 0)]
    assert c.service.children("/isr_change_notification") == []


def test_the_controller_of_0_8_2_does_not_look_for_notifications() -> None:
    """KAFKA-1367: neither the path nor a watch on it is there.
    No controller sees a state that a leader wrote.
    """
    c = started("0.8.2")
    assert "/isr_change_notification" not in c.service.znodes
    assert "/log_dir_event_notification" not in c.service.znodes
    c.leader_writes_isr(0, 2, notify=False)
    assert (c.state().isr, c.requests(1)) == ((0, 2), [])
    # Left behind by a newer broker of a cluster that is being downgraded.
    c.service.put("/isr_change_notification", b"")
    c.leader_writes_isr(0, 2, 1)
    assert (c.requests(1), len(c.service.children("/isr_change_notification"))) == ([], 1)


def test_an_accepted_change_is_written_answered_and_announced_by_metadata_only() -> None:
    c = started()
    (answer,) = c.alter_isr(2, request(c, 0, 2))
    assert answer.error == 0
    assert [(p.leader, p.leader_epoch, p.isr, p.zk_version) for p in answer.partitions] == [(0, 0, [0, 2], 1)]
    assert c.states()[1:] == [(0, 0, [0, 2], 1, 1)]
    assert c.decided(2) == ["created", "isr-change"]
    sent = c.requests(1)
    assert [type(message) for message in sent] == [UpdateMetadataRequest]


def test_a_success_stamps_the_epoch_of_the_controller_of_now() -> None:
    c = Cluster(4)
    c.start(3, 0, 1, 2)
    c.create_topic("t", (0, 1, 2))
    c.die(3)
    assert c.state().controller_epoch == 1
    c.alter_isr(c.controller_of(), request(c, 0, 2))
    assert c.states()[-1] == (0, 0, [0, 2], 2, 1)


def test_only_the_controller_answers() -> None:
    c = started()
    assert errors(c, request(c, 0, 2), controller=1) == [ErrorCode.NOT_CONTROLLER]


def test_an_unknown_broker_or_another_of_its_lives_is_refused() -> None:
    c = started()
    requested = request(c, 0, 2)
    requested.broker_epoch -= 1
    assert errors(c, requested) == [ErrorCode.STALE_BROKER_EPOCH]
    requested.broker = BrokerId(9)
    assert errors(c, requested) == [ErrorCode.STALE_BROKER_EPOCH]


def test_an_older_leader_epoch_is_fenced() -> None:
    c = started()
    c.die(1)
    assert errors(c, request(c, 0, 1, 2)) == [0, ErrorCode.FENCED_LEADER_EPOCH]


def test_a_change_on_an_outdated_version_is_refused() -> None:
    c = started()
    c.leader_writes_isr(0, 1, notify=False)
    assert errors(c, request(c, 0, 2)) == [0, ErrorCode.INVALID_UPDATE_VERSION]
    assert c.states()[-1][2] == [0, 1]


def test_what_is_so_already_is_confirmed_without_a_write() -> None:
    c = started()
    assert errors(c, request(c, 0, 1, 2)) == [0, 0]
    assert len(c.states()) == 1


def test_an_unknown_partition_is_refused() -> None:
    c = started()
    requested = request(c, 0, 2)
    requested.partitions[0].partition = 7
    assert errors(c, requested) == [0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_a_request_that_waits_for_the_service_is_answered_with_a_failure_when_the_session_expires() -> None:
    c = started()
    c.cut_off(2)
    answers = c.alter_isr(2, request(c, 0, 2))
    queued = c.alter_isr(2, request(c, 0, 1))
    assert answers == []
    assert [(one.does, one.waits_for) for one in c.brokers[2].controller.waiting_tasks()] == [
        ("alter-isr", "the session service")
    ]
    c.expire(2)
    c.rejoin(2, expired=True)
    assert [answer.error for answer in answers] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert not c.brokers[2].controller.waiting_tasks()
    assert queued == [], "dropped: the broker asks again when its request times out"


def test_a_controller_that_has_been_replaced_cannot_change_an_isr() -> None:
    c = started()
    c.cut_off(2)
    answers = c.alter_isr(2, request(c, 0, 2))
    c.service.put("/controller_epoch", b"2")
    c.service.fired.clear()
    c.rejoin(2, expired=False)
    assert [answer.error for answer in answers] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert len(c.states()) == 1


def test_no_isr_change_ever_sends_leader_and_isr() -> None:
    c = started()
    c.alter_isr(2, request(c, 0, 2))
    c.leader_writes_isr(0)
    every = [message for broker in range(3) for message in c.requests(broker)]
    assert not any(isinstance(message, LeaderAndIsrRequest) for message in every)
