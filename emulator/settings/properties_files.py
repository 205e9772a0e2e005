"""Settings files of users: the scope of a file, before any version is known.

The scope is a prefix of the name (`producer:my.properties`, `broker-0:server-0.properties`), else follows from the
file's name (`server.properties`), else from its keys. Without a prefix `broker.id`, or `node.id`, selects the broker.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Final

import msgspec

from emulator.settings.properties import Entry, NotProperties, read_properties
from emulator.settings.setting import BROKER, CONSUMER, ENSEMBLE, PRODUCER, TOPIC
from emulator.settings.setting_registry import A_SETTING_OF, BY_SCOPE
from protocol.numbers import number_in

WORDS: Final = {"broker": BROKER, "topic": TOPIC, "producer": PRODUCER, "consumer": CONSUMER, "zookeeper": ENSEMBLE}
"""Prefixes of a file's name: the kind of its settings."""
NAMED: Final = {
    "server": BROKER,
    "broker": BROKER,
    "topic": TOPIC,
    "producer": PRODUCER,
    "consumer": CONSUMER,
    "zoo": ENSEMBLE,
    "zookeeper": ENSEMBLE,
}
"""Words of file names."""
_PREFIXED = re.compile(r"(?:(broker|topic|producer|consumer|zookeeper)|broker-(\d{1,9})):(.+)", re.DOTALL)
FILES_MAX: Final = 200


class UnusableFile(ValueError):
    """A file that cannot be used. Each line of the message names it, and where it can, the line."""


class Wanted(msgspec.Struct, frozen=True):
    """A word of `--settings`. `scope` "": to be derived; `broker`: the only one it applies to."""

    path: str
    scope: str = ""
    broker: int | None = None


class SettingsFile(msgspec.Struct, frozen=True):
    """A settings file.

    `name`: for messages. `broker`: None for all. `entries`: each name once, the last of its lines; `twice`: repeated
    names, with their ineffective lines.
    """

    name: str
    scope: str
    entries: tuple[Entry, ...]
    broker: int | None = None
    by_id: bool = False
    """The file applies to one broker because it has broker.id, or in KRaft node.id."""
    of_controllers: bool = False
    """The file applies to dedicated controllers alone: its process.roles is controller."""
    twice: tuple[tuple[str, tuple[int, ...]], ...] = ()


def wanted(word: str) -> Wanted:
    """`server.properties`, `producer:my.properties` or `broker-0:server-0.properties`."""
    match = _PREFIXED.fullmatch(word)
    if match is None:
        return Wanted(word)
    kind, broker, path = match.groups()
    return Wanted(path, WORDS[kind]) if kind else Wanted(path, BROKER, int(broker))


def nearest_word(word: str) -> str:
    """`; nearest: producer:my.properties` for a word with a misspelt prefix."""
    prefix, colon, path = word.partition(":")
    close = get_close_matches(prefix, (*WORDS, "broker-0"), n=1) if colon and path else []
    return f"; nearest: {close[0]}:{path}" if close and close[0] != prefix else ""


def settings_file(file: Wanted, name: str, data: bytes) -> SettingsFile:
    """A file's settings. `name`: the path for messages. Raises UnusableFile."""
    try:
        entries = read_properties(data)
    except NotProperties as error:
        raise UnusableFile(f"{name}:{' ' if not str(error)[0].isdigit() else ''}{error}") from error
    last = {entry.name: entry for entry in entries}
    times = Counter(entry.name for entry in entries)
    twice = tuple(
        (name, tuple(entry.line for entry in entries if entry.name == name and entry is not last[name]))
        for name, count in times.items()
        if count > 1
    )
    scope = file.scope or _scope_of(name, last)
    broker, by_id = file.broker, False
    of_controllers = scope == BROKER and not file.scope and roles_of(last) == {"controller"}
    own_id = last.get("broker.id") or last.get("node.id")
    if scope == BROKER and not file.scope and not of_controllers and own_id is not None:
        broker = _broker_id(name, own_id)
        by_id = broker is not None
    return SettingsFile(name, scope, tuple(last.values()), broker, by_id, of_controllers, twice)


def roles_of(entries: Mapping[str, Entry]) -> frozenset[str]:
    """Words of `process.roles`; none with ZooKeeper."""
    roles = entries["process.roles"].value if "process.roles" in entries else ""
    return frozenset(role.strip() for role in roles.split(",") if role.strip())


def _broker_id(name: str, entry: Entry) -> int | None:
    """The broker id of an entry; None: generated (-1), or a placeholder."""
    value = entry.value.strip()
    if value == "-1" or "${" in value:
        return None
    broker = number_in(value)
    if broker is None:
        raise UnusableFile(f"{name}:{entry.line}: {entry.name}: expected a whole number, got {entry.value!r}")
    return broker


def _scope_of(name: str, keys: Iterable[str]) -> str:
    stem = re.split(r"[\\/]", name)[-1].rpartition(".")[0].lower()
    by_name = {NAMED[word] for word in re.findall(r"[a-z]+", stem) if word in NAMED}
    if len(by_name) == 1:
        return by_name.pop()
    keys = list(keys)
    if not keys:
        raise UnusableFile(f"{name}: holds no setting")
    scores = {scope: sum(key in BY_SCOPE[scope] for key in keys) for scope in WORDS.values()}
    best = max(scores.values())
    if best == 0:
        spring = "; those of spring.kafka are Spring's names" if any(key.startswith("spring.") for key in keys) else ""
        raise UnusableFile(f"{name}: none of its {len(keys)} names is a setting of Kafka's{spring}")
    whose = [scope for scope, score in scores.items() if score == best]
    if len(whose) > 1:
        kinds = " or ".join(A_SETTING_OF[scope] for scope in whose)
        prefixed = " or ".join(f"{_word_of(scope)}:{name}" for scope in whose)
        raise UnusableFile(f"{name}: its settings may be {kinds}; give {prefixed}")
    return whose[0]


def _word_of(scope: str) -> str:
    return next(word for word, known in WORDS.items() if known == scope)
