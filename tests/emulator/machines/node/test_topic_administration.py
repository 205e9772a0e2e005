"""CreateTopics and DeleteTopics at the controller's broker (Kafka's AdminManager)."""

from collections.abc import Mapping
from typing import Any

import pytest

from controller.session_calls import Procedures
from emulator.machines.node.topic_administration import TopicAdministration
from protocol.chance import Chance
from protocol.errors import ErrorCode as E
from protocol.ids import LEADER_DURING_DELETE, BrokerId
from protocol.messages.administration import (
    CreateTopicsRequest,
    CreateTopicsResponse,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
    NewTopic,
    PlacedPartition,
    TopicResult,
)
from protocol.messages.configuration import DescribedSetting
from protocol.messages.message_base import Message
from protocol.znodes import decode_topic
from tests.emulator.machines.node.test_topic_creation import Calls
from verification.broker_bench import Bench, state


def described(own: Mapping[str, str]) -> list[DescribedSetting]:
    """A topic's own settings alone."""
    return [DescribedSetting(name, value, 1, 2) for name, value in own.items()]


class Admin(Bench):
    """A broker that is the controller, beside a session service in which three are registered."""

    def __init__(self, version: str = "2.6", *, active: bool = True, **settings: Any) -> None:
        super().__init__(version, **settings)
        self.calls = Calls(brokers=3)
        self.update_metadata(state(0))
        topics = TopicAdministration(
            self.context, self.broker.metadata, lambda: active, lambda: Chance(1), described, Procedures(self.calls)
        )
        self.broker.administers = topics.takes

    def create(self, *topics: NewTopic, timeout_ms: int = 5000, validate_only: bool = False) -> int:
        return self.ask(CreateTopicsRequest(list(topics), timeout_ms, validate_only), 4)

    def results(self, connection: int) -> list[TopicResult]:
        return self.answer(connection, CreateTopicsResponse).topics

    def refused(self, topic: NewTopic) -> int:
        (result,) = self.results(self.create(topic))
        return result.error

    def waits(self, connection: int) -> bool:
        return not self.answers(connection)


def test_a_topic_is_there_once_each_partition_has_a_leader_here() -> None:
    admin = Admin()
    requested = admin.create(NewTopic("new", 2, 3, configs={"min.insync.replicas": "2"}))
    assert sorted(decode_topic("new", admin.calls.service.znodes["/brokers/topics/new"].data)) == [0, 1]
    admin.update_metadata(state(0, topic_partition=("new", 0)))
    assert admin.waits(requested)
    admin.update_metadata(state(1, topic_partition=("new", 1)))
    settings = described({"min.insync.replicas": "2"})
    assert admin.results(requested) == [TopicResult("new", 0, "", 2, 3, settings)]
    assert not admin.broker.metadata.waiting


def test_a_topic_without_a_leader_in_time_fails_and_is_made_all_the_same() -> None:
    admin = Admin()
    requested = admin.create(NewTopic("new", 1, 3), timeout_ms=100)
    admin.advance(100)
    assert [result.error for result in admin.results(requested)] == [E.REQUEST_TIMED_OUT]
    assert "/brokers/topics/new" in admin.calls.service.znodes
    assert not admin.broker.metadata.waiting


def test_missing_numbers_are_the_brokers_own() -> None:
    admin = Admin(num_partitions=3, default_replication_factor=2)
    requested = admin.create(NewTopic("new"), timeout_ms=0)
    found = decode_topic("new", admin.calls.service.znodes["/brokers/topics/new"].data)
    assert [len(found[number].replicas) for number in sorted(found)] == [2, 2, 2]
    assert admin.results(requested)[0].error == E.REQUEST_TIMED_OUT


