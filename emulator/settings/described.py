"""DescribeConfigs: each setting's value in force, its source, and its synonyms.

    a topic's own > this broker's override > all brokers' override > the broker's file > the default

As in Kafka's AdminManager: settings that follow another one have no default of their own (`log.retention.ms` by
default), so their topics' names have no synonyms there. Times that can be set in hours are synonyms of each other.
Settings unknown to a version are omitted.
"""

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Any, Final

import msgspec

from emulator.settings.in_force import FORMAT, PROTOCOL, brokers_in_force
from emulator.settings.setting import BROKER, TOPIC, Setting, Value
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF
from protocol.versions import PROTOCOL_VERSIONS, protocol_release


class Source(IntEnum):
    """Kafka's ConfigSource."""

    TOPIC = 1
    BROKER = 2
    EVERY_BROKER = 3
    FILE = 4
    DEFAULT = 5


class Synonym(msgspec.Struct, frozen=True):
    """`value` None: it is secret."""

    name: str
    value: str | None
    source: Source


class Described(msgspec.Struct, frozen=True):
    """`value` None: it is not set, or secret. `synonyms`: the first is in force."""

    setting: Setting
    value: str | None
    source: Source
    read_only: bool
    synonyms: tuple[Synonym, ...] = ()

    @property
    def sensitive(self) -> bool:
        return self.setting.kind == "password"

    @property
    def kind(self) -> int:
        """Kafka's number of it (KIP-569)."""
        return KINDS.index(self.setting.kind)

    @property
    def documentation(self) -> str:
        """The setting's meaning here, in a sentence."""
        group = GROUP_OF[self.setting.key]
        return f"{group.title}: {group.standing}" + (f", {group.why}" if group.why else "")


class BrokersSettings(msgspec.Struct, frozen=True):
    """Settings of one broker.

    `own`, `every`: dynamic overrides, by Kafka's names; `file`: its server.properties. `synonyms`: it reports them
    (KIP-226, from 1.1). `altered_by_synonym`: a setting with an alterable synonym is not read-only (up to 2.5).
    """

    version: str
    synonyms: bool
    altered_by_synonym: bool
    file: Mapping[str, Value]
    own: Mapping[str, str] = {}
    every: Mapping[str, str] = {}


KINDS: Final = ("", "bool", "text", "int", "short", "long", "double", "list", "class", "password")
MS_PER: Final = {"minutes": 60_000, "hours": 3_600_000}
SAME_TIMES: Final[tuple[tuple[str, ...], ...]] = (
    ("log.roll.ms", "log.roll.hours"),
    ("log.roll.jitter.ms", "log.roll.jitter.hours"),
    ("log.retention.ms", "log.retention.minutes", "log.retention.hours"),
)
"""The first that is set counts (KafkaConfig)."""
SAME: Final[dict[str, tuple[str, ...]]] = {name: names for names in SAME_TIMES for name in names} | {
    "log.flush.interval.ms": ("log.flush.interval.ms", "log.flush.scheduler.interval.ms")
}
"""DynamicBrokerConfig.brokerConfigSynonyms."""


def describe_broker(broker: BrokersSettings) -> Iterator[Described]:
    """Every setting that its version has, by name."""
    for name, setting in sorted(BY_SCOPE[BROKER].items()):
        if not setting.exists_in(broker.version) or (setting.only_update and not _given(broker, name)):
            continue
        synonyms = _synonyms(broker, name)
        source = synonyms[0].source if synonyms else Source.DEFAULT
        names = SAME.get(name, (name,)) if broker.altered_by_synonym else (name,)
        read_only = not any(BY_SCOPE[BROKER][one].can_be_altered_in(broker.version) for one in names)
        yield Described(setting, _shown(setting, _value(broker, name)), source, read_only, synonyms)


