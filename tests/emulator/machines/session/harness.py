"""Session servers and clients in a small world (`world`), and orders of tests."""

from collections.abc import Callable

from emulator.machines.client.retrying_session import RetryingSession
from emulator.machines.client.session_client import SessionClient
from emulator.machines.session.server import SessionServer
from emulator.machines.session.tree import Tree
from emulator.machines.session.znode import Change
from emulator.storage.memory_files import MemoryFiles
from protocol.chance import Chance
from protocol.events import SessionEnded
from protocol.machine import (
    ConnectionEvent,
    ConnectionOpened,
    Effect,
    Input,
    Machine,
    MessageReceived,
    Now,
    Started,
    StopRequested,
)
from protocol.messages.ensemble import Transaction
from protocol.messages.session_messages import (
    Create,
    Observed,
    ObserveRequest,
    Operation,
    SessionRequest,
    SessionResponse,
    WatchFired,
)
from protocol.outbox import Outbox
from protocol.purposes import OBSERVE
from tests.emulator.machines.session.world import World

# --- machines for tests -------------------------------------------------------------------------------------


class ClientNode:
    """A node that is nothing but a session client.
    `states`, `notices` and `answers` are what it was told.
    """

    def __init__(self, servers: list[str], timeout_ms: float, *, restarts: bool = False) -> None:
        self.client = SessionClient("session", servers, timeout_ms)
        self.session = RetryingSession(self.client)
        self.out = Outbox()
        self.states: list[str] = []
        self.notices: list[WatchFired] = []
        self.answers: list[SessionResponse] = []
        self._restarts = restarts
        self.session.on_state = self._state
        self.session.on_watch = lambda now, out, notice: self.notices.append(notice)

    def _state(self, now: Now, out: Outbox, state: str) -> None:
        self.states.append(state)
        if state == "expired" and self._restarts:
            self.client.restart(now, out)

    def answered(self, now: Now, out: Outbox, response: SessionResponse) -> None:
        self.answers.append(response)

    def submitting(self, *ops: Operation) -> Callable[[Now, Outbox], None]:
        """An order: each operation as a request of its own, without retries; answered in `answers`."""

        def order(now: Now, out: Outbox) -> None:
            for op in ops:
                self.client.submit(now, out, SessionRequest([op]), self.answered)

        return order

    def step(self, now: Now, event: Input) -> list[Effect]:
        if isinstance(event, Started):
            self.client.start(now, self.out, Chance(event.seed))
        elif isinstance(event, StopRequested):
            self.client.close(now, self.out)
        else:
            self.out.route(now, event)
        return self.out.take()


class ObserverNode:
    """The player's view of one server."""

    def __init__(self, server: str, prefixes: list[str]) -> None:
        self._server = server
        self._prefixes = prefixes
        self.out = Outbox()
        self.seen: list[Observed] = []

    def step(self, now: Now, event: Input) -> list[Effect]:
        if isinstance(event, Started):
            self.out.open(self._server, OBSERVE, self._observed)
        else:
            self.out.route(now, event)
        return self.out.take()

    def _observed(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, ConnectionOpened):
            out.send(event.connection, ObserveRequest(self._prefixes))
        elif isinstance(event, MessageReceived):
            assert isinstance(event.message, Observed)
            self.seen.append(event.message)


class RecordingServer(SessionServer):
    """A server that notes what it applies.
    `applied_log` of this life, in order; a SNAP begins a new run of it.
    """

    def __init__(self, name: str, servers: list[str], tick: int, init: int, sync: int, files: MemoryFiles) -> None:
        super().__init__(name, servers, tick, init, sync, files)
        self.applied_log: list[Transaction] = []
        self.runs_begin = [0]

    def applied(
        self, now: Now, out: Outbox, transaction: Transaction, response: SessionResponse, changes: list[Change]
    ) -> None:
        self.applied_log.append(transaction)
        super().applied(now, out, transaction, response, changes)

    def restored(self, now: Now, out: Outbox, before: Tree) -> None:
        self.runs_begin.append(len(self.applied_log))
        super().restored(now, out, before)


class Ensemble:
    """A world with `size` servers named session-0 ..., in az-i each, and their disks."""

    def __init__(self, size: int = 3, seed: int = 1, tick_ms: int = 1000, init: int = 10, sync: int = 4) -> None:
        self.world = World(seed)
        self.tick_ms = tick_ms
        self.names = [f"session-{i}" for i in range(size)]
        self.disks = {name: MemoryFiles() for name in self.names}
        self.lives: list[RecordingServer] = []
        for name in self.names:
            self.world.add(name, self._maker(name, init, sync))

    def _maker(self, name: str, init: int, sync: int) -> Callable[[], Machine]:
        def make() -> Machine:
            life = RecordingServer(name, self.names, self.tick_ms, init, sync, self.disks[name])
            self.lives.append(life)
            return life

        return make

    def launch(self) -> "Ensemble":
        """All servers at once, until all serve."""
        self.world.start(*self.names)
        self.world.wait_for(lambda: all(self.server(n).serving for n in self.names), 10_000, "all serve")
        return self

    def server(self, name: str) -> RecordingServer:
        machine = self.world.nodes[name].machine
        assert isinstance(machine, RecordingServer), f"{name} does not run"
        return machine

    def alive(self) -> list[str]:
        return [name for name in self.names if self.world.nodes[name].machine is not None]

    def leader(self) -> str | None:
        """A serving leader."""
        found = [n for n in self.alive() if self.server(n).serving and self.server(n).role == "leading"]
        return found[0] if found else None

    def add_client(
        self, name: str, servers: list[str] | None = None, timeout_ms: float = 6000, *, restarts: bool = False
    ) -> ClientNode:
        """Started, and connected."""
        client = ClientNode(servers or self.names, timeout_ms, restarts=restarts)
        self.world.add(name, lambda: client)
        self.world.start(name)
        self.world.wait_for(lambda: client.client.state == "connected", 20_000, f"{name} connects")
        return client

    def client(self, name: str) -> ClientNode:
        machine = self.world.nodes[name].machine
        assert isinstance(machine, ClientNode)
        return machine

    def observe(self, server: str, prefixes: list[str]) -> ObserverNode:
        observer = ObserverNode(server, prefixes)
        self.world.add("observer", lambda: observer)
        self.world.start("observer")
        self.world.wait_for(lambda: bool(observer.seen), 1000, "observer")
        return observer

    def request(self, name: str, *ops: Operation, multi: bool = False, within_ms: float = 20_000) -> SessionResponse:
        """Through the retrying layer, until it is answered."""
        answers: list[SessionResponse] = []
        client = self.client(name)
        message = SessionRequest(list(ops), multi)
        self.world.act(
            name,
            lambda now, out: client.session.call(
                now, out, message, lambda n, o, response: answers.append(response), ends_at_expiry=True
            ),
        )
        self.world.wait_for(lambda: bool(answers), within_ms, f"{name} is answered")
        return answers[0]

    def create(self, name: str, path: str, data: bytes = b"", *, ephemeral: bool = False) -> SessionResponse:
        return self.request(name, Create(path, data, ephemeral))

    def ended(self) -> list[tuple[str, str]]:
        """(owner, reason) of the sessions that have ended, as the leaders told."""
        events = [event for _, _, event in self.world.events if isinstance(event, SessionEnded)]
        return [(event.owner, event.reason) for event in events]
