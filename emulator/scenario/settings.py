"""Kafka's settings: the one place for their names, units, ranges and defaults.

Names are Kafka's own. Those of clients carry `producer.` or `consumer.` before the name; the session
ensemble's are ZooKeeper's, as in zoo.cfg. A default is a list of (first version, value). An unknown name
is an error that gives the nearest known one, for a setting that does nothing is a scenario that proves
nothing.

Source: semantics 7, and KafkaConfig of 0.8.2.2 to 2.8.2.
"""

import difflib
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from emulator.scenario.setting import (
    CONSUMER,
    ENSEMBLE,
    PRODUCER,
    TOPIC,
    Setting,
    Value,
    boolean,
    integer,
    text,
)
from protocol.versions import ladder_name

LONG_MAX = 2**63 - 1
INT_MAX = 2**31 - 1
FOLDERS = (r"|[\w-]+( *, *[\w-]+)*", "names of folders, separated by commas")

SETTINGS: tuple[Setting, ...] = (
    # --- sessions ---
    integer("zookeeper.session.timeout.ms", (6000, ("2.5", 18000)), low=1),
    integer("tickTime", 1000, "ms", ENSEMBLE, low=1),
    integer("initLimit", 10, "ticks", ENSEMBLE, low=1),
    integer("syncLimit", 4, "ticks", ENSEMBLE, low=1),
    # --- replication ---
    integer("replica.lag.time.max.ms", (10000, ("2.5", 30000)), low=1),
    integer("replica.lag.max.messages", 4000, "messages", until="0.8.2", low=1),
    integer("replica.fetch.wait.max.ms", 500),
    integer("replica.fetch.min.bytes", 1),
    integer("replica.fetch.max.bytes", 1024 * 1024),
    integer("replica.fetch.response.max.bytes", 10 * 1024 * 1024, since="0.10.2"),
    integer("replica.fetch.backoff.ms", 1000),
    integer("replica.socket.timeout.ms", 30000, low=1),
    integer("replica.socket.receive.buffer.bytes", 64 * 1024, low=-1),
    integer("replica.high.watermark.checkpoint.interval.ms", 5000, low=1),
    integer("num.replica.fetchers", 1, "threads", low=1),
    integer("min.insync.replicas", 1, "replicas", low=1),
    integer("default.replication.factor", 1, "replicas", low=1),
    integer("num.partitions", 1, "partitions", low=1),
    # --- controller ---
    boolean("unclean.leader.election.enable", (True, ("0.11", False))),
    boolean("auto.leader.rebalance.enable", True),
    integer("leader.imbalance.per.broker.percentage", 10, "percent"),
    integer("leader.imbalance.check.interval.seconds", 300, "s", low=1),
    integer("controller.socket.timeout.ms", 30000, low=1),
    integer("request.timeout.ms", 30000, since="0.10.2", low=1),
    boolean("controlled.shutdown.enable", True),
    integer("controlled.shutdown.max.retries", 3, "retries"),
    integer("controlled.shutdown.retry.backoff.ms", 5000),
    # --- log ---
    text("log.dirs", form=FOLDERS),
    integer("log.segment.bytes", 1024**3, low=14, high=INT_MAX),
    integer("log.retention.hours", 168, "h", low=-1),
    integer("log.flush.interval.messages", LONG_MAX, "messages", low=1),
    integer("log.flush.scheduler.interval.ms", LONG_MAX),
    integer("log.flush.offset.checkpoint.interval.ms", 60000),
    integer("message.max.bytes", (1000012, ("2.5", 1048588))),
    # --- topics and versions ---
    boolean("auto.create.topics.enable", True),
    boolean("delete.topic.enable", (False, ("1.0", True))),
    # --- committed offsets ---
    integer("offsets.topic.num.partitions", 50, "partitions", low=1),
    integer("offsets.topic.replication.factor", 3, "replicas", low=1),
    integer("offsets.topic.segment.bytes", 100 * 1024**2, low=14, high=INT_MAX),
    text("offsets.commit.required.acks", "-1", words=("-1", "1")),
    integer("offsets.commit.timeout.ms", 5000, low=1),
    integer("offsets.retention.minutes", (1440, ("2.0.0", 10080)), "minutes", low=1),
    integer("offset.metadata.max.bytes", 4096),
    text("inter.broker.protocol.version", since="0.10.2"),
    text("log.message.format.version", since="0.10.2"),
    # --- one topic's own ---
    integer("segment.bytes", 1024**3, scope=TOPIC, low=14, high=INT_MAX),
    integer("max.message.bytes", (1000012, ("2.5", 1048588)), scope=TOPIC),
    # --- producers ---
    text("producer.acks", "1", words=("0", "1", "-1", "all"), scope=PRODUCER),
    integer("producer.retries", (0, ("2.1", INT_MAX)), "retries", PRODUCER, high=INT_MAX),
    integer("producer.request.timeout.ms", 30000, scope=PRODUCER),
    integer("producer.retry.backoff.ms", 100, scope=PRODUCER),
    integer("producer.max.in.flight.requests.per.connection", 5, "requests", PRODUCER, low=1),
    integer("producer.linger.ms", 0, scope=PRODUCER),
    integer("producer.batch.size", 16384, "bytes", PRODUCER),
    integer("producer.delivery.timeout.ms", 120000, scope=PRODUCER, since="2.1"),
    boolean("producer.enable.idempotence", False, scope=PRODUCER, since="0.11"),
    integer("producer.max.block.ms", 60000, scope=PRODUCER),
    integer("producer.metadata.max.age.ms", 300000, scope=PRODUCER),
    # --- consumers ---
    text("consumer.auto.offset.reset", "latest", words=("latest", "earliest", "none"), scope=CONSUMER),
    integer("consumer.fetch.max.wait.ms", 500, scope=CONSUMER),
    boolean("consumer.enable.auto.commit", True, scope=CONSUMER),
    integer("consumer.auto.commit.interval.ms", 5000, scope=CONSUMER),
    integer("consumer.default.api.timeout.ms", 60000, scope=CONSUMER, since="2.0.0"),
    integer("consumer.request.timeout.ms", (305000, ("2.0.0", 30000)), scope=CONSUMER),
    integer("consumer.metadata.max.age.ms", 300000, scope=CONSUMER),
)

