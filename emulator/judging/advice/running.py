"""The cluster under test, read from a running one: topology, version, settings in force.

    altered at run time > set at the start;  a topic's setting > its brokers'

Advice is about one topic: the named one, or any if all have the same replicas and settings. A topic's own setting
counts as its brokers' setting of the same meaning, so that a change of either is one change.
"""

from collections.abc import Iterator, Mapping
from operator import attrgetter
from typing import Any, Final

import msgspec

from emulator.judging.advice.advice_cluster import REPLICAS, Cluster, common_settings
from emulator.judging.campaigns.space import UnusableSpace
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PREFIXES, PRODUCER, TOPIC, Value
from emulator.settings.setting_registry import BY_SCOPE, UnusableSetting, nearest_setting, usable_value
from emulator.topology import KRAFT, ZOOKEEPER, Node, Topology, broker_name

EVERY: Final = ""
"""Key of settings of all brokers."""
FACTOR: Final = "default.replication.factor"
OF_KAFKA: Final = "__"
"""Prefix of Kafka's internal topics."""


class RunningNode(msgspec.Struct, frozen=True):
    az: str
    number: int
    roles: tuple[str, ...]


class RunningTopic(msgspec.Struct, frozen=True):
    """A topic of the cluster. `replicas`: count for each partition."""

    partitions: int
    replicas: tuple[int, ...]
    settings: dict[str, str] = {}


class ToCome(msgspec.Struct, frozen=True):
    topics: dict[str, Any] = {}
    producers: dict[str, Any] = {}
    consumers: dict[str, Any] = {}


class Running(msgspec.Struct, frozen=True):
    """State that the cluster's control server reports (`emulator.cluster.settings_in_force`)."""

    name: str
    kafka: str
    versions: dict[str, str]
    nodes: dict[str, RunningNode]
    session: dict[str, Any] = {}
    given: dict[str, dict[str, Any]] = {}
    altered: dict[str, dict[str, str]] = {}
    topics: dict[str, RunningTopic] = {}
    to_come: ToCome = ToCome()


class _Sourced(msgspec.Struct, frozen=True):
    """A value and its source."""

    value: Value
    where: str


def of_running(running: Running, topic: str | None = None) -> Cluster:
    """The cluster of a running one, and a topic's settings. Raises UnusableSpace."""
    version = _version(running)
    nodes = tuple(Node(name, one.roles, one.number, one.az) for name, one in running.nodes.items())
    topology = Topology(nodes, ZOOKEEPER if any("session" in node.roles for node in nodes) else KRAFT)
    if not topology.with_role("client"):
        raise UnusableSpace(f"cluster {running.name}: no AZ has a client to write and read; add a client")
    name, chosen = _topic(running, topic)
    place = f"cluster {running.name}"
    by_broker = {node.number: _of_broker(running, version, node.number) for node in topology.with_role("broker")}
    values_found, own = common_settings(by_broker, attrgetter("value"))
    if chosen is None:
        topic_says = _known(TOPIC, running.to_come.topics, version, f"{place}, for topics to come")
    else:
        topic_says = _known(TOPIC, chosen.settings, version, f"topic {name} of {place}")
        values_found[FACTOR] = _Sourced(min(chosen.replicas), f"topic {name} of {place}")
    for key, one in topic_says.items():
        follows = BY_SCOPE[TOPIC][key].follows
        values_found[follows if follows in BY_SCOPE[BROKER] else PREFIXES[TOPIC] + key] = one
        for values in own.values():
            values.pop(follows, None)
    values_found |= _known(ENSEMBLE, running.session, version, place)
    for scope, clients in ((PRODUCER, running.to_come.producers), (CONSUMER, running.to_come.consumers)):
        found = _known(scope, clients, version, f"{place}, for {scope}s to come")
        values_found |= {PREFIXES[scope] + key: one for key, one in found.items()}
    return Cluster(
        topology=topology,
        version=version,
        settings={key: one.value for key, one in values_found.items()},
        by_broker={broker: {key: one.value for key, one in values.items()} for broker, values in own.items() if values},
        sources={key: one.where for key, one in values_found.items()}
        | {f"{broker_name(broker)}: {key}": one.where for broker, values in own.items() for key, one in values.items()},
        of=place if chosen is None else f"{place}, topic {name}",
        holding=min(REPLICAS, len(by_broker)),
    )


def _version(running: Running) -> str:
    """The version of all nodes. Raises UnusableSpace."""
    by_version: dict[str, list[str]] = {}
    for node, version in running.versions.items():
        by_version.setdefault(version, []).append(node)
    if len(by_version) > 1:
        nodes_of = "; ".join(f"{version}: {', '.join(nodes)}" for version, nodes in by_version.items())
        raise UnusableSpace(f"cluster {running.name} has several versions ({nodes_of}); advice needs one")
    return next(iter(by_version), running.kafka)


def _topic(running: Running, wanted: str | None) -> tuple[str, RunningTopic | None]:
    """(name, topic); None: there is no topic yet. Raises UnusableSpace."""
    if wanted is not None:
        if wanted in running.topics:
            return wanted, running.topics[wanted]
        there = nearest_setting(wanted, running.topics) or f"; there is {', '.join(running.topics) or 'none'}"
        raise UnusableSpace(f"--topic {wanted}: cluster {running.name} has no such topic{there}")
    topics = {name: one for name, one in running.topics.items() if not name.startswith(OF_KAFKA)}
    if not topics:
        return "", None
    first = next(iter(topics))
    other = next((name for name, one in topics.items() if _shape(one) != _shape(topics[first])), None)
    if other is not None:
        raise UnusableSpace(
            f"topics of cluster {running.name} differ ({first}: {_words(topics[first])}; {other}: "
            f"{_words(topics[other])}): choose one with --topic NAME"
        )
    return first, topics[first]


def _shape(topic: RunningTopic) -> tuple[int, dict[str, str]]:
    return min(topic.replicas), topic.settings


def _words(topic: RunningTopic) -> str:
    return " ".join([f"{min(topic.replicas)} replicas", *(f"{name}={text}" for name, text in topic.settings.items())])


def _of_broker(running: Running, version: str, broker: int) -> dict[str, _Sourced]:
    place = f"cluster {running.name}"
    found = _known(BROKER, running.given.get(broker_name(broker), {}), version, place)
    for whose in (EVERY, str(broker)):
        found |= _known(BROKER, running.altered.get(whose, {}), version, f"{place}, altered since")
    return found


def _known(scope: str, values: Mapping[str, Any], version: str, where: str) -> dict[str, _Sourced]:
    return dict(_usable(scope, values, version, where))


def _usable(scope: str, values: Mapping[str, Any], version: str, where: str) -> Iterator[tuple[str, _Sourced]]:
    """Values that exist in the version; unknown names are ignored, as brokers do.

    Raises UnusableSpace for an invalid value.
    """
    for name, value in values.items():
        setting = BY_SCOPE[scope].get(name)
        if setting is None or not setting.exists_in(version):
            continue
        try:
            yield name, _Sourced(usable_value(setting, value, version), where)
        except UnusableSetting as error:
            raise UnusableSpace(f"{where}: {error}") from error
