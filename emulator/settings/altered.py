"""Changes of topics' and brokers' settings by admin clients, and Kafka's errors.

A setting that could affect records and is not modelled is refused, as by a cluster's own alter.config.policy; otherwise
the client would assume that it takes effect. Values that change nothing within a day are accepted. Throttles of a
reassignment are accepted without effect: kafka-reassign-partitions sets them, and removes them at its end. They slow
replicas down and decide nothing.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from emulator.settings.bearing import SET_HERE, Around
from emulator.settings.in_force import brokers_in_force, topics_in_force
from emulator.settings.setting import TOPIC, Setting, Value
from emulator.settings.setting_registry import BY_SCOPE, GROUP_OF, UnusableSetting, nearest_setting, usable_value
from emulator.settings.setting_rules import contradictions
from protocol.errors import ErrorCode

DAY_MS: Final = 86_400_000.0
THROTTLED_REPLICAS: Final = frozenset(
    {"leader.replication.throttled.replicas", "follower.replication.throttled.replicas"}
)
THROTTLES: Final = THROTTLED_REPLICAS | {"leader.replication.throttled.rate", "follower.replication.throttled.rate"}
_REPLICA: Final = re.compile(r"\*|\d{1,10}:\d{1,10}", re.ASCII)
"""ThrottledReplicaListValidator: the literal alone, or partition:broker."""
SET, DELETE, APPEND, SUBTRACT = range(4)
"""Kafka's AlterConfigOp; the last two are of lists."""
WORDS: Final = ("SET", "DELETE", "APPEND", "SUBTRACT")


class Change(msgspec.Struct, frozen=True):
    """A change of one setting. `value` None: only for DELETE."""

    name: str
    value: str | None
    operation: int = SET


