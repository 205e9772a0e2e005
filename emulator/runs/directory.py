"""A simulated run's directory (`run_layout`), written by `write_simulated`.

In the network world the nodes write theirs while they run. Same seed and name, same bytes; only verdict.json has the
run's duration.
"""

import os
import stat
import time
from collections import defaultdict
from collections.abc import Iterable
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Any

import msgspec

from emulator.machines.client.client_settings import ClientSettings, consumer_settings, producer_settings
from emulator.machines.client.workload_specs import producers_settings
from emulator.regular_files import named, write_whole
from emulator.run_layout import (
    DATA_FOLDER,
    EVENTS_FOLDER,
    OBSERVATIONS_FILE,
    SCENARIO_FILE,
    SETTINGS_FILE,
    VERDICT_FILE,
)
from emulator.runs.client_defaults import OF_OLD_CONSUMERS, client_settings_of
from emulator.runs.finished import RUNS
from emulator.runs.resolve import SESSION_SETTINGS, Resolved
from emulator.runs.run_limits import in_force, limits_of
from emulator.runs.starts import changes_of, start_records
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.runs.verdict_file import Verdict, to_json
from emulator.scenario.observations.observation_model import Observations
from emulator.scenario.write import written
from emulator.settings.setting import CONSUMER, PRODUCER
from emulator.settings.setting_registry import BY_SCOPE
from emulator.storage.files import FileMissing
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import INJECTOR, Topology
from emulator.worlds.simulated.node import WALL_EPOCH_MS
from emulator.worlds.simulated.trace import Trace
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import HardwareChanged

INDENT = 2


class NotEmpty(ValueError):
    """The directory for a run is not empty."""


class ForeignDirectory(ValueError):
    """The directory for a run is open to other users."""


def fresh(name: str) -> Path:
    """Make a directory in runs/, `name` with the time. Raises OSError.

    A further one of the same second has a number as well.
    """
    wanted = f"{name}-{time.strftime('%Y%m%d-%H%M%S')}"
    RUNS.mkdir(exist_ok=True)
    for number in count(1):
        made = RUNS / (wanted if number == 1 else f"{wanted}-{number}")
        with suppress(FileExistsError):
            made.mkdir()
            return made
    raise AssertionError("unreachable")


def prepare(directory: Path) -> None:
    """Make the directory. Raises NotEmpty, ForeignDirectory, OSError.

    ForeignDirectory: another user could put links into it, and so read a token or overwrite one of our files.
    """
    directory.mkdir(parents=True, exist_ok=True)
    about = directory.stat()
    if about.st_uid != os.geteuid():
        raise ForeignDirectory(f"{directory}: is another user's; a run is written to a directory of its own")
    if about.st_mode & stat.S_IWOTH:
        raise ForeignDirectory(f"{directory}: is writable by every user; a run is written to a directory of its own")
    if any(directory.iterdir()):
        raise NotEmpty(f"{directory}: is not empty; a run is written to a directory of its own")


def write_simulated(
    directory: Path, resolved: Resolved, seed: int, world: SimulatedWorld, observations: Observations
) -> None:
    """Write everything but the verdict into a prepared directory, whose name names the run."""
    write_scenario(directory, resolved, world="sim", seed=seed)
    write_events(directory / EVENTS_FOLDER, world.trace, directory.name)
    for node in world.nodes.values():
        with node.files.unwatched():  # a disk that fails on purpose still holds its files
            write_files(directory / DATA_FOLDER / node.node.name, node.files)
    write_observations(directory, observations)


def write_scenario(
    directory: Path,
    resolved: Resolved,
    *,
    world: str = "network",
    seed: int | None = None,
    speed: float | None = None,
) -> None:
    """Write the scenario and the settings of the run.

    settings.json:

    - `world`, `seed`, `kafka`, `processes` (those that may write events);
    - network world only: `timer_limit_ms` (limit of timers' lateness at p99.9) and `speed` of its clock;
    - `nodes`: {node: its settings in force at first}, `starts`: their later changes (emulator.runs.starts);
    - `clients`: settings of a producer and of a consumer whose step sets nothing else;
    - `settings`: remarks on the requested settings (emulator.settings.account).
    """
    write_whole(directory / SCENARIO_FILE, written(resolved.scenario).encode())
    processes = processes_of(resolved.spec.topology, injected=world == "network")
    settings: dict[str, Any] = {"world": world, "kafka": resolved.spec.kafka_version, "processes": processes}
    if seed is not None:
        settings["seed"] = seed
    if world == "network":
        settings["timer_limit_ms"] = timer_limit_ms(resolved)
        if speed is not None:
            settings["speed"] = speed
    write_json(directory / SETTINGS_FILE, settings | settings_file_fields(resolved))


