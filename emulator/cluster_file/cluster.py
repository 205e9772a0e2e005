"""What a compose file says of a cluster, and the same complete, as worlds take it."""

from pathlib import Path

import msgspec

from emulator.node.specs import RunSpec
from emulator.scenario.setting import Value
from emulator.scenario.settings import resolve_settings
from emulator.topology import Topology


class ClusterFile(msgspec.Struct, frozen=True):
    """`name`: the file's, without its suffix. `settings`: {broker or controller node: {setting: value}}, only those
    that are given. `speed`: factor of the clock."""

    path: Path
    name: str
    topology: Topology
    kafka_version: str
    settings: dict[str, dict[str, Value]]
    tick_time_ms: int = 1000
    init_limit: int = 10
    sync_limit: int = 4
    speed: float = 1.0


def run_spec(cluster_file: ClusterFile) -> RunSpec:
    """Every setting in force on every node: what is not given has the version's default."""
    version = cluster_file.kafka_version
    return RunSpec(
        cluster_file.topology,
        version,
        {node: dict(resolve_settings(version, given)) for node, given in cluster_file.settings.items()},
        cluster_file.tick_time_ms,
        cluster_file.init_limit,
        cluster_file.sync_limit,
    )
