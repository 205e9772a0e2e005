"""All settings of a run, in their order of precedence.

A version's default < the scenario's settings files < its `settings` < its `settings_by_version` < files of the command
line < `--set`. A value for one broker wins over one for all, but `--set` wins over every file. A setting that the
version does not have is dropped; from `--set` it is an error.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from emulator.faults.targets import shown
from emulator.scenario import scenario_model as m
from emulator.scenario.scenario_model import Scenario
from emulator.settings.account import Dropped
from emulator.settings.accounting import Everything
from emulator.settings.applied import Given, Layer, applied
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import BROKER, TOPIC, Setting, Value
from emulator.settings.setting_registry import BY_SCOPE, UnusableSetting, found, usable
from emulator.topology import Topology

Altered = dict[str, Given]
BY_SCENARIO, BY_COMMAND = "settings", "--set"


class AllGiven(msgspec.Struct, frozen=True):
    """All settings of a run, and those without effect.

    `ignored`: settings in files without effect. `dropped`: the same of a scenario. `topics`: configurations of
    `create-topic`, in the order of the steps, as far as the version knows them.
    """

    everything: Everything
    ignored: Layer
    dropped: tuple[Dropped, ...]


def given_for(
    scenario: Scenario,
    version: str,
    overrides: Mapping[str, Any],
    own_files: Sequence[SettingsFile],
    command_files: Sequence[SettingsFile],
) -> AllGiven:
    """Collect the settings. `own_files`: the scenario's. Raises UnusableSetting, UnusableFile."""
    azs = azs_of(scenario.topology)
    own, command = applied(own_files, version, azs), applied(command_files, version, azs)
    dropped: list[Dropped] = []
    by_scenario = known_of(scenario.settings, version, BY_SCENARIO, dropped)
    by_version = known_of(scenario.settings_by_version.get(version, {}), version, f"settings of {version}", dropped)
    by_set = {_key(name): Given(usable(name, value, version), BY_COMMAND) for name, value in overrides.items()}
    by_broker, kept = {}, []
    for broker in azs:
        where = f"settings of broker-{broker}"
        of_scenario = known_of(scenario.settings_by_broker.get(broker, {}), version, where, dropped)
        by_broker[broker] = (
            _but(own.by_broker.get(broker, {}), by_set) | of_scenario | _but(command.by_broker.get(broker, {}), by_set)
        )
        for key, one in of_scenario.items():
            other = (command.cluster | by_set).get(key, one)
            if by_broker[broker][key] is one and other.value != one.value:
                kept.append(f"broker-{broker} keeps {key}={one.value}, which the scenario sets for it alone")
    everything = Everything(
        version=version,
        cluster=own.cluster | by_scenario | by_version | command.cluster | by_set,
        by_broker={broker: values for broker, values in by_broker.items() if values},
        by_controller=_of_controllers(scenario, version, (own.controllers, command.controllers, by_set), dropped),
        topics=_topics(scenario.steps, version, dropped),
        brokers=tuple(azs),
        metadata=scenario.topology.metadata,
        altered=tuple(_altered(scenario.steps, version, dropped)),
    )
    ignored = Layer(
        dropped=own.dropped + command.dropped,
        set_here=own.set_here + command.set_here,
        passed_on=own.passed_on + command.passed_on,
        harmless=own.harmless + command.harmless,
        warnings=own.warnings + command.warnings + kept + _unused(scenario, (*own_files, *command_files)),
    )
    return AllGiven(everything, ignored, tuple(dropped))


def _of_controllers(
    scenario: Scenario, version: str, layers: Sequence[Mapping[str, Given]], dropped: list[Dropped]
) -> dict[str, dict[str, Given]]:
    """{dedicated controller: settings of controllers}

    `layers`: of the scenario's files, of the command line's, and of `--set`.
    """
    by_files, by_command, by_set = layers
    by_scenario = known_of(scenario.controller_settings, version, "controller_settings", dropped)
    own = _but({**by_files, **by_scenario, **by_command}, by_set)
    return {name: own for name in _dedicated(scenario.topology)} if own else {}