@pytest.mark.parametrize(
    ("topic", "error"),
    [
        (NewTopic("no/name", 1, 1), E.INVALID_TOPIC_EXCEPTION),
        (NewTopic("x", 0, 1), E.INVALID_PARTITIONS),
        (NewTopic("x", -5, 1), E.INVALID_PARTITIONS),
        (NewTopic("x", 1_000_000, 1), E.INVALID_PARTITIONS),
        (NewTopic("x", 1, 4), E.INVALID_REPLICATION_FACTOR),
        (NewTopic("x", 1, 0), E.INVALID_REPLICATION_FACTOR),
        (NewTopic("x", 1, 1, configs={"no.such.setting": "1"}), E.INVALID_CONFIG),
        (NewTopic("x", 1, 1, configs={"min.insync.replicas": "many"}), E.INVALID_CONFIG),
        (NewTopic("x", 1, 1, [PlacedPartition(0, [BrokerId(0)])]), E.INVALID_REQUEST),
        (NewTopic("x", assignment=[PlacedPartition(0, [BrokerId(7)])]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("x", assignment=[PlacedPartition(1, [BrokerId(0)])]), E.INVALID_REPLICA_ASSIGNMENT),
        (NewTopic("x", assignment=[PlacedPartition(0, [BrokerId(0), BrokerId(0)])]), E.INVALID_REPLICA_ASSIGNMENT),
    ],
    ids=str,
)
def test_what_cannot_be_made_is_refused_and_nothing_is_written(topic: NewTopic, error: int) -> None:
    admin = Admin()
    assert admin.refused(topic) == error
    assert f"/brokers/topics/{topic.topic}" not in admin.calls.service.znodes


def test_one_that_exists_one_twice_and_one_that_is_only_looked_at() -> None:
    admin = Admin()
    admin.create(NewTopic("new", 1, 1), timeout_ms=0)
    assert admin.refused(NewTopic("new", 1, 1)) == E.TOPIC_ALREADY_EXISTS
    twice = admin.results(admin.create(NewTopic("y", 1, 1), NewTopic("y", 1, 1)))
    assert [result.error for result in twice] == [E.INVALID_REQUEST] * 2
    assert admin.results(admin.create(NewTopic("z", 1, 1), validate_only=True))[0].error == E.NONE
    assert "/brokers/topics/z" not in admin.calls.service.znodes


@pytest.mark.parametrize(
    "requested",
    [CreateTopicsRequest([NewTopic("x", 1, 1)], 100), DeleteTopicsRequest(["t"], 100)],
    ids=["create", "delete"],
)
def test_a_broker_that_is_not_the_controller_responds_so(requested: Message) -> None:
    admin = Admin(active=False)
    (answer,) = admin.answers(admin.ask(requested, 4))
    assert isinstance(answer, CreateTopicsResponse | DeleteTopicsResponse)
    assert [result.error for result in answer.topics] == [E.NOT_CONTROLLER]


def test_a_topic_is_gone_once_this_broker_reports_it_no_more() -> None:
    admin = Admin()
    requested = admin.ask(DeleteTopicsRequest(["t", "never"], 5000), 3)
    assert "/admin/delete_topics/t" in admin.calls.service.znodes
    assert admin.waits(requested)
    admin.update_metadata(state(LEADER_DURING_DELETE))
    answer = admin.answer(requested, DeleteTopicsResponse)
    assert [(one.topic, one.error) for one in answer.topics] == [("t", 0), ("never", E.UNKNOWN_TOPIC_OR_PARTITION)]


@pytest.mark.parametrize(("version", "error"), [(2, E.INVALID_REQUEST), (3, E.TOPIC_DELETION_DISABLED)])
def test_deletion_may_be_off(version: int, error: int) -> None:
    admin = Admin(delete_topic_enable=False)
    answer = admin.answer(admin.ask(DeleteTopicsRequest(["t"], 100), version), DeleteTopicsResponse)
    assert [one.error for one in answer.topics] == [error]
    assert "/admin/delete_topics/t" not in admin.calls.service.znodes
