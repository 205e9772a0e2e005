"""The supervisor of a plain `docker compose up`: `python -m emulator.cluster.attached`.

It runs in the service `control`. The compose tool makes the containers; this process finds their agents on the control
network and makes a cluster of them. FAULTLINE_CLUSTER_FILE is the compose file. The token comes from FAULTLINE_TOKEN;
without it the process draws one and writes it where the agents wait for it. FAULTLINE_KAFKA_PORTS has the published
ports for Kafka clients (compose/kafka/); without it there is no Kafka listener. The control server is published on the
host's loopback: `faultline attach` finds it. With FAULTLINE_PAGE=yes it serves the live page.
"""

import os
import secrets
import signal
import sys
from functools import partial
from pathlib import Path
from tempfile import gettempdir
from typing import Final

import trio

from emulator.cluster.cluster_registry import LOG_FILE, Registration, register
from emulator.cluster.control_server import LOOPBACK
from emulator.cluster.live_audit_request import Auditing
from emulator.cluster.live_cluster import LiveCluster
from emulator.cluster.serve import hold
from emulator.cluster.specification import LiveSpec, no_listener, of_clients, resolved, write_specification
from emulator.regular_files import write_whole
from emulator.runs.network_run import machine_specs
from emulator.scenario.load import ScenarioErrors
from emulator.topology import OBSERVER, Topology
from emulator.worlds.cluster_file.compose_files import NoClusterFile, read_cluster_file
from emulator.worlds.cluster_file.networks import CONTROL, name_on
from emulator.worlds.containers.kafka_ports import PORTS, KafkaPorts, UnusablePorts, ports_from
from emulator.worlds.containers.project import routes_in
from emulator.worlds.network.agent import NODE_PORT, TOKEN_FILE
from emulator.worlds.network.agent_engine import RUN_DIR, AgentEngine, CannotRevive
from emulator.worlds.network.node_supervisor import Cluster
from protocol.events import LEVELS

CONTROL_PORT: Final = 9400
HOSTS: Final = "FAULTLINE_HTTP_HOSTS"
"""Names and addresses of HTTP's Host header, beside the service's and loopback's.

Comma-separated.
"""
PAGE: Final = "FAULTLINE_PAGE"
"""Whether the control server serves the live page: yes or no."""
AUDITED_BY: Final = "in containers the service audit has what this takes: docker compose --profile audit up audit"
HERE: Final = Path(gettempdir()) / "runs"
"""Folder of clusters for commands in this container.

Such as `docker compose exec control faultline status`.
"""
OWNER: Final = "docker compose"


def token() -> str:
    """The token from the environment, or a new one written for the agents."""
    given = os.environ.get("FAULTLINE_TOKEN")
    if given:
        return given
    made = secrets.token_hex(16)
    write_whole(TOKEN_FILE, made.encode(), mode=0o600)
    return made


def engine_here(topology: Topology, token: str, kafka_ports: KafkaPorts) -> AgentEngine:
    """The engine of every node, at its name on the control network.

    The player connects there, too.
    """

    async def locate(node: str) -> str:
        found = await trio.socket.getaddrinfo(name_on(node, CONTROL), NODE_PORT)
        return str(found[0][4][0])

    async def revive(node: str) -> None:
        """Refuse to start a container: this one has no engine.

        A name that the engine does not resolve is that of a stopped container.
        """
        try:
            await trio.socket.getaddrinfo(name_on(node, CONTROL), NODE_PORT)
        except OSError:
            raise CannotRevive(f"its container does not run; start it with: docker compose start {node}") from None

    hosts = {node.name: name_on(node.name, CONTROL) for node in topology.nodes if node.name != OBSERVER}
    return AgentEngine(locate, routes_in(topology, hosts), token, revive=revive, kafka=kafka_ports)


async def serve(spec: LiveSpec, token: str, here: Path, kafka_ports: KafkaPorts) -> None:
    """Serve until stopped."""
    engine = engine_here(spec.run.topology, token, kafka_ports)
    make = partial(Cluster, engine=engine, token=token, speed=spec.speed, seed=spec.seed, levels=spec.levels)
    live = LiveCluster(spec, make(Path(RUN_DIR), spec.run.topology, machine_specs(spec.run)), owner=OWNER)

    def opened(port: int) -> None:
        register(here, Registration(spec.name, None, 0, LOOPBACK, port, token, engine="docker"))

    hosts = {"control", *further_hosts()}
    audit = Auditing(here, elsewhere=AUDITED_BY).audit
    await hold(live, opened, host="0.0.0.0", port=CONTROL_PORT, audit=audit, hosts=hosts, has_page=spec.page)


def serves_page() -> bool:
    """Whether PAGE asks for the live page. Raises ValueError."""
    given = os.environ.get(PAGE, "") or "no"
    if given not in ("yes", "no"):
        raise ValueError(f"{PAGE}={given!r}: give yes or no")
    return given == "yes"


def further_hosts() -> set[str]:
    """Names and addresses of HOSTS."""
    named = os.environ.get(HOSTS, "").lower().split(",")
    return {name.strip() for name in named if name.strip()}


def main() -> int:
    """Exit code 2 for an unusable cluster file or variable."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        file = Path(os.environ.get("FAULTLINE_CLUSTER_FILE", ""))
        given = read_cluster_file(file)
    except (ScenarioErrors, NoClusterFile) as error:
        print(f"faultline: FAULTLINE_CLUSTER_FILE: {error}", file=sys.stderr)
        return 2
    first = os.environ.get(PORTS, "")
    try:
        kafka_ports = ports_from(given.topology, first) if first else {}
        page = serves_page()
    except (UnusablePorts, ValueError) as error:
        print(f"faultline: {error}", file=sys.stderr)
        return 2
    if kafka_ports and (why := no_listener(given.speed, given.kafka_version)):
        print(f"faultline: {PORTS}: {why}", file=sys.stderr)
        return 2
    about = resolved(given, None, {})
    spec = LiveSpec(
        given.name, about.spec, about.record_magic, speed=given.speed, levels=LEVELS[:2], engine="docker",
        compose_file=str(file), kafka=bool(kafka_ports), page=page, **of_clients(about),
    )  # fmt: skip
    here = HERE / given.name
    here.mkdir(parents=True, exist_ok=True)
    (here / LOG_FILE).touch()
    for folder in ("events", "data"):
        if not (here / folder).is_symlink():
            (here / folder).symlink_to(Path(RUN_DIR) / folder)
    write_specification(here, spec, about)
    trio.run(serve, spec, token(), here, kafka_ports)
    return 0
