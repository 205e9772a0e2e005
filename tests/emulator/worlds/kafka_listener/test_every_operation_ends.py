"""Each operation that a broker's listener writes down ends once, despite client.

Links and broker.
"""

import contextlib
import socket
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from typing import Any

import pytest
import trio
import trio.testing
from hypothesis import example, given, settings
from hypothesis import strategies as st

from emulator.faults.enforcement import LinkState
from emulator.topology import Node, Topology
from emulator.worlds.network.clock import Clock
from emulator.worlds.network.kafka_listener.advertised_listeners import Place
from emulator.worlds.network.kafka_listener.codec import listener_of
from emulator.worlds.network.kafka_listener.kafka_listeners import KafkaListeners
from emulator.worlds.network.mailbox import Letter, Mailbox, Turn
from emulator.worlds.network.spec import Address, Life, ShellSettings
from emulator.worlds.network.switchboard import Switchboard
from protocol.events import Event, FrameRefused, OperationEnded, OperationInvoked
from protocol.gates import gates_for
from protocol.ids import BrokerId, Offset
from protocol.link_rules import LinkRule
from protocol.machine import ConnectionLost, MessageReceived, Now, Send
from protocol.messages.replication_messages import ProduceRequest, ProduceResponse, ProduceResult
from protocol.records.batch import encode_batch
from tests.emulator.worlds.kafka_listener.library_messages import REQUESTS, encoded

BROKER, CLIENT = Node("broker-0", ("broker",), 0, "az-0"), Node("client-0", ("client",), 0, "az-0")
CLIENTS = 3
RULES = {
    "cut": LinkRule("cut", "cut", "cut", ("client-0",), ("broker-0",)),
    "hold": LinkRule("hold", "hold", "hold", ("client-0",), ("broker-0",), apis=("Produce", "PRODUCE")),
    "drop": LinkRule("drop", "drop", "cut", ("client-0",), ("broker-0",), apis=("Produce", "PRODUCE")),
    "delay": LinkRule("delay", "delay", "delay", ("client-0",), ("broker-0",), delay_ms=40.0),
}


class Written:
    """The shell's event file, as far as a switchboard looks at it."""

    wire = urgent = False


class Shell:
    """Of a broker whose machine answers when the test says so, by a clock that the test turns."""

    def __init__(self, nursery: trio.Nursery) -> None:
        life = Life("run", BROKER, Topology((BROKER, CLIENT)), 1, 7)
        self.settings = ShellSettings(life, "", "token", {}, 0.0, 0.0)
        self.name = BROKER.name
        self.clock = Clock(0.0, 0.0, 1.0)
        self.events: Any = Written()
        self.now = Now(0.0, 0.0)
        self.nursery = nursery
        self.full = False
        self.begun = trio.Event()
        self.begun.set()
        self.emitted: list[Event] = []
        self.letters: list[Letter] = []
        self.due: list[tuple[float, Any]] = []
        self.links = LinkState(BROKER.name, 7)
        self.switchboard = Switchboard(self, self.links)

    @property
    def turn(self) -> Turn:
        return Turn(Mailbox(), self.switchboard.write_out)

    async def wait_room(self) -> None:
        raise AssertionError("the mailbox is never full here")

    def look_at_clock(self) -> Now:
        return self.now

    def post_letter(self, letter: Letter) -> None:
        self.letters.append(letter)

    def emit(self, event: Event, cause: str) -> None:
        self.emitted.append(event)

    def call_at(self, due_ms: float, callback: Any) -> None:
        self.due.append((due_ms, callback))

    def flush(self) -> None:
        pass

    def pass_ms(self, ms: float) -> None:
        until_ms = self.now.mono_ms + ms
        while due := [one for one in self.due if one[0] <= until_ms]:
            first = min(due, key=lambda one: one[0])
            self.due.remove(first)
            self.now = Now(max(first[0], self.now.mono_ms), 0.0)
            first[1]()
        self.now = Now(until_ms, 0.0)

    def step(self, error: int = 0) -> None:
        """The machine takes its oldest letter, and answers it if it is a produce."""
        if not self.letters:
            return
        event, connection = self.letters.pop(0)[0], None
        if isinstance(event, ConnectionLost):
            connection = self.switchboard._connections.get(event.connection)
            if connection is not None:
                self.switchboard.end(connection)
        elif isinstance(event, MessageReceived):
            assert isinstance(event.message, ProduceRequest)
            requested = event.message.partitions
            results = [ProduceResult(one.topic, one.partition, error, Offset(-1 if error else 5)) for one in requested]
            self.switchboard.send(
                Send(event.connection, event.correlation_id, event.version, ProduceResponse(results)), "test"
            )
        self.switchboard.write_out()

    def step_all(self) -> None:
        while self.letters:
            self.step()