REGISTRY: dict[str, Setting] = {setting.name: setting for setting in SETTINGS}

TOPIC_LEVEL = ("min.insync.replicas", "unclean.leader.election.enable", "segment.bytes", "max.message.bytes")
"""What `create-topic` may set for one topic."""


class UnusableSetting(ValueError):
    """An unknown setting or a value it cannot have. The message is one line and names both."""


class Settings(Mapping[str, Any]):
    """Every setting in force on one node, by Kafka's name. Settings that the version does not have are not
    in it."""

    def __init__(self, values: dict[str, Value]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def int(self, name: str) -> int:
        value = self._values[name]
        assert isinstance(value, int) and not isinstance(value, bool), f"{name} is not a number"
        return value

    def bool(self, name: str) -> bool:
        value = self._values[name]
        assert isinstance(value, bool), f"{name} is not true or false"
        return value

    def text(self, name: str) -> str:
        value = self._values[name]
        assert isinstance(value, str), f"{name} is not a text"
        return value


def resolve_settings(
    kafka_version: str, cluster: Mapping[str, object], broker: Mapping[str, object] | None = None
) -> Settings:
    """Defaults of the version, overridden by the cluster's settings, overridden by the broker's own.

    Raises UnusableSetting, UnknownVersion."""
    version = ladder_name(kafka_version)
    values: dict[str, Value] = {
        setting.name: setting.default_in(version) for setting in SETTINGS if setting.exists_in(version)
    }
    values["inter.broker.protocol.version"] = values["log.message.format.version"] = version
    given = {**cluster, **(broker or {})}
    values.update({name: usable(name, value, version) for name, value in given.items()})
    # A message format newer than what the brokers say to each other cannot be: it follows.
    if "inter.broker.protocol.version" in given and "log.message.format.version" not in given:
        values["log.message.format.version"] = values["inter.broker.protocol.version"]
    return Settings(values)


def usable(name: str, value: object, version: str | None = None) -> Value:
    """The value as the setting's own type ("true" is true). Without a version, whatever version has the
    setting.
    Raises UnusableSetting."""
    setting = REGISTRY.get(name)
    if setting is None:
        raise UnusableSetting(f"unknown setting {name!r}{nearest_setting(name)}")
    if version is not None and not setting.exists_in(version):
        raise UnusableSetting(f"{name} is not a setting of Kafka {version}: {setting.lifetime}")
    problem, usable_value = setting.read(value)
    if problem:
        raise UnusableSetting(f"{name}: {problem}")
    return usable_value


def nearest_setting(name: str, among: tuple[str, ...] = tuple(REGISTRY)) -> str:
    close = difflib.get_close_matches(name, among, n=1, cutoff=0.6)
    return f"; nearest: {close[0]}" if close else ""


def parse_assignment(text_given: str) -> tuple[str, Value]:
    """`replica.lag.time.max.ms=5000` -> name and value. Raises UnusableSetting."""
    name, equals, value = text_given.partition("=")
    if not equals:
        raise UnusableSetting(f"{text_given!r}: expected name=value")
    return name.strip(), usable(name.strip(), value.strip())


def documented() -> list[dict[str, Any]]:
    """Every setting for the documentation, in the registry's order."""
    return [msgspec.to_builtins(setting) for setting in SETTINGS]
