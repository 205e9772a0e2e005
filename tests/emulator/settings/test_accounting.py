"""Messages about unmodelled settings: the values and the times at which they matter."""

from typing import Any

import pytest

from emulator.settings.account import Account, NotModelled, lines
from emulator.settings.accounting import Everything, account, check
from emulator.settings.applied import Given, Layer
from emulator.settings.bearing import ALL, RECORDS
from emulator.settings.setting_registry import UnusableSetting, parse_assignment


def everything(*assignments: str, version: str = "2.6", **more: Any) -> Everything:
    cluster = {key: Given(value, "--set") for key, value in map(parse_assignment, assignments)}
    return Everything(version=version, cluster=cluster, brokers=(0, 1, 2), **more)


def reported(*assignments: str, version: str = "2.6", **more: Any) -> Account:
    return account(everything(*assignments, version=version, **more), Layer())


WEEK_MS = 7 * 24 * 3_600_000.0

BEARS: list[tuple[tuple[str, ...], str, float | None]] = [
    # retention and compaction
    (("log.retention.hours=168",), "2.6", None),
    (("log.retention.hours=1",), "2.6", 3_600_000.0),
    (("log.retention.ms=1000",), "2.6", 30_000.0),
    (("log.retention.ms=-1",), "2.6", None),
    (("log.retention.minutes=2",), "2.6", 120_000.0),
    (("log.retention.ms=1000", "log.cleanup.policy=compact"), "2.6", None),
    (("log.retention.bytes=-1",), "2.6", None),
    (("log.retention.bytes=1000",), "2.6", WEEK_MS),
    (("log.retention.bytes=1000", "log.segment.bytes=100"), "2.6", 30_000.0),
    (("log.retention.bytes=0",), "2.6", 30_000.0),
    (("log.cleanup.policy=compact",), "2.6", WEEK_MS),
    (("log.cleanup.policy=compact,delete", "log.segment.bytes=1000000"), "2.6", 0.0),
    (("log.cleanup.policy=compact", "log.segment.bytes=1000000", "log.cleaner.enable=false"), "2.6", None),
    (("log.roll.ms=5000",), "2.6", 5_000.0),
    (("log.roll.hours=2", "log.roll.jitter.hours=1"), "2.6", 3_600_000.0),
    (("log.index.size.max.bytes=1000",), "2.6", 0.0),
    (("log.index.size.max.bytes=2000000",), "2.6", None),
    # formats
    (("compression.type=lz4",), "2.6", None),
    (("compression.type=lz4",), "0.10.2", 0.0),
    (("compression.type=producer",), "0.10.2", None),
    (("log.message.format.version=2.0",), "2.6", None),
    (("log.message.format.version=0.10.2",), "2.6", 0.0),
    (("log.message.format.version=0.10.2", "inter.broker.protocol.version=0.10.2"), "2.6", None),
    (("log.message.timestamp.difference.max.ms=5000",), "2.6", 5_000.0),
    # threads and connections
    (("num.replica.fetchers=4",), "2.6", None),
    (("num.replica.fetchers=4",), "2.2", 0.0),
    (("connections.max.idle.ms=10000",), "2.6", 10_000.0),
    (("connections.max.idle.ms=-1",), "2.6", None),
    (("max.connections=10",), "2.6", 0.0),
    (("max.connections=100000",), "2.6", None),
    (("socket.request.max.bytes=104857600",), "2.6", None),
    (("socket.request.max.bytes=100",), "2.6", 0.0),
    (("socket.request.max.bytes=2000000", "message.max.bytes=3000000"), "2.6", 0.0),
    (("queued.max.request.bytes=104857600",), "2.6", None),
    (("quota.producer.default=9223372036854775807",), "2.6", None),
    (("quota.producer.default=1000",), "2.6", 0.0),
    (("control.plane.listener.name=CONTROL",), "2.6", 0.0),
    (("controller.message.queue.size=10",), "0.8.2", 0.0),
    # reading
    (("replica.selector.class=my.Selector",), "2.6", 0.0),
    (("producer.connections.max.idle.ms=1000",), "2.6", 1_000.0),
    # topics
    (("topic.retention.ms=60000",), "2.6", 60_000.0),
    (("topic.cleanup.policy=compact", "topic.segment.bytes=1000"), "2.6", 0.0),
    (("topic.segment.ms=4000",), "2.6", 4_000.0),
    (("topic.leader.replication.throttled.replicas=*",), "2.6", 0.0),
    # the session service
    (("forceSync=no",), "2.6", 0.0),
    (("forceSync=yes",), "2.6", None),
]
"""(what is given, version, from when on the first of them can change something)"""


