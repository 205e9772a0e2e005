"""Machine of a dedicated controller: session client and controller (semantics 4.1).

    Started -> session connected -> elections for the controller
    session expired -> controller resigns -> new session -> elections again

It has no broker, and registers nothing. Brokers and clients know it by the id in `/controller` and in the
controller's requests. Its ids begin above those of brokers (emulator/topology.py).
"""

from collections.abc import Mapping
from typing import Any

from controller.controller import Controller
from controller.registration import persistent_paths
from controller.session_calls import Procedures, SessionLost
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.client.retrying_session import RetryingSession
from emulator.machines.client.session_client import SessionClient
from emulator.machines.node.broker_node import BrokerSessions, controller_settings
from emulator.machines.node.broker_status import controller_status
from emulator.machines.node.session_close import SESSION, Departure
from emulator.topology import Node, identifier_of, node_name
from protocol.chance import Chance
from protocol.conversations import ACCEPTED_BY_CONTROLLER
from protocol.gates import Gates
from protocol.kinds import ExitKind
from protocol.machine import (
    ConnectionAccepted,
    ConnectionEvent,
    Effect,
    Input,
    MessageReceived,
    Now,
    Started,
    StopRequested,
)
from protocol.messages.leadership_messages import AlterIsrRequest, ControlledShutdownRequest
from protocol.messages.message_base import Message
from protocol.messages.session_messages import WatchFired
from protocol.messages.status_messages import NodeStatus
from protocol.outbox import Outbox
from protocol.ready_queue import ReadyQueue


class ControllerNode:
    """One life of a dedicated controller's process. It keeps no files."""

    ACCEPTED_MESSAGES = ACCEPTED_BY_CONTROLLER

    def __init__(self, node: Node, gates: Gates, settings: Mapping[str, Any], session_servers: list[str]) -> None:
        known = BrokerSettings.from_settings(settings)
        self._name = node.name
        self._gates = gates
        self._out = Outbox()
        self.session = SessionClient(SESSION, session_servers, known.zookeeper_session_timeout_ms, node.name)
        retrying = RetryingSession(self.session)
        retrying.on_state = self._session_state
        retrying.on_watch = self._watch_fired
        sessions = BrokerSessions(retrying, ends_at_expiry=gates.session_wait_ends_at_expiry)
        ready = ReadyQueue()
        self._procedures = Procedures(sessions, ready=ready)
        self._known_session = -1
        self._resigning = False
        self._paths_made = False
        self._departure = Departure(retrying)
        self._brokers: set[int] = set()
        self.controller = Controller(
            identifier_of(node), gates, controller_settings(known), sessions, node_name, ready
        )

    def step(self, now: Now, event: Input) -> list[Effect]:
        """Handle one input."""
        out = self._out
        match event:
            case Started(seed):
                self.session.start(now, out, Chance(seed))
            case StopRequested():
                self._stop(now, out)
            case ConnectionAccepted(connection) if self._departure.begun:
                out.close(connection)
            case ConnectionAccepted(connection):
                self._brokers.add(connection)
                out.own(connection, self._on_connection_event)
            case _:
                out.route(now, event)  # no owner if its connection was closed meanwhile
        return out.take()

    def status(self, now: Now) -> NodeStatus:
        """Status as this controller knows it. Reading changes nothing."""
        return controller_status(self._name, self.controller, self.session)

    # --- the session and elections ---

    def _session_state(self, now: Now, out: Outbox, state: str) -> None:
        if self._departure.begun:
            self._departure.session_state(out, state)
        elif state == "connected" and self.session.session_id != self._known_session:
            self._known_session = self.session.session_id
            if self._paths_made:
                self._join(now, out)
            else:
                making = persistent_paths(self._gates)
                self._procedures.task(now, out, "startup", "paths", making, self._made_paths, _paths_failed).start()
        elif state == "expired":
            self._resigning = True
            self.controller.session_expired(now, out, then=self._resigned, free=self.session.restart)

    def _made_paths(self, now: Now, out: Outbox, result: None) -> None:
        """Take part in elections: the persistent paths exist."""
        self._paths_made = True
        self._join(now, out)

    def _join(self, now: Now, out: Outbox) -> None:
        if not self._resigning:
            self.controller.session_started(now, out)

    def _resigned(self, now: Now, out: Outbox) -> None:
        self._resigning = False
        if self.session.state == "connected" and self._paths_made:
            self._join(now, out)

    def _watch_fired(self, now: Now, out: Outbox, event: WatchFired) -> None:
        self.controller.watch_fired(now, out, event)

    # --- requests of brokers ---

    def _on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        if isinstance(event, MessageReceived):
            self._on_request(now, out, event)
        else:
            self._brokers.discard(event.connection)

    def _on_request(self, now: Now, out: Outbox, event: MessageReceived) -> None:
        def reply(now: Now, out: Outbox, response: Message) -> None:
            if event.connection in self._brokers:
                out.send(event.connection, response, event.correlation_id, event.version)

        match event.message:
            case AlterIsrRequest() as request if self._gates.understands(request.API_KEY, event.version):
                self.controller.alter_isr(now, out, request, reply)
            case ControlledShutdownRequest() as request:
                self.controller.controlled_shutdown(now, out, request, reply)
            case _:
                # A well-formed message that no controller, or not this binary's, serves: closing its connection is the
                # response.
                self._brokers.discard(event.connection)
                out.close(event.connection)

    def _stop(self, now: Now, out: Outbox) -> None:
        if self._departure.begun:
            return
        for connection in self._brokers:
            out.close(connection)
        self._brokers.clear()
        self.controller.stop(now, out)
        self._departure.begin(now, out, 0, "stopped", ExitKind.REQUESTED)


def _paths_failed(now: Now, out: Outbox, error: Exception) -> None:
    if not isinstance(error, SessionLost):
        raise error  # the session's expiry begins another one; any other exception is a bug
