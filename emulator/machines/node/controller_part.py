"""Controller's part of a KRaft process: its state machine, its requests, its observers.

A dedicated controller has this part alone, a combined node has it beside a broker. Both parts share the process' member
of the quorum. The holder passes accepted connections, committed batches and changes of the leader, and ends each step
with `finish_step`.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Protocol

from controller.kraft.controller_log import ControllerLog
from controller.kraft.controller_settings import ControllerSettings
from controller.kraft.metadata_image import MetadataImage
from controller.quorum.settings import QuorumSettings
from emulator.machines.node.quorum_member import QuorumMember
from emulator.machines.node.quorum_observers import QuorumObservers, describe_quorum, quorum_status
from emulator.storage.files import StorageError
from emulator.topology import node_name
from protocol.chance import Chance
from protocol.events import Event
from protocol.ids import NO_BROKER, BrokerId, ControllerEpoch, LeaderEpoch, Offset
from protocol.machine import ConnectionAccepted, ConnectionEvent, MessageReceived, Now
from protocol.messages.kraft_messages import DescribeQuorumRequest, ObserveQuorumRequest
from protocol.messages.message_base import Message
from protocol.messages.status_messages import NodeStatus
from protocol.messages.voter_messages import AddRaftVoterRequest, RemoveRaftVoterRequest
from protocol.outbox import Outbox
from protocol.purposes import NODE_TO_CONTROLLER, OBSERVE
from protocol.records.errors import RecordsError
from protocol.records.metadata_records import MetadataBatch, MetadataRecord

CONTROLLER_DUE: Final = ("kraft-controller-due",)
UNANSWERED_MAX: Final = 16
"""Bound of one connection's requests without a response.

A broker's channel has one; more cost the connection.
"""
PURPOSES: Final = frozenset({NODE_TO_CONTROLLER, OBSERVE})
"""Purposes of the connections that this part serves.

Of OBSERVE it serves those whose messages are about the quorum.
"""


class ControllerMachine(Protocol):
    """State machine of a controller: `controller.kraft.quorum_controller.QuorumController`."""

    @property
    def active(self) -> bool: ...
    @property
    def claimed_epoch(self) -> LeaderEpoch: ...
    @property
    def due_at_ms(self) -> float: ...
    @property
    def image(self) -> MetadataImage: ...
    def leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None: ...
    def committed(self, now: Now, batches: Sequence[MetadataBatch]) -> None: ...
    def handle(self, now: Now, request: Message, reply: Callable[[Message], None]) -> None: ...
    def due(self, now: Now) -> None: ...


MakeController = Callable[
    [BrokerId, str, Mapping[str, Any], ControllerLog, Chance, Callable[[Event], None]], ControllerMachine
]
"""Makes the state machine: (id, version, settings, log, chance, emit)."""


class _MemberLog:
    """`ControllerLog` of the process' member. `now`: of the step."""

    def __init__(self, member: QuorumMember, out: Outbox) -> None:
        self._member = member
        self._out = out
        self.now = Now(0.0, 0.0)

    @property
    def end(self) -> Offset:
        return self._member.end

    def append(self, epoch: LeaderEpoch, records: Sequence[MetadataRecord]) -> Offset | None:
        return self._member.append(self.now, self._out, epoch, records)

    def resign(self, epoch: LeaderEpoch) -> None:
        self._member.resign(self.now, self._out, epoch)


