"""Compose files on disk: the shipped ones, by name, and reading one."""

import os
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Final

from emulator.packaged import COMPOSE
from emulator.regular_files import open_regular, other_than_regular, reason
from emulator.scenario.document import MAX_TEXT_BYTES
from emulator.topology import KRAFT, NoSuchMode, default_metadata, metadata_of
from emulator.worlds.cluster_file.cluster_model import ClusterFile
from emulator.worlds.cluster_file.compose_parsing import cluster_of
from protocol.versions import KRAFT_LADDER, has_zookeeper_mode

KRAFT_PREFIX: Final = "kraft-"
COMBINED_SUFFIX: Final = "-combined"
"""Parts of the names of topologies in KRaft mode, around the name of the one with ZooKeeper."""


class NoClusterFile(ValueError):
    """No file of that name, or no readable text; the message has the nearest."""


def topologies() -> dict[str, Path]:
    """{name: file}, sorted: `three-az` and so on."""
    return {path.stem: path for path in sorted(COMPOSE.glob("*.yml"))}


def named_topology(given: str) -> Path:
    """A shipped topology by its name, or any compose file by its path. Raises NoClusterFile."""
    path = topologies().get(given, Path(given))
    if what := other_than_regular(path):
        raise NoClusterFile(f"{given}: {what}; a topology is a compose file")
    if not path.is_file():
        known = list(topologies())
        close = get_close_matches(given, known, n=1)
        nearest = f"; nearest: {close[0]}" if close else f"; there are: {', '.join(known)}"
        raise NoClusterFile(f"no topology or file {given!r}{nearest}")
    return path


def topology_in_mode(given: str, version: str | None, metadata: str, controllers: str) -> str:
    """Name of the topology in the metadata mode of that version; `given` itself if it is a file.

    `metadata`, `controllers`: the requested ones, "" none. Raises UnknownVersion, NoSuchMode, NoClusterFile.
    """
    known = topologies()
    if given not in known:
        if controllers:
            raise NoClusterFile(f"--controllers {controllers}: the file {given} has its own controllers; leave it out")
        return given
    own = read_cluster_file(known[given])
    in_kraft = own.topology.metadata == KRAFT
    mode = metadata or (KRAFT if in_kraft or controllers else default_metadata(version or own.kafka_version))
    metadata_of(version or (own.kafka_version if (mode == KRAFT) == in_kraft else KRAFT_LADDER[-1]), mode)
    if mode != KRAFT:
        if controllers:
            raise NoSuchMode(f"--controllers {controllers}: of KRaft alone; give --metadata kraft, or leave it out")
        return given.removeprefix(KRAFT_PREFIX).removesuffix(COMBINED_SUFFIX)
    plain = given.removeprefix(KRAFT_PREFIX).removesuffix(COMBINED_SUFFIX)
    combined = controllers == "combined" if controllers else given.endswith(COMBINED_SUFFIX)
    name = f"{KRAFT_PREFIX}{plain}{COMBINED_SUFFIX if combined else ''}"
    if name not in known and not metadata and has_zookeeper_mode(version or own.kafka_version):
        return given
    if name not in known:
        raise NoClusterFile(f"topology {given}: has no form in KRaft mode; there are: {', '.join(_in_kraft(known))}")
    return name


def _in_kraft(known: Mapping[str, Path]) -> list[str]:
    return [name for name in known if name.startswith(KRAFT_PREFIX)]


def read_cluster_file(path: Path, environment: Mapping[str, str] | None = None) -> ClusterFile:
    """Read a file. `environment`: values of its variables, by default the process's own.

    Raises NoClusterFile, ClusterFileErrors.
    """
    try:
        with open_regular(path, follow=True) as file:
            text = file.read(MAX_TEXT_BYTES + 1).decode("utf-8")
    except OSError as error:
        raise NoClusterFile(f"{path}: cannot be read: {reason(error)}") from error
    except UnicodeDecodeError as error:
        raise NoClusterFile(f"{path}: not UTF-8 text: {error}") from error
    return cluster_of(text, path, os.environ if environment is None else environment)