def describe_every_broker(broker: BrokersSettings) -> Iterator[Described]:
    """Dynamic overrides of all brokers."""
    for name in sorted(broker.every):
        setting = BY_SCOPE[BROKER].get(name)
        if setting is not None:
            value = _shown(setting, broker.every[name])
            synonyms = (Synonym(name, value, Source.EVERY_BROKER),)
            yield Described(setting, value, Source.EVERY_BROKER, False, synonyms)


def describe_topic(broker: BrokersSettings, own: Mapping[str, str]) -> Iterator[Described]:
    """Every setting of a topic with `own`, on a broker that goes by `broker`."""
    for name, setting in sorted(BY_SCOPE[TOPIC].items()):
        if not setting.exists_in(broker.version):
            continue
        synonyms = _synonyms(broker, setting.follows) if setting.follows and broker.synonyms else ()
        if name in own:
            value = _shown(setting, own[name])
            synonyms = (Synonym(name, value, Source.TOPIC), *synonyms)
        else:
            value = _shown(setting, _followed(broker, setting))
        yield Described(setting, value, synonyms[0].source if synonyms else Source.DEFAULT, False, synonyms)


# --- synonyms and values ---


def _layers(broker: BrokersSettings) -> Iterator[tuple[Source, Mapping[str, Any]]]:
    """The first that has a setting is right."""
    yield Source.BROKER, broker.own
    yield Source.EVERY_BROKER, broker.every
    yield Source.FILE, broker.file


def _given(broker: BrokersSettings, name: str) -> bool:
    return any(name in values for _, values in _layers(broker))


def _synonyms(broker: BrokersSettings, name: str) -> tuple[Synonym, ...]:
    """AdminManager.configSynonyms: synonyms before the setting's own name do not count."""
    names = [one for one in SAME.get(name, (name,)) if one in BY_SCOPE[BROKER]]
    found: list[Synonym] = []
    for source, values in _layers(broker):
        found += [Synonym(one, _shown(BY_SCOPE[BROKER][one], values[one]), source) for one in names if one in values]
    for one in names:
        default = _default(broker, one)
        if default is not None:
            found.append(Synonym(one, _shown(BY_SCOPE[BROKER][one], default), Source.DEFAULT))
    while found and found[0].name != name:
        found.pop(0)
    return tuple(found)


def _value(broker: BrokersSettings, name: str) -> Any:
    given = (values[name] for _, values in _layers(broker) if name in values)
    return next(given, _default(broker, name))


def _default(broker: BrokersSettings, name: str) -> Any:
    """None: Kafka has none, though another setting's value may count."""
    setting = BY_SCOPE[BROKER][name]
    if setting.follows or not setting.exists_in(broker.version):
        return None
    if name in (PROTOCOL, FORMAT):
        return _release(str(brokers_in_force(broker.version, broker.file)[name]))
    default = setting.default_in(broker.version)
    unset = default == "" and setting.kind in ("text", "class", "password")
    return None if unset else default


def _release(version: str) -> str:
    """With its last internal version, as Kafka's ApiVersion is shown: `2.6-IV0`."""
    release = protocol_release(version)
    internal = PROTOCOL_VERSIONS[release]
    return f"{release}-{internal}" if internal else release


def _followed(broker: BrokersSettings, setting: Setting) -> Any:
    """Value of a topic without an override."""
    if not setting.follows:
        return setting.default_in(broker.version)
    for name in SAME.get(setting.follows, (setting.follows,)):
        value = _value(broker, name) if BY_SCOPE[BROKER][name].exists_in(broker.version) else None
        if value is not None:
            unit = name.rpartition(".")[2]
            return int(value) * MS_PER[unit] if unit in MS_PER else value
    return setting.default_in(broker.version)


def _shown(setting: Setting, value: Any) -> str | None:
    """As Kafka writes it (ConfigDef.convertToString)."""
    if value is None or setting.kind == "password":
        return None
    if isinstance(value, bool):
        return str(value).lower()
    return str(value)
