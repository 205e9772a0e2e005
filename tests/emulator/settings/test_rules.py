"""Kafka's refusals at its start, in the versions that have them."""

from typing import Any

import pytest

from emulator.settings.client_rules import broken_of_consumer, broken_of_producer, broken_of_scala_consumer
from emulator.settings.in_force import brokers_in_force, topics_in_force
from emulator.settings.java_names import java_producer
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC
from emulator.settings.setting_registry import BY_SCOPE, usable
from emulator.settings.setting_rules import BROKERS, RULES, Rule, contradictions
from protocol.versions import LADDER, VERSIONS, releases

ALL_RELEASES = releases()[: releases().index(LADDER[-1]) + 1]
"""Those with ZooKeeper, whose rules were read."""
LISTENERS = "INSIDE://:9092,OUTSIDE://:9094"
PROTOCOLS = "INSIDE:PLAINTEXT,OUTSIDE:SSL"
SASL = {"listeners": "SASL_PLAINTEXT://a:9092", "security.inter.broker.protocol": "SASL_PLAINTEXT"}

KRAFT = (
    "process.roles: this cluster is not in KRaft mode; give --metadata kraft, or `metadata: kraft` in the scenario, or "
    "remove the setting"
)

REFUSED: list[tuple[dict[str, Any], str, str, str]] = [
    ({"replica.fetch.wait.max.ms": 20000}, "0.8.2", "3.9",
     "replica.fetch.wait.max.ms=20000 must not be more than replica.lag.time.max.ms=10000"),
    ({"replica.fetch.wait.max.ms": 900, "replica.socket.timeout.ms": 500}, "0.9", "3.9",
     "replica.fetch.wait.max.ms=900 must not be more than replica.socket.timeout.ms=500"),
    ({"message.max.bytes": 2000000}, "0.8.2", "0.10.0",
     "message.max.bytes=2000000 must not be more than replica.fetch.max.bytes=1048576"),
    ({"log.cleaner.threads": 200}, "0.8.2", "3.9",
     "log.cleaner.dedupe.buffer.size=134217728 is not above 1 MiB for each of 200 cleaner threads"),
    ({"log.cleaner.threads": 0}, "0.8.2", "3.9",
     "log.cleaner.threads=0: a broker divides by it and does not start"),
    ({"broker.id": 1001}, "0.9", "3.9", "broker.id=1001 is above reserved.broker.max.id=1000"),
    ({"broker.id.generation.enable": False}, "0.9", "3.9",
     "broker.id must be 0 or more without broker.id.generation.enable"),
    ({"log.retention.ms": 0}, "0.9", "3.9", "log.retention is -1 or 1 and more"),
    ({"offsets.topic.replication.factor": 1, "offsets.commit.required.acks": "1"}, "", "", ""),
    ({"log.message.format.version": "0.10.1", "inter.broker.protocol.version": "0.8.2"}, "0.10.0", "3.9",
     "log.message.format.version=0.10.1 cannot be used with inter.broker.protocol.version=0.8.2"),
    ({"log.message.format.version": "0.11.0", "inter.broker.protocol.version": "0.10.2"}, "0.10.0", "3.9",
     "log.message.format.version=0.11.0 cannot be used with inter.broker.protocol.version=0.10.2"),
    ({"log.message.format.version": "0.10.2", "inter.broker.protocol.version": "0.10.2"}, "", "", ""),
    ({"log.message.format.version": "2.1", "inter.broker.protocol.version": "2.0"}, "0.10.0", "0.11",
     "log.message.format.version=2.1 cannot be used with inter.broker.protocol.version=2.0.0"),
    ({"queued.max.request.bytes": 1000}, "1.0", "3.9",
     "queued.max.request.bytes=1000 is below socket.request.max.bytes=104857600"),
    ({"max.connections.per.ip": 0}, "2.0.0", "3.9", "max.connections.per.ip=0 needs max.connections.per.ip.overrides"),
    ({"connections.max.idle.ms": 100}, "2.1", "3.9",
     "connection.failed.authentication.delay.ms=100 is not less than connections.max.idle.ms=100"),
    ({"process.roles": "broker"}, "2.8", "3.9", KRAFT),
    ({"controller.listener.names": "A"}, "3.0", "3.9",
     "controller.listener.names: must be empty when not running in KRaft mode"),
    ({"listeners": LISTENERS}, "0.9", "3.9", "listeners: no security protocol is defined for listener INSIDE"),
    ({"listeners": LISTENERS, "listener.security.protocol.map": PROTOCOLS}, "0.10.2", "3.9",
     "security.inter.broker.protocol=PLAINTEXT is not among the advertised listeners (INSIDE, OUTSIDE)"),
    ({"listeners": "SSL://:9093"}, "0.9", "3.9",
     "security.inter.broker.protocol=PLAINTEXT is not among the advertised listeners (SSL)"),
    ({"advertised.listeners": "SSL://a:1"}, "0.9", "3.9",
     "advertised.listeners (SSL) are not all among listeners (PLAINTEXT)"),
    ({"advertised.listeners": "PLAINTEXT://0.0.0.0:1"}, "1.0", "3.9",
     "advertised.listeners: 0.0.0.0 is no address that clients can connect to"),
    ({"listeners": "PLAINTEXT://0.0.0.0:9092"}, "1.0", "3.9",
     "advertised.listeners: 0.0.0.0 is no address that clients can connect to; without advertised.listeners, those of "
     "listeners are advertised"),
    ({"listeners": "PLAINTEXT://0.0.0.0:9092", "advertised.listeners": "PLAINTEXT://a:9092"}, "", "", ""),
    ({"advertised.host.name": "0.0.0.0"}, "1.0", "3.9",
     "advertised.listeners: 0.0.0.0 is no address that clients can connect to"),
    ({"advertised.port": 9093}, "", "", ""),
    ({"listeners": "SSL://:9093", "security.inter.broker.protocol": "SSL", "advertised.port": 9093}, "0.9", "3.9",
     "advertised.listeners (PLAINTEXT) are not all among listeners (SSL)"),
    ({"listeners": "PLAINTEXT://a:9092,SSL://b:9092"}, "0.9", "3.9",
     "listeners: each listener needs a port of its own; 9092 is there twice"),
    ({"listeners": "PLAINTEXT://a:0,SSL://b:0"}, "", "", ""),
    ({"listeners": "PLAINTEXT://:1,SSL://:2", "advertised.listeners": "PLAINTEXT://a:9,SSL://b:9"}, "0.9", "2.6",
     "advertised.listeners: each listener needs a port of its own; 9 is there twice"),
    ({"listeners": "PLAINTEXT://:1,PLAINTEXT://:2"}, "0.9", "3.9", "listeners: each listener needs a name of its own"),
    ({"listeners": "nonsense"}, "0.9", "3.9", "listeners: 'nonsense' is no listener, such as PLAINTEXT://host:9092"),
    ({"listeners": "${LISTENERS}"}, "", "", ""),
    ({"inter.broker.listener.name": "PLAINTEXT", "security.inter.broker.protocol": "PLAINTEXT"}, "0.10.2", "3.9",
     "only one of inter.broker.listener.name and security.inter.broker.protocol can be set"),
    ({**SASL, "sasl.mechanism.inter.broker.protocol": "PLAIN"}, "0.10.0", "3.9",
     "sasl.mechanism.inter.broker.protocol=PLAIN is not among sasl.enabled.mechanisms (GSSAPI)"),
    ({**SASL, "sasl.mechanism.inter.broker.protocol": "PLAIN", "sasl.enabled.mechanisms": "GSSAPI, PLAIN"}, "", "", ""),
    ({**SASL, "sasl.mechanism.inter.broker.protocol": "PLAIN", "sasl.enabled.mechanisms": "PLAIN",
      "inter.broker.protocol.version": "0.8.2"}, "0.10.0", "3.9",
     "sasl.mechanism.inter.broker.protocol=PLAIN needs inter.broker.protocol.version 0.10.0 or later, not 0.8.2"),
    ({**SASL, "sasl.enabled.mechanisms": "PLAIN"}, "0.10.0", "3.9",
     "sasl.mechanism.inter.broker.protocol=GSSAPI is not among sasl.enabled.mechanisms (PLAIN)"),
    ({"sasl.mechanism.inter.broker.protocol": "PLAIN"}, "", "", ""),
    ({"offsets.topic.compression.codec": 4, "inter.broker.protocol.version": "0.10.2"}, "2.2", "3.9",
     "offsets.topic.compression.codec=4 needs inter.broker.protocol.version 0.11 or later, not 0.10.2"),
    ({"offsets.topic.compression.codec": 4, "inter.broker.protocol.version": "0.11"}, "", "", ""),
    ({"max.connections.per.ip.overrides": "a/b:3"}, "2.1", "3.9",
     "max.connections.per.ip.overrides: 'a/b:3' is no address with a number, such as 10.0.0.1:20"),
    ({"max.connections.per.ip.overrides": "10.0.0.1:3, ::1:9"}, "", "", ""),
    ({"control.plane.listener.name": "PLAINTEXT"}, "2.2", "3.9",
     "control.plane.listener.name must be another listener than that between brokers, PLAINTEXT"),
    ({"control.plane.listener.name": "SSL"}, "2.2", "3.9",
     "control.plane.listener.name=SSL is not among the advertised listeners (PLAINTEXT)"),
]  # fmt: skip
"""(a broker's settings, the first version that refuses them, the last, why)"""


