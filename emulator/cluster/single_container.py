"""A cluster with all nodes in one container: `python -m emulator cluster`.

The container's main process is the supervisor; nodes are its processes. Commands come over HTTP on CONTROL_PORT.
Kafka's ports are published as they are in the container, because metadata report them to clients: the first figures of
FAULTLINE_KAFKA_PORTS, then AZ and broker (kafka_ports). FAULTLINE_TOPOLOGY is a topology or a compose file,
FAULTLINE_KAFKA_VERSION and FAULTLINE_METADATA choose version and mode, FAULTLINE_SETTINGS has assignments, separated by
blanks. The token comes from FAULTLINE_TOKEN, else the process draws one; `faultline` in the container knows it.
FAULTLINE_PAGE=yes serves the live page.
"""

import os
import secrets
import shlex
import signal
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import trio

from emulator.cluster.attached import CONTROL_PORT, HERE, further_hosts, serves_page
from emulator.cluster.cluster_registry import LOG_FILE, Registration, register
from emulator.cluster.control_server import LOOPBACK
from emulator.cluster.live_audit_request import Auditing
from emulator.cluster.live_cluster import LiveCluster
from emulator.cluster.serve import hold
from emulator.cluster.specification import (
    DEFAULT_TOPOLOGY,
    LiveSpec,
    no_listener,
    of_clients,
    resolved,
    write_specification,
)
from emulator.exit_codes import HELD, UNKNOWN, UNUSABLE
from emulator.identity import mine
from emulator.runs.directory import fresh, prepare
from emulator.runs.network_run import machine_specs
from emulator.runs.resolve import Resolved
from emulator.scenario.load import ScenarioErrors
from emulator.settings.setting_registry import UnusableSetting, parse_assignment
from emulator.worlds.cluster_file.cluster_model import ClusterFile
from emulator.worlds.cluster_file.compose_files import (
    NoClusterFile,
    named_topology,
    read_cluster_file,
    topology_in_mode,
)
from emulator.worlds.containers.kafka_ports import PORTS, PORTS_DEFAULT, KafkaPorts, UnusablePorts, ports_from
from emulator.worlds.network.local_engine import LocalEngine
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.ports import PortInUse
from protocol.events import LEVELS
from protocol.versions import UnknownVersion

TOPOLOGY: Final = "FAULTLINE_TOPOLOGY"
VERSION: Final = "FAULTLINE_KAFKA_VERSION"
METADATA: Final = "FAULTLINE_METADATA"
SETTINGS: Final = "FAULTLINE_SETTINGS"
TOKEN: Final = "FAULTLINE_TOKEN"
SPEED: Final = 1.0
UNUSABLE_VARIABLES: Final = (ScenarioErrors, NoClusterFile, UnusablePorts, UnusableSetting, UnknownVersion, ValueError)


def requested(environ: Mapping[str, str]) -> tuple[ClusterFile, Resolved, KafkaPorts, str]:
    """(cluster file, settings, Kafka's ports, path of the file) of the variables.

    Raises UNUSABLE_VARIABLES.
    """
    version, metadata = environ.get(VERSION) or None, environ.get(METADATA) or None
    if metadata not in (None, "kraft", "zookeeper"):
        raise ValueError(f"{METADATA}={metadata!r}: one of kraft, zookeeper")
    file = named_topology(topology_in_mode(environ.get(TOPOLOGY) or DEFAULT_TOPOLOGY, version, metadata or "", ""))
    given = read_cluster_file(file)
    overrides = dict(map(parse_assignment, shlex.split(environ.get(SETTINGS, ""))))
    about = resolved(given, version, overrides)
    if why := no_listener(SPEED, about.spec.kafka_version):
        raise ValueError(f"{VERSION}: {why}")
    ports = ports_from(given.topology, environ.get(PORTS) or PORTS_DEFAULT)
    return given, about, ports, str(file)


async def serve(spec: LiveSpec, run_dir: Path, token: str, kafka_ports: KafkaPorts) -> None:
    """Serve until stopped. Raises PortInUse."""
    specs, topology = machine_specs(spec.run), spec.run.topology
    modules = sorted({one.factory.partition(":")[0] for one in specs.values()})
    engine = LocalEngine(topology, modules, kafka=True, kafka_ports=kafka_ports)
    cluster = Cluster(run_dir, topology, specs, engine=engine, token=token, seed=spec.seed, levels=spec.levels)

    def opened(port: int) -> None:
        register(run_dir, Registration(spec.name, mine(), engine.pid, LOOPBACK, port, token))

    live, audit = LiveCluster(spec, cluster), Auditing(run_dir).audit
    await hold(
        live, opened, host="0.0.0.0", port=CONTROL_PORT, audit=audit, hosts=further_hosts(), has_page=spec.page
    )


def main() -> int:
    """Exit code 2 for unusable variables, 3 for a port in use."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        given, about, kafka_ports, file = requested(os.environ)
        page = serves_page()
    except UNUSABLE_VARIABLES as error:
        print(f"faultline: {error}", file=sys.stderr)
        return UNUSABLE
    HERE.mkdir(parents=True, exist_ok=True)
    os.chdir(HERE.parent)
    run_dir = fresh(given.name).resolve()  # a container that is started again has a new run
    prepare(run_dir)
    (run_dir / LOG_FILE).touch()
    spec = LiveSpec(
        given.name, about.spec, about.record_magic, speed=SPEED, levels=LEVELS[:2], compose_file=file, kafka=True,
        control_port=CONTROL_PORT, page=page, **of_clients(about),
    )  # fmt: skip
    write_specification(run_dir, spec, about)
    try:
        trio.run(serve, spec, run_dir, os.environ.get(TOKEN) or secrets.token_hex(16), kafka_ports)
    except PortInUse as error:
        print(f"faultline: {error}", file=sys.stderr)
        return UNKNOWN
    return HELD
