"""Names and values.

One clear error, the nearest name, and dynamic settings of a running cluster.
"""

import pytest

from emulator.settings.setting import BROKER, TOPIC
from emulator.settings.setting_registry import (
    BY_SCOPE,
    REGISTRY,
    UnusableSetting,
    alterable,
    of_topic,
    parse_assignment,
    slip_of,
    usable,
)


@pytest.mark.parametrize(
    ("name", "value", "version", "message"),
    [
        ("replica.lag.ms", 1, None, "unknown setting 'replica.lag.ms'; nearest: replica.lag.time.max.ms"),
        ("xyzzy", 1, None, "unknown setting 'xyzzy'"),
        ("acks", "all", None, "unknown setting 'acks': it is a producer's; write producer.acks"),
        ("retry.backoff.ms", 1, None, "unknown setting 'retry.backoff.ms': it is a producer's and a consumer's; "
         "write producer.retry.backoff.ms or consumer.retry.backoff.ms"),
        ("num.partitions", 0, None, "num.partitions: expected a whole number of partitions, at least 1, got 0"),
        ("num.partitions", True, None, "num.partitions: expected a whole number of partitions, got True"),
        ("log.segment.bytes", 2**31, None,
         "log.segment.bytes: expected a whole number of bytes, at most 2147483647, got 2147483648"),
        ("delete.topic.enable", "yes", None, "delete.topic.enable: expected true or false, got 'yes'"),
        ("log.dirs", "d0,,d1", None, "log.dirs: expected names of folders, separated by commas, got 'd0,,d1'"),
        ("log.dirs", "/var/d0", None, "log.dirs: expected names of folders, separated by commas, got '/var/d0'"),
        ("producer.acks", "2", None, "producer.acks: expected one of 0, 1, -1, all, got '2'"),
        ("producer.compression.type", "zstd", "2.0.1",
         "producer.compression.type: expected one of none, gzip, snappy, lz4, got 'zstd'"),
        ("log.cleanup.policy", "compact, remove", None,
         "log.cleanup.policy: expected some of compact, delete, got 'compact, remove'"),
        ("consumer.auto.offset.reset", "smallest", "2.6",
         "consumer.auto.offset.reset: expected one of latest, earliest, none, got 'smallest'"),
        ("replica.lag.max.messages", 4, "2.6",
         "replica.lag.max.messages is not a setting of Kafka 2.6: it went after 0.8.2"),
        ("producer.delivery.timeout.ms", 4, "1.1",
         "producer.delivery.timeout.ms is not a setting of Kafka 1.1: it came with 2.1"),
        ("inter.broker.protocol.version", "2.7-IV1", None, "inter.broker.protocol.version: protocol version '2.7-IV1' "
         "lies between releases, and those alone are played: 2.7"),
        ("log.message.format.version", "3", None, "log.message.format.version: unknown protocol version '3'; one of: "
         "0.8.0, 0.8.1, 0.8.2, 0.9.0, 0.10.0, 0.10.1, 0.10.2, 0.11.0, 1.0, 1.1, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, "
         "2.7, 2.8, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, 3.7, 3.8, 3.9"),
        *((name, "", None, f"{name}: unknown protocol version ''; one of: 0.8.0, 0.8.1, 0.8.2, 0.9.0, 0.10.0, 0.10.1, "
           "0.10.2, 0.11.0, 1.0, 1.1, 2.0, 2.1, 2.2, 2.3, 2.4, 2.5, 2.6, 2.7, 2.8, 3.0, 3.1, 3.2, 3.3, 3.4, 3.5, 3.6, "
           "3.7, 3.8, 3.9")
          for name in ("inter.broker.protocol.version", "log.message.format.version", "topic.message.format.version")),
    ],
)  # fmt: skip
def test_unusable(name: str, value: object, version: str | None, message: str) -> None:
    with pytest.raises(UnusableSetting) as raised:
        usable(name, value, version)
    assert str(raised.value) == message


