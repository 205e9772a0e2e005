"""Kafka's rules at startup for combinations of settings.

A rule checks values in force and names given settings. Each is one `require` or exception of Kafka's
(KafkaConfig.validateValues, LogConfig, LogManager; QuorumPeerConfig of ZooKeeper), in the versions that have it.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from emulator.settings.listeners import (
    INTER_BROKER,
    LISTENER_NAMES,
    PROTOCOLS,
    SECURITY,
    broken_listeners,
    inter_broker_protocol,
)
from emulator.settings.setting import BROKER, ENSEMBLE, TOPIC
from emulator.topology import ZOOKEEPER
from protocol.versions import PROTOCOL_VERSIONS, message_format_magic, protocol_release, since

Values = Mapping[str, Any]
"""Settings in force, by Kafka's names; None: not set."""
Broken = Callable[[Values], str]
"""The rule in words; "": it is kept."""


class Contradiction(msgspec.Struct, frozen=True):
    """`names`: the settings it is about, by Kafka's own names."""

    names: tuple[str, ...]
    message: str


class Rule(msgspec.Struct, frozen=True):
    """`first`, `last`: versions that have it. `metadata`: the mode that has it, "" both."""

    names: tuple[str, ...]
    broken: Broken
    first: str = ""
    last: str = ""
    metadata: str = ""

    def holds_in(self, version: str, metadata: str) -> bool:
        if self.metadata not in ("", metadata):
            return False
        return (not self.first or since(version, self.first)) and (not self.last or since(self.last, version))


def contradictions(
    scope: str, version: str, values: Values, given: Iterable[str], metadata: str = ZOOKEEPER
) -> list[Contradiction]:
    """Broken rules of a broker, a topic or the session service.

    `given`: explicitly set names; contradictions among defaults are ignored.
    """
    given_names = set(given)
    found = []
    for rule in RULES[scope]:
        if rule.holds_in(version, metadata) and given_names & set(rule.names):
            message = rule.broken(values)
            if message:
                found.append(Contradiction(tuple(name for name in rule.names if name in given_names), message))
    if scope == BROKER and given_names & set(LISTENER_NAMES):
        for names, message in broken_listeners(version, values, given_names, metadata):
            found.append(Contradiction(tuple(name for name in names if name in given_names), message))
    return found


def _at_most(name: str, other: str) -> Broken:
    def broken(values: Values) -> str:
        left, right = values[name], values[other]
        return f"{name}={left} must not be more than {other}={right}" if left > right else ""

    return broken


# --- brokers ---


def _broker_id(values: Values) -> str:
    if not values["broker.id.generation.enable"]:
        return "broker.id must be 0 or more without broker.id.generation.enable" if values["broker.id"] < 0 else ""
    most = values["reserved.broker.max.id"]
    return (
        f"broker.id={values['broker.id']} is above reserved.broker.max.id={most}" if values["broker.id"] > most else ""
    )


def _retention(values: Values) -> str:
    named = {name: values[name] for name in RETENTION if values[name] is not None}
    return "" if all(value == -1 or value >= 1 for value in named.values()) else "log.retention is -1 or 1 and more"


def _dedupe(values: Values) -> str:
    threads, size = values["log.cleaner.threads"], values["log.cleaner.dedupe.buffer.size"]
    if threads == 0:
        return "log.cleaner.threads=0: a broker divides by it and does not start"
    short = f"log.cleaner.dedupe.buffer.size={size} is not above 1 MiB for each of {threads} cleaner threads"
    return "" if size // threads > 1024**2 else short


def _commit_acks(values: Values) -> str:
    acks, replicas = int(values["offsets.commit.required.acks"]), values["offsets.topic.replication.factor"]
    return (
        f"offsets.commit.required.acks={acks} is above offsets.topic.replication.factor={replicas}"
        if acks > replicas
        else ""
    )


def _format_by_version(values: Values) -> str:
    order = list(PROTOCOL_VERSIONS)
    spoken, written = (protocol_release(values[name]) for name in PROTOCOL_AND_FORMAT)
    return _FORMAT.format(*_both(values)) if order.index(written) > order.index(spoken) else ""


def _format_by_records(values: Values) -> str:
    spoken, written = (message_format_magic(values[name]) for name in PROTOCOL_AND_FORMAT)
    return _FORMAT.format(*_both(values)) if written > spoken else ""


def _both(values: Values) -> tuple[str, str]:
    return values[PROTOCOL_AND_FORMAT[1]], values[PROTOCOL_AND_FORMAT[0]]


def _queued_bytes(values: Values) -> str:
    queued, most = values["queued.max.request.bytes"], values["socket.request.max.bytes"]
    return f"queued.max.request.bytes={queued} is below socket.request.max.bytes={most}" if 0 < queued < most else ""


def _no_connections(values: Values) -> str:
    none = values["max.connections.per.ip"] == 0 and not values["max.connections.per.ip.overrides"]
    return "max.connections.per.ip=0 needs max.connections.per.ip.overrides" if none else ""


def _failed_authentication(values: Values) -> str:
    delay, idle = values["connection.failed.authentication.delay.ms"], values["connections.max.idle.ms"]
    problem = f"connection.failed.authentication.delay.ms={delay} is not less than connections.max.idle.ms={idle}"
    return problem if 0 <= idle <= delay else ""


