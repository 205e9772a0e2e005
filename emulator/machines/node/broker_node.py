"""Machine of a broker's process: broker, controller and session client in one.

    Started -> logs loaded -> session connected -> registered in /brokers/ids -> elections for the controller
    session expired -> controller resigns -> new session -> registered again -> elections

The broker reaches its own controller through a socket, like any other.
"""

from collections.abc import Callable, Mapping
from typing import Any

from controller.controller import Controller
from controller.registration import (
    NotRegistered,
    Registered,
    persistent_paths,
    register_broker,
    topic_configurations,
)
from controller.session_calls import Procedure, Procedures, SessionLost
from controller.settings import ControllerSettings
from emulator.machines.broker.broker import Broker, ControllerReply, ControllerRequest
from emulator.machines.broker.broker_context import BrokerContext, SessionDone
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.client.pipeline import pipelined
from emulator.machines.client.retrying_session import RetryingSession
from emulator.machines.client.session_client import SessionClient
from emulator.machines.node.admin_routing import administration_of
from emulator.machines.node.broker_status import broker_status
from emulator.machines.node.session_close import SESSION, Departure
from emulator.machines.node.shutdown_request import ControlledShutdown
from emulator.machines.node.topic_creation import Made, create_topic
from emulator.settings.setting import Value
from emulator.storage.files import Files, StorageError
from emulator.topology import Node, broker_name, identifier_of
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_BROKER
from protocol.errors import ErrorCode
from protocol.gates import Gates
from protocol.kinds import ExitKind
from protocol.machine import ConnectionAccepted, Effect, Input, Now, Started, StopRequested
from protocol.messages.leadership_messages import AlterIsrRequest
from protocol.messages.message_base import Message
from protocol.messages.session_messages import SessionRequest, WatchFired
from protocol.messages.status_messages import NodeStatus
from protocol.outbox import Outbox
from protocol.ready_queue import ReadyQueue
from protocol.work import Task
from protocol.znodes import CONFIG_CHANGES, BrokerRegistration

CONNECT_LIMIT = ("session-connect-limit",)
"""Timer of zookeeper.connection.timeout.ms: of an incarnation's first connection."""

REGISTER_AGAIN = ("register-again",)
"""Timer of another registration; the earlier session's znode should be gone by then (0.8.2)."""


class BrokerSessions:
    """ZooKeeper calls of broker and controller; they survive lost connections."""

    def __init__(self, session: RetryingSession, *, ends_at_expiry: bool) -> None:
        self._session = session
        self._ends_at_expiry = ends_at_expiry

    def call(
        self, now: Now, out: Outbox, request: SessionRequest, done: SessionDone, *, ends_with_session: bool = False
    ) -> None:
        ends = self._ends_at_expiry or ends_with_session

        def send(one: SessionRequest, answered: SessionDone) -> None:
            self._session.call(now, out, one, answered, ends_at_expiry=ends)

        pipelined(request, send, done)


