"""A Cluster whose nodes run in containers."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Final

import trio

from emulator.worlds.cluster_file.networks import CONTROL
from emulator.worlds.containers.project import Machine, Project, control_host, routes_in
from emulator.worlds.containers.tool import DockerFailed
from emulator.worlds.network.agent_engine import AgentEngine, CannotRevive
from emulator.worlds.network.node_supervisor import Cluster
from emulator.worlds.network.reports import ClusterError
from emulator.worlds.packet_filter.driver import Namespace

LOOK_EVERY_S: Final = 1.0


@contextmanager
def machines_up(project: Project) -> Iterator[None]:
    """Make the machines, and remove them at the end in any case.

    Raises DockerMissing, DockerFailed.
    """
    try:
        project.up()
        yield
    finally:
        project.down()


def engine_on(project: Project) -> AgentEngine:
    """Engine for one run on machines that are up. Raises DockerFailed."""
    machines = project.machines()
    try:
        hosts = {node: control_host(machines, node) for node in machines}
    except LookupError as error:
        raise DockerFailed(str(error)) from error
    routes = routes_in(project.topology, hosts)
    locations = Locations(project, machines)
    return AgentEngine(locations.locate, routes, project.token, revive=locations.revive, kafka=project.kafka_ports)


class Locations:
    """Addresses of the containers.

    The engine is queried only now and then, for all of them at once: an address stays while its container lives.
    """

    def __init__(self, project: Project, machines: dict[str, Machine]) -> None:
        self._project = project
        self._machines = machines
        self._looked_s = -LOOK_EVERY_S
        self._looking = trio.Lock()
        self._located: set[str] = set()

    async def locate(self, node: str) -> str:
        """A node's address on the control network; a second call looks it up anew.

        Raises LookupError.
        """
        async with self._looking:
            if node in self._located and trio.current_time() - self._looked_s >= LOOK_EVERY_S:
                self._located.clear()
                self._looked_s = trio.current_time()
                try:
                    self._machines = await trio.to_thread.run_sync(self._project.machines)
                except DockerFailed as error:
                    raise LookupError(str(error)) from error
            self._located.add(node)
            return control_host(self._machines, node)

    async def revive(self, node: str) -> None:
        """Start a node's container if it is dead. Raises CannotRevive, LookupError.

        It dies of `docker kill`, or when the kernel is out of memory.
        """
        async with self._looking:
            machine = self._machines.get(node)
            if machine is None:
                raise CannotRevive("its container was removed, and cannot come back")
            if machine.pid:  # as it was seen last
                return
            try:
                await trio.to_thread.run_sync(self._project.revive, machine)
            except DockerFailed as error:
                raise LookupError(str(error)) from error
            self._looked_s = -LOOK_EVERY_S


def namespaces_of(project: Project) -> dict[str, Namespace]:
    """Network namespaces of the running containers, for the kernel driver. Raises ClusterError."""
    try:
        machines = project.machines()
    except DockerFailed as error:
        raise ClusterError(str(error)) from error
    return {
        node: Namespace(
            f"/proc/{machine.pid}/ns/net",
            tuple(sorted(address for network, address in machine.addresses.items() if network != CONTROL)),
        )
        for node, machine in machines.items()
        if machine.pid
    }


def cluster_on(project: Project) -> partial[Cluster]:
    """The `make_cluster` of `play_network`."""
    return partial(Cluster, engine=engine_on(project), token=project.token)