def frame(number: int, acks: int, records: int) -> bytes:
    request = REQUESTS[0]
    topic = request.TopicProduceData
    batch = encode_batch([b"%d" % one for one in range(records)], timestamp_ms=1)
    one = topic.PartitionProduceData(index=0, records=batch)
    requested = request(
        transactional_id=None, acks=acks, timeout_ms=100, topic_data=[topic(name="t", partition_data=[one])]
    )
    payload = encoded(requested, 8, correlation_id=number)
    return len(payload).to_bytes(4, "big") + payload


class Started:
    """A broker whose start is over."""

    listens = reads_requests = knows_cluster = True


class Clients:
    """Kafka clients, which send requests behind one another and read nothing."""

    kafka_listener: KafkaListeners
    """They are connected to it."""

    def __init__(self, address: Any) -> None:
        self._address = address
        self._sockets: dict[int, socket.socket] = {}
        self._sent = 0

    def send(self, client: int, acks: int, records: int, then: bytes = b"") -> None:
        self._sent += 1
        self.send_bytes(client, frame(self._sent, acks, records) + then)

    def send_bytes(self, client: int, data: bytes) -> None:
        if client not in self._sockets:
            self._sockets[client] = socket.create_connection(self._address)
        with contextlib.suppress(OSError):
            self._sockets[client].sendall(data)

    def close(self, client: int, reset: bool) -> None:
        sock = self._sockets.pop(client, None)
        if sock is None:
            return
        if reset:
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\x00\x00\x00\x00\x00\x00\x00")
        sock.close()

    def close_all(self) -> None:
        for client in list(self._sockets):
            self.close(client, reset=True)


ONE = st.integers(0, CLIENTS - 1)
ACTION = st.one_of(
    st.tuples(st.just("send"), ONE, st.sampled_from((-1, 0, 1, 7)), st.integers(1, 40)),
    st.tuples(st.just("send"), ONE, st.just(-1), st.just(1)),
    st.tuples(st.just("answer"), st.sampled_from((0, 0, 6))),
    st.tuples(st.just("close"), ONE, st.booleans()),
    st.tuples(st.sampled_from(("apply", "heal")), st.sampled_from(sorted(RULES))),
    st.tuples(st.just("pass"), st.sampled_from((1.0, 50.0, 5_000.0, 1_000_000.0))),
    st.tuples(st.just("exit")),
)
PIPELINED = [("send", 0, -1, 1)] * 4
"""The requests that a pipelining client has sent when its first answer arrives."""


@settings(max_examples=150, deadline=None)
@example([*PIPELINED, ("close", 0, False), *[("answer", 0)] * 9, ("pass", 5_000.0)])
@example([*PIPELINED, ("close", 0, True), *[("answer", 0)] * 9, ("pass", 5_000.0)])
@example([*PIPELINED, ("apply", "cut"), ("answer", 0), ("answer", 0), ("close", 0, False), ("heal", "cut"),
          ("pass", 1_000_000.0), *[("answer", 0)] * 9])  # fmt: skip
@example([*PIPELINED, ("exit",), ("answer", 0), ("answer", 0), *PIPELINED])
@example([("send", 0, 0, 3), ("answer", 0), ("answer", 6), *PIPELINED, *[("answer", 0)] * 9])
@given(st.lists(ACTION, max_size=40))
def test_every_operation_ends_once(actions: list[tuple[Any, ...]]) -> None:
    trio.run(_play, actions)


