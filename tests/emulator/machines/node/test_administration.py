"""Admin requests to a broker's node: settings, partitions, leaders and replicas."""

from collections.abc import Mapping
from typing import Any

import pytest

from controller.controller import Controller
from controller.leader_requests import Elected, ElectionReply
from controller.partition_states import Strategy
from controller.reassignment_requests import Begun, ReassignmentReply, Reassignments, Target
from controller.session_calls import Procedures
from emulator.machines.node.admin_routing import administration_of
from protocol.chance import Chance
from protocol.errors import ErrorCode as E
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages import configuration as m
from protocol.messages import placement as p
from protocol.messages.administration import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    GrownTopic,
    TopicResult,
)
from protocol.outbox import Outbox
from protocol.records.batch import encode_batch
from protocol.znodes import (
    REASSIGN_PARTITIONS,
    ReplicaAssignment,
    decode_config,
    decode_config_change,
    decode_topic,
    encode_reassignment,
    encode_topic,
)
from tests.emulator.machines.node.test_topic_creation import Calls
from tests.ids import brokers
from verification.broker_bench import Bench, state

FILE = {"broker.id": 0, "min.insync.replicas": 2}
T0: TopicPartition = ("t", 0)


class Controlling(Controller):
    """One that is asked, and answers what a test says."""

    def __init__(self, *, active: bool) -> None:
        self.is_active = active
        self.deleted = ""
        self.elections: dict[TopicPartition, Elected] = {}
        self.reassignments = Reassignments()
        self.asked: list[object] = []

    @property
    def active(self) -> bool:
        return self.is_active

    def is_being_deleted(self, topic: str) -> bool:
        return topic == self.deleted

    def elect_leaders(self, now: Now, out: Outbox, partitions: Any, strategy: Strategy, reply: ElectionReply) -> None:
        self.asked.append((list(partitions), strategy))
        reply(now, out, self.elections)

    def alter_reassignments(
        self, now: Now, out: Outbox, targets: Mapping[TopicPartition, Target], reply: ReassignmentReply
    ) -> None:
        self.asked.append(targets)
        reply(now, out, self.reassignments)

    def list_reassignments(self, now: Now, out: Outbox, partitions: Any, reply: ReassignmentReply) -> None:
        self.asked.append(partitions)
        reply(now, out, self.reassignments)


class Admin(Bench):
    """A broker that is the controller, beside a session service.
    Three are registered, and topic t has one partition on two of them.
    """

    def __init__(self, version: str = "2.6", *, active: bool = True, **settings: Any) -> None:
        super().__init__(version, **settings)
        self.calls = Calls(brokers=3)
        self.service = self.calls.service
        self.service.put("/brokers/topics/t", encode_topic({0: ReplicaAssignment(brokers(0, 1))}))
        self.update_metadata(state(0))
        self.controlling = Controlling(active=active)
        self.broker.administers = administration_of(
            self.broker, self.controlling, lambda: Chance(1), FILE, Procedures(self.calls)
        )

    def describe(self, kind: int, name: str, *names: str, **about: bool) -> m.DescribedResource:
        requested = m.DescribedResourceName(kind, name, list(names) or None)
        (resource,) = self.answer(
            self.ask(m.DescribeConfigsRequest([requested], **about), 3), m.DescribeConfigsResponse
        ).resources
        return resource

    def alter(self, kind: int, name: str, *, validate_only: bool = False, **settings: str | None) -> tuple[int, str]:
        altered = [m.AlteredSetting(each.replace("_", "."), value) for each, value in settings.items()]
        request = m.AlterConfigsRequest([m.AlteredResource(kind, name, altered)], validate_only)
        (result,) = self.answer(self.ask(request, 1), m.AlterConfigsResponse).resources
        return result.error, result.message

    def alter_single(self, name: str, setting: str, value: str | None, operation: int = m.SET) -> int:
        altered = m.AlteredResource(m.TOPIC_RESOURCE, name, [m.AlteredSetting(setting, value, operation)])
        request = m.IncrementalAlterConfigsRequest([altered])
        (result,) = self.answer(self.ask(request, 1), m.IncrementalAlterConfigsResponse).resources
        return result.error

    def config(self, path: str) -> dict[str, str]:
        return decode_config(path, self.service.znodes[path].data)

    def notified(self) -> list[tuple[str, str]]:
        """Entities that settings notifications name."""
        changes = sorted(path for path in self.service.znodes if path.startswith("/config/changes/"))
        return [decode_config_change(path, self.service.znodes[path].data) for path in changes]

    def grow(self, *topics: GrownTopic, timeout_ms: int = 5000, validate_only: bool = False) -> int:
        return self.ask(CreatePartitionsRequest(list(topics), timeout_ms, validate_only), 2)

    def grown(self, connection: int) -> list[TopicResult]:
        return self.answer(connection, CreatePartitionsResponse).topics


