"""Test bench of one broker: takes inputs and returns effects. Time passes only by `advance`.

The session service is a dictionary that can be made unreachable. Peers are connections: `ask` opens one to the
broker and sends a request. `opened` finds the connections that the broker opens (fetchers, its channel to the
controller); the test answers them.
"""

from collections.abc import Callable
from typing import Any, TypeVar

from emulator.machines.broker.broker import Broker
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_state import LogSettings
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.settings import BrokerSettings
from emulator.storage.files import StorageError
from emulator.storage.memory_files import MemoryFiles
from protocol.events import Event
from protocol.gates import Gates, gates_for
from protocol.ids import BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Exit,
    Input,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
    TimerKey,
)
from protocol.messages.leadership_messages import (
    BrokerEndpoint,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionState,
    UpdateMetadataRequest,
)
from protocol.messages.message_base import Message
from protocol.messages.replication_messages import (
    FetchedPartition,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    ProducePartition,
    ProduceRequest,
    ProduceResponse,
    ProduceResult,
)
from protocol.messages.session_messages import SessionError, SessionResponse
from protocol.outbox import Outbox
from protocol.records.batch import encode_batch
from protocol.records.format import encode
from verification.fake_sessions import FakeSessions

M = TypeVar("M", bound=Message)
E = TypeVar("E", bound=Event)
T0 = ("t", 0)


def created_log(files: MemoryFiles, gates: Gates, settings: LogSettings) -> Log:
    """An empty log of `t-0`, in a folder of its own."""
    files.make_directory("t-0")
    return Log.create(files, "t-0", gates, settings)