@pytest.mark.parametrize(("given", "first", "last", "message"), REFUSED, ids=lambda value: str(value)[:60])
def test_of_brokers(given: dict[str, Any], first: str, last: str, message: str) -> None:
    known = {name: usable(name, value) for name, value in given.items() if name != "replica.lag.time.max.ms"}
    for version in ALL_RELEASES:
        own = {name: value for name, value in known.items() if BY_SCOPE[BROKER][name].exists_in(version)}
        if len(own) < len(known) and first:
            continue
        if "replica.fetch.wait.max.ms" in own:
            own.setdefault("replica.lag.time.max.ms", 10000)
        if "log.cleaner.threads" in own:
            own.setdefault("log.cleaner.dedupe.buffer.size", 128 * 1024**2)
        reported = [one.message for one in contradictions(BROKER, version, brokers_in_force(version, own), own)]
        refuses = bool(first) and ALL_RELEASES.index(first) <= ALL_RELEASES.index(version) <= ALL_RELEASES.index(last)
        assert reported == ([message] if refuses else []), version


def test_listeners_of_ones_own_are_all_right_with_a_protocol_each_and_one_between_brokers() -> None:
    given = {"listeners": LISTENERS, "listener.security.protocol.map": PROTOCOLS}
    given["inter.broker.listener.name"] = "INSIDE"
    for version in ("0.10.2", "2.8"):
        assert contradictions(BROKER, version, brokers_in_force(version, given), given) == []


