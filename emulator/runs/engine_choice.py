"""Engine and driver of a run: `--engine process|docker` and `--driver nodes|kernel`."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from secrets import token_hex
from typing import Final

from emulator.runs.deployment_options import Driver, Engine
from emulator.topology import OBSERVER, Topology
from emulator.worlds.cluster_file.compose_files import read_cluster_file, topologies
from emulator.worlds.containers.container_cluster import cluster_on, machines_up, namespaces_of
from emulator.worlds.containers.images import require_image, require_images
from emulator.worlds.containers.project import Project, remove_machines_of
from emulator.worlds.containers.removal import remove_abandoned as abandoned_containers
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, engine_version
from emulator.worlds.network.node_supervisor import Cluster, ClusterError
from emulator.worlds.packet_filter.driver import KernelLinks
from emulator.worlds.packet_filter.namespaces import NamespaceError, NamespaceMachines
from emulator.worlds.packet_filter.namespaces import remove_abandoned as remove_namespaces
from emulator.worlds.packet_filter.rights import NoRights, require_rights
from emulator.worlds.packet_filter.rights import missing as missing_rights

UNUSABLE_MACHINES: Final = (NoRights, NamespaceError, DockerMissing, DockerFailed, ClusterError)

MakeCluster = Callable[..., Cluster]


def require_machines(
    engine: Engine, driver: Driver, *, compose_file: Path | None = None, topology: Topology | None = None
) -> None:
    """Check that the engine and the driver work, before anything is made for a run.

    `compose_file`, with its `topology`: source of the containers; None: one of ours. Raises what UNUSABLE_MACHINES
    lists.
    """
    if driver == "kernel":
        require_rights()
    if engine == "docker":
        engine_version()
        if compose_file is None or topology is None:
            require_image()
        else:
            require_images(compose_file, [node.name for node in topology.nodes if node.name != OBSERVER])


@contextmanager
def machines_for(
    topology: Topology,
    run_dir: Path,
    *,
    engine: Engine,
    driver: Driver,
    compose_file: Path | None = None,
    kafka: bool = False,
) -> Iterator[MakeCluster]:
    """A factory of the run's Cluster, as `play_network` takes it.

    Its machines exist within the context.

    `compose_file`: source of the containers; None: the file with this topology. `kafka`: brokers listen for Kafka
    clients, too; with the driver `nodes` alone.

    Raises what UNUSABLE_MACHINES lists.
    """
    if driver == "kernel":
        require_rights()
    if engine == "docker":
        project = Project(compose_file or compose_file_of(topology), run_dir, topology, kafka=kafka)
        with machines_up(project):
            links = KernelLinks(partial(namespaces_of, project)) if driver == "kernel" else None
            yield partial(cluster_on(project), links=links)
    elif driver == "kernel":
        token = token_hex(16)
        with NamespaceMachines(topology, token) as machines:
            yield partial(Cluster, engine=machines.engine(), token=token, links=KernelLinks(machines.namespaces))
    else:
        yield partial(Cluster, kafka=kafka)


def remove_machines(run_dir: Path, *, engine: Engine, driver: Driver) -> None:
    """Remove the machines of a run whose process was killed.

    Raises what UNUSABLE_MACHINES lists.
    """
    if engine == "docker":
        remove_machines_of(run_dir)
    elif driver == "kernel":
        remove_namespaces()


def remove_abandoned() -> tuple[list[str], list[str]]:
    """Remove containers and namespaces of processes that are gone: (removed, not removable).

    One line each. Empty without an engine or a right to it.
    """
    removed, left = [], []
    try:
        removed += [f"{project}: {there} removed" for project, there in abandoned_containers().items()]
    except DockerMissing:
        pass
    except DockerFailed as error:
        left.append(f"containers that were left could not be removed: {error}")
    if not missing_rights():
        try:
            removed += [f"network namespace {name} removed" for name in remove_namespaces()]
        except NamespaceError as error:
            left.append(f"network namespaces that were left could not be removed: {error}")
    return removed, left


def compose_file_of(topology: Topology) -> Path:
    """The compose file with exactly these nodes, in these places. Raises DockerFailed."""
    files = topologies()
    for path in files.values():
        if read_cluster_file(path).topology.nodes == topology.nodes:
            return path
    nodes = ", ".join(node.name for node in topology.nodes if node.az)
    raise DockerFailed(f"no compose file has just {nodes}; there is {', '.join(files)}; or use --engine process")
