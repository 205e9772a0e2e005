"""All settings of a live cluster: its compose file's, below settings files, below `--set`."""

from collections.abc import Mapping, Sequence
from typing import Any

from emulator.runs.run_settings import BY_COMMAND, AllGiven, azs_of, known_of
from emulator.settings.account import Dropped
from emulator.settings.accounting import Everything
from emulator.settings.applied import Given, applied
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting_registry import found, usable
from emulator.worlds.cluster_file.cluster_model import ClusterFile


def given_for_cluster(
    compose: ClusterFile, version: str, overrides: Mapping[str, Any], files: Sequence[SettingsFile]
) -> AllGiven:
    """Files and overrides win on every node over the compose file.

    Raises UnusableSetting, UnusableFile.
    """
    layer = applied(files, version, azs_of(compose.topology))
    by_set: dict[str, Given] = {}
    for name, value in overrides.items():
        setting = found(name)
        by_set[setting.key if setting is not None else name] = Given(usable(name, value, version), BY_COMMAND)
    above = layer.cluster | by_set
    dropped: list[Dropped] = []
    own = {node: known_of(values, version, node, dropped) for node, values in compose.settings.items()}
    own = {node: {key: one for key, one in values.items() if key not in above} for node, values in own.items()}
    numbers = {node.name: node.number for node in compose.topology.with_role("broker")}
    by_broker = {
        number: own.get(name, {}) | {k: one for k, one in layer.by_broker.get(number, {}).items() if k not in by_set}
        for name, number in numbers.items()
    }
    session = known_of(compose.session, version, compose.path.name, dropped)
    everything = Everything(
        version=version,
        cluster=session | above,
        by_broker={number: values for number, values in by_broker.items() if values},
        by_controller={node: values for node, values in own.items() if node not in numbers and values},
        brokers=tuple(numbers.values()),
        metadata=compose.topology.metadata,
    )
    return AllGiven(everything, layer, tuple(dropped))
