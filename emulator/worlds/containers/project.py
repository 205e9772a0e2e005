"""The containers of one cluster: a project of the compose tool, named after the run.

A second compose file labels its containers, networks and volumes with their owner, and mounts the run's token as a
file: a container's environment is visible to every user of the engine.
"""

import hashlib
import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from ruamel.yaml import YAML

from emulator.identity import mine
from emulator.run_layout import DATA_FOLDER, EVENTS_FOLDER
from emulator.topology import OBSERVER, Topology
from emulator.worlds.cluster_file.networks import CONTROL, data_name
from emulator.worlds.containers.images import require_image
from emulator.worlds.containers.kafka_ports import KAFKA_NETWORK, NETWORK, KafkaPorts, free_ports, service_of
from emulator.worlds.containers.removal import FOLDER_LABEL, OWN_FOLDER, OWNER_LABEL, PROJECT_LABEL, remove_project
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, compose, docker
from emulator.worlds.network.agent import NODE_PORT, TOKEN_FILE
from emulator.worlds.network.agent_engine import RUN_DIR
from emulator.worlds.network.spec import Address

SERVICE_LABEL: Final = "com.docker.compose.service"
UP_LIMIT_S: Final = 120.0
NAME_MAX: Final = 40
AGENT: Final = ["python", "-m", "emulator", "agent"]
FORMER_AGENT: Final = "emulator.world.network.container"
IMAGE_USER: Final = 10001
"""Owner of the image's folders, and by default of its containers."""


class Machine(msgspec.Struct, frozen=True):
    """A node's container. `addresses`: {network, as the compose file names it: IP}.

    `pid`: of its first process, on this machine; 0: it does not run.
    """

    node: str
    container: str
    pid: int
    addresses: dict[str, str]


class Project:
    """A project of which nothing is started yet.

    `file`: the compose file. `run_dir`: folder of events and data, on this machine. `kafka`: brokers' ports are
    published for Kafka clients.
    """

    def __init__(self, file: Path, run_dir: Path, topology: Topology, *, kafka: bool = False) -> None:
        self.file = file
        self.topology = topology
        self.name = project_name(run_dir)
        self.token = secrets.token_hex(16)
        self.kafka_ports: KafkaPorts = free_ports(topology) if kafka else {}
        self._run_dir = run_dir.resolve()
        self._nodes = [node.name for node in topology.nodes if node.name != OBSERVER]

    def up(self) -> None:
        """Make and start the nodes' containers; their agents then wait for a supervisor.

        Raises DockerMissing, DockerFailed.
        """
        for node in self._nodes:  # a container sees no other node's folders
            for folder in (EVENTS_FOLDER, DATA_FOLDER):
                made = self._run_dir / folder / node
                made.mkdir(parents=True, exist_ok=True)
                if os.getuid() == 0:  # no container runs as root, not even for root
                    os.chown(made, IMAGE_USER, IMAGE_USER)
        addition = self._addition()
        try:
            self._compose(addition, "up", "--detach", "--no-build", *self._nodes, limit_s=UP_LIMIT_S)
        except DockerFailed as error:
            try:
                require_image()
            except DockerMissing as missing:
                raise missing from error
            raise

    def down(self) -> None:
        """Remove its containers, networks and volumes, if any. Raises DockerMissing, DockerFailed."""
        remove_machines_of(self._run_dir)

    def revive(self, machine: Machine) -> None:
        """Start a dead container again. Raises DockerMissing, DockerFailed."""
        docker("start", machine.container)

    def machines(self) -> dict[str, Machine]:
        """{node: its container}, of those that exist."""
        ids = docker("ps", "--all", "--quiet", "--no-trunc", "--filter", f"label={PROJECT_LABEL}={self.name}").split()
        if not ids:
            return {}
        found: list[dict[str, Any]] = msgspec.json.decode(docker("inspect", *ids))
        machines = [machine_of(self.name, it) for it in found]
        return {it.node: it for it in machines if it.node in self._nodes}

    def _compose(self, addition: Path, *words: str, limit_s: float) -> None:
        env = {
            "FAULTLINE_EVENTS": f"{self._run_dir / EVENTS_FOLDER}/",
            "FAULTLINE_DATA": f"{self._run_dir / DATA_FOLDER}/",
            "FAULTLINE_UID": str(os.getuid() or IMAGE_USER),
            "FAULTLINE_GID": str(os.getgid() or IMAGE_USER),
        }
        files = ("--file", str(self.file), "--file", str(addition))
        compose(*files, "--project-name", self.name, *words, limit_s=limit_s, env=env)

    def _addition(self) -> Path:
        """A compose file that comes after the cluster's own; JSON is YAML."""
        own = self._run_dir / OWN_FOLDER
        secret = own / "secret"
        secret.mkdir(mode=0o700, parents=True)
        _write_token(secret / TOKEN_FILE.name, self.token)
        if os.getuid() == 0:
            os.chown(secret, IMAGE_USER, IMAGE_USER)
        labels = {OWNER_LABEL: mine().text(), FOLDER_LABEL: str(own)}
        service = {
            "labels": labels,
            "environment": {"FAULTLINE_TOKEN": ""},
            "volumes": [f"{secret}:{TOKEN_FILE.parent}:ro"],
        }
        given = YAML(typ="safe", pure=True).load(self.file) or {}
        own_services = {node: given["services"][node] for node in self._nodes}
        require_own_folders(own_services)
        added: dict[str, Any] = {"services": {node: service | _command(own_services[node]) for node in self._nodes}}
        for broker in {name: None for brokers in self.kafka_ports.values() for name in brokers}:
            service_ports = service_of(broker, self.kafka_ports)
            service_ports["environment"] |= service["environment"]
            added["services"][broker] |= service_ports
        for kind in ("networks", "volumes"):
            of_kind = {name: about or {} for name, about in (given.get(kind) or {}).items()}
            added[kind] = {
                name: {"labels": labels} for name, about in of_kind.items() if not about.get("external")
            }
        if self.kafka_ports:
            added["networks"][KAFKA_NETWORK] = {"labels": labels, **NETWORK}
        path = own / "compose.json"
        path.write_bytes(msgspec.json.encode(added))
        return path