def _unused(scenario: Scenario, files: Iterable[SettingsFile]) -> list[str]:
    """Warnings about files of dedicated controllers in a cluster that has none."""
    if _dedicated(scenario.topology):
        return []
    why = "no effect; it is for dedicated controllers, and the cluster has none"
    return [f"{file.name}: {why}" for file in files if file.of_controllers]


def _dedicated(topology: Topology) -> tuple[str, ...]:
    return tuple(node.name for node in topology.with_role("controller") if "broker" not in node.roles)


def azs_of(topology: Topology) -> dict[int, str]:
    return {node.number: node.az for node in topology.with_role("broker")}


def known_of(values: Mapping[str, Any], version: str, where: str, dropped: list[Dropped]) -> dict[str, Given]:
    """Settings by name with its kind; unknown ones go to `dropped`. Raises UnusableSetting."""
    kept: dict[str, Given] = {}
    for name, value in values.items():
        setting = found(name)
        known = setting is None or setting.exists_in(version)
        read = _read(name, value, version if known else None, where)  # what no version takes is an error in each
        if setting is not None and not known:
            dropped.append(Dropped(setting.key, why_dropped(setting, version), where))
        else:
            kept[_key(name)] = Given(read, where)
    return kept


def why_dropped(setting: Setting, version: str) -> str:
    return f"not a setting of Kafka {version}: {setting.lifetime}"


def _key(name: str) -> str:
    setting = found(name)
    return name if setting is None else setting.key


def _but(given: Mapping[str, Given], by_set: Mapping[str, Given]) -> dict[str, Given]:
    """Settings without those that `--set` sets."""
    return {key: one for key, one in given.items() if key not in by_set}


def _topics(steps: Iterable[m.AnyStep], version: str, dropped: list[Dropped]) -> dict[str, dict[str, Given]]:
    """{topic: configuration of its step}."""
    found_topics: dict[str, dict[str, Given]] = {}
    for step in created(steps):
        own = found_topics.setdefault(step.topic, {})
        for name, value in step.configs.items():
            setting = BY_SCOPE[TOPIC][name]
            where = f"topic {step.topic}"
            if setting.exists_in(version):
                own[name] = Given(_read(setting.key, value, version, where), where)
            else:
                dropped.append(Dropped(setting.key, why_dropped(setting, version), where))
    return found_topics


def _altered(steps: Iterable[m.AnyStep], version: str, dropped: list[Dropped]) -> Iterator[tuple[str, Altered]]:
    """Changes of existing topics and brokers: (TOPIC or BROKER, {name: value and step})."""
    for step in m.plain_steps(steps):
        match step:
            case m.AlterTopic(topic=topic, configs=configs, remove=remove):
                yield TOPIC, _kept(TOPIC, configs, remove, f"alter-topic {topic}", version, dropped)
            case m.AlterBroker(broker=broker, configs=configs, remove=remove):
                whose = shown(broker) if isinstance(broker, str) else str(broker)
                where = "alter-broker" if broker is None else f"alter-broker {whose}"
                yield BROKER, _kept(BROKER, configs, remove, where, version, dropped)


def _kept(
    scope: str, configs: Mapping[str, Any], remove: Iterable[str], where: str, version: str, dropped: list[Dropped]
) -> Altered:
    kept: Altered = {}
    for name in (*configs, *remove):
        setting = BY_SCOPE[scope][name]
        if not setting.exists_in(version):
            dropped.append(Dropped(setting.key, why_dropped(setting, version), where))
        elif not setting.can_be_altered_in(version):
            why = f"a broker of Kafka {version} cannot change it at run time"
            dropped.append(Dropped(setting.key, why, where))
        elif name in configs:
            kept[name] = Given(_read(setting.key, configs[name], version, where), where)
    return kept


def _read(name: str, value: object, version: str | None, where: str) -> Value:
    """The value in a version, or in any. Raises UnusableSetting, which names the place."""
    try:
        return usable(name, value, version)
    except UnusableSetting as error:
        raise UnusableSetting(f"{where}: {error}") from error


def created(steps: Iterable[m.AnyStep]) -> Iterable[m.CreateTopic]:
    """Every topic's creation, at any depth."""
    return (step for step in m.plain_steps(steps) if isinstance(step, m.CreateTopic))
