"""All given settings together: contradictions, settings not modelled or without bearing."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from emulator.settings.account import Account, Dropped, NotModelled, SetHere
from emulator.settings.applied import Given, Layer, values_of
from emulator.settings.bearing import MODELLED, NOT_MODELLED, SET_HERE, WITHOUT_BEARING, Around
from emulator.settings.client_rules import broken_of_consumer, broken_of_producer, broken_of_scala_consumer
from emulator.settings.in_force import brokers_in_force, topics_in_force
from emulator.settings.java_names import is_scala, java_consumer, java_producer
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC, Setting
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF, REGISTRY, UnusableSetting
from emulator.settings.setting_rules import Contradiction, contradictions
from emulator.settings.tables.kraft import ACTING, TITLE
from emulator.topology import ZOOKEEPER


class Everything(msgspec.Struct, frozen=True, kw_only=True):
    """All given settings.

    `cluster`, `by_broker`, `by_controller` (of dedicated ones): by name with its kind. `topics`: {topic: its own
    settings, by Kafka's name}, without those for every topic. `brokers`: all of them. `clients`: (PRODUCER or CONSUMER,
    settings in a step). `altered`: (TOPIC or BROKER, settings that a step alters). `metadata`: ZOOKEEPER or KRAFT.
    """

    version: str
    cluster: Mapping[str, Given]
    by_broker: Mapping[int, Mapping[str, Given]] = {}
    by_controller: Mapping[str, Mapping[str, Given]] = {}
    topics: Mapping[str, Mapping[str, Given]] = {}
    brokers: tuple[int, ...] = ()
    clients: tuple[tuple[str, Mapping[str, Given]], ...] = ()
    altered: tuple[tuple[str, Mapping[str, Given]], ...] = ()
    metadata: str = ZOOKEEPER

    def acts(self, name: str) -> bool:
        """Whether a setting of that name, with its kind, acts in this mode or may act."""
        group = GROUP_OF[name]
        if group.title == ACTING and self.metadata == ZOOKEEPER:
            return False
        return group.standing in (MODELLED, NOT_MODELLED)

    def of(self, scope: str) -> dict[str, Given]:
        """By Kafka's own names."""
        given = {REGISTRY[key]: one for key, one in self.cluster.items()}
        return {setting.name: one for setting, one in given.items() if setting.scope == scope}

    def of_broker(self, broker: int) -> dict[str, Given]:
        return self.of(BROKER) | dict(self.by_broker.get(broker, {}))


def check(everything: Everything) -> None:
    """Apply Kafka's rules at startup.

    Raises UnusableSetting, one line for each broken rule.
    """
    broken = list(dict.fromkeys(_broken(everything)))
    if broken:
        raise UnusableSetting("\n".join(broken))


def _broken(it: Everything) -> Iterator[str]:
    for broker in it.brokers or (-1,):
        given = it.of_broker(broker)
        values = brokers_in_force(it.version, values_of(given))
        yield from _located(contradictions(BROKER, it.version, values, given, it.metadata), given)
        if broker == (it.brokers or (-1,))[0]:
            for own in (it.of(TOPIC), *(it.of(TOPIC) | dict(own) for own in it.topics.values())):
                in_force = topics_in_force(it.version, values_of(own), values)
                yield from _located(contradictions(TOPIC, it.version, in_force, own), own)
    given = it.of(ENSEMBLE)
    in_force = {name: setting.default_in(it.version) for name, setting in BY_SCOPE[ENSEMBLE].items()}
    yield from _located(contradictions(ENSEMBLE, it.version, in_force | values_of(given), given), given)
    for scope, client in ((PRODUCER, {}), (CONSUMER, {}), *it.clients):
        given = it.of(scope) | dict(client)
        if given:
            yield from _located(_broken_of_client(it.version, scope, given), given)


def _broken_of_client(version: str, scope: str, given: Mapping[str, Given]) -> list[Contradiction]:
    if is_scala(scope, given):
        problems = broken_of_scala_consumer(version, values_of(given)) if scope == CONSUMER else ()
        return [Contradiction(names, message) for names, message in problems]
    raw = values_of(given)
    java = java_producer(raw) if scope == PRODUCER else java_consumer(raw)
    in_force = {name: setting.default_in(version) for name, setting in BY_SCOPE[scope].items()} | java
    if scope == PRODUCER:
        problems = broken_of_producer(version, in_force, java)
    else:
        problems = broken_of_consumer(version, in_force, raw)
    found = [Contradiction(names, message) for names, message in problems]
    return [one for one in found if set(one.names) & set(given)]


def _located(found: Iterable[Contradiction], given: Mapping[str, Given]) -> Iterator[str]:
    for one in found:
        places = list(dict.fromkeys(given[name].where for name in one.names if name in given and given[name].where))
        if places:
            yield f"{' and '.join(places)}: {one.message}"
        else:
            yield one.message