def _command(service: Mapping[str, Any]) -> dict[str, list[str]]:
    """Replacement of the agent's former module name in a user's own file."""
    command = service.get("command")
    return {"command": AGENT} if isinstance(command, list) and FORMER_AGENT in command else {}


def remove_machines_of(run_dir: Path) -> None:
    """Remove the containers, networks and volumes of a run. Raises DockerMissing, DockerFailed.

    The run's directory may be gone.
    """
    remove_project(project_name(run_dir), run_dir / OWN_FOLDER)


def require_own_folders(services: Mapping[str, Any]) -> None:
    """Check that no two nodes write to one folder. Raises DockerFailed.

    A hostile node would write another's events.
    """
    mounted_by: dict[str, str] = {}
    for node, service in services.items():
        for volume in service.get("volumes") or ():
            if isinstance(volume, dict):
                source, writable = str(volume.get("source", "")), not volume.get("read_only")
            else:
                source, writable = str(volume).partition(":/")[0], not str(volume).endswith(":ro")
            if writable and source and mounted_by.setdefault(source, node) != node:
                raise DockerFailed(
                    f"{mounted_by[source]} and {node} both mount {source}; each needs folders of its own: "
                    f"${{FAULTLINE_EVENTS:-events-}}{node}:{RUN_DIR}/{EVENTS_FOLDER} and "
                    f"${{FAULTLINE_DATA:-data-}}{node}:/faultline/data, with FAULTLINE_DATA_FOLDER: /faultline/data"
                )


def _write_token(path: Path, token: str) -> None:
    """Write the token, readable by the containers' user alone."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(token)
        if os.getuid() == 0:
            os.fchown(descriptor, IMAGE_USER, IMAGE_USER)


def project_name(run_dir: Path) -> str:
    """A name that the compose tool accepts: lower case, figures, dashes.

    Runs of one name in different folders get different names.
    """
    place = str(run_dir.resolve())
    own = re.sub(r"[^a-z0-9-]+", "-", run_dir.resolve().name.lower()).strip("-")[-NAME_MAX:]
    return f"faultline-{own}-{hashlib.sha256(place.encode()).hexdigest()[:6]}"


def machine_of(project: str, inspected: Mapping[str, Any]) -> Machine:
    """The machine from `docker inspect`."""
    networks = inspected["NetworkSettings"]["Networks"]
    return Machine(
        node=inspected["Config"]["Labels"].get(SERVICE_LABEL, ""),
        container=inspected["Id"],
        pid=inspected["State"]["Pid"],
        addresses={
            name.removeprefix(f"{project}_"): network["IPAddress"]
            for name, network in networks.items()
            if network["IPAddress"]
        },
    )


def routes_in(topology: Topology, control_hosts: Mapping[str, str]) -> dict[str, dict[str, Address]]:
    """{node: {other: its address}}, by its name on the network that the two share.

    A broker reaches its own controller on the network of its AZ. `control_hosts`: {node: its address for the player,
    which is outside every AZ}. All nodes know the player, but no node connects to it.
    """
    nodes = [node for node in topology.nodes if node.name != OBSERVER]
    observer = {OBSERVER: Address(OBSERVER, NODE_PORT)}
    routes = {
        node.name: {other.name: Address(data_name(other, node), NODE_PORT) for other in nodes} | observer
        for node in nodes
    }
    return routes | {OBSERVER: {name: Address(host, NODE_PORT) for name, host in control_hosts.items()} | observer}


def control_host(machines: Mapping[str, Machine], node: str) -> str:
    """Address on the control network. Raises LookupError."""
    machine = machines.get(node)
    if machine is None or CONTROL not in machine.addresses:
        raise LookupError(f"{node} has no running container")
    return machine.addresses[CONTROL]
