"""Settings in force on a node: the version's defaults, overridden by given values."""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

from emulator.settings.bearing import MODELLED
from emulator.settings.setting import BROKER, TOPIC, Value
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF, found, usable
from emulator.settings.tables.kraft import ACTING
from emulator.topology import ZOOKEEPER
from protocol.versions import ladder_name, since

PROTOCOL, FORMAT = "inter.broker.protocol.version", "log.message.format.version"


class Settings(Mapping[str, Any]):
    """By Kafka's name. Settings that the version does not have are not in it."""

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
    kafka_version: str,
    cluster: Mapping[str, object],
    broker: Mapping[str, object] | None = None,
    metadata: str = ZOOKEEPER,
) -> Settings:
    """Modelled and given settings of a broker or controller.

    Defaults of the version, overridden by the cluster's settings, overridden by the broker's own. Settings of other
    kinds (`producer.acks`) are omitted. `metadata`: the cluster's mode.

    Raises UnusableSetting, UnknownVersion.
    """
    version = ladder_name(kafka_version)
    given = {name: value for name, value in {**cluster, **(broker or {})}.items() if _is_a_brokers(name)}
    read = {name: usable(name, value, version) for name, value in given.items()}
    everything = brokers_in_force(version, read)
    return Settings({name: value for name, value in everything.items() if name in read or _acts(name, metadata)})


def brokers_in_force(version: str, given: Mapping[str, Value]) -> dict[str, Any]:
    """Every setting of a broker of that version; None: not set. `given`: usable values."""
    values, follow = _defaults(version)
    values = values | dict(given)
    values |= {name: values[followed] for name, followed in follow if name not in given}
    # The message format cannot be newer than inter.broker.protocol.version: it follows.
    if PROTOCOL in given and FORMAT not in given and FORMAT in values:
        values[FORMAT] = values[PROTOCOL]
    return values


def topics_in_force(version: str, given: Mapping[str, Value], broker: Mapping[str, Any]) -> dict[str, Any]:
    """Every setting of a topic with overrides `given`, on a broker with `broker` in force."""
    values: dict[str, Any] = {}
    for name, setting in BY_SCOPE[TOPIC].items():
        if setting.exists_in(version):
            values[name] = given.get(name, broker.get(setting.follows, setting.default_in(version)))
    return values


@lru_cache(maxsize=64)
def _defaults(version: str) -> tuple[dict[str, Any], tuple[tuple[str, str], ...]]:
    """Of a broker; and (setting, the one that it follows)."""
    own = {name: setting for name, setting in BY_SCOPE[BROKER].items() if setting.exists_in(version)}
    values: dict[str, Any] = {name: setting.default_in(version) for name, setting in own.items()}
    values |= {name: version for name in (PROTOCOL, FORMAT) if name in values or not since(version, "4.0")}
    return values, tuple((name, setting.follows) for name, setting in own.items() if setting.follows)


def _is_a_brokers(name: str) -> bool:
    """Whether it is a broker's setting, or unknown, so that validation reports it."""
    setting = found(name)
    return setting is None or setting.scope == BROKER


def _acts(name: str, metadata: str) -> bool:
    if GROUP_OF[name].title == ACTING and metadata == ZOOKEEPER:
        return False
    return name == FORMAT or GROUP_OF[name].standing == MODELLED
