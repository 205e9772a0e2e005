"""Content of a compose file of a cluster."""

from pathlib import Path

import msgspec

from emulator.settings.setting import Value
from emulator.topology import Topology


class ClusterFile(msgspec.Struct, frozen=True):
    """A cluster's compose file. `name`: the file's, without its suffix.

    `speed`: factor of the clock.

    `settings`: {broker or controller node: {setting: value}}, only those that are set, whether the version has them or
    not; `session`: the same of the session service.
    """

    path: Path
    name: str
    topology: Topology
    kafka_version: str
    settings: dict[str, dict[str, Value]]
    session: dict[str, Value] = {}
    speed: float = 1.0