@pytest.mark.parametrize(("given", "version", "from_ms"), BEARS, ids=str)
def test_when_a_setting_that_is_not_modelled_bears(given: tuple[str, ...], version: str, from_ms: float | None) -> None:
    output = reported(*given, version=version)
    name = parse_assignment(given[0])[0]
    found = {one.name: one.from_ms for one in output.not_modelled}
    assert found.get(name) == from_ms
    assert (name in output.without_bearing) == (from_ms is None)


def test_what_is_modelled_is_not_spoken_of() -> None:
    assert not reported(
        "min.insync.replicas=2", "producer.acks=all", "tickTime=2000", "auto.create.topics.enable=false",
        "consumer.isolation.level=read_committed", "producer.transactional.id=t", "consumer.client.rack=a",
        "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector",
    )  # fmt: skip


def test_what_one_broker_a_topic_or_a_step_has_counts_too() -> None:
    own = {1: {"log.retention.ms": Given(1000, "broker 1")}}
    assert reported(by_broker=own).not_modelled[0].where == "broker 1"
    topics = {"t": {"retention.ms": Given(1000, "topic t")}}
    assert reported(topics=topics).not_modelled[0].name == "topic.retention.ms"
    idle = Given(1, "a produce")
    clients = (("producer", {"connections.max.idle.ms": idle, "linger.ms": Given(1, "a produce")}),)
    assert [one.name for one in reported(clients=clients).not_modelled] == ["producer.connections.max.idle.ms"]


def test_a_check_is_in_doubt_if_the_run_lasted_so_long() -> None:
    output = Account(not_modelled=(NotModelled("log.retention.ms", 50_000, RECORDS, "logs keep everything", 50_000.0),))
    lost = "lost-acknowledged"
    assert output.doubts_about(lost, 49_999.0) == ""
    assert output.doubts_about(lost, 50_000.0) == "log.retention.ms=50000 could change it, and is not modelled"
    assert output.reasons_about(lost, 60_000.0) == ["log.retention.ms=50000 is not modelled: logs keep everything"]
    assert [name for name in ALL if output.doubts_about(name, 60_000.0)] == list(RECORDS)


def test_what_is_accepted_without_bearing_takes_one_line() -> None:
    output = reported("num.network.threads=9", "socket.send.buffer.bytes=1", "zookeeper.set.acl=true")
    assert lines(output) == [
        "without bearing on replication: num.network.threads, socket.send.buffer.bytes, zookeeper.set.acl"
    ]


@pytest.mark.parametrize("version", ["2.8", "3.0", "3.9"])
def test_settings_of_kraft_mode_are_kafkas_own_and_without_effect(version: str) -> None:
    output = reported("node.id=1", "controller.quorum.voters=1@a:9093", version=version)
    assert lines(output) == [
        "warning: controller.quorum.voters, node.id: of KRaft mode; not used with ZooKeeper",
        "without bearing on replication: controller.quorum.voters, node.id",
    ]
    assert output.passed_on == ()


def test_kafkas_refusals_are_reported_with_their_source() -> None:
    given = {
        "replica.fetch.wait.max.ms": Given(20_000, "server.properties:3"),
        "replica.lag.time.max.ms": Given(5_000, "--set"),
    }
    with pytest.raises(UnusableSetting) as raised:
        check(Everything(version="2.6", cluster=given, brokers=(0, 1, 2)))
    assert str(raised.value) == (
        "server.properties:3 and --set: replica.fetch.wait.max.ms=20000 must not be more than "
        "replica.lag.time.max.ms=5000"
    )


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (("producer.enable.idempotence=true", "producer.acks=1"), "enable.idempotence=true needs acks=all"),
        (("consumer.heartbeat.interval.ms=10000",), "heartbeat.interval.ms=10000 must be less than"),
        (("topic.min.compaction.lag.ms=9", "topic.max.compaction.lag.ms=8"), "min.compaction.lag.ms=9 must not be"),
        (("minSessionTimeout=9000", "maxSessionTimeout=8000"), "minSessionTimeout"),
    ],
)
def test_clients_topics_and_the_session_service_are_checked_too(given: tuple[str, ...], message: str) -> None:
    with pytest.raises(UnusableSetting, match=message.replace("(", r"\(")):
        check(everything(*given))


def test_the_scala_producers_settings_are_not_the_java_producers() -> None:
    check(everything("producer.request.required.acks=1", "producer.message.send.max.retries=0", version="0.8.2"))
