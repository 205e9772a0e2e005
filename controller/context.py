"""The context: what the controller's procedures work with. One per controller, for its whole life.

A procedure reads and changes `state`, asks the session service by yielding (see `session_calls`), and tells brokers
through `send`. `now` and `out` are those of the input being handled.
"""

from collections.abc import Callable
from enum import Enum

from controller.channels import Channels
from controller.requests import RequestBatch
from controller.settings import ControllerSettings
from controller.state import ControllerState
from protocol.events import Event, StateDecided, ids_text
from protocol.ids import NO_BROKER, BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.session import SessionError
from protocol.outbox import Due, Outbox
from protocol.versions import Gates
from protocol.znodes import Leadership


class StateMachine(Enum):
    """Each has a batch of its own."""

    PARTITIONS = "partitions"
    REPLICAS = "replicas"


class ControllerMoved(Exception):
    """Another broker is controller: `/controller_epoch` is not what we wrote, or `/controller` is not
    ours."""


class WriteRefused(Exception):
    """The session service refused a checked write, and not because of an epoch (Kafka's KeeperException). It ends the
    event, unless it is about states of partitions: those fail alone."""

    def __init__(self, error: int) -> None:
        super().__init__(f"the session service refused a write with {SessionError(error).name}")
        self.error = error


class ReassignmentFailed(Exception):
    """A step of a reassignment found no state that it may write (Kafka's IllegalStateException,
    StateChangeFailedException). It ends the event, where the step is not the first."""


class ControllerContext:
    """State that outlives a term.

    `active`: this broker is controller, as far as it knows. `deposed`: it has heard of another one, and goes on
    (0.8.2). `unclean_elections`: of this life, over all its terms. `kept_reassignments`: targets of reassignments that
    were under way when the last term ended (up to 0.10.2). `blocked`: state machines with a batch that was never sent
    (2.1+).
    """

    def __init__(self, broker: BrokerId, gates: Gates, settings: ControllerSettings, channels: Channels) -> None:
        self.broker = broker
        self.gates = gates
        self.settings = settings
        self.channels = channels
        self.state = ControllerState()
        self.active = False
        self.deposed = False
        self.unclean_elections = 0
        self.kept_reassignments: dict[TopicPartition, tuple[BrokerId, ...]] = {}
        self.rebalance_due: Due = lambda now, out: None
        """It is time for an automatic election of preferred replicas."""
        self.look_for_reassignments: Callable[[], None] = lambda: None
        """An event of its own: is there a `/admin/reassign_partitions`?"""
        self.blocked: set[StateMachine] = set()
        self.now = Now(0, 0)
        self.out = Outbox()

    def at(self, now: Now, out: Outbox) -> None:
        """An input is being handled."""
        self.now, self.out = now, out

    def batch(self) -> RequestBatch:
        """An empty batch of requests to brokers."""
        return RequestBatch(self.broker, self.gates, self.state)

    def leave_unsent(self, machine: StateMachine, batch: RequestBatch) -> None:
        """The controller has moved before `batch` was sent. From 2.1 on what is in it stays, and blocks the machine
        that filled it for as long as the process lives: newBatch refuses to begin another (IllegalStateException)."""
        if self.gates.unsent_batch_stays and not batch.empty:
            self.blocked.add(machine)

    def send(self, batch: RequestBatch) -> None:
        """Queue a batch's requests. Raises ChannelFull."""
        for broker, request, version in batch.outgoing():
            self.channels.send(self.now, self.out, broker, request, version)

    def update_metadata(self, brokers: list[BrokerId], partitions: list[TopicPartition]) -> None:
        """UpdateMetadata alone."""
        batch = self.batch()
        batch.add_update_metadata(brokers, partitions)
        self.send(batch)

    def emit(self, event: Event) -> None:
        self.out.emit(event)

    def decided(
        self, partition: TopicPartition, leadership: Leadership, reason: str, replica: BrokerId = NO_BROKER
    ) -> None:
        """Write down that a state was written; `replica` left the ISR."""
        self.emit(
            StateDecided(
                topic=partition[0],
                partition=partition[1],
                leader=leadership.leader,
                leader_epoch=leadership.leader_epoch,
                isr=ids_text(leadership.isr),
                controller_epoch=leadership.controller_epoch,
                zk_version=leadership.zk_version,
                reason=reason,
                replica=replica,
            )
        )
