"""Phases of a broker's start: its listener refuses, accepts and reads connections."""

from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from emulator.faults.enforcement import LinkState
from emulator.worlds.network.clock import Clock
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.codec import Listener
from emulator.worlds.network.kafka_listener.kafka_listeners import KafkaListeners
from emulator.worlds.network.ports import reserve_port
from emulator.worlds.network.spec import Address
from protocol.gates import gates_for
from protocol.ids import BrokerId
from tests.patience import PATIENCE_S

FAST = 1_000.0


class Startup:
    def __init__(self) -> None:
        self.listens = self.reads_requests = self.knows_cluster = False
        self.changed = trio.Event()

    def becomes(self, *, reads_requests: bool = False, knows_cluster: bool = False) -> None:
        self.listens, self.reads_requests, self.knows_cluster = True, reads_requests, knows_cluster
        self.changed.set()
        self.changed = trio.Event()

    async def until(self, condition: Any) -> None:
        while not condition():
            await self.changed.wait()


class Opened(KafkaListeners):
    """Counts the connections that it takes."""

    taken = 0

    async def _receive_one(self, listener: Listener, sock: Any, address: str) -> None:
        Opened.taken += 1
        sock.close()


async def connected(port: int) -> bool:
    try:
        stream = await trio.open_tcp_stream("127.0.0.1", port)
    except OSError:
        return False
    await stream.aclose()
    return True


@pytest.mark.parametrize("knows_cluster", [True, False])
def test_the_port_refuses_then_keeps_connections_then_reads_them(knows_cluster: bool) -> None:
    """Up to its registration a broker of 1.0 or later reads nothing.

    (SocketServer.startup without processors.) Without a controller it reads in the end, and answers with empty metadata
    as Kafka's does.
    """
    Opened.taken = 0

    async def play() -> None:
        startup = Startup()
        listener = reserve_port("broker-0")
        port = listener.getsockname()[1]
        life = SimpleNamespace(node=SimpleNamespace(name="broker-0"), incarnation=1)
        clock = Clock(0.0, 0.0, FAST)
        shell: Any = SimpleNamespace(
            settings=SimpleNamespace(life=life),
            emit=lambda event, cause: None,
            until=startup.until,
            clock=clock,
            links=LinkState("broker-0", 1),
        )
        places = [Place("az-0", "client-0", {"broker-0": Address("127.0.0.1", port)}, {"broker-0": 0}, "broker-0")]
        kafka_listener = Opened(shell, startup, gates_for("2.8"), BrokerId(0), places, [listener])
        async with trio.open_nursery() as nursery:
            nursery.start_soon(kafka_listener.serve)
            await trio.testing.wait_all_tasks_blocked()
            assert not await connected(port)
            startup.becomes()
            await trio.testing.wait_all_tasks_blocked()
            assert await connected(port)
            assert Opened.taken == 0
            startup.becomes(reads_requests=True, knows_cluster=knows_cluster)
            with trio.fail_after(PATIENCE_S):
                while not Opened.taken:
                    await trio.lowlevel.checkpoint()
            nursery.cancel_scope.cancel()
        assert listener.fileno() == -1

    trio.run(play)
