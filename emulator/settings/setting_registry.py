"""All settings by name: definition, validation, and the nearest name to an unknown one.

Where settings of several kinds meet (a scenario's `settings`, `--set`) those of producers, consumers and topics have a
prefix: `producer.acks`, `topic.retention.ms`. A name that only topics have needs no prefix.
"""

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from emulator.settings.bearing import Group
from emulator.settings.setting import (
    BROKER,
    CONSUMER,
    ENSEMBLE,
    PREFIXES,
    PRODUCER,
    TOPIC,
    Setting,
    Value,
    shown_version,
)
from emulator.settings.tables import GROUPS
from protocol.versions import UnknownVersion, ladder_name, message_format_magic, protocol_version

SETTINGS: Final[tuple[Setting, ...]] = tuple(setting for group in GROUPS for setting in group.settings)
REGISTRY: Final[dict[str, Setting]] = {setting.key: setting for setting in SETTINGS}
"""{name with its kind: setting}"""
GROUP_OF: Final[dict[str, Group]] = {setting.key: group for group in GROUPS for setting in group.settings}

SCOPES: Final = (BROKER, TOPIC, PRODUCER, CONSUMER, ENSEMBLE)
A_SETTING_OF: Final = {
    BROKER: "a broker's",
    TOPIC: "a topic's",
    PRODUCER: "a producer's",
    CONSUMER: "a consumer's",
    ENSEMBLE: "the session service's",
}
BY_SCOPE: Final[dict[str, dict[str, Setting]]] = {
    scope: {setting.name: setting for setting in SETTINGS if setting.scope == scope} for scope in SCOPES
}
"""{scope: {Kafka's name: setting}}"""

PASSED_ON: Final = re.compile(r"listener\.name\.[^.]+\.(?:.+\.)?([^.]+(?:\.[^.]+)*)|config\.providers\..+")
"""Settings of a listener, and parameters of configuration providers."""
SERVERS: Final = re.compile(r"(?:server|group|weight)\.\d+")
"""The servers of zoo.cfg."""
EDITS_MAX: Final = 2
"""A name so many letters away from a known one is a slip; more, in long names."""


class UnusableSetting(ValueError):
    """An unknown setting or a value it cannot have. The message is one line and names both."""


def found(name: str) -> Setting | None:
    """By its name with its kind, or without where only topics have it."""
    return REGISTRY.get(name) or REGISTRY.get(PREFIXES[TOPIC] + name)


def usable(name: str, value: object, version: str | None = None) -> Value:
    """The value as the setting's own type ("true" is true). Raises UnusableSetting.

    Without a version, any version that has the setting.
    """
    setting = found(name)
    if setting is None:
        raise UnusableSetting(f"unknown setting {name!r}{nearest_setting(name)}")
    return usable_value(setting, value, version)


def usable_value(setting: Setting, value: object, version: str | None = None) -> Value:
    """Raises UnusableSetting."""
    if version is not None and not setting.exists_in(version):
        raise UnusableSetting(f"{setting.key} is not a setting of Kafka {ladder_name(version)}: {setting.lifetime}")
    problem, read = setting.read(value, version)
    if problem:
        raise UnusableSetting(f"{setting.key}: {problem}")
    try:
        if setting.key == "inter.broker.protocol.version":
            return protocol_version(str(read))
        if setting.name.endswith("message.format.version"):
            message_format_magic(str(read))
    except UnknownVersion as error:
        raise UnusableSetting(f"{setting.key}: {error}") from error
    return read