def _sasl(values: Values) -> str:
    if not inter_broker_protocol(values).startswith("SASL_"):
        return ""
    mechanism, enabled = str(values[MECHANISM]), [part.strip() for part in str(values[ENABLED]).split(",")]
    order = list(PROTOCOL_VERSIONS)
    spoken = protocol_release(values.get(PROTOCOL_AND_FORMAT[0]) or order[-1])
    if mechanism != "GSSAPI" and order.index(spoken) < order.index("0.10.0"):
        return f"{MECHANISM}={mechanism} needs inter.broker.protocol.version 0.10.0 or later, not {spoken}"
    return "" if mechanism in enabled else f"{MECHANISM}={mechanism} is not among {ENABLED} ({', '.join(enabled)})"


def _zstd_offsets(values: Values) -> str:
    spoken = values[PROTOCOL_AND_FORMAT[0]]
    problem = f"offsets.topic.compression.codec={ZSTD} needs inter.broker.protocol.version 0.11 or later, not {spoken}"
    old = message_format_magic(spoken) < message_format_magic("2.1")
    return problem if values["offsets.topic.compression.codec"] == ZSTD and old else ""


def _connection_overrides(values: Values) -> str:
    """Utils.validHostPattern of each `host:count`."""
    for part in filter(None, (one.strip() for one in str(values[OVERRIDES] or "").split(","))):
        host, colon, count = part.rpartition(":")
        if not colon or not re.fullmatch(r"[0-9a-zA-Z\-%._:]*", host.strip()) or not count.strip().isdecimal():
            return f"{OVERRIDES}: {part!r} is no address with a number, such as 10.0.0.1:20"
    return ""


def _without_zookeeper(values: Values) -> str:
    advice = "give --metadata kraft, or `metadata: kraft` in the scenario, or remove the setting"
    return f"process.roles: this cluster is not in KRaft mode; {advice}" if values["process.roles"] else ""


def _controller_listeners(values: Values) -> str:
    without = not values["process.roles"] and not values.get("zookeeper.metadata.migration.enable")
    problem = "controller.listener.names: must be empty when not running in KRaft mode"
    return problem if without and values["controller.listener.names"] else ""


PROTOCOL_AND_FORMAT = ("inter.broker.protocol.version", "log.message.format.version")
_FORMAT = "log.message.format.version={} cannot be used with inter.broker.protocol.version={}"
RETENTION = ("log.retention.ms", "log.retention.minutes", "log.retention.hours")
_WAIT = "replica.fetch.wait.max.ms"
MECHANISM, ENABLED = "sasl.mechanism.inter.broker.protocol", "sasl.enabled.mechanisms"
SASL_NAMES = (MECHANISM, ENABLED, SECURITY, INTER_BROKER, PROTOCOLS, PROTOCOL_AND_FORMAT[0])
OVERRIDES = "max.connections.per.ip.overrides"
ZSTD = 4

BROKERS = (
    Rule(("broker.id", "broker.id.generation.enable", "reserved.broker.max.id"), _broker_id, "0.9", "3.9"),
    Rule(RETENTION, _retention, "0.9"),
    Rule(("log.cleaner.dedupe.buffer.size", "log.cleaner.threads"), _dedupe),
    Rule((_WAIT, "replica.socket.timeout.ms"), _at_most(_WAIT, "replica.socket.timeout.ms"), "0.9"),
    Rule((_WAIT, "replica.lag.time.max.ms"), _at_most(_WAIT, "replica.lag.time.max.ms")),
    Rule(
        ("replica.fetch.max.bytes", "message.max.bytes"),
        _at_most("message.max.bytes", "replica.fetch.max.bytes"),
        last="0.10.0",
    ),
    Rule(("offsets.commit.required.acks", "offsets.topic.replication.factor"), _commit_acks, last="3.9"),
    Rule(PROTOCOL_AND_FORMAT, _format_by_version, "0.10.0", "0.11"),
    Rule(PROTOCOL_AND_FORMAT, _format_by_records, "1.0", "3.9"),
    Rule(("queued.max.request.bytes", "socket.request.max.bytes"), _queued_bytes, "1.0"),
    Rule(("max.connections.per.ip", "max.connections.per.ip.overrides"), _no_connections, "2.0.0"),
    Rule(("connection.failed.authentication.delay.ms", "connections.max.idle.ms"), _failed_authentication, "2.1"),
    Rule(SASL_NAMES, _sasl, "0.10.0"),
    Rule((OVERRIDES,), _connection_overrides, "2.1"),
    Rule(("offsets.topic.compression.codec", PROTOCOL_AND_FORMAT[0]), _zstd_offsets, "2.2", "3.9"),
    Rule(("process.roles",), _without_zookeeper, "2.8", metadata=ZOOKEEPER),
    Rule(("controller.listener.names",), _controller_listeners, "3.0", metadata=ZOOKEEPER),
)


# --- topics, the session service ---

TOPICS = (
    Rule(
        ("min.compaction.lag.ms", "max.compaction.lag.ms"),
        _at_most("min.compaction.lag.ms", "max.compaction.lag.ms"),
        "2.3",
    ),
)


def _session_limits(values: Values) -> str:
    tick = values["tickTime"]
    least, most = values["minSessionTimeout"], values["maxSessionTimeout"]
    least, most = (2 * tick if least == -1 else least), (20 * tick if most == -1 else most)
    problem = f"minSessionTimeout ({least}) is larger than maxSessionTimeout ({most}; 20 ticks where it is not set)"
    return problem if least > most else ""


ENSEMBLES = (Rule(("tickTime", "minSessionTimeout", "maxSessionTimeout"), _session_limits),)

RULES: dict[str, tuple[Rule, ...]] = {BROKER: BROKERS, TOPIC: TOPICS, ENSEMBLE: ENSEMBLES}