class Unalterable(Exception):
    """It is left as it was. The message is for people."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


class Where(msgspec.Struct, frozen=True):
    """A topic or a broker. `scope`: TOPIC or BROKER; `every`: all brokers.

    `file`: the server.properties of the broker that handles the request. `names_null`: this version names the setting
    without a value (2.6+).
    """

    version: str
    scope: str
    file: Mapping[str, Value]
    every: bool = False
    names_null: bool = True


def changed(where: Where, now: Mapping[str, str], changes: Sequence[Change]) -> dict[str, str]:
    """Overrides after single changes of the overrides `now`. Raises Unalterable."""
    names = [change.name for change in changes]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise Unalterable(ErrorCode.INVALID_REQUEST, f"Error due to duplicate config keys : {','.join(twice)}")
    strange = [change.name for change in changes if not SET <= change.operation <= SUBTRACT]
    if strange:
        raise Unalterable(ErrorCode.INVALID_REQUEST, f"Unknown operation for : {','.join(strange)}")
    without = [change for change in changes if change.value is None and change.operation != DELETE]
    _refuse_null(where, [f"{WORDS[change.operation]}:{change.name}" for change in without])
    after = dict(now)
    for change in changes:
        if change.operation == SET:
            after[change.name] = change.value or ""
        elif change.operation == DELETE:
            after.pop(change.name, None)
        else:
            after[change.name] = ",".join(_list_after(where, after, change))
    return _checked(where, after, [change.name for change in changes if change.operation != DELETE])


def replaced(where: Where, values: Mapping[str, str | None]) -> dict[str, str]:
    """Overrides after a replacement of all of them. Raises Unalterable."""
    _refuse_null(where, [name for name, value in values.items() if value is None])
    return _checked(where, {name: value or "" for name, value in values.items()}, list(values))


def _refuse_null(where: Where, names: Sequence[str]) -> None:
    """Refuse null values; up to 2.5 they are an unhandled NullPointerException."""
    if names and where.names_null:
        raise Unalterable(ErrorCode.INVALID_REQUEST, f"Null value not supported for : {','.join(names)}")
    if names:
        raise Unalterable(ErrorCode.UNKNOWN_SERVER_ERROR, f"{','.join(names)}: null")


def _list_after(where: Where, now: Mapping[str, str], change: Change) -> list[str]:
    setting = _known(where, change.name)
    if setting.kind != "list":
        word = WORDS[change.operation].lower()
        why = f"Config value {word} is not allowed for config key: {change.name}"
        raise Unalterable(ErrorCode.INVALID_REQUEST, why)
    default = setting.default_in(where.version)
    there = now.get(change.name, "" if default is None else str(default)).split(",")
    named = (change.value or "").split(",")
    if change.operation == APPEND:
        return [*there, *named]
    for one in named:
        if one in there:
            there.remove(one)
    return there


# --- whether it may be so ---


def _checked(where: Where, after: dict[str, str], changed_names: Sequence[str]) -> dict[str, str]:
    """Validated overrides. `changed_names`: names of new values. Raises Unalterable."""
    values: dict[str, Value] = {}
    for name, text in after.items():
        setting = _known(where, name)
        try:
            values[name] = usable_value(setting, text, where.version)
        except UnusableSetting as error:
            raise Unalterable(ErrorCode.INVALID_REQUEST, f"Invalid config value for resource: {error}") from error
        if name in THROTTLED_REPLICAS and not _are_replicas(text):
            why = f"{name} must be the literal '*' or a list of replicas in the format [partitionId]:[brokerId]"
            raise Unalterable(ErrorCode.INVALID_REQUEST, f"Invalid config value for resource: {why}")
    if where.scope == TOPIC:
        in_force: Mapping[str, Any] = brokers_in_force(where.version, where.file)
        around = Around(version=where.version, broker=in_force, topic=topics_in_force(where.version, values, in_force))
        broken = contradictions(TOPIC, where.version, around.topic, values)
        if broken:
            raise Unalterable(ErrorCode.INVALID_CONFIG, broken[0].message)
    else:
        around = Around(version=where.version, broker=brokers_in_force(where.version, {**where.file, **values}))
    for name in changed_names:
        _check_bearing(_known(where, name), values[name], around)
    return after


def _are_replicas(text: str) -> bool:
    found = [one.strip() for one in text.split(",")] if text.strip() else []
    return all(_REPLICA.fullmatch(one) for one in found) and ("*" not in found or found == ["*"])


def _known(where: Where, name: str) -> Setting:
    known = BY_SCOPE[where.scope]
    setting = known.get(name)
    there = [one for one, about in known.items() if about.can_be_altered_in(where.version)]
    if where.scope == TOPIC:
        if setting is None or not setting.exists_in(where.version):
            near = nearest_setting(name, there)
            raise Unalterable(ErrorCode.INVALID_CONFIG, f"Unknown topic config name: {name}{near}")
        return setting
    if setting is None or not setting.exists_in(where.version):
        # Kafka takes it for a plug-in's, and keeps it; there are none here.
        near = nearest_setting(name, there)
        raise Unalterable(ErrorCode.INVALID_REQUEST, f"Unknown broker config name: {name}{near}")
    if not setting.can_be_altered_in(where.version):
        raise Unalterable(ErrorCode.INVALID_REQUEST, f"Cannot update these configs dynamically: Set({name})")
    if where.every and setting.update == "per-broker":
        why = "Cannot update these configs at default cluster level, broker id must be specified"
        raise Unalterable(ErrorCode.INVALID_REQUEST, f"{why}: Set({name})")
    return setting


def _check_bearing(setting: Setting, value: Value, around: Around) -> None:
    """Raises Unalterable."""
    if setting.name in THROTTLES:
        return
    group = GROUP_OF[setting.key]
    if group.standing == SET_HERE:
        raise Unalterable(ErrorCode.POLICY_VIOLATION, f"{setting.name} is set here: {group.why}")
    bears = group.bears.get(setting.name)
    if bears is None or value == setting.default_in(around.version):
        return
    from_ms = bears.from_ms(value, around)
    if from_ms is not None and from_ms < DAY_MS:
        why = f"{setting.name}={value} is not emulated: {group.why}"
        raise Unalterable(ErrorCode.POLICY_VIOLATION, why)
