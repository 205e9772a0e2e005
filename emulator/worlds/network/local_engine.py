"""Nodes as processes of this machine, forked from one warmed process, on ports of loopback."""

import socket
from collections.abc import Mapping, Sequence

from emulator.topology import Topology
from emulator.worlds.network.engine import Launched
from emulator.worlds.network.forking import ForkServer
from emulator.worlds.network.kafka_listener.advertised_listeners import azs_of_clients
from emulator.worlds.network.ports import PortInUse, listen_on, reserve_port
from emulator.worlds.network.spec import LOOPBACK, Address, ProcessOrder
from emulator.worlds.network.supervision import ControlConnection

KAFKA_LISTENER = "emulator.worlds.network.kafka_listener.kafka_listeners"
"""Imported before nodes are forked, if brokers listen for Kafka clients."""


class LocalEngine:
    """Engine of processes on this machine. Raises PortInUse.

    - `ports`: fixed ones for some nodes; the others get free ones.
    - `dialled`: {node: port that the others connect to instead of its own}, for a relay between them.
    - `fork_server`: one made earlier (it must preload `modules`, those of the machines' factories), else one is
      started.
    - `kafka`: brokers listen for Kafka clients, too.
    """

    def __init__(
        self,
        topology: Topology,
        modules: Sequence[str] = (),
        *,
        ports: Mapping[str, int] | None = None,
        dialled: Mapping[str, int] | None = None,
        fork_server: ForkServer | None = None,
        kafka: bool = False,
    ) -> None:
        wanted = ports or {}
        self._kafka_listeners: dict[tuple[str, str], socket.socket] = {}
        self._reservations: dict[str, socket.socket] = {}
        """They keep a node's port while it is dead.

        Bound and not listening, they refuse connections as a dead process's port does.
        """
        try:
            for node in topology.nodes:
                self._reservations[node.name] = reserve_port(node.name, wanted.get(node.name, 0))
            kafka_ports = [(az, node.name) for az in azs_of_clients(topology) for node in topology.with_role("broker")]
            for listener in kafka_ports if kafka else ():
                self._kafka_listeners[listener] = reserve_port(listener[1])
        except PortInUse:
            self._release()
            raise
        self._ports = {name: it.getsockname()[1] for name, it in self._reservations.items()}
        self._routes = {name: Address(LOOPBACK, port) for name, port in (self._ports | dict(dialled or {})).items()}
        self.kafka: dict[str, dict[str, Address]] = {}
        for (az, broker), reserved in self._kafka_listeners.items():
            self.kafka.setdefault(az, {})[broker] = Address(LOOPBACK, reserved.getsockname()[1])
        self._fork_server = fork_server or ForkServer((*modules, KAFKA_LISTENER) if kafka else modules)

    @property
    def pid(self) -> int:
        """The parent of all nodes' processes."""
        return self._fork_server.pid

    @property
    def ports(self) -> dict[str, int]:
        return self._ports

    def run_dir_in(self, run_dir: str) -> str:
        return run_dir

    def routes(self, node: str) -> dict[str, Address]:
        return self._routes

    def listen_here(self, node: str) -> socket.socket:
        return listen_on(self._ports[node], node)

    async def listen(self) -> None:
        """Raises ForkServerLost."""
        await self._fork_server.listen()

    async def reach(self, node: str) -> None:
        """Nothing: the machine is this one."""

    async def launch(self, order: ProcessOrder, token: str) -> Launched:
        node = order.settings.life.node.name
        port = self._ports[node]
        with listen_on(port, node) as listener:
            control = await ControlConnection.open(Address(LOOPBACK, port), token, node)
            try:
                return Launched(await self._fork_server.fork(order, listener), control)
            except BaseException:
                await control.close()
                raise

    async def send_signal(self, pid: int, number: int) -> bool:
        return await self._fork_server.send_signal(pid, number)

    async def wait_ended(self, pid: int) -> int:
        return await self._fork_server.wait_ended(pid)

    async def wait_halted(self, pid: int, halted: bool = True) -> None:
        await self._fork_server.wait_halted(pid, halted)

    def close(self) -> None:
        self._fork_server.close()
        self._release()

    def _release(self) -> None:
        for reservation in (*self._reservations.values(), *self._kafka_listeners.values()):
            reservation.close()
