"""Cluster without broker machines: real controllers, a dictionary as session service.
Brokers only listen.

Everything happens at once and in order; time passes only by `advance`. The service can be put out of reach
of one broker (`cut_off`) and expires sessions when told (`expire`). Brokers record what they were sent and
answer it with success, unless they are dead or cut off.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from controller.controller import Controller
from controller.registration import NotRegistered, Registered, persistent_paths, register_broker
from controller.session_calls import Procedure, Procedures
from controller.settings import ControllerSettings
from protocol.events import Event, StateDecided
from protocol.gates import gates_for
from protocol.ids import BrokerId
from protocol.machine import (
    CancelTimer,
    Close,
    ConnectionLost,
    ConnectionOpened,
    Effect,
    Emit,
    Exit,
    MessageReceived,
    Now,
    Open,
    Send,
    SetTimer,
    TimerFired,
    TimerKey,
)
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    AlterIsrResponse,
    ControlledShutdownRequest,
    ControlledShutdownResponse,
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.messages.message_base import Message
from protocol.messages.session_messages import (
    Create,
    SessionError,
    SessionRequest,
    SessionResponse,
    WatchFired,
)
from protocol.outbox import Outbox
from protocol.znodes import (
    BrokerRegistration,
    Leadership,
    ReplicaAssignment,
    decode_controller,
    decode_state,
    encode_config,
    encode_partitions,
    encode_state,
    encode_topic,
    state_path,
    topic_config_path,
    topic_path,
)
from tests.controller.service import Service
from tests.ids import brokers

Done = Callable[[Now, Outbox, SessionResponse], None]
R = TypeVar("R")


@dataclass
class Broker:
    """A node: its controller, its session, and what it was sent as a broker."""

    broker: int
    controller: Controller
    version: str
    out: Outbox = field(default_factory=Outbox)
    session: int = 0
    alive: bool = True
    within_reach: bool = True
    """Of the session service."""
    expired: bool = False
    """Its session is gone, and it has no new one yet."""
    waiting: list[tuple[SessionRequest, Done, bool]] = field(default_factory=list)
    """The last: it ends with its session, in every version."""
    missed: list[WatchFired] = field(default_factory=list)
    """Watches that fired while the service was out of reach.
    They fire when it is back, in the same session.
    """
    timers: dict[TimerKey, float] = field(default_factory=dict)
    connections: dict[int, int] = field(default_factory=dict)
    received: list[tuple[int, Message, int]] = field(default_factory=list)
    """(from, request, version), in order."""
    events: list[Event] = field(default_factory=list)
    exited: str = ""
    silent: bool = False
    """Receives, and never answers."""
    storage_errors: set[tuple[str, int]] = field(default_factory=set)
    unregistered: str = ""
    waits_to_register: bool = False
    broker_epoch: int = -1


class Cluster:
    """`versions`: of each broker, or one for all."""

    def __init__(
        self,
        brokers: int = 3,
        version: str = "2.8",
        settings: ControllerSettings | None = None,
        inter_broker_protocol: str | None = None,
    ) -> None:
        self.service = Service()
        self.mono_ms = 0.0
        self.sessions = 0
        self.cut: set[frozenset[int]] = set()
        self.told_first = -1
        """The broker whose watches arrive before all others': who wins the race to be controller."""
        self.version = version
        self.gates = gates_for(version, inter_broker_protocol)
        self.settings = settings or ControllerSettings(auto_leader_rebalance_enable=False)
        self.brokers = {broker: self._broker(broker) for broker in range(brokers)}

    def _broker(self, broker: int) -> Broker:
        calls = _Calls(self, broker)
        controller = Controller(BrokerId(broker), self.gates, self.settings, calls, lambda b: f"broker-{b}")
        return Broker(broker, controller, self.version)

    # --- life ---

    @property
    def now(self) -> Now:
        return Now(self.mono_ms, 1_600_000_000_000 + self.mono_ms)

    def start(self, *brokers: int) -> None:
        """Processes start, one after the other, in this order."""
        for broker in brokers:
            node = self.brokers[broker] = self._broker(broker)
            self._new_session(node, first=True)
            self.settle()

    def kill(self, *brokers: int) -> None:
        """Processes die; their sessions live on."""
        for broker in brokers:
            self.brokers[broker].alive = False
            self.brokers[broker].timers.clear()
        for node in self.brokers.values():
            for connection, peer in list(node.connections.items()):
                if peer in brokers and node.alive:
                    self._lose(node, connection)
        self.settle()

    def expire(self, *brokers: int) -> None:
        """The ensemble ends these sessions, all in one moment; their brokers do not know yet."""
        for broker in brokers:
            self.service.end(self.brokers[broker].session)
        self.settle()

    def die(self, *brokers: int) -> None:
        """Killed, and the sessions expired."""
        for broker in brokers:
            self.brokers[broker].alive = False
        self.kill(*brokers)
        self.expire(*brokers)

    def cut_off(self, broker: int) -> None:
        """From the session service."""
        self.brokers[broker].within_reach = False

    def isolate(self, broker: int) -> None:
        """From the service and from the other brokers."""
        self.cut_off(broker)
        for other in self.brokers:
            if other != broker:
                self.cut.add(frozenset((broker, other)))

    def rejoin(self, broker: int, *, expired: bool) -> None:
        """Back within reach: in the same session, or told that it is over and given a new one."""
        node = self.brokers[broker]
        node.within_reach = True
        self.cut = {pair for pair in self.cut if broker not in pair}
        waiting, node.waiting = node.waiting, []
        missed, node.missed = node.missed, []
        if not expired:
            for event in missed:
                node.controller.watch_fired(self.now, node.out, event)
            for request, done, _ in waiting:
                self._answer(node, request, done)
        elif self.gates.session_wait_ends_at_expiry:
            node.expired = True
            for _, done, _ in waiting:
                done(self.now, node.out, SessionResponse([], SessionError.SESSION_EXPIRED))

            def free(now: Now, out: Outbox) -> None:
                node.expired = False
                self._new_session(node, first=False)

            node.controller.session_expired(self.now, node.out, free=free)
        else:
            node.within_reach = False  # of a session, until there is the new one
            for _, done, _ in [call for call in waiting if call[2]]:
                done(self.now, node.out, SessionResponse([], SessionError.SESSION_EXPIRED))
            node.within_reach = True
            retried = [(request, done) for request, done, ends in waiting if not ends]
            retried += [(request, done) for request, done, _ in node.waiting]
            node.waiting = []
            node.controller.session_expired(self.now, node.out)
            self._new_session(node, first=False, retried=retried)
        self.settle()

    def deliver_only(self, broker: int, path: str) -> None:
        """Deliver only `path` of all fired watches to `broker`.
        The rest is lost with its connection.
        """
        node = self.brokers[broker]
        events = [event for session, event in self.service.fired if session == node.session and event.path == path]
        assert events, f"no watch of broker {broker} fired for {path}"
        self.service.fired.clear()
        for event in events:
            assert node.controller.watch_fired(self.now, node.out, event)

    def _new_session(self, node: Broker, *, first: bool, retried: Sequence[tuple[SessionRequest, Done]] = ()) -> None:
        self.sessions += 1
        previous, node.session = node.session, self.sessions
        for request, done in retried:
            self._answer(node, request, done)
        if first:
            self._run(node, persistent_paths(self.gates), lambda _: None)

        def register(then: Callable[[], None]) -> None:
            host = BrokerRegistration(BrokerId(node.broker), f"broker-{node.broker}", rack=f"az-{node.broker}")
            procedure = register_broker(self.gates, host, self.now.wall_ms, lambda: node.session, previous)

            def ended(result: Registered | NotRegistered) -> None:
                if isinstance(result, Registered):
                    node.broker_epoch = result.broker_epoch
                    then()
                else:
                    node.unregistered, node.waits_to_register = result.reason, result.waits

            self._run(node, procedure, ended)

        if self.gates.registers_before_election:
            register(lambda: node.controller.session_started(self.now, node.out))
        elif self.gates.registers_beside_controller and not first:
            node.controller.session_started(self.now, node.out)
            register(lambda: None)
        else:
            node.controller.session_started(self.now, node.out, lambda now, out: register(lambda: None))

    def _run(self, node: Broker, procedure: Procedure[R], ended: Callable[[R], None]) -> None:
        def failed(now: Now, out: Outbox, error: Exception) -> None:
            raise error

        procedures = Procedures(_Calls(self, node.broker))
        procedures.task(
            self.now, node.out, "test", "", procedure, lambda now, out, result: ended(result), failed
        ).start()

    # --- time ---

    def settle(self) -> None:
        """Until nothing more happens by itself."""
        for _ in range(10_000):
            if self.service.fired:
                session, event = self._next_watch()
                for node in self.brokers.values():
                    if node.session == session and node.alive:
                        if node.within_reach:
                            node.controller.watch_fired(self.now, node.out, event)
                        else:
                            node.missed.append(event)
            elif not any(self._effects(node) for node in self.brokers.values()):
                return
        raise AssertionError("the cluster never settles")

    def _next_watch(self) -> tuple[int, WatchFired]:
        favoured = self.brokers[self.told_first].session if self.told_first in self.brokers else -1
        for index, (session, _) in enumerate(self.service.fired):
            if session == favoured:
                return self.service.fired.pop(index)
        return self.service.fired.pop(0)

    def advance(self, ms: float) -> None:
        """Timers fire in order until `ms` have passed."""
        end = self.mono_ms + ms
        while True:
            due = [(at, node.broker, key) for node in self.brokers.values() for key, at in node.timers.items()]
            if not due or min(due)[0] > end:
                break
            at, broker, key = min(due)
            self.mono_ms = max(self.mono_ms, at)
            node = self.brokers[broker]
            del node.timers[key]
            assert node.out.route(self.now, TimerFired(key))
            self.settle()
        self.mono_ms = end

    # --- effects ---

    def _effects(self, node: Broker) -> bool:
        effects = node.out.take()
        for effect in effects:
            if node.alive:
                self._do(node, effect)
        return bool(effects)

    def _do(self, node: Broker, effect: Effect) -> None:
        match effect:
            case Open(connection, to, _):
                peer = int(to.removeprefix("broker-"))
                if not self.brokers[peer].alive:
                    node.connections[connection] = peer
                    self._lose(node, connection)
                elif self._linked(node.broker, peer):
                    node.connections[connection] = peer
                    self._input(node, ConnectionOpened(connection))
            case Close(connection):
                node.connections.pop(connection, None)
            case Send(connection, correlation_id, version, message):
                peer = node.connections[connection]
                target = self.brokers[peer]
                if self._linked(node.broker, peer) and target.alive:
                    target.received.append((node.broker, message, version))
                    if not target.silent:
                        answer = _answer(target, message)
                        self._input(node, MessageReceived(connection, correlation_id, version, answer))
            case SetTimer(key, after_ms):
                node.timers[key] = self.mono_ms + after_ms
            case CancelTimer(key):
                node.timers.pop(key, None)
            case Emit(event):
                node.events.append(event)
            case Exit(_, reason):
                node.exited = reason

    def _linked(self, a: int, b: int) -> bool:
        return frozenset((a, b)) not in self.cut

    def _lose(self, node: Broker, connection: int) -> None:
        node.connections.pop(connection)
        self._input(node, ConnectionLost(connection, "refused"))

    def _input(self, node: Broker, event: ConnectionOpened | ConnectionLost | MessageReceived) -> None:
        node.out.route(self.now, event)

    def _answer(self, node: Broker, request: SessionRequest, done: Done) -> None:
        done(self.now, node.out, self.service.request(node.session, request))

    # --- topics and requests ---

    def create_topic(
        self, topic: str = "t", *assignments: tuple[int, ...], config: dict[str, str] | None = None
    ) -> None:
        """As an operator does: config first, then the assignment."""
        if config:
            self.service.put(topic_config_path(topic), encode_config(config))
        partitions = {number: ReplicaAssignment(brokers(*replicas)) for number, replicas in enumerate(assignments)}
        self.service.put(topic_path(topic), encode_topic(partitions))
        self.settle()

    def leader_writes_isr(self, *isr: int, partition: tuple[str, int] = ("t", 0), notify: bool = True) -> None:
        """A leader changes the ISR straight in the service."""
        state = self.state(partition)
        changed = Leadership(state.leader, state.leader_epoch, brokers(*isr), state.controller_epoch)
        self.service.put(state_path(*partition), encode_state(changed))
        if notify:
            self.service.apply(
                0,
                Create("/isr_change_notification/isr_change_", encode_partitions([partition]), sequential=True),
            )
        self.settle()

    def alter_isr(self, controller: int, request: AlterIsrRequest) -> list[AlterIsrResponse]:
        """The answers so far."""
        answers: list[AlterIsrResponse] = []
        node = self.brokers[controller]
        node.controller.alter_isr(self.now, node.out, request, lambda n, o, answer: answers.append(answer))
        self.settle()
        return answers

    def shut_down(self, controller: int, request: ControlledShutdownRequest) -> list[ControlledShutdownResponse]:
        answers: list[ControlledShutdownResponse] = []
        node = self.brokers[controller]
        node.controller.controlled_shutdown(self.now, node.out, request, lambda n, o, a: answers.append(a))
        self.settle()
        return answers

    # --- what is to be seen ---

    def state(self, partition: tuple[str, int] = ("t", 0)) -> Leadership:
        znode = self.service.znodes[state_path(*partition)]
        return decode_state(*partition, znode.data, znode.version)

    def states(self, partition: tuple[str, int] = ("t", 0)) -> list[tuple[int, int, list[int], int, int]]:
        """Every state there was: (leader, leader epoch, ISR, controller epoch, zkVersion)."""
        path = state_path(*partition)
        found = [decode_state(*partition, data, v) for p, data, v in self.service.history if p == path]
        return [(s.leader, s.leader_epoch, list(s.isr), s.controller_epoch, s.zk_version) for s in found]

    def controller_of(self) -> int:
        znode = self.service.znodes.get("/controller")
        return decode_controller(znode.data) if znode else -1

    def active(self) -> list[int]:
        return [b for b, node in self.brokers.items() if node.alive and node.controller.active]

    def requests(self, broker: int) -> list[Message]:
        """Take the requests that this broker received and that no call has taken yet."""
        taken = [message for _, message, _ in self.brokers[broker].received]
        self.brokers[broker].received.clear()
        return taken

    def forget_requests(self) -> None:
        for node in self.brokers.values():
            node.received.clear()

    def decided(self, controller: int) -> list[str]:
        return [event.reason for event in self.brokers[controller].events if isinstance(event, StateDecided)]


class _Calls:
    """SessionCalls of one broker."""

    def __init__(self, cluster: Cluster, broker: int) -> None:
        self._cluster = cluster
        self._broker = broker

    def call(
        self, now: Now, out: Outbox, request: SessionRequest, done: Done, *, ends_with_session: bool = False
    ) -> None:
        node = self._cluster.brokers[self._broker]
        if node.expired:
            done(now, out, SessionResponse([], SessionError.SESSION_EXPIRED))
        elif node.within_reach and not node.waiting:
            done(now, out, self._cluster.service.request(node.session, request))
        else:
            node.waiting.append((request, done, ends_with_session))


def _answer(node: Broker, request: Message) -> Message:
    match request:
        case LeaderAndIsrRequest():
            named = {(p.topic, p.partition) for p in request.partitions}
            errors = [PartitionError(t, p, 56 if (t, p) in node.storage_errors else 0) for t, p in sorted(named)]
            return LeaderAndIsrResponse(partitions=errors)
        case StopReplicaRequest():
            return StopReplicaResponse(partitions=[PartitionError(p.topic, p.partition) for p in request.partitions])
        case UpdateMetadataRequest():
            return UpdateMetadataResponse()
    raise AssertionError(request)
