"""What `up` writes down for the supervisor: RUN_DIR/live.json, and what everyone who reads a run looks for.

A cluster that stays has no scenario, so its directory has no scenario.yaml: its checks are expected to hold, and its
timers may be late (there is no outcome that they could have changed).
"""

from pathlib import Path
from typing import Any, Final

import msgspec

from emulator.cluster_file.cluster import ClusterFile, run_spec
from emulator.node.specs import RunSpec
from emulator.runs.directory import settings_in_force, write_json
from emulator.runs.layout import SETTINGS_FILE
from emulator.runs.living import Driver, Engine, Living
from emulator.runs.resolve import SESSION_SETTINGS, Resolved
from emulator.scenario.model import Scenario
from protocol.versions import gates_for, ladder_name

LIVE_FILE: Final = "live.json"
DEFAULT_TOPOLOGY: Final = "three-az"


class LiveSpec(msgspec.Struct, frozen=True):
    """Everything a supervisor needs. `levels`: of the events that are written. `compose_file`: its path; containers are
    made from it."""

    name: str
    run: RunSpec
    record_magic: int
    speed: float = 1.0
    seed: int = 1
    levels: tuple[str, ...] = ("client", "replica")
    engine: Engine = "process"
    driver: Driver = "nodes"
    compose_file: str = ""

    @property
    def living(self) -> Living:
        """Where its nodes live, as `machines_for` takes it."""
        return {"engine": self.engine, "driver": self.driver, "compose_file": Path(self.compose_file)}


def resolved(given: ClusterFile, kafka_version: str | None, overrides: dict[str, Any]) -> Resolved:
    """`overrides` are in force on every node. Raises UnknownVersion, UnusableSetting, UnusableProtocolVersion."""
    version = ladder_name(kafka_version or given.kafka_version)
    common = dict(overrides)
    session = {SESSION_SETTINGS[name]: int(common.pop(name)) for name in SESSION_SETTINGS if name in common}
    settings = {node: {**own, **common} for node, own in given.settings.items()}
    spec = run_spec(msgspec.structs.replace(given, kafka_version=version, settings=settings, **session))
    scenario = Scenario(
        id=given.name, title="a cluster that stays", kafka=(version,), steps=(), topology=given.topology
    )
    return Resolved(scenario, spec, gates_for(version, common.get("inter.broker.protocol.version")).record_magic)


def write_specification(run_dir: Path, spec: LiveSpec, about: Resolved) -> None:
    """live.json, and settings.json as of any run."""
    write_json(run_dir / LIVE_FILE, spec)
    settings = {"world": "network", "live": spec.name, "kafka": spec.run.kafka_version, "speed": spec.speed}
    write_json(run_dir / SETTINGS_FILE, {**settings, "nodes": settings_in_force(about)})


def read_specification(run_dir: Path) -> LiveSpec:
    """Raises OSError, msgspec.DecodeError."""
    return msgspec.json.decode((run_dir / LIVE_FILE).read_bytes(), type=LiveSpec)
