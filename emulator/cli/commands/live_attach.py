"""`faultline attach`: registers the cluster of a plain `docker compose up`."""

import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from emulator.cli.cluster_options import Json
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.commands.control_calls import console
from emulator.cluster.cluster_registry import NoCluster, Registration, named, register
from emulator.cluster.control_client import ask
from emulator.cluster.control_requests import Ready
from emulator.cluster.launch import READY_LIMIT_S, READY_LOOK_S
from emulator.cluster.specification import DEFAULT_TOPOLOGY
from emulator.exit_codes import HELD, UNKNOWN
from emulator.worlds.cluster_file.compose_files import NoClusterFile, named_topology
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, compose
from emulator.worlds.network.agent import TOKEN_FILE

COMPOSE_LIMIT_S = 20.0
BEGINNING_LIMIT_S = 120.0
"""Time limit for a new supervisor to write its token, in seconds."""
LOOK_S = 0.3
SERVICE = "control"
CONTROL_PORT = "9400"


@reports_errors("attach", NoClusterFile, DockerMissing, NoCluster)
def attach_command(topology: str = DEFAULT_TOPOLOGY, /, *, project: str | None = None, json: Json = False) -> int:
    """Write runs/NAME-attached/cluster.json, with the control server's address and token.

    Returns 3 when the cluster does not become ready; it is attached all the same.

    Parameters
    ----------
    topology
        The topology of the containers: a topology's name, or a compose file.
    project
        The compose project's name; by default the compose tool's default.
    """
    file = named_topology(topology)
    of = ["--file", str(file), *(["--project-name", project] if project else [])]
    try:
        token = _token(of)
        host, _, port = compose(*of, "port", SERVICE, CONTROL_PORT, limit_s=COMPOSE_LIMIT_S).strip().rpartition(":")
    except DockerFailed as error:
        raise CommandFailed(
            f"{error}; is it up, under this --project? docker compose --file {file} up --detach"
        ) from error
    name = project or file.stem
    directory = Path("runs") / f"{name}-attached"
    for one in named(name):
        if one.running and one.directory.resolve() != directory.resolve():
            raise NoCluster(f"cluster {name}: already runs ({one.directory}); stop it, or give --project")
    directory.mkdir(parents=True, exist_ok=True)
    there = Registration(name, None, 0, host, int(port), token, engine="docker")
    register(directory, there)
    lacking = _lacking(there)
    if json:
        document = {
            "name": name, "run": str(directory), "port": int(port), "http": there.http, "ready": not lacking,
            "lacking": lacking,
        }  # fmt: skip
        print(msgspec.json.encode(document).decode())
    else:
        ready = f"not ready after {READY_LIMIT_S:g} s ({lacking})" if lacking else "ready"
        console().print(f"{name} is attached, at {host}:{port}, and {ready}; `docker compose down` ends it")
    return UNKNOWN if lacking else HELD


def _lacking(there: Registration) -> str:
    """Reason why the cluster is not ready after READY_LIMIT_S; "" as soon as it is ready."""
    deadline = time.monotonic() + READY_LIMIT_S
    while True:
        answer = ask(there, Ready(), READY_LOOK_S)
        if answer.code == 0:
            return ""
        if time.monotonic() > deadline:
            return answer.error
        time.sleep(LOOK_S)


def _token(of: Sequence[str]) -> str:
    """Token that the supervisor's container has written. Raises DockerMissing, DockerFailed."""
    deadline = time.monotonic() + BEGINNING_LIMIT_S
    while True:
        try:
            return compose(*of, "exec", "-T", SERVICE, "cat", str(TOKEN_FILE), limit_s=COMPOSE_LIMIT_S).strip()
        except DockerFailed as error:
            if "No such file" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(LOOK_S)