def processes_of(topology: Topology, *, injected: bool) -> list[str]:
    """Processes that may write events in a run.

    `injected`: a separate supervisor injects the faults.
    """
    return [*(node.name for node in topology.nodes), *([INJECTOR] if injected else ())]


def settings_file_fields(resolved: Resolved) -> dict[str, Any]:
    """Fields of settings.json that every run has."""
    changes = start_records(changes_of(resolved.spec, resolved.scenario.steps))
    return {
        "nodes": settings_in_force(resolved),
        **({"starts": changes} if changes else {}),
        "clients": clients_in_force(resolved),
        "settings": resolved.account,
    }


def settings_in_force(resolved: Resolved) -> dict[str, dict[str, Any]]:
    """{node: every setting in force on it, by Kafka's or ZooKeeper's name}."""
    spec = resolved.spec
    limits = limits_of(spec)
    ensemble = {name: getattr(spec, field) for name, field in SESSION_SETTINGS.items()}
    ensemble |= {"minSessionTimeout": limits.least_ms, "maxSessionTimeout": limits.most_ms}
    of_brokers = {node: {"kafka.version": spec.binary(node), **in_force(spec, node)} for node in spec.settings}
    return {**of_brokers, **{node.name: ensemble for node in spec.topology.with_role("session")}}


def clients_in_force(resolved: Resolved) -> dict[str, dict[str, Any]]:
    """{"producer", "consumer": every setting in force, by Kafka's name}."""
    version, given = resolved.spec.kafka_version, client_settings_of(resolved.scenario.settings)
    consumer = {name: value for name, value in given[CONSUMER].items() if name not in OF_OLD_CONSUMERS}
    producer = producers_settings(
        given[PRODUCER], acks=None, own={}, retries=None, idempotent=None, kafka_version=version, client_version=""
    )
    made = {PRODUCER: producer_settings(version, producer), CONSUMER: consumer_settings(version, consumer)}
    return {scope: _by_kafkas_names(scope, version, settings) for scope, settings in made.items()}


def _by_kafkas_names(scope: str, version: str, settings: ClientSettings) -> dict[str, Any]:
    values = {name.replace("_", "."): value for name, value in msgspec.structs.asdict(settings).items()}
    known = BY_SCOPE[scope]
    return {name: value for name, value in values.items() if name in known and known[name].exists_in(version)}


def write_events(folder: Path, trace: Trace, run: str) -> None:
    """Write one file per node, incarnation and kind (wire or not)."""
    folder.mkdir(parents=True, exist_ok=True)
    encode = msgspec.json.Encoder().encode
    lines: dict[str, list[bytes]] = {}
    wall_epoch_ms: defaultdict[str, float] = defaultdict(lambda: WALL_EPOCH_MS)
    for entry in trace.entries:
        if isinstance(entry[5], HardwareChanged):
            wall_epoch_ms[entry[0]] = WALL_EPOCH_MS + entry[5].clock_ahead_ms
        kind = ".wire" if entry[5].LEVEL == "wire" else ""
        name = f"{entry[0]}.{entry[1]}{kind}.jsonl"
        lines.setdefault(name, []).append(encode(trace.line(entry, run, wall_epoch_ms[entry[0]])))
    for name, of_file in lines.items():
        with named(folder / name):
            (folder / name).write_bytes(b"\n".join(of_file) + b"\n")


def write_files(folder: Path, files: MemoryFiles) -> None:
    """Write a node's disk, as it is now; nothing for a node that has written nothing."""
    for path in _paths(files, ""):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with named(target):
            target.write_bytes(files.read(path, 0, files.size(path)))


def _paths(files: MemoryFiles, directory: str) -> Iterable[str]:
    for name in files.list(directory):
        path = f"{directory}/{name}" if directory else name
        try:
            files.size(path)
        except FileMissing:
            yield from _paths(files, path)  # a directory
        else:
            yield path


def write_observations(directory: Path, observations: Observations) -> None:
    write_json(directory / OBSERVATIONS_FILE, observations)


def write_verdict(directory: Path, verdict: Verdict) -> None:
    """Write it whole or not at all: another process may be reading an older one."""
    write_whole(directory / VERDICT_FILE, to_json(verdict))


def write_json(path: Path, value: Any) -> None:
    write_whole(path, msgspec.json.format(msgspec.json.encode(value), indent=INDENT) + b"\n")