class BrokerNode:
    """One life of a broker's process. Only `files` survive it."""

    ACCEPTED_MESSAGES = ACCEPTED_BY_BROKER

    def __init__(
        self,
        node: Node,
        gates: Gates,
        settings: Mapping[str, Any],
        session_servers: list[str],
        files: Files,
        given: Mapping[str, Value] | None = None,
    ) -> None:
        """Create a node that has not started.

        `given`: the explicit ones of `settings`, and explicit ones without effect.
        """
        self.node = node
        self._gates = gates
        self._out = Outbox()
        self._settings = BrokerSettings.from_settings(settings)
        client = SessionClient(SESSION, session_servers, self._settings.zookeeper_session_timeout_ms, node.name)
        self.session = client
        retrying = RetryingSession(client)
        retrying.on_state = self._session_state
        retrying.on_watch = self._watch_fired
        sessions = BrokerSessions(retrying, ends_at_expiry=gates.session_wait_ends_at_expiry)
        ready = ReadyQueue()
        self._procedures = Procedures(sessions, ready=ready)
        self._registering: Task | None = None
        self._registered_in = -1
        self._known_session = -1
        self._resigning = False
        self._booting = False
        self.booted = False
        """The logs are loaded, and the broker serves."""
        self._may_be_elected = "controller" in node.roles
        self._stopping = False
        self._shutdown: ControlledShutdown | None = None
        self._departure = Departure(retrying)
        self.context = BrokerContext(identifier_of(node), gates, self._settings, files, sessions, self._out)
        self.controller = Controller(
            identifier_of(node), gates, controller_settings(self._settings), sessions, broker_name, ready
        )
        self.broker = Broker(
            self.context, self._send_to_own_controller, self._create_topic, self._unclean_enabled, self._reconfigured
        )
        self._placing = Chance(0)
        self.file = _server_properties(node, gates, given or {}, session_servers)
        """The broker's settings file, as DescribeConfigs reports it."""
        self.broker.administers = administration_of(
            self.broker, self.controller, lambda: self._placing, self.file, self._procedures
        )

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input."""
        out, context = self._out, self.context
        context.now = now
        try:
            if not out.route(now, event):
                self._handle(now, event, out)
            if context.threads.ready and not self._departure.begun:
                context.threads.go_on()
        except StorageError as error:
            self.broker.replicas.storage_failed(error)
            context.threads.go_on()
        return out.take()

    def status(self, now: Now) -> NodeStatus:
        """Status as this broker knows it. Reading changes nothing."""
        return broker_status(self.node.name, self.broker, self.controller, self.session, now.mono_ms)

    @property
    def listens(self) -> bool:
        """Whether its port accepts connections: its logs are loaded (KafkaServer.startup)."""
        return self.booted

    @property
    def reads_requests(self) -> bool:
        """Whether it reads requests: when it listens, or from 1.0 on when it has registered."""
        return self.listens and (not self._gates.serves_after_registration or self._registered_in >= 0)

    @property
    def knows_cluster(self) -> bool:
        """Whether a controller has sent it the live brokers: its metadata are not empty."""
        return bool(self.broker.metadata.live)

    def _handle(self, now: Now, event: Input, out: Outbox) -> None:
        match event:
            case Started(seed, incarnation):
                self.broker.producer_ids.incarnation = self.broker.replicas.incarnation = incarnation
                self.context.chance = Chance(seed + 1)  # a stream of its own, unlike the session's
                self._placing = Chance(seed + 2)
                self.session.start(now, out, Chance(seed))
                out.set_timer(CONNECT_LIMIT, self._settings.zookeeper_connection_timeout_ms, self._no_session)
            case ConnectionAccepted(connection) if self._departure.begun:
                out.close(connection)
            case ConnectionAccepted():
                self.broker.accepted(event)
            case StopRequested():
                self._stop(now, out)
            case _:
                pass  # of a connection that was closed meanwhile

    def _no_session(self, now: Now, out: Outbox) -> None:
        waited_ms = self._settings.zookeeper_connection_timeout_ms
        why = f"no session service within {waited_ms} ms (zookeeper.connection.timeout.ms)"
        out.exit(1, why, ExitKind.NO_SESSION_SERVICE)

    # --- the session, registration, elections (semantics 4.1) ---

    def _session_state(self, now: Now, out: Outbox, state: str) -> None:
        self.context.now = now
        if self._departure.begun:
            self._departure.session_state(out, state)
        elif state == "connected" and self.session.session_id != self._known_session:
            out.cancel_timer(CONNECT_LIMIT)
            self._known_session = self.session.session_id
            if self.booted:
                self.broker.configurations.session_began()
                self._join(now, out)
            elif not self._booting:  # up to 1.0 the boot goes on in the next session
                self._booting = True
                booting = _boot(self._gates)
                self._procedures.task(now, out, "startup", "boot", booting, self._boot_ended, self._boot_failed).start()
        elif state == "expired":
            out.cancel_timer(REGISTER_AGAIN)
            if self._registering is not None:
                self._registering.abandon()
                self._registering = None
            self.context.threads.go_on()  # threads that wait for the session resume before there is another
            self._resigning = True
            self.controller.session_expired(now, out, then=self._resigned, free=self.session.restart)

    def _boot_ended(self, now: Now, out: Outbox, configurations: dict[str, dict[str, str]]) -> None:
        """Serve requests: the logs are loaded with their topics' settings."""
        self.context.now = now
        self.booted = True
        self.broker.start(configurations)
        if not self.broker.replicas.failed:
            self._join(now, out, starting=True)

    def _boot_failed(self, now: Now, out: Outbox, error: Exception) -> None:
        self._registration_failed(now, out, error)
        out.exit(1, "the session expired while starting", ExitKind.NO_SESSION_SERVICE)

    def _join(self, now: Now, out: Outbox, *, starting: bool = False) -> None:
        """Register and take part in elections, in the version's order (semantics 4.1)."""
        self.context.now = now
        if not self._gates.registers_before_election and self._may_be_elected:
            beside = self._gates.registers_beside_controller and not starting
            self.controller.session_started(now, out, then=None if beside else self._register)
            if beside:
                self._register(now, out)
        elif not self._resigning:
            self._register(now, out)

    def _resigned(self, now: Now, out: Outbox) -> None:
        """Register, if connected: this broker is not controller any more."""
        self.context.now = now
        self._resigning = False
        after_election = self._may_be_elected and not self._gates.registers_before_election
        if self.session.state == "connected" and self.booted and not after_election:
            self._register(now, out)

    def _register(self, now: Now, out: Outbox) -> None:
        self.context.now = now
        if self._registering is not None:
            self._registering.abandon()
        registration = self._registration(now.wall_ms)
        self._registering = self._procedures.task(
            now, out, "registration", "register", registration, self._registration_ended, self._registration_failed
        )
        self._registering.start()

    def _registration(self, wall_ms: float) -> Procedure[Registered | NotRegistered]:
        rack = self.node.az if self._gates.registers_rack else ""
        registration = BrokerRegistration(self.context.broker, self.node.name, 9092, rack)
        return (
            yield from register_broker(
                self._gates, registration, wall_ms, lambda: self.session.session_id, self._registered_in
            )
        )

    def _registration_ended(self, now: Now, out: Outbox, result: Registered | NotRegistered) -> None:
        self.context.now = now
        self._registering = None
        if isinstance(result, NotRegistered):
            if result.waits:
                out.set_timer(REGISTER_AGAIN, self._settings.zookeeper_session_timeout_ms, self._register)
            elif self._registered_in < 0:
                self._shut_down(1, result.reason, result.kind)
            return  # in a later session: alive, unregistered, out of elections (KAFKA-7165)
        self.context.broker_epoch = result.broker_epoch
        self._registered_in = result.session
        if self._gates.registers_before_election and self._may_be_elected:
            self.controller.session_started(now, out)

    def _registration_failed(self, now: Now, out: Outbox, error: Exception) -> None:
        if not isinstance(error, SessionLost):
            raise error  # the session's expiry begins another one; any other exception is a bug

    def _watch_fired(self, now: Now, out: Outbox, event: WatchFired) -> None:
        self.context.now = now
        if event.path == CONFIG_CHANGES:
            self.broker.configurations.changed()
        else:
            self.controller.watch_fired(now, out, event)

    # --- requests for the controller that lives here ---

    def _send_to_own_controller(self, request: ControllerRequest, reply: ControllerReply) -> None:
        def answered(now: Now, out: Outbox, response: Message) -> None:
            self.context.now = now
            reply(response)

        now, out = self.context.now, self._out
        if isinstance(request, AlterIsrRequest):
            self.controller.alter_isr(now, out, request, answered)
        else:
            self.controller.controlled_shutdown(now, out, request, answered)

    def _unclean_enabled(self, topic: str) -> None:
        if self._gates.enables_unclean_election_at_once:
            self.controller.unclean_election_enabled(self.context.now, self._out, topic)

    def _reconfigured(self, settings: BrokerSettings, unclean: bool) -> None:
        self.controller.reconfigured(controller_settings(settings))
        if unclean and self._gates.enables_unclean_election_of_all_at_once:
            self.controller.unclean_election_enabled(self.context.now, self._out, "")

    # --- topics that brokers make by themselves (semantics 4.4) ---

    def _create_topic(
        self,
        topic: str,
        partitions: int,
        replication_factor: int,
        configs: dict[str, str],
        over: Callable[[ErrorCode], None],
    ) -> None:
        def ended(now: Now, out: Outbox, made: Made | None) -> None:
            self.context.now = now
            over(made.error if made is not None else ErrorCode.UNKNOWN_SERVER_ERROR)

        def failed(now: Now, out: Outbox, error: Exception) -> None:
            self._registration_failed(now, out, error)
            ended(now, out, None)

        making = create_topic(self._gates, self._placing, topic, partitions, replication_factor, configs)
        now, out = self.context.now, self._out
        self._procedures.task(now, out, "topic-creation", topic, making, ended, failed).start()

    # --- an orderly stop (semantics 3, 4.2) ---

    def _stop(self, now: Now, out: Outbox) -> None:
        if self._stopping:
            return
        self._stopping = self.context.stopping = True
        if self._registered_in < 0 and self._gates.halts_when_stopped_while_starting:
            # Kafka's process exits with 1 here, and with 143 after an orderly stop: here both are requested stops.
            out.exit(0, "stopped while it was starting")
        elif self._settings.controlled_shutdown_enable and self._registered_in >= 0:
            self._shutdown = ControlledShutdown(self.context, self._procedures, self._finish_stop)
            self._shutdown.begin()
        else:
            self._finish_stop()

    def _finish_stop(self) -> None:
        self._shut_down(0, "stopped", ExitKind.REQUESTED)

    def _shut_down(self, code: int, reason: str, kind: ExitKind) -> None:
        """Shut down: the end of KafkaServer.shutdown.

        The files of logs that were not loaded stay as they are. The shutdown waits only for the session's close.
        """
        now, out = self.context.now, self._out
        if self.booted:
            self.broker.stop()
        self.controller.stop(now, out)
        self._departure.begin(now, out, code, reason, kind)


def _boot(gates: Gates) -> Procedure[dict[str, dict[str, str]]]:
    """Create the persistent paths; returns the topics' own settings."""
    yield from persistent_paths(gates)
    return (yield from topic_configurations())


def _server_properties(
    node: Node, gates: Gates, given: Mapping[str, Value], session_servers: list[str]
) -> dict[str, Value]:
    """Contents of the broker's server.properties, if it had one."""
    topologys: dict[str, Value] = {"broker.id": node.number, "zookeeper.connect": ",".join(session_servers)}
    if gates.registers_rack and node.az:
        topologys["broker.rack"] = node.az
    return {**given, **topologys}


def controller_settings(settings: BrokerSettings) -> ControllerSettings:
    """The controller's part of a broker's settings."""
    names = ControllerSettings.__struct_fields__
    return ControllerSettings(**{name: getattr(settings, name) for name in names if hasattr(settings, name)})