def test_what_is_a_default_alone_is_nobodys_fault() -> None:
    for scope in RULES:
        for version in ALL_RELEASES:
            values = brokers_in_force(version, {"replica.lag.time.max.ms": 1})
            assert contradictions(scope, version, values, {"num.partitions"}) == []


def test_a_contradiction_names_the_settings_that_were_given() -> None:
    given = {"replica.fetch.wait.max.ms": 5000, "replica.lag.time.max.ms": 1000}
    (found,) = contradictions(BROKER, "2.6", brokers_in_force("2.6", given), given)
    assert found.names == ("replica.fetch.wait.max.ms", "replica.lag.time.max.ms")


def test_of_topics() -> None:
    given = {"min.compaction.lag.ms": 10, "max.compaction.lag.ms": 5}
    broker = brokers_in_force("2.3", {})
    (found,) = contradictions(TOPIC, "2.3", topics_in_force("2.3", given, broker), given)
    assert found.message == "min.compaction.lag.ms=10 must not be more than max.compaction.lag.ms=5"


@pytest.mark.parametrize(
    ("given", "refused"),
    [
        ({"minSessionTimeout": 5000, "maxSessionTimeout": 4000}, True),
        ({"minSessionTimeout": 25000}, True),
        ({"maxSessionTimeout": 1500}, True),
        ({"minSessionTimeout": 20000, "maxSessionTimeout": 20000}, False),
    ],
)
def test_of_the_session_service(given: dict[str, Any], refused: bool) -> None:
    values = {name: setting.default_in("2.6") for name, setting in BY_SCOPE[ENSEMBLE].items()} | given
    assert bool(contradictions(ENSEMBLE, "2.6", values, given)) is refused


PRODUCERS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"enable.idempotence": True, "acks": "1"}, "2.6", "enable.idempotence=true needs acks=all"),
    ({"enable.idempotence": True, "acks": "all"}, "2.6", None),
    ({"enable.idempotence": True, "acks": "1"}, "3.9", "enable.idempotence=true needs acks=all"),
    ({"acks": "1"}, "3.9", None),
    ({"transactional.id": "t", "acks": "1"}, "3.9", "transactional.id needs acks=all"),
    ({"enable.idempotence": True, "retries": 0}, "2.6", "enable.idempotence=true needs retries above 0"),
    ({"enable.idempotence": True, "max.in.flight.requests.per.connection": 6}, "1.0",
     "enable.idempotence=true needs max.in.flight.requests.per.connection of at most 5 on 1.0"),
    ({"enable.idempotence": True, "max.in.flight.requests.per.connection": 2}, "0.11",
     "enable.idempotence=true needs max.in.flight.requests.per.connection of at most 1 on 0.11"),
    ({"transactional.id": "t", "enable.idempotence": False}, "2.6", "transactional.id needs enable.idempotence=true"),
    ({"transactional.id": "t", "acks": "0"}, "2.6", "transactional.id needs acks=all"),
    ({"delivery.timeout.ms": 100}, "2.1",
     "delivery.timeout.ms 100 is less than linger.ms + request.timeout.ms, 30000"),
    ({"linger.ms": 100000, "request.timeout.ms": 100000}, "2.1", None),
]  # fmt: skip