# --- notes ---


def account(everything: Everything, layer: Layer, dropped: Iterable[Dropped] = ()) -> Account:
    """All notes. `layer`: notes on files; `dropped`: dropped settings of a scenario."""
    found = list(dict.fromkeys(_judged(everything)))
    not_modelled = [one for one in found if isinstance(one, NotModelled)]
    set_here = [*layer.set_here, *(one for one in found if isinstance(one, SetHere))]
    harmless = {one for one in found if isinstance(one, str)}
    named = [name for name in harmless.union(layer.harmless) if name in GROUP_OF]
    with_zookeeper = everything.metadata == ZOOKEEPER
    kraft = sorted(name for name in named if with_zookeeper and GROUP_OF[name].title in (TITLE, ACTING))
    of_kraft = f"{', '.join(kraft)}: of KRaft mode; not used with ZooKeeper"
    return Account(
        not_modelled=tuple(sorted(not_modelled, key=lambda one: (one.name, one.where))),
        without_bearing=tuple(sorted(harmless.union(layer.harmless) - {one.name for one in not_modelled})),
        set_here=tuple(dict.fromkeys(set_here)),
        dropped=tuple(dict.fromkeys((*layer.dropped, *dropped))),
        passed_on=tuple(dict.fromkeys(layer.passed_on)),
        warnings=tuple(dict.fromkeys((*layer.warnings, *([of_kraft] if kraft else ())))),
    )


def account_of_altered(
    version: str, scope: str, values: Mapping[str, Any], where: str, brokers: Mapping[str, Any]
) -> Account:
    """Notes on altered settings. `brokers`: settings of the cluster's brokers."""
    known = {name: Given(value, "") for name, value in brokers.items() if name in BY_SCOPE[BROKER]}
    altered = {name: Given(value, where) for name, value in values.items()}
    found = account(Everything(version=version, cluster=known, brokers=(0,), altered=((scope, altered),)), Layer())
    keys = {BY_SCOPE[scope][name].key for name in values}
    return Account(
        not_modelled=tuple(one for one in found.not_modelled if one.where == where),
        without_bearing=tuple(name for name in found.without_bearing if name in keys),
    )


def _judged(it: Everything) -> Iterator[NotModelled | SetHere | str]:
    """Given settings that are not modelled or set elsewhere, and names of those without effect."""
    brokers = {broker: brokers_in_force(it.version, values_of(it.of_broker(broker))) for broker in it.brokers}
    anywhere = brokers_in_force(it.version, values_of(it.of(BROKER)))

    def around(values: Mapping[str, Any], topic: Mapping[str, Any]) -> Around:
        return Around(version=it.version, broker=values, topic=topic)

    topics = values_of(it.of(TOPIC))
    for key, given in it.cluster.items():
        setting = REGISTRY[key]
        yield from _one(setting, given, around(anywhere, topics if setting.scope == TOPIC else {}))
        if GROUP_OF[key].title == ACTING and not it.acts(key):
            yield key
    for broker, own in it.by_broker.items():
        for key, given in own.items():
            yield from _one(REGISTRY[key], given, around(brokers.get(broker, anywhere), {}))
    for own in it.by_controller.values():
        for key, given in own.items():
            yield from _one(REGISTRY[key], given, around(anywhere, {}))
    for scope, client in it.clients:
        for name, given in client.items():
            if name in BY_SCOPE[scope]:
                yield from _one(BY_SCOPE[scope][name], given, around(anywhere, {}))
    for topics_own in it.topics.values():
        for name, given in topics_own.items():
            yield from _one(BY_SCOPE[TOPIC][name], given, around(anywhere, topics | values_of(topics_own)))
    for scope, altered in it.altered:
        values = values_of(altered)
        then = around(anywhere | values, topics) if scope == BROKER else around(anywhere, topics | values)
        for name, given in altered.items():
            yield from _one(BY_SCOPE[scope][name], given, then)


def _one(setting: Setting, given: Given, around: Around) -> Iterator[NotModelled | SetHere | str]:
    group = GROUP_OF[setting.key]
    if group.standing == SET_HERE and not given.noted:
        yield SetHere(setting.key, group.why, given.where)
    if group.standing == WITHOUT_BEARING:
        yield setting.key
    bears = group.bears.get(setting.name)
    if bears is None:
        return
    from_ms = None
    if given.value != setting.default_in(around.version):
        from_ms = bears.from_ms(given.value, around)
    if from_ms is None:
        if group.standing == NOT_MODELLED:
            yield setting.key
    else:
        yield NotModelled(setting.key, given.value, group.checks, group.why, from_ms, given.where)
