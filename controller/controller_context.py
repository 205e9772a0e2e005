"""Context of the controller's procedures; one per controller, for its whole life.

A procedure reads and changes `state`, sends requests to ZooKeeper by yielding (see `session_calls`), and sends
requests to brokers through `send`. `now` and `out` are those of the current input.
"""

from collections.abc import Callable
from enum import Enum

from controller.channels import Channels
from controller.request_batches import RequestBatch
from controller.settings import ControllerSettings
from controller.state import ControllerState
from protocol.events import Event, StateDecided, ids_text
from protocol.gates import Gates
from protocol.ids import NO_BROKER, BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.session_messages import SessionError
from protocol.outbox import Due, Outbox
from protocol.znodes import Leadership


class StateMachine(Enum):
    """The controller's two state machines; each fills a batch of its own."""

    PARTITIONS = "partitions"
    REPLICAS = "replicas"


class ControllerMoved(Exception):
    """Another broker is controller, by `/controller_epoch` or `/controller`."""


class WriteRefused(Exception):
    """ZooKeeper refused a checked write, and not because of an epoch (Kafka's KeeperException).

    It ends the event. If the write was of partition states, only these partitions fail.
    """

    def __init__(self, error: int) -> None:
        super().__init__(f"the session service refused a write with {SessionError(error).name}")
        self.error = error


class ReassignmentFailed(Exception):
    """A reassignment's step found no state that it may write.

    Kafka's IllegalStateException, StateChangeFailedException. It ends the event, unless the step is the first.
    """


class ControllerContext:
    """State that outlives a term.

    `active`: this broker is controller, as far as it knows. `deposed`: it has learned of another controller, and
    goes on (0.8.2). `unclean_elections`: count of this life, over all its terms. `kept_reassignments`: targets of
    reassignments that were under way when the last term ended (up to 0.10.2). `blocked`: state machines with a
    batch that was never sent (2.1+).
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
        """Callback when an automatic election of preferred replicas is due."""
        self.look_for_reassignments: Callable[[], None] = lambda: None
        """Callback that queues an event to read `/admin/reassign_partitions`."""
        self.blocked: set[StateMachine] = set()
        self.now = Now(0, 0)
        self.out = Outbox()

    def at(self, now: Now, out: Outbox) -> None:
        """Set time and outbox of the current input."""
        self.now, self.out = now, out

    def batch(self) -> RequestBatch:
        """Return an empty batch of requests to brokers."""
        return RequestBatch(self.broker, self.gates, self.state)

    def leave_unsent(self, machine: StateMachine, batch: RequestBatch) -> None:
        """Keep an unsent batch: the controller moved before `batch` was sent.

        From 2.1 on the batch stays, and blocks `machine`, which filled it, for the life of the process. newBatch
        refuses to begin another (IllegalStateException).
        """
        if self.gates.unsent_batch_stays and not batch.empty:
            self.blocked.add(machine)

    def send(self, batch: RequestBatch) -> None:
        """Queue a batch's requests. Raises ChannelFull."""
        for broker, request, version in batch.outgoing():
            self.channels.send(self.now, self.out, broker, request, version)

    def update_metadata(self, brokers: list[BrokerId], partitions: list[TopicPartition]) -> None:
        """Send UpdateMetadata alone."""
        batch = self.batch()
        batch.add_update_metadata(brokers, partitions)
        self.send(batch)

    def emit(self, event: Event) -> None:
        self.out.emit(event)

    def decided(
        self, partition: TopicPartition, leadership: Leadership, reason: str, replica: BrokerId = NO_BROKER
    ) -> None:
        """Emit that a state was written; `replica` left the ISR."""
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
                topic_id=self.state.topic_ids.get(partition[0], ""),
            )
        )