@pytest.mark.parametrize(("given", "version", "message"), PRODUCERS)
def test_of_producers(given: dict[str, Any], version: str, message: str | None) -> None:
    values = {name: setting.default_in(version) for name, setting in BY_SCOPE[PRODUCER].items()}
    reported = [one for _, one in broken_of_producer(version, values | java_producer(given), given)]
    assert reported == ([message] if message else [])


CONSUMERS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"heartbeat.interval.ms": 10000}, "2.6",
     "heartbeat.interval.ms=10000 must be less than session.timeout.ms=10000"),
    ({"request.timeout.ms": 10000}, "1.1",
     "request.timeout.ms=10000 must be more than session.timeout.ms=10000 and fetch.max.wait.ms=500"),
    ({"request.timeout.ms": 10000}, "2.0.0", None),
    ({"heartbeat.interval.ms": 10000}, "0.8.2", None),
    ({"auto.offset.reset": "smallest"}, "1.1",
     "auto.offset.reset=smallest is of the Scala consumer; the Java consumer takes latest, earliest, none"),
    ({"auto.offset.reset": "smallest"}, "0.8.2", None),
    ({"auto.offset.reset": "none"}, "1.1", None),
    ({"partition.assignment.strategy": "range"}, "1.1",
     "partition.assignment.strategy=range is of the Scala consumer; the Java consumer takes class names, such as "
     "org.apache.kafka.clients.consumer.RangeAssignor"),
    ({"partition.assignment.strategy": "org.apache.kafka.clients.consumer.StickyAssignor, RangeAssignor"}, "1.1", None),
]  # fmt: skip


SCALA_CONSUMERS: list[tuple[dict[str, Any], str, str | None]] = [
    ({"auto.offset.reset": "earliest"}, "0.8.2",
     "auto.offset.reset=earliest is of the Java consumer; the Scala consumer takes smallest or largest"),
    ({"auto.offset.reset": "largest"}, "1.1", None),
    ({"partition.assignment.strategy": "x.RoundRobinAssignor"}, "0.8.2", None),
    ({"partition.assignment.strategy": "x.RoundRobinAssignor"}, "0.9",
     "partition.assignment.strategy=x.RoundRobinAssignor is of the Java consumer; the Scala consumer takes range or "
     "roundrobin"),
    ({"partition.assignment.strategy": "roundrobin"}, "1.1", None),
    ({"group.id": "a b"}, "1.1",
     "group.id='a b': the Scala consumer takes only letters, digits, '.', '_' and '-'"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "version", "message"), SCALA_CONSUMERS)
def test_of_scala_consumers(given: dict[str, Any], version: str, message: str | None) -> None:
    assert [one for _, one in broken_of_scala_consumer(version, given)] == ([message] if message else [])


@pytest.mark.parametrize(("given", "version", "message"), CONSUMERS)
def test_of_consumers(given: dict[str, Any], version: str, message: str | None) -> None:
    values = {name: setting.default_in(version) for name, setting in BY_SCOPE[CONSUMER].items()}
    assert [one for _, one in broken_of_consumer(version, values | given, given)] == ([message] if message else [])


@pytest.mark.parametrize("version", [version for version in VERSIONS if version not in LADDER])
@pytest.mark.parametrize("rule", BROKERS, ids=lambda rule: rule.names[0])
def test_rules_of_brokers_without_zookeeper_read_only_settings_that_these_versions_have(
    version: str, rule: Rule
) -> None:
    values = brokers_in_force(version, {})
    given = [name for name in rule.names if name in values]
    assert contradictions(BROKER, version, values, given, "kraft") == []


def test_kraft_mode_has_roles_and_zookeeper_mode_has_none() -> None:
    values = brokers_in_force("3.9", {"process.roles": "broker", "controller.listener.names": "C"})
    given = ["process.roles", "controller.listener.names"]
    assert [one.message for one in contradictions(BROKER, "3.9", values, given)] == [KRAFT]
    assert contradictions(BROKER, "3.9", values, given, "kraft") == []