class ControllerPart:
    """The controller of one life of a process."""

    def __init__(
        self, settings: Mapping[str, Any], version: str, member: QuorumMember, out: Outbox, make: MakeController
    ) -> None:
        self._settings = settings
        self._version = version
        self._make = make
        self._out = out
        self._member = member
        self._log = _MemberLog(member, out)
        self._controller: ControllerMachine | None = None
        self._observers = QuorumObservers(member)
        self._unanswered: dict[int, int] = {}
        """{connection: its requests without a response}"""
        self._due_at_ms = float("inf")

    def begin(self, chance: Chance) -> None:
        """Make the state machine. Call it before the member starts."""
        self._controller = self._make(
            self._member.me, self._version, self._settings, self._log, chance, self._out.emit
        )

    @property
    def active(self) -> bool:
        """Whether it is the active controller, by its own view."""
        return self._controller is not None and self._controller.active

    @property
    def claimed_epoch(self) -> LeaderEpoch:
        """The epoch of the quorum that the active controller has claimed; -1: it is not active."""
        return self._controller.claimed_epoch if self._controller is not None else LeaderEpoch(-1)

    @property
    def fencing_limit_ms(self) -> int:
        """Longest time until a quorum that can elect fences a silent broker.

        It is an election, then a whole session.
        """
        session_ms = ControllerSettings.from_settings(self._settings).broker_session_timeout_ms
        quorum = QuorumSettings.from_settings(self._settings)
        return int(session_ms) + quorum.fetch_timeout_ms + 2 * quorum.election_timeout_ms

    @property
    def image(self) -> MetadataImage:
        """The committed state, as this controller has read it."""
        return self._controller.image if self._controller is not None else MetadataImage()

    # --- from the member ---

    def committed(self, now: Now, batches: Sequence[MetadataBatch]) -> None:
        """Handle committed batches: `QuorumMember.on_batches`."""
        assert self._controller is not None
        self._log.now = now
        self._controller.committed(now, batches)
        self._observers.committed(batches)

    def leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None:
        """Handle a notice of a leader: `QuorumMember.on_leader`."""
        assert self._controller is not None
        self._log.now = now
        self._controller.leader_changed(now, leader, epoch)

    def finish_step(self, now: Now) -> None:
        """Deliver what the member has meanwhile, push to observers, and set the timer."""
        if self._member.ended:
            return
        self._member.deliver(now, self._out)
        self._observers.push(self._out, self.active)
        due_at_ms = self._controller.due_at_ms if self._controller is not None else float("inf")
        if due_at_ms == self._due_at_ms:
            return
        self._due_at_ms = due_at_ms
        if due_at_ms == float("inf"):
            self._out.cancel_timer(CONTROLLER_DUE)
        else:
            self._out.set_timer(CONTROLLER_DUE, max(0.0, due_at_ms - now.mono_ms), self._due)

    def _due(self, now: Now, out: Outbox) -> None:
        assert self._controller is not None
        self._due_at_ms = float("inf")
        self._log.now = now
        self._controller.due(now)

    # --- connections ---

    def accept(self, event: ConnectionAccepted, out: Outbox) -> None:
        """Serve a connection of purpose NODE_TO_CONTROLLER or OBSERVE."""
        self._unanswered[event.connection] = 0
        out.own(event.connection, self.on_connection_event)

    def on_connection_event(self, now: Now, event: ConnectionEvent, out: Outbox) -> None:
        """Handle an input of an accepted connection."""
        connection = event.connection
        if not isinstance(event, MessageReceived):
            self._forget(connection)
        elif isinstance(event.message, ObserveQuorumRequest):
            self._subscribe(out, connection)
        elif isinstance(event.message, DescribeQuorumRequest):
            out.send(connection, describe_quorum(self._member, now), event.correlation_id, event.version)
        elif isinstance(event.message, AddRaftVoterRequest | RemoveRaftVoterRequest):
            self._change_voters(now, event, event.message, out)
        else:
            self._on_request(now, event, out)

    def _change_voters(
        self, now: Now, event: MessageReceived, request: AddRaftVoterRequest | RemoveRaftVoterRequest, out: Outbox
    ) -> None:
        """Give a change of the voters to the quorum's node, which responds when it is committed."""
        connection = event.connection

        def reply(response: Message) -> None:
            if connection in self._unanswered:
                out.send(connection, response, event.correlation_id, event.version)

        self._member.change_voters(now, out, request, reply)

    def _subscribe(self, out: Outbox, connection: int) -> None:
        try:
            if self._observers.subscribe(out, connection, self.active):
                return
        except (StorageError, RecordsError):
            pass  # the member meets the same disk
        self._forget(connection)
        out.close(connection)

    def _on_request(self, now: Now, event: MessageReceived, out: Outbox) -> None:
        connection = event.connection

        def reply(response: Message) -> None:
            if connection in self._unanswered:
                self._unanswered[connection] -= 1
                out.send(connection, response, event.correlation_id, event.version)

        if self._controller is None or self._unanswered[connection] >= UNANSWERED_MAX:
            self._forget(connection)
            out.close(connection)
            return
        self._unanswered[connection] += 1
        self._log.now = now
        self._controller.handle(now, event.message, reply)

    def _forget(self, connection: int) -> None:
        self._unanswered.pop(connection, None)
        self._observers.forget(connection)

    def close(self, out: Outbox) -> None:
        """Close all connections: the process stops."""
        for connection in self._unanswered:
            out.close(connection)
            self._observers.forget(connection)
        self._unanswered.clear()

    # --- status ---

    def status(self, now: Now) -> NodeStatus:
        """Status as this controller knows it. Reading changes nothing."""
        member = self._member
        return NodeStatus(
            is_controller=self.active,
            controller_epoch=ControllerEpoch(member.epoch),
            controller=node_name(member.leader) if member.leader != NO_BROKER else "",
            metrics=self.metrics,
            quorum=quorum_status(member, fenced=self.fenced),
        )

    @property
    def fenced(self) -> list[BrokerId]:
        """Brokers that this controller has fenced, by its committed state; none: not active."""
        if self._controller is None or not self.active:
            return []
        return sorted(broker for broker, known in self._controller.image.brokers.items() if known.fenced)

    @property
    def metrics(self) -> dict[str, int]:
        """Numbers under the names of Kafka's `kafka.controller:type=KafkaController`.

        All are 0 while it is not active.
        """
        image = self._controller.image if self._controller is not None and self.active else MetadataImage()
        fenced = len(self.fenced)
        states = [state for _, _, state in image.partitions()]
        return {
            "ActiveControllerCount": int(self.active),
            "ActiveBrokerCount": len(image.brokers) - fenced,
            "FencedBrokerCount": fenced,
            "GlobalPartitionCount": len(states),
            "OfflinePartitionsCount": sum(state.leader == NO_BROKER for state in states),
        }
