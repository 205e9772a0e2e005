"""Cluster of KRaft in the simulated world, with a client that sends single requests."""

from typing import Any, TypeVar

from emulator.machines.broker.partition import Partition
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.machines.node.specs import RunSpec, machine_for
from emulator.storage.memory_files import MemoryFiles
from emulator.topology import KRAFT, Node, three_azs
from protocol.ids import BrokerId, Offset
from protocol.machine import (
    ConnectionEvent,
    ConnectionOpened,
    Effect,
    Input,
    Machine,
    MessageReceived,
    Now,
    Started,
)
from protocol.messages.administration import CreateTopicsRequest, CreateTopicsResponse, NewTopic, PlacedPartition
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from protocol.outbox import Outbox
from protocol.purposes import CLIENT
from tests.emulator.machines.node.kraft_world import KraftWorld
from tests.ids import brokers
from verification.broker_bench import batch

M = TypeVar("M", bound=Message)
BROKERS = ("broker-0", "broker-1", "broker-2")
T0 = ("t", 0)
CLIENT_NAME = "client-0"
LOOK_MS = 5.0


class Exchange:
    """One request on a connection of its own. `lost`: the connection ended without a response."""

    def __init__(self, node: str, request: Message, version: int) -> None:
        self.node = node
        self.request = request
        self.version = version
        self.response: Message | None = None
        self.lost = False


class SmallClient:
    """Machine of a client that looks every few ms for requests of the test."""

    def __init__(self) -> None:
        self._out = Outbox()
        self.queue: list[Exchange] = []

    def step(self, now: Now, event: Input) -> list[Effect]:
        if isinstance(event, Started):
            self._look(now, self._out)
        else:
            self._out.route(now, event)
        return self._out.take()

    def _look(self, now: Now, out: Outbox) -> None:
        while self.queue:
            self._send(out, self.queue.pop(0))
        out.set_timer(("look",), LOOK_MS, self._look)

    def _send(self, out: Outbox, exchange: Exchange) -> None:
        def on_event(now: Now, event: ConnectionEvent, out: Outbox) -> None:
            if isinstance(event, ConnectionOpened):
                out.send(connection, exchange.request, 1, exchange.version)
            elif isinstance(event, MessageReceived):
                exchange.response = event.message
                out.close(connection)
            else:
                exchange.lost = True

        connection = out.open(exchange.node, CLIENT, on_event)


class KraftCluster(KraftWorld):
    """Three brokers and three controllers (`combined`: in the same processes), and a client."""

    def __init__(self, version: str, seed: int = 1, *, combined: bool = False, **settings: Any) -> None:
        super().__init__(three_azs(metadata=KRAFT, combined=combined), self._machine, seed)
        given = {name.replace("_", "."): value for name, value in settings.items()}
        self.nodes = [node.name for node in self.topology.nodes if {"broker", "controller"} & set(node.roles)]
        self._spec = RunSpec(self.topology, version, dict.fromkeys(self.nodes, given))
        self._client = SmallClient()
        for name in (*self.nodes, CLIENT_NAME):
            self.world.start(name)
        self.until(lambda: all(self.broker(number).listens for number in range(3)))

    def _machine(self, node: Node, files: MemoryFiles) -> Machine:
        return self._client if node.name == CLIENT_NAME else machine_for(self._spec, node, files)

    # --- views ---

    def alive(self, number: int) -> bool:
        return self.world.nodes[f"broker-{number}"].machine is not None

    def broker(self, number: int) -> KraftBrokerNode:
        machine = self.world.nodes[f"broker-{number}"].machine
        assert isinstance(machine, KraftBrokerNode)
        return machine

    def partition(self, number: int) -> Partition:
        return self.broker(number).broker.replicas.partitions[T0]

    def leader(self) -> Partition | None:
        """The leader of t-0 with the highest epoch, by its own view."""
        views = [
            self.broker(number).broker.replicas.partitions[T0]
            for number in range(3)
            if self.alive(number) and T0 in self.broker(number).broker.replicas.partitions
        ]
        leaders = [view for view in views if view.leads]
        return max(leaders, key=lambda view: view.leader_epoch, default=None)

    # --- requests ---

    def ask(self, number: int, request: Message, version: int = 0) -> Exchange:
        """Send a request to a broker."""
        exchange = Exchange(f"broker-{number}", request, version)
        self._client.queue.append(exchange)
        return exchange

    def answer(self, number: int, request: Message, kind: type[M], version: int = 0) -> M:
        """Send a request to a broker, and wait for its response."""
        exchange = self.ask(number, request, version)
        self.until(lambda: exchange.response is not None or exchange.lost, 90_000.0)
        assert isinstance(exchange.response, kind), exchange.response
        return exchange.response

    def create(self, *replicas: int, through: int = 0, topic: str = "t", **configs: str) -> "KraftCluster":
        """Create t-0 on these brokers, by a request to one of them, and wait for its replicas."""
        given = {name.replace("_", "."): value for name, value in configs.items()}
        placed = [PlacedPartition(0, list(brokers(*(replicas or (0, 1, 2)))))]
        new = NewTopic(topic, assignment=placed, configs=dict(given))
        response = self.answer(through, CreateTopicsRequest([new], 10_000), CreateTopicsResponse)
        assert [one.error for one in response.topics] == [0], response
        wanted = replicas or (0, 1, 2)
        self.until(lambda: all((topic, 0) in self.broker(one).broker.replicas.partitions for one in wanted))
        return self

    def produce(self, number: int, *values: str, acks: int = -1, timeout_ms: int = 5_000) -> ProduceResult:
        request = ProduceRequest(acks, timeout_ms, [ProducePartition(*T0, batch(*values))])
        return self.answer(number, request, ProduceResponse).partitions[0]

    def records(self, number: int) -> bytes:
        """Records of t-0 that a consumer reads at a broker, from the beginning."""
        fetch = FetchRequest(BrokerId(-1), 0, 1, 10_485_760, [FetchPartition(*T0, Offset(0))])
        return self.answer(number, fetch, FetchResponse, 12).partitions[0].records
