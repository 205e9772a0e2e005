"""The cluster that advice is about, as one that runs told of itself: who is there, its version, settings in force.

    altered while it runs > given when it started;  a topic's own > its brokers'

Advice is about one topic: that of the name, or any, if all have the same replicas and settings. What it says itself is
taken for its brokers' own setting of that meaning, so that a change of either is one change.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec

from emulator.judging.advice.cluster import REPLICAS, Cluster
from emulator.judging.campaigns.space import UnusableSpace
from emulator.settings.registry import BY_SCOPE, UnusableSetting, nearest_setting, usable_value
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PREFIXES, PRODUCER, TOPIC, Value
from emulator.topology import Node, Topology, broker_name

EVERY: Final = ""
"""Whose settings are all brokers'."""
FACTOR: Final = "default.replication.factor"
OF_KAFKA: Final = "__"
"""Topics of Kafka's own begin so."""


class RunningNode(msgspec.Struct, frozen=True):
    az: str
    number: int
    roles: tuple[str, ...]


class RunningTopic(msgspec.Struct, frozen=True):
    """`replicas`: of each partition."""

    partitions: int
    replicas: tuple[int, ...]
    settings: dict[str, str] = {}


class ToCome(msgspec.Struct, frozen=True):
    topics: dict[str, Any] = {}
    producers: dict[str, Any] = {}
    consumers: dict[str, Any] = {}


class Running(msgspec.Struct, frozen=True):
    """As the cluster's control server tells it (`emulator.cluster.settings_in_force`)."""

    name: str
    kafka: str
    versions: dict[str, str]
    nodes: dict[str, RunningNode]
    session: dict[str, Any] = {}
    given: dict[str, dict[str, Any]] = {}
    altered: dict[str, dict[str, str]] = {}
    topics: dict[str, RunningTopic] = {}
    to_come: ToCome = ToCome()


class _Said(msgspec.Struct, frozen=True):
    """A value, and who said it."""

    value: Value
    where: str


def of_running(running: Running, topic: str | None = None) -> Cluster:
    """Raises UnusableSpace."""
    version = _version(running)
    topology = Topology(tuple(Node(name, one.roles, one.number, one.az) for name, one in running.nodes.items()))
    if not topology.with_role("client"):
        raise UnusableSpace(f"cluster {running.name}: no AZ has a client, so nobody would write or read")
    name, chosen = _topic(running, topic)
    place = f"cluster {running.name}"
    by_broker = {node.number: _of_broker(running, version, node.number) for node in topology.with_role("broker")}
    said, own = _alike(by_broker)
    if chosen is None:
        topic_says = _known(TOPIC, running.to_come.topics, version, f"{place}, for topics to come")
    else:
        topic_says = _known(TOPIC, chosen.settings, version, f"topic {name} of {place}")
        said[FACTOR] = _Said(min(chosen.replicas), f"topic {name} of {place}")
    for key, one in topic_says.items():
        follows = BY_SCOPE[TOPIC][key].follows
        said[follows if follows in BY_SCOPE[BROKER] else PREFIXES[TOPIC] + key] = one
        for values in own.values():
            values.pop(follows, None)
    said |= _known(ENSEMBLE, running.session, version, place)
    for scope, clients in ((PRODUCER, running.to_come.producers), (CONSUMER, running.to_come.consumers)):
        found = _known(scope, clients, version, f"{place}, for {scope}s to come")
        said |= {PREFIXES[scope] + key: one for key, one in found.items()}
    return Cluster(
        topology=topology,
        version=version,
        settings={key: one.value for key, one in said.items()},
        by_broker={broker: {key: one.value for key, one in values.items()} for broker, values in own.items() if values},
        sources={key: one.where for key, one in said.items()}
        | {f"{broker_name(broker)}: {key}": one.where for broker, values in own.items() for key, one in values.items()},
        of=place if chosen is None else f"{place}, topic {name}",
        holding=min(REPLICAS, len(by_broker)),
    )


def _version(running: Running) -> str:
    """Raises UnusableSpace."""
    by_version: dict[str, list[str]] = {}
    for node, version in running.versions.items():
        by_version.setdefault(version, []).append(node)
    if len(by_version) > 1:
        told = "; ".join(f"{version}: {', '.join(nodes)}" for version, nodes in by_version.items())
        raise UnusableSpace(f"cluster {running.name} is of several versions ({told}), and advice is about one")
    return next(iter(by_version), running.kafka)


def _topic(running: Running, asked: str | None) -> tuple[str, RunningTopic | None]:
    """None: there is none yet. Raises UnusableSpace."""
    if asked is not None:
        if asked in running.topics:
            return asked, running.topics[asked]
        there = nearest_setting(asked, running.topics) or f"; there is {', '.join(running.topics) or 'none'}"
        raise UnusableSpace(f"--topic {asked}: cluster {running.name} has no such topic{there}")
    topics = {name: one for name, one in running.topics.items() if not name.startswith(OF_KAFKA)}
    if not topics:
        return "", None
    first = next(iter(topics))
    other = next((name for name, one in topics.items() if _asked(one) != _asked(topics[first])), None)
    if other is not None:
        raise UnusableSpace(
            f"topics of cluster {running.name} differ ({first}: {_words(topics[first])}; {other}: "
            f"{_words(topics[other])}): say which with --topic NAME"
        )
    return first, topics[first]


def _asked(topic: RunningTopic) -> tuple[int, dict[str, str]]:
    return min(topic.replicas), topic.settings


def _words(topic: RunningTopic) -> str:
    return " ".join([f"{min(topic.replicas)} replicas", *(f"{name}={text}" for name, text in topic.settings.items())])


def _of_broker(running: Running, version: str, broker: int) -> dict[str, _Said]:
    place = f"cluster {running.name}"
    found = _known(BROKER, running.given.get(broker_name(broker), {}), version, place)
    for whose in (EVERY, str(broker)):
        found |= _known(BROKER, running.altered.get(whose, {}), version, f"{place}, altered since")
    return found


def _alike(by_broker: Mapping[int, dict[str, _Said]]) -> tuple[dict[str, _Said], dict[int, dict[str, _Said]]]:
    """What all brokers say alike, and what each says for itself."""
    first, *others = by_broker.values()
    alike = {
        key: one for key, one in first.items() if all(key in own and own[key].value == one.value for own in others)
    }
    return alike, {
        broker: {key: one for key, one in own.items() if key not in alike} for broker, own in by_broker.items()
    }


def _known(scope: str, values: Mapping[str, Any], version: str, where: str) -> dict[str, _Said]:
    return dict(_usable(scope, values, version, where))


def _usable(scope: str, values: Mapping[str, Any], version: str, where: str) -> Iterator[tuple[str, _Said]]:
    """Whoever writes into the session service can write anything; brokers leave what they do not know alone. Raises
    UnusableSpace for a value that is none."""
    for name, value in values.items():
        setting = BY_SCOPE[scope].get(name)
        if setting is None or not setting.exists_in(version):
            continue
        try:
            yield name, _Said(usable_value(setting, value, version), where)
        except UnusableSetting as error:
            raise UnusableSpace(f"{where}: {error}") from error