@pytest.mark.parametrize(
    ("given", "is_now"),
    [
        ("replica.lag.time.max.ms=5000", ("replica.lag.time.max.ms", 5000)),
        ("unclean.leader.election.enable = TRUE", ("unclean.leader.election.enable", True)),
        ("flush.ms=10", ("topic.flush.ms", 10)),
        ("topic.min.insync.replicas=2", ("topic.min.insync.replicas", 2)),
        ("inter.broker.protocol.version=2.7-IV2", ("inter.broker.protocol.version", "2.7")),
        ("inter.broker.protocol.version=0.10.2-IV0", ("inter.broker.protocol.version", "0.10.2")),
        ("producer.purgatory.purge.interval.requests=9", ("producer.purgatory.purge.interval.requests", 9)),
    ],
)
def test_assignments_of_the_command_line(given: str, is_now: tuple[str, object]) -> None:
    assert parse_assignment(given) == is_now


def test_an_assignment_has_a_value() -> None:
    with pytest.raises(UnusableSetting, match="'tickTime': expected name=value"):
        parse_assignment("tickTime")


def test_names_with_a_unit_have_that_unit() -> None:
    assert REGISTRY["replica.fetch.max.bytes"].unit == "bytes"
    assert all(setting.unit == "ms" for name, setting in REGISTRY.items() if name.endswith(".ms"))


@pytest.mark.parametrize(
    ("name", "known"),
    [
        ("log.retention.hour", "log.retention.hours"),
        ("min.in.sync.replicas", "min.insync.replicas"),
        ("minInsyncReplicas", "min.insync.replicas"),
        ("MIN.INSYNC.REPLICAS", "min.insync.replicas"),
        ("min_insync_replicas", "min.insync.replicas"),
        ("replica.lag.max.time.ms", "replica.lag.time.max.ms"),
        ("zookeeper.session.timeout", "zookeeper.session.timeout.ms"),
        ("listners", "listeners"),
        ("confluent.metrics.reporter.bootstrap.servers", ""),
        ("confluent.leader.imbalance.check.interval.seconds", ""),
        ("cruise.control.metrics.topic", ""),
        ("schema.registry.url", ""),
        ("x", ""),
        ("", ""),
    ],
)
def test_a_slip_is_distinguished_from_a_foreign_name(name: str, known: str) -> None:
    assert slip_of(name, BY_SCOPE[BROKER]) == known


# --- what a running cluster can be given ---


def test_a_topic_can_have_all_settings_of_its_version() -> None:
    assert alterable(TOPIC, "retention.ms", "1000", "0.10.2") == 1000
    with pytest.raises(UnusableSetting, match=r"topic\.max\.compaction\.lag\.ms is not a setting of Kafka 2\.2"):
        alterable(TOPIC, "max.compaction.lag.ms", "1000", "2.2")
    with pytest.raises(UnusableSetting, match=r"'retention' is not a topic's setting; nearest: retention\.ms"):
        alterable(TOPIC, "retention", "1000", "2.2")


def test_a_running_broker_can_be_given_what_kafka_can_alter_there() -> None:
    assert alterable(BROKER, "num.io.threads", "4", "1.1") == 4
    assert alterable(BROKER, "leader.replication.throttled.rate", "1000", "0.10.2") == 1000
    for name, version, why in (
        ("num.io.threads", "1.0", "since 1.1"),
        ("max.connections.per.ip", "2.2", "since 2.3"),
        ("replica.lag.time.max.ms", "2.8", "in no version"),
    ):
        with pytest.raises(UnusableSetting, match=f"{name} cannot be altered while a broker of .* runs: {why}"):
            alterable(BROKER, name, 10, version)
    with pytest.raises(UnusableSetting, match=r"'num\.io\.thread' is not a broker's setting; nearest: num\.io\.th"):
        alterable(BROKER, "num.io.thread", "4", "2.8")


def test_a_topics_own_configuration_has_topics_names() -> None:
    assert of_topic("min.insync.replicas", "2") == 2
    with pytest.raises(UnusableSetting, match=r"log\.segment\.bytes is not a setting of a topic; nearest: segment\.b"):
        of_topic("log.segment.bytes", 1)
