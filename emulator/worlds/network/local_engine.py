"""Nodes as processes of this machine, forked from one warmed process, on ports of loopback."""

import socket
from collections.abc import Mapping, Sequence

import msgspec

from emulator.topology import Topology
from emulator.worlds.network.engine import Launched
from emulator.worlds.network.forking import ForkServer
from emulator.worlds.network.kafka_listener.advertised_listeners import azs_of_clients
from emulator.worlds.network.ports import PortInUse, listen_on, reserve_port
from emulator.worlds.network.spec import LOOPBACK, Address, ProcessOrder
from emulator.worlds.network.supervision import ControlConnection

KAFKA_LISTENER = "emulator.worlds.network.kafka_listener.kafka_listeners"
"""Imported before nodes are forked, if brokers listen for Kafka clients."""
ANY_ADDRESS = ""


class LocalEngine:
    """Engine of processes on this machine. Raises PortInUse.

    - `ports`: fixed ones for some nodes; the others get free ones.
    - `dialled`: {node: port that the others connect to instead of its own}, for a relay between them.
    - `fork_server`: one made earlier (it must preload `modules`, those of the machines' factories), else one is
      started.
    - `kafka`: brokers listen for Kafka clients, too.
    - `kafka_ports`: {AZ: {broker: advertised address}} of these listeners, on every address of this machine; by default
      on free ports of loopback.
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
        kafka_ports: Mapping[str, Mapping[str, Address]] | None = None,
    ) -> None:
        wanted, advertised = ports or {}, kafka_ports or {}
        self._kafka_host = ANY_ADDRESS if kafka_ports else LOOPBACK
        self._kafka_listeners: dict[tuple[str, str], socket.socket] = {}
        self._reservations: dict[str, socket.socket] = {}
        """They keep a node's port while it is dead.

        Bound and not listening, they refuse connections as a dead process's port does.
        """
        try:
            for node in topology.nodes:
                self._reservations[node.name] = reserve_port(node.name, wanted.get(node.name, 0))
            pairs = [(az, node.name) for az in azs_of_clients(topology) for node in topology.with_role("broker")]
            for az, broker in pairs if kafka else ():
                port = advertised[az][broker].port if kafka_ports else 0
                self._kafka_listeners[az, broker] = reserve_port(broker, port, self._kafka_host)
        except PortInUse:
            self._release()
            raise
        self._ports = {name: it.getsockname()[1] for name, it in self._reservations.items()}
        self._routes = {name: Address(LOOPBACK, port) for name, port in (self._ports | dict(dialled or {})).items()}
        self.kafka: dict[str, dict[str, Address]] = {}
        for (az, broker), reserved in self._kafka_listeners.items():
            own = Address(LOOPBACK, reserved.getsockname()[1])
            self.kafka.setdefault(az, {})[broker] = advertised[az][broker] if kafka_ports else own
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
        settings = msgspec.structs.replace(order.settings, kafka_host=self._kafka_host)
        order = msgspec.structs.replace(order, settings=settings)
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