class Bench:
    """One life of broker `number`; a new Bench on the same `files` is its next life."""

    def __init__(
        self,
        version: str = "2.6",
        *,
        number: int = 0,
        ibp: str | None = None,
        metadata: str = "zookeeper",
        files: MemoryFiles | None = None,
        sessions: FakeSessions | None = None,
        now_ms: float = 0.0,
        configurations: dict[str, dict[str, str]] | None = None,
        **settings: Any,
    ) -> None:
        self.now_ms = now_ms
        self.files = files or MemoryFiles()
        self.sessions = sessions or FakeSessions()
        self.out = Outbox()
        self.gates = gates_for(version, ibp, metadata=metadata)
        self.magic = self.gates.record_magic
        self.context = BrokerContext(
            BrokerId(number), self.gates, BrokerSettings(**settings), self.files, self.sessions, self.out
        )
        self.context.broker_epoch = 100
        self.for_controller: list[tuple[Message, Callable[[Message], None]]] = []
        self.unclean_enabled: list[str] = []
        self.reconfigured: list[tuple[BrokerSettings, bool]] = []
        self.created: list[tuple[str, int, int, dict[str, str], Callable[..., None]]] = []
        self.broker = Broker(
            self.context,
            lambda request, reply: self.for_controller.append((request, reply)),
            lambda *topic: self.created.append(topic),
            self.unclean_enabled.append,
            lambda settings, unclean: self.reconfigured.append((settings, unclean)),
        )
        self.timers: dict[TimerKey, float] = {}
        self.effects: list[Effect] = []
        self.opens: dict[int, Open] = {}
        self._accepted = 0
        self._correlation = 0
        self._do(lambda: self.broker.start(configurations or {}))

    # --- inputs and effects ---

    def _do(self, what: Callable[[], object]) -> list[Effect]:
        """One step: its effects, of which timers and connections are kept track of."""
        self.context.now = Now(self.now_ms, 1_600_000_000_000.0 + self.now_ms)
        self.context.out = self.out
        try:
            what()
            self.context.threads.go_on()
        except StorageError as error:
            self.broker.replicas.storage_failed(error)
            self.context.threads.go_on()
        effects = self.out.take()
        for effect in effects:
            match effect:
                case SetTimer(key, after_ms):
                    self.timers[key] = self.now_ms + after_ms
                case CancelTimer(key):
                    self.timers.pop(key, None)
                case Open(connection):
                    self.opens[connection] = effect
        self.effects += effects
        return effects

    def step(self, event: Input) -> list[Effect]:
        if isinstance(event, ConnectionAccepted):
            return self._do(lambda: self.broker.accepted(event))
        return self._do(lambda: self.out.route(self.context.now, event))

    def do(self, what: Callable[[], object]) -> list[Effect]:
        """Run another action within a step, e.g. an answer of the session service or controller."""
        return self._do(what)

    def advance(self, ms: float) -> list[Effect]:
        """Time passes; timers fire in order."""
        end_ms = self.now_ms + ms
        effects: list[Effect] = []
        while True:
            due = sorted((at_ms, str(key), key) for key, at_ms in self.timers.items() if at_ms <= end_ms)
            if not due:
                break
            at_ms, _, key = due[0]
            del self.timers[key]
            self.now_ms = max(self.now_ms, at_ms)
            effects += self.step(TimerFired(key))
        self.now_ms = end_ms
        return effects

    def events(self, kind: type[E]) -> list[E]:
        """All events of a kind so far."""
        return [e.event for e in self.effects if isinstance(e, Emit) and isinstance(e.event, kind)]

    @property
    def exits(self) -> list[Exit]:
        return [effect for effect in self.effects if isinstance(effect, Exit)]

    def session_back(self) -> list[Effect]:
        """The session service is within reach again; what waited is done in order."""
        self.sessions.reachable = True
        waiting, self.sessions.waiting = self.sessions.waiting, []
        return self.do(
            lambda: [done(self.context.now, self.out, self.sessions.answer(request)) for request, done in waiting]
        )

    def session_expires(self) -> list[Effect]:
        """Every call that waits fails (1.1 and later)."""
        waiting, self.sessions.waiting = self.sessions.waiting, []
        expired = SessionResponse([], SessionError.SESSION_EXPIRED)
        return self.do(lambda: [done(self.context.now, self.out, expired) for _, done in waiting])

    # --- connections to the broker ---

    def connect(self, peer: str = "client-0", purpose: str = "client") -> int:
        self._accepted += 1
        self.step(ConnectionAccepted(-self._accepted, peer, purpose))
        return -self._accepted

    def send(self, connection: int, message: Message, version: int | None = None) -> list[Effect]:
        """Send a request.
        `version` None: of a fetch the one that is sent by this broker's like, of anything else any version.
        """
        self._correlation += 1
        if version is None and isinstance(message, FetchRequest):
            follower = message.replica_id >= 0
            version = self.gates.fetch_version if follower else self.gates.consumer_fetch_version
        version = version or 0
        return self.step(MessageReceived(connection, self._correlation, version, message))

    def ask(self, message: Message, version: int | None = None) -> int:
        """A request on a connection of its own."""
        connection = self.connect()
        self.send(connection, message, version)
        return connection

    def answers(self, connection: int) -> list[Message]:
        return [e.message for e in self.effects if isinstance(e, Send) and e.connection == connection]

    def answer(self, connection: int, kind: type[M]) -> M:
        """The one answer on it."""
        (message,) = self.answers(connection)
        assert isinstance(message, kind), message
        return message

    def closed(self, connection: int) -> bool:
        return Close(connection) in self.effects

    # --- connections of the broker ---

    def opened(self, purpose: str) -> list[int]:
        """Those it opened, oldest first."""
        return [connection for connection, order in self.opens.items() if order.purpose == purpose]

    def establish(self, connection: int) -> list[Effect]:
        return self.step(ConnectionOpened(connection))

    def lose(self, connection: int, reason: str = "lost") -> list[Effect]:
        return self.step(ConnectionLost(connection, reason))

    def last_sent(self, connection: int) -> Send:
        return [e for e in self.effects if isinstance(e, Send) and e.connection == connection][-1]

    def respond(self, connection: int, message: Message) -> list[Effect]:
        """Answer the last request that it sent there."""
        sent = self.last_sent(connection)
        return self.step(MessageReceived(connection, sent.correlation_id, sent.version, message))

    # --- the usual orders ---

    def update_metadata(
        self, *states: PartitionState, live: tuple[int, ...] = (0, 1, 2), controller: int = 2, controller_epoch: int = 1
    ) -> int:
        brokers = [BrokerEndpoint(BrokerId(broker), f"broker-{broker}") for broker in live]
        return self.ask(
            UpdateMetadataRequest(BrokerId(controller), ControllerEpoch(controller_epoch), list(states), brokers)
        )

    def leader_and_isr(self, *states: PartitionState, controller_epoch: int = 1, broker_epoch: int = -1) -> int:
        live = [BrokerEndpoint(BrokerId(broker), f"broker-{broker}") for broker in (0, 1, 2)]
        return self.ask(
            LeaderAndIsrRequest(BrokerId(2), ControllerEpoch(controller_epoch), list(states), live, broker_epoch)
        )

    def lead(self, epoch: int = 0, isr: tuple[int, ...] = (0, 1), **more: Any) -> LeaderAndIsrResponse:
        """Partition t-0 is this broker's to lead."""
        return self.become(self.context.broker, epoch, isr, **more)

    def follow(
        self, leader: int = 1, epoch: int = 0, isr: tuple[int, ...] = (0, 1), **more: Any
    ) -> LeaderAndIsrResponse:
        if leader not in self.broker.metadata.live:
            self.update_metadata()
        return self.become(leader, epoch, isr, **more)

    def become(
        self, leader: int, epoch: int, isr: tuple[int, ...], zk_version: int = 0, replicas: tuple[int, ...] = (0, 1, 2)
    ) -> LeaderAndIsrResponse:
        return self.answer(self.leader_and_isr(state(leader, epoch, isr, zk_version, replicas)), LeaderAndIsrResponse)

    @property
    def partition(self) -> Partition:
        return self.broker.replicas.partitions[T0]

    @property
    def log(self) -> Log:
        return self.partition.the_log

    # --- clients and followers ---

    def fetching(self) -> str:
        """The fetcher's state of its partition."""
        return self.broker.fetchers.activity(T0, self.now_ms)

    def produce(self, *values: str, acks: int = 1, timeout_ms: int = 1500, records: bytes | None = None) -> int:
        """One batch of `values` for t-0; the connection on which the answer comes."""
        data = records if records is not None else batch(*values, magic=self.magic)
        return self.ask(ProduceRequest(acks, timeout_ms, [ProducePartition(*T0, data)]))

    def produced(self, connection: int) -> ProduceResult:
        return self.answer(connection, ProduceResponse).partitions[0]

    def fetch(self, offset: int, replica: int = -1, *, wait_ms: int = 0, min_bytes: int = 1, **more: Any) -> int:
        requested = FetchPartition(*T0, Offset(offset), **more)
        return self.ask(FetchRequest(BrokerId(replica), wait_ms, min_bytes, 10_485_760, [requested]))

    def fetched(self, connection: int) -> FetchedPartition:
        return self.answer(connection, FetchResponse).partitions[0]


def state(
    leader: int,
    epoch: int = 0,
    isr: tuple[int, ...] = (0, 1),
    zk_version: int = 0,
    replicas: tuple[int, ...] = (0, 1, 2),
    topic_partition: tuple[str, int] = T0,
    controller_epoch: int = 1,
) -> PartitionState:
    return PartitionState(
        *topic_partition,
        ControllerEpoch(controller_epoch),
        BrokerId(leader),
        LeaderEpoch(epoch),
        [BrokerId(broker) for broker in isr],
        zk_version,
        [BrokerId(broker) for broker in replicas],
    )


def batch(*values: str, magic: int = 2, base_offset: int = 0, epoch: int = -1, **producer: Any) -> bytes:
    """As a producer sends it, or (base_offset, epoch) as it lies in a leader's log."""
    data = [value.encode() for value in values]
    if magic < 2:
        return encode(data, magic=magic, timestamp_ms=0, base_offset=Offset(base_offset))
    return encode_batch(
        data, timestamp_ms=0, base_offset=Offset(base_offset), leader_epoch=LeaderEpoch(epoch), **producer
    )