def alterable(scope: str, name: str, value: object, version: str) -> Value:
    """The value, if it can be altered in a running cluster. Raises UnusableSetting.

    Of a broker by KIP-226; a topic's always. `scope`: TOPIC or BROKER; `name`: Kafka's own.
    """
    assert scope in (TOPIC, BROKER), scope
    setting = BY_SCOPE[scope].get(name)
    if setting is None:
        near = nearest_setting(name, BY_SCOPE[scope])
        raise UnusableSetting(f"{name!r} is not {A_SETTING_OF[scope]} setting{near}")
    read = usable_value(setting, value, version)
    if not setting.can_be_altered_in(version):
        known = f"since {shown_version(setting.update_since)}" if setting.update else "in no version"
        raise UnusableSetting(f"{name} cannot be altered while a broker of {ladder_name(version)} runs: {known}")
    return read


def of_topic(name: str, value: object, version: str | None = None) -> Value:
    """As `usable`, for a topic's own configuration. Raises UnusableSetting."""
    setting = BY_SCOPE[TOPIC].get(name)
    if setting is None:
        raise UnusableSetting(f"{name} is not a setting of a topic{nearest_setting(name, BY_SCOPE[TOPIC])}")
    return usable_value(setting, value, version)


def parse_assignment(text_given: str) -> tuple[str, Value]:
    """`replica.lag.time.max.ms=5000` -> name with its kind, and value. Raises UnusableSetting."""
    name, equals, value = text_given.partition("=")
    if not equals:
        raise UnusableSetting(f"{text_given!r}: expected name=value")
    read = usable(name.strip(), value.strip())
    setting = found(name.strip())
    assert setting is not None
    return setting.key, read


# --- unknown names ---


def nearest_setting(name: str, among: Iterable[str] | None = None) -> str:
    """`; nearest: NAME`, or the client's scope where clients have the name; "" otherwise."""
    if among is not None:
        return _nearest(name, among)
    whose = [A_SETTING_OF[scope] for scope in (PRODUCER, CONSUMER) if name in BY_SCOPE[scope]]
    if whose:
        keys = [PREFIXES[scope] + name for scope in (PRODUCER, CONSUMER) if name in BY_SCOPE[scope]]
        return f": it is {' and '.join(whose)}; write {' or '.join(keys)}"
    return _nearest(name, REGISTRY) or _nearest(name, (*BY_SCOPE[PRODUCER], *BY_SCOPE[CONSUMER]))


def _nearest(name: str, among: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, list(among), n=1, cutoff=0.6)
    return f"; nearest: {close[0]}" if close else ""


def slip_of(name: str, among: Iterable[str]) -> str:
    """The known name that `name` probably misspells; "" otherwise.

    It has other capitals or separators, the same words in another order, one of them missing, or a few letters changed.
    So `log.retention.hour`, but not `confluent.metrics.enable`.
    """
    words, among = sorted(_words(name)), list(among)
    for known in among:
        if sorted(_words(known)) == words:
            return known
    for known in among:
        lacks = Counter(_words(known)) - Counter(words)
        if len(words) > 1 and lacks.total() == 1 and len(_words(known)) == len(words) + 1:
            return known
    for known in difflib.get_close_matches(name.lower(), among, n=3, cutoff=0.75):
        if _edits(name.lower(), known.lower()) <= max(EDITS_MAX, len(known) // 10):
            return known
    return ""


def _words(name: str) -> list[str]:
    """`minInsyncReplicas`, `MIN_INSYNC_REPLICAS` and `min.insync-replicas` are the same."""
    apart = re.sub(r"(?<=[a-z])(?=[A-Z])", ".", name)
    return re.split(r"[._\-\s]+", apart.lower())


def _edits(left: str, right: str) -> int:
    matcher = difflib.SequenceMatcher(None, left, right, autojunk=False)
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in matcher.get_opcodes() if tag != "equal")


def bearing_of(key: str) -> Mapping[str, str]:
    """For people: {"standing", "why", "checks", "bears"} of a setting."""
    group = GROUP_OF[key]
    bears = group.bears.get(REGISTRY[key].name)
    return {
        "standing": group.standing,
        "why": group.why,
        "checks": ", ".join(group.checks),
        "bears": bears.words if bears else "",
    }