# --- settings ---


def test_a_topics_settings_are_those_of_the_session_service_over_the_brokers() -> None:
    admin = Admin()
    admin.alter(m.TOPIC_RESOURCE, "t", segment_bytes="100")
    found = {one.name: one for one in admin.describe(m.TOPIC_RESOURCE, "t").settings}
    assert (found["segment.bytes"].value, found["segment.bytes"].source) == ("100", 1)
    assert (found["min.insync.replicas"].value, found["min.insync.replicas"].source) == ("2", 4)
    assert found["segment.bytes"].synonyms == [] and found["segment.bytes"].documentation is None
    (only,) = admin.describe(m.TOPIC_RESOURCE, "t", "flush.ms", synonyms=True, documentation=True).settings
    assert (only.name, only.kind, only.documentation) == ("flush.ms", 5, "Topics: modelled")
    assert admin.describe(m.BROKER_RESOURCE, "0", "broker.id", synonyms=True).settings[0].synonyms[0].source == 4
    assert admin.describe(m.BROKER_RESOURCE, "").settings == [], "nothing was given to all brokers"


@pytest.mark.parametrize(
    ("version", "kind", "name", "error"),
    [
        ("2.6", m.TOPIC_RESOURCE, "no", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("1.1", m.TOPIC_RESOURCE, "no", E.NONE),
        ("2.6", m.TOPIC_RESOURCE, "no/name", E.INVALID_TOPIC_EXCEPTION),
        ("2.6", m.BROKER_RESOURCE, "1", E.INVALID_REQUEST),
        ("2.6", m.BROKER_RESOURCE, "one", E.INVALID_REQUEST),
        ("1.0", m.BROKER_RESOURCE, "", E.INVALID_REQUEST),
        ("2.3", m.BROKER_LOGGER_RESOURCE, "0", E.INVALID_REQUEST),
        ("2.4", m.BROKER_LOGGER_RESOURCE, "0", E.NONE),
        ("2.6", m.BROKER_LOGGER_RESOURCE, "", E.INVALID_REQUEST),
        ("2.6", m.BROKER_LOGGER_RESOURCE, "1", E.INVALID_REQUEST),
        ("2.6", 77, "0", E.INVALID_REQUEST),
    ],
)
def test_resources_without_settings_are_refused(version: str, kind: int, name: str, error: int) -> None:
    assert Admin(version).describe(kind, name).error == error


def test_an_empty_list_of_names_means_none_and_from_2_7_on_all() -> None:
    for version, some in (("2.6", False), ("2.7", True)):
        admin = Admin(version)
        requested = m.DescribeConfigsRequest([m.DescribedResourceName(m.TOPIC_RESOURCE, "t", [])])
        assert bool(admin.answer(admin.ask(requested, 3), m.DescribeConfigsResponse).resources[0].settings) is some


def test_a_change_is_written_whole_and_notified() -> None:
    admin = Admin()
    path = "/config/topics/t"
    assert admin.alter(m.TOPIC_RESOURCE, "t", segment_bytes="100", flush_ms="7") == (E.NONE, "")
    assert admin.config(path) == {"segment.bytes": "100", "flush.ms": "7"}
    assert admin.alter_single("t", "min.insync.replicas", "2") == E.NONE
    assert admin.alter_single("t", "flush.ms", None, m.DELETE) == E.NONE
    assert admin.config(path) == {"segment.bytes": "100", "min.insync.replicas": "2"}
    assert admin.alter(m.TOPIC_RESOURCE, "t", flush_ms="9") == (E.NONE, "")
    assert admin.config(path) == {"flush.ms": "9"}, "AlterConfigs replaces"
    assert admin.notified() == [("topics", "t")] * 4


@pytest.mark.parametrize(
    ("version", "name", "error"),
    [
        ("2.6", "no", E.UNKNOWN_SERVER_ERROR),
        ("2.7", "no", E.UNKNOWN_TOPIC_OR_PARTITION),
        ("2.6", "no/name", E.INVALID_TOPIC_EXCEPTION),
    ],
)
def test_of_a_topic_that_is_not_there(version: str, name: str, error: int) -> None:
    admin = Admin(version)
    assert admin.alter(m.TOPIC_RESOURCE, name, flush_ms="7")[0] == error
    assert admin.notified() == []


def test_what_is_refused_or_only_looked_at_changes_nothing() -> None:
    admin = Admin()
    assert admin.alter(m.TOPIC_RESOURCE, "t", flush_ms="7", validate_only=True)[0] == E.NONE
    assert admin.alter(m.TOPIC_RESOURCE, "t", flush_ms="7", retention_ms="1000")[0] == E.POLICY_VIOLATION
    assert admin.alter(m.TOPIC_RESOURCE, "t", flush_ms=None)[0] == E.INVALID_REQUEST
    assert admin.alter(m.BROKER_RESOURCE, "1", num_io_threads="9")[0] == E.INVALID_REQUEST
    assert admin.alter(m.BROKER_RESOURCE, "0", num_io_threads="900")[0] == E.INVALID_REQUEST, "at most doubled"
    assert admin.alter(m.BROKER_RESOURCE, "", num_io_threads="1")[0] == E.INVALID_REQUEST, "at least halved"
    assert admin.alter(m.BROKER_LOGGER_RESOURCE, "0")[0] == E.INVALID_REQUEST
    assert Admin("1.0").alter(m.BROKER_RESOURCE, "0", num_io_threads="9")[0] == E.INVALID_REQUEST, "KIP-226"
    assert admin.notified() == [] and "/config/topics/t" not in admin.service.znodes


def test_a_brokers_own_and_all_brokers() -> None:
    admin = Admin()
    assert admin.alter(m.BROKER_RESOURCE, "0", num_io_threads="16") == (E.NONE, "")
    assert admin.alter(m.BROKER_RESOURCE, "", log_flush_interval_ms="7") == (E.NONE, "")
    assert admin.config("/config/brokers/0") == {"num.io.threads": "16"}
    assert admin.config("/config/brokers/<default>") == {"log.flush.interval.ms": "7"}
    assert admin.notified() == [("brokers", "0"), ("brokers", "<default>")]


# --- partitions ---


def test_a_topic_has_more_partitions_once_each_has_a_leader_here() -> None:
    admin = Admin()
    requested = admin.grow(GrownTopic("t", 2))
    assert len(decode_topic("t", admin.service.znodes["/brokers/topics/t"].data)[1].replicas) == 2
    assert not admin.answers(requested)
    admin.update_metadata(state(1, topic_partition=("t", 1)))
    assert admin.grown(requested) == [TopicResult("t", 0, "", 2)]


def test_partitions_that_cannot_be() -> None:
    admin = Admin()
    before = admin.service.znodes["/brokers/topics/t"].data
    admin.controlling.deleted = "going"
    requested = admin.grow(
        GrownTopic("t", 1), GrownTopic("no", 3), GrownTopic("u", 3), GrownTopic("u", 4), GrownTopic("going", 2)
    )
    assert [one.error for one in admin.grown(requested)] == [
        E.INVALID_PARTITIONS, E.UNKNOWN_TOPIC_OR_PARTITION, E.INVALID_REQUEST, E.INVALID_REQUEST,
        E.INVALID_TOPIC_EXCEPTION,
    ]  # fmt: skip
    assert admin.grown(admin.grow(GrownTopic("t", 3), validate_only=True))[0].error == E.NONE
    assert admin.grown(admin.grow(GrownTopic("t", 20_000)))[0].error == E.INVALID_PARTITIONS
    assert admin.service.znodes["/brokers/topics/t"].data == before
    assert admin.grown(admin.grow(GrownTopic("t", 3), timeout_ms=0))[0].error == E.REQUEST_TIMED_OUT, "and made"
    other = Admin(active=False)
    assert other.grown(other.grow(GrownTopic("t", 3)))[0].error == E.NOT_CONTROLLER


@pytest.mark.parametrize(("version", "other"), [("2.3", E.REASSIGNMENT_IN_PROGRESS), ("2.6", E.REQUEST_TIMED_OUT)])
def test_none_are_added_while_replicas_move(version: str, other: int) -> None:
    """Up to 2.3 of any topic, later of the same one."""
    admin = Admin(version)
    admin.service.put("/brokers/topics/u", encode_topic({0: ReplicaAssignment(brokers(0, 1))}))
    moving = ReplicaAssignment(brokers(2, 0, 1), brokers(2), brokers(0, 1))
    admin.service.put("/brokers/topics/t", encode_topic({0: moving}, with_reassignment=version == "2.6"))
    admin.service.put(REASSIGN_PARTITIONS, encode_reassignment({T0: brokers(2)}))
    requested = admin.grow(GrownTopic("t", 2), GrownTopic("u", 2), timeout_ms=0)
    assert [one.error for one in admin.grown(requested)] == [E.REASSIGNMENT_IN_PROGRESS, other]


# --- leaders and replicas ---


def elect(admin: Admin, *partitions: TopicPartition, timeout_ms: int = 100, election: int = p.PREFERRED) -> int:
    named = [p.PartitionNamed(*one) for one in partitions] or None
    return admin.ask(p.ElectLeadersRequest(named, timeout_ms, election), 2)


def test_an_election_is_reported_once_its_leader_is_known_here() -> None:
    admin = Admin()
    admin.controlling.elections = {T0: Elected(leader=BrokerId(1)), ("no", 0): Elected(E.UNKNOWN_TOPIC_OR_PARTITION)}
    requested = elect(admin, T0, ("no", 0), T0)
    assert admin.controlling.asked == [([T0, ("no", 0)], Strategy.PREFERRED)], "twice is once"
    assert not admin.answers(requested)
    admin.update_metadata(state(1))
    reported = admin.answer(requested, p.ElectLeadersResponse).partitions
    assert [(one.topic, one.error) for one in reported] == [("t", 0), ("no", E.UNKNOWN_TOPIC_OR_PARTITION)]
    admin.controlling.elections = {T0: Elected(leader=BrokerId(2))}
    late = elect(admin, T0)
    admin.advance(100)
    assert [one.error for one in admin.answer(late, p.ElectLeadersResponse).partitions] == [E.REQUEST_TIMED_OUT]


def test_of_all_partitions_those_that_need_no_election_are_left_out() -> None:
    admin = Admin()
    admin.controlling.elections = {T0: Elected(E.ELECTION_NOT_NEEDED)}
    assert admin.answer(elect(admin, election=p.UNCLEAN), p.ElectLeadersResponse).partitions == []
    assert admin.controlling.asked == [([T0], Strategy.UNCLEAN)]
    assert len(admin.answer(elect(admin, T0), p.ElectLeadersResponse).partitions) == 1


def test_reassignments_go_to_the_controller_and_back() -> None:
    admin = Admin()
    admin.controlling.reassignments = Reassignments(
        begun={T0: Begun(E.INVALID_REPLICA_ASSIGNMENT, "why")},
        moving={T0: ReplicaAssignment(brokers(2, 0), brokers(2), brokers(0))},
    )
    requested = admin.ask(p.AlterPartitionReassignmentsRequest([p.Reassigned("t", 0, None)]), 0)
    assert admin.answer(requested, p.AlterPartitionReassignmentsResponse).partitions == [
        p.PartitionResult("t", 0, E.INVALID_REPLICA_ASSIGNMENT, "why")
    ]
    listed = admin.ask(p.ListPartitionReassignmentsRequest(None), 0)
    assert admin.answer(listed, p.ListPartitionReassignmentsResponse).partitions == [
        p.Moving("t", 0, [*brokers(2, 0)], [*brokers(2)], [*brokers(0)])
    ]
    assert admin.controlling.asked == [{T0: None}, None]


def test_the_levels_of_loggers_last_as_long_as_the_process() -> None:
    """KIP-412: ZkAdminManager.validateLogLevelConfigs, alterLogLevelConfigs."""
    admin = Admin()

    def alter(name: str, level: str | None, operation: int = m.SET, *, validate_only: bool = False) -> tuple[int, str]:
        resource = m.AlteredResource(m.BROKER_LOGGER_RESOURCE, "0", [m.AlteredSetting(name, level, operation)])
        requested = m.IncrementalAlterConfigsRequest([resource], validate_only)
        (result,) = admin.answer(admin.ask(requested, 1), m.IncrementalAlterConfigsResponse).resources
        return result.error, result.message

    def level(name: str) -> str | None:
        (only,) = admin.describe(m.BROKER_LOGGER_RESOURCE, "0", name).settings
        assert (only.source, only.read_only) == (6, False)
        return only.value

    assert level("kafka.controller") == "TRACE"
    assert alter("kafka.controller", "ERROR", validate_only=True) == (E.NONE, "")
    assert level("kafka.controller") == "TRACE"
    assert alter("kafka.controller", "ERROR") == (E.NONE, "") and level("kafka.controller") == "ERROR"
    assert alter("kafka.controller", None, m.DELETE) == (E.NONE, "") and level("kafka.controller") == "INFO"
    assert alter("root", None, m.DELETE)[1] == "Removing the log level of the root logger is not allowed"
    assert "as it is not a supported log level" in alter("root", "LOUD")[1]
    assert "Logger kafka.Nothing does not exist!" in alter("kafka.Nothing", "INFO")[1]
    assert alter("root", "INFO", 2)[0] == E.INVALID_REQUEST
    assert admin.notified() == [], "nothing of it is in ZooKeeper"


def test_producers_of_a_replica() -> None:
    """KafkaApis.handleDescribeProducersRequest."""
    admin = Admin("2.8")
    admin.lead()
    first = encode_batch([b"a", b"b"], timestamp_ms=7, producer_id=4711, producer_epoch=2, base_sequence=0)
    admin.produced(admin.produce(records=first))
    requested = p.DescribeProducersRequest([p.PartitionNamed("t", 0), p.PartitionNamed("no", 0)])
    known, unknown = admin.answer(admin.ask(requested, 0), p.DescribeProducersResponse).partitions
    assert known.producers == [p.ActiveProducer(4711, 2, 1, 7)]
    assert (unknown.error, unknown.producers) == (E.UNKNOWN_TOPIC_OR_PARTITION, [])


def test_where_a_replica_is_to_lie() -> None:
    """ReplicaManager.alterReplicaLogDirs; a log that is there is not moved."""
    admin = Admin(log_dirs="d0,d1")
    admin.lead()

    def move(topic: str, path: str) -> int:
        requested = p.AlterReplicaLogDirsRequest([p.MovedLog(topic, 0, path)])
        return int(admin.answer(admin.ask(requested, 1), p.AlterReplicaLogDirsResponse).partitions[0].error)

    (here,) = [one.path for one in admin.answer(
        admin.ask(p.DescribeLogDirsRequest(None), 1), p.DescribeLogDirsResponse
    ).directories if one.logs]  # fmt: skip
    other = {"/d0": "/d1", "/d1": "/d0"}[here]
    assert [move("t", path) for path in (here, other, "/d2")] == [E.NONE, E.UNSUPPORTED_VERSION, E.LOG_DIR_NOT_FOUND]
    assert move("u", here) == E.REPLICA_NOT_AVAILABLE, "and is made there, though the other holds fewer"
    directories = admin.broker.replicas.directories
    assert directories.name_of(directories.for_new_log(("u", 0), [directories.live[here[1:]]])[0]) == here[1:]
    assert directories.name_of(directories.for_new_log(("u", 0), [directories.live[here[1:]]])[0]) == other[1:]


def test_what_lies_in_the_log_directories() -> None:
    admin = Admin()
    admin.lead()
    admin.produce("v")
    directories = admin.answer(admin.ask(p.DescribeLogDirsRequest(None), 1), p.DescribeLogDirsResponse).directories
    assert [(one.path, one.error, one.topics) for one in directories] == [("/", 0, ["t"])]
    assert [(one.topic, one.partition, one.lag) for one in directories[0].logs] == [("t", 0, 0)]
    assert directories[0].logs[0].size_bytes > 60
    other = p.DescribeLogDirsRequest([p.PartitionNamed("u", 0)])
    (there,) = admin.answer(admin.ask(other, 1), p.DescribeLogDirsResponse).directories
    assert (there.topics, there.logs) == (["t"], [])


def test_metadata_lists_the_live_brokers() -> None:
    admin = Admin()
    reported = admin.answer(admin.ask(p.DescribeClusterRequest(), 0), p.DescribeClusterResponse)
    assert [one.broker for one in reported.brokers] == sorted(admin.broker.metadata.live)