async def _play(actions: list[tuple[Any, ...]]) -> None:
    async with _served() as (shell, clients):
        for action in actions:
            _act(shell, clients, *action)
            await trio.testing.wait_all_tasks_blocked()
            assert set(_ended(shell).values()) <= {1} and _ended(shell).keys() <= _begun(shell).keys()
        shell.switchboard.end_translations()
        assert _begun(shell) == _ended(shell)
        clients.close_all()


@pytest.mark.trio
async def test_a_request_that_is_none_is_refused_after_the_answer_to_the_one_before_it() -> None:
    """It is decoded while the one before it waits for its answer."""
    async with _served() as (shell, clients):
        clients.send(0, -1, 1, then=b"\0\0\0\x01x")
        await trio.testing.wait_all_tasks_blocked()
        assert _begun(shell) and not _ended(shell) and not _refusals(shell)
        shell.step_all()
        await trio.testing.wait_all_tasks_blocked()
        assert [one.outcome for one in shell.emitted if isinstance(one, OperationEnded)] == ["ok"]
        assert _refusals(shell) == ["a request of 1 bytes has no header"]


@pytest.mark.trio
async def test_a_connection_that_is_reset_within_a_frame_holds_no_bytes() -> None:
    async with _served() as (shell, clients):
        clients.send(0, 0, 1)
        await trio.testing.wait_all_tasks_blocked()
        shell.step_all()
        clients.send_bytes(0, frame(2, 0, 1)[:20])
        await trio.testing.wait_all_tasks_blocked()
        assert clients.kafka_listener._unended._bytes == 20
        clients.close(0, reset=True)
        await trio.testing.wait_all_tasks_blocked()
        assert clients.kafka_listener._unended._bytes == 0


@contextlib.asynccontextmanager
async def _served() -> AsyncIterator[tuple[Shell, Clients]]:
    """A shell whose listener accepts connections, and its clients."""
    async with trio.open_nursery() as nursery:
        shell = Shell(nursery)
        with _listening(shell) as (accept, clients):
            nursery.start_soon(accept)
            await trio.testing.wait_all_tasks_blocked()
            yield shell, clients
            nursery.cancel_scope.cancel()
        shell.switchboard.close_all()


def _refusals(shell: Shell) -> list[str]:
    return [event.reason for event in shell.emitted if isinstance(event, FrameRefused)]


@contextlib.contextmanager
def _listening(shell: Any) -> Iterator[tuple[Callable[[], Awaitable[None]], Clients]]:
    listener = socket.create_server(("127.0.0.1", 0))
    listener.setblocking(False)
    address = listener.getsockname()
    place = Place("az-0", "client-0", {"broker-0": Address(*address)}, {"broker-0": 0}, "run")
    clients = Clients(address)
    try:
        kafka_listener = KafkaListeners(shell, Started(), gates_for("2.8"), BrokerId(0), [place], [listener])
        clients.kafka_listener = kafka_listener
        yield lambda: kafka_listener._accept(listener_of(gates_for("2.8"), place), listener), clients
    finally:
        clients.close_all()
        listener.close()


def _act(shell: Shell, clients: Clients, kind: str, *arguments: Any) -> None:
    match kind:
        case "send":
            clients.send(*arguments)
        case "answer":
            shell.step(*arguments)
        case "close":
            clients.close(*arguments)
        case "apply":
            shell.links.apply(shell.now.mono_ms, RULES[arguments[0]])
            shell.switchboard.links_changed()
        case "heal":
            shell.links.heal(shell.now.mono_ms, arguments[0])
            shell.switchboard.links_changed()
        case "pass":
            shell.pass_ms(*arguments)
        case "exit":
            shell.switchboard.end_translations()


def _begun(shell: Shell) -> Counter[str]:
    return Counter(event.operation for event in shell.emitted if isinstance(event, OperationInvoked))


def _ended(shell: Shell) -> Counter[str]:
    return Counter(event.operation for event in shell.emitted if isinstance(event, OperationEnded))
