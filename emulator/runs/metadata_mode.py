"""The form of a scenario in a metadata mode: its own, its twin, or a rewritten one.

The catalogue has twins: `az-isolated-leader` is played with ZooKeeper, `kraft-az-isolated-leader` in KRaft mode. A
scenario without a twin is rewritten from ZooKeeper to KRaft mode: three controllers of their own stand in the place of
the session servers. Its expectations are about ZooKeeper mode, so the audit alone judges such a run.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec

from emulator.scenario import scenario_model as m
from emulator.scenario.document import ScenarioErrors
from emulator.scenario.load import load_scenario
from emulator.scenario.write import written
from emulator.settings.listeners import ROLES
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import ENSEMBLE
from emulator.settings.setting_registry import found
from emulator.topology import (
    KRAFT,
    KRAFT_CONTROLLERS,
    ZOOKEEPER,
    Node,
    NoSuchMode,
    Topology,
    default_metadata,
    metadata_of,
)
from protocol.versions import KRAFT_LADDER, has_kraft_mode, has_zookeeper_mode, ladder_name

ZOOKEEPER_CONNECT: Final = "zookeeper.connect"
KRAFT_PREFIX: Final = "kraft-"
"""Prefix of a scenario's id in KRaft mode."""


def requested_mode(own: str, kafka_version: str | None, metadata: str, listed: Iterable[str] = ()) -> str:
    """Mode of a run.

    `own`: the scenario's; `metadata`: the requested one, "" none; `listed`: the scenario's versions. Without a
    request the scenario's own mode for a version that it lists, else the version's default. Raises UnknownVersion.
    """
    if kafka_version is None or metadata:
        return metadata or own
    name = ladder_name(kafka_version)
    if own == KRAFT:
        return KRAFT if has_kraft_mode(name) else ZOOKEEPER
    return own if name in map(ladder_name, listed) and has_zookeeper_mode(name) else default_metadata(name)


def mode_of_files(files: Iterable[SettingsFile], kafka_version: str | None) -> str:
    """Mode of a cluster with these files; "": any mode.

    KRAFT if a file has `process.roles`, ZOOKEEPER if one has `zookeeper.connect`, each where the version has that mode.
    Raises UnknownVersion.
    """
    names = {entry.name for file in files for entry in file.entries}
    if ROLES in names:
        return KRAFT if kafka_version is None or has_kraft_mode(kafka_version) else ""
    with_zookeeper = kafka_version is not None and has_zookeeper_mode(kafka_version)
    return ZOOKEEPER if ZOOKEEPER_CONNECT in names and with_zookeeper else ""


def twin_of(given: str, mode: str) -> str:
    """Name of the same scenario in that mode, whether the catalogue has it or not."""
    plain = given.removeprefix(KRAFT_PREFIX)
    return f"{KRAFT_PREFIX}{plain}" if mode == KRAFT else plain


def in_mode(
    given: str,
    scenario: m.Scenario,
    kafka_version: str | None,
    metadata: str,
    find: Callable[[str], m.Scenario | None],
) -> tuple[m.Scenario, str]:
    """The scenario in the requested mode, and a note about it ("": it is played as it is).

    `find`: a scenario of the catalogue, or None. Raises UnknownVersion, NoSuchMode.
    """
    own = scenario.topology.metadata
    mode = requested_mode(own, kafka_version, metadata, scenario.kafka)
    if mode == own:
        return scenario, ""
    words = {KRAFT: "KRaft", ZOOKEEPER: "ZooKeeper"}
    twin = find(twin_of(given, mode))
    if twin is not None and twin.topology.metadata == mode:
        version = kafka_version or twin.default_version
        metadata_of(version, mode)
        return twin, f"{twin.id} is played: the form of {scenario.id} in {words[mode]} mode"
    if mode == ZOOKEEPER:
        raise NoSuchMode(
            f"{scenario.id}: has no form in ZooKeeper mode; take a version from {KRAFT_LADDER[0]} on"
        )
    version = kafka_version or next((v for v in reversed(scenario.kafka) if v in KRAFT_LADDER), KRAFT_LADDER[-1])
    metadata_of(version, KRAFT)
    note = f"{scenario.id} is played in KRaft mode; it expects what ZooKeeper mode does, so the audit alone judges"
    try:
        return rewritten(scenario, ladder_name(version)), note
    except NoSuchMode:
        if metadata or not has_zookeeper_mode(version):
            raise
        return scenario, ""


def rewritten(scenario: m.Scenario, version: str) -> m.Scenario:
    """A scenario of ZooKeeper mode in KRaft mode, without expectations. Raises NoSuchMode."""
    changed = msgspec.structs.replace(
        scenario,
        kafka=(version,),
        topology=kraft_topology(scenario.topology),
        settings=_existing(scenario.settings, version),
        settings_by_broker={
            broker: kept for broker, own in scenario.settings_by_broker.items() if (kept := _existing(own, version))
        },
        settings_by_version={},
        expectations=(),
        expects_violations=(),
        expects_exits=(),
        races=(),
    )
    try:
        load_scenario(written(changed), scenario.id)
    except ScenarioErrors as error:
        reasons = "; ".join(line.partition(": ")[2] for line in str(error).splitlines()[:3])
        raise NoSuchMode(f"{scenario.id}: cannot be played in KRaft mode: {reasons}") from error
    return changed


def _existing(settings: Mapping[str, Any], version: str) -> dict[str, Any]:
    """Settings that the version has, without those of ZooKeeper's servers."""
    kept = {}
    for name, value in settings.items():
        setting = found(name)
        if setting is None or (setting.exists_in(version) and setting.scope != ENSEMBLE):
            kept[name] = value
    return kept


def kraft_topology(topology: Topology) -> Topology:
    """The same brokers and clients, with controllers instead of session servers."""
    kept = [node for node in topology.nodes if not {"broker", "controller", "session"} & set(node.roles)]
    brokers = [msgspec.structs.replace(node, roles=("broker",)) for node in topology.with_role("broker")]
    dedicated = [node for node in topology.with_role("controller") if "broker" not in node.roles]
    azs = topology.azs
    controllers = dedicated or [
        Node(f"controller-{i}", ("controller",), i, azs[i % len(azs)]) for i in range(KRAFT_CONTROLLERS)
    ]
    return Topology((*brokers, *controllers, *kept), KRAFT)
