"""Files that `up` writes for the supervisor: RUN_DIR/live.json, and those of every run.

A long-running cluster has no scenario, so its directory has no scenario.yaml: its checks are expected to hold. Its
timers may be late, but no process may stand still (`emulator.judging.standstills`).
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final, TypedDict

import msgspec

from emulator.cluster.settings_sources import given_for_cluster
from emulator.machines.node.specs import RunSpec
from emulator.regular_files import read_regular
from emulator.run_layout import SETTINGS_FILE
from emulator.runs.client_defaults import OF_OLD_CONSUMERS, client_settings_of
from emulator.runs.deployment_options import DeploymentOptions, Driver, Engine
from emulator.runs.directory import processes_of, settings_file_fields, write_json
from emulator.runs.resolve import Resolved
from emulator.runs.resolve import resolved as resolved_run
from emulator.scenario.scenario_model import Scenario
from emulator.settings.accounting import check
from emulator.settings.properties_files import SettingsFile
from emulator.settings.setting import CONSUMER, PREFIXES, PRODUCER, TOPIC
from emulator.settings.setting_registry import REGISTRY
from emulator.topology import metadata_of
from emulator.worlds.cluster_file.cluster_model import ClusterFile
from emulator.worlds.network.kafka_listener.apis import FIRST_WITH_LISTENER
from protocol.undecodable import UNDECODABLE
from protocol.versions import ladder_name, since

LIVE_FILE: Final = "live.json"
DEFAULT_TOPOLOGY: Final = "three-az"


class UnusableSpecification(ValueError):
    """A live.json that is none."""


class LiveSpec(msgspec.Struct, frozen=True):
    """Specification of a live cluster for its supervisor.

    `levels`: of the events that are written. `compose_file`: its path, source of the containers. `topics`, `producers`,
    `consumers`: default settings of future ones. `kafka`: brokers listen for Kafka clients, too. `control_port`: the
    control server's, on loopback; 0: a free one. `page`: it serves the live page, `story`: with these steps.
    """

    name: str
    run: RunSpec
    record_magic: int
    speed: float = 1.0
    seed: int = 1
    levels: tuple[str, ...] = ("client", "replica")
    engine: Engine = "process"
    driver: Driver = "nodes"
    compose_file: str = ""
    topics: dict[str, Any] = {}
    producers: dict[str, Any] = {}
    consumers: dict[str, Any] = {}
    kafka: bool = False
    control_port: int = 0
    page: bool = False
    story: list[dict[str, Any]] = []

    @property
    def living(self) -> DeploymentOptions:
        """Engine, driver and compose file of its nodes, as `machines_for` takes them."""
        return {"engine": self.engine, "driver": self.driver, "compose_file": Path(self.compose_file)}


def no_listener(speed: float, version: str) -> str:
    """Reason why such a cluster has no Kafka listener; "": it has one."""
    if speed != 1.0:
        return f"Kafka clients have a clock of their own, so the speed is 1, not {speed:g}"
    if not since(ladder_name(version), FIRST_WITH_LISTENER):
        return f"brokers of {FIRST_WITH_LISTENER} and later have a Kafka listener, not {version}"
    return ""


def resolved(
    given: ClusterFile, kafka_version: str | None, overrides: dict[str, Any], files: Sequence[SettingsFile] = ()
) -> Resolved:
    """Resolve the cluster file.

    Raises UnknownVersion, NoSuchMode, UnusableSetting, UnusableFile.

    `overrides` are in force on every node, and so are settings in `files`, except one broker's. Also raises
    UnusableProtocolVersion.
    """
    version = ladder_name(kafka_version or given.kafka_version)
    metadata_of(version, given.topology.metadata)
    everything = given_for_cluster(given, version, overrides, files)
    check(everything.everything)
    scenario = Scenario(
        id=given.name, title="a long-running cluster", kafka=(version,), steps=(), topology=given.topology
    )
    return resolved_run(scenario, everything.everything, everything)


def write_specification(run_dir: Path, spec: LiveSpec, about: Resolved) -> None:
    """Write live.json, and settings.json as of any run."""
    write_json(run_dir / LIVE_FILE, spec)
    settings = {
        "world": "network", "live": spec.name, "kafka": spec.run.kafka_version, "speed": spec.speed,
        "processes": processes_of(spec.run.topology, injected=True),
    }  # fmt: skip
    write_json(run_dir / SETTINGS_FILE, settings | settings_file_fields(about))


class OfClients(TypedDict):
    """Settings of future topics and clients."""

    topics: dict[str, Any]
    producers: dict[str, Any]
    consumers: dict[str, Any]


def of_clients(about: Resolved) -> OfClients:
    """Settings of topics and clients in settings files and `--set`."""
    clients = client_settings_of(about.scenario.settings)
    consumers = {name: value for name, value in clients[CONSUMER].items() if name not in OF_OLD_CONSUMERS}
    return {"topics": topic_settings_of(about), "producers": clients[PRODUCER], "consumers": consumers}


def topic_settings_of(about: Resolved) -> dict[str, Any]:
    prefix = PREFIXES[TOPIC]
    return {
        key.removeprefix(prefix): value
        for key, value in about.scenario.settings.items()
        if key in REGISTRY and REGISTRY[key].scope == TOPIC
    }


def read_specification(run_dir: Path) -> LiveSpec:
    """Raises UnusableSpecification, OSError."""
    path = run_dir / LIVE_FILE
    try:
        return msgspec.json.decode(read_regular(path), type=LiveSpec)
    except UNDECODABLE as error:
        raise UnusableSpecification(f"{path}: cannot be understood: {error}") from error
