"""The broker: its parts put together, and the door through which requests come in.

A connection's requests are answered one at a time, in order, as Kafka mutes a connection until its answer is out.
"""

from collections import deque
from collections.abc import Callable

from emulator.broker.alter_isr import ALTER_RETRY
from emulator.broker.appends import Appends
from emulator.broker.context import BrokerContext
from emulator.broker.controller_channel import ControllerChannel
from emulator.broker.fetchers import Fetchers
from emulator.broker.fetches import Fetches
from emulator.broker.group_coordinator import LOAD, CreateTopic, GroupCoordinator
from emulator.broker.isr_changes import SHRINK, IsrChanges
from emulator.broker.isr_notifications import PROPAGATE
from emulator.broker.leadership import HIGH_WATERMARK_CHECKPOINT, Leadership
from emulator.broker.metadata_cache import MetadataCache
from emulator.broker.offline_replicas import OfflineReplicas
from emulator.broker.parked import Purgatory
from emulator.broker.partition import Partition
from emulator.broker.questions import Questions
from emulator.broker.replicas import Replicas
from emulator.broker.roles import Roles
from protocol.machine import (
    ConnectionAccepted,
    ConnectionLost,
    ConnectionOpened,
    Input,
    MessageReceived,
    TimerFired,
)
from protocol.messages.base import Message
from protocol.messages.groups import FindCoordinatorRequest, OffsetCommitRequest, OffsetFetchRequest
from protocol.messages.leadership import (
    AlterIsrRequest,
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    MetadataRequest,
    ObserveMetadataRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.replication import (
    FetchRequest,
    InitProducerIdRequest,
    InitProducerIdResponse,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)

RECOVERY_CHECKPOINT = ("recovery-point-checkpoint",)
REQUESTS_QUEUED_MAX = 500
"""Requests waiting behind the one being answered, per connection (queued.max.requests); beyond that it is closed."""
PRODUCER_IDS_PER_LIFE = 1_000_000

ControllerRequest = AlterIsrRequest | ControlledShutdownRequest
ControllerReply = Callable[[Message], None]


class _Client:
    """One accepted connection and the requests that wait on it."""

    __slots__ = ("busy", "queue")

    def __init__(self) -> None:
        self.busy = False
        self.queue: deque[MessageReceived] = deque()


class Broker:
    """`for_controller` hands requests meant for the controller to it (it lives beside the broker); `create_topic`
    writes a topic into the session service."""

    def __init__(
        self,
        context: BrokerContext,
        for_controller: Callable[[ControllerRequest, ControllerReply], None],
        create_topic: CreateTopic,
    ) -> None:
        self.context = context
        self._for_controller = for_controller
        self.metadata = MetadataCache(context)
        self.replicas = Replicas(context, self.metadata)
        self.fetches = Purgatory("fetch-wait", context.out)
        self.produces = Purgatory("produce-wait", context.out)
        self.channel = ControllerChannel(context, self.metadata.controller_node)
        self.isr_changes = IsrChanges(context, self.replicas.partitions, self.channel, self._advanced)
        self.fetchers = Fetchers(context, self.replicas)
        self.appends = Appends(context, self.replicas, self.produces, self.fetches)
        self.coordinator = GroupCoordinator(context, self.replicas, self.metadata, self.appends, create_topic)
        roles = Roles(
            context, self.replicas, self.fetchers, self.isr_changes.alter_isr, self.fetches, self.produces,
            self.coordinator,
        )  # fmt: skip
        self.leadership = Leadership(context, self.replicas, self.fetchers, roles)
        self.fetching = Fetches(context, self.replicas, self.isr_changes, self.fetches, self.produces)
        self.questions = Questions(context, self.replicas)
        self._clients: dict[int, _Client] = {}
        self._producer_ids = 0
        self.incarnation = 1

    def start(self) -> None:
        """Load the logs and begin the periodic tasks. What fails meanwhile the controller hears of when it makes itself
        known to this broker."""
        self.replicas.load_all()
        if self.replicas.failed:
            return
        offline = OfflineReplicas(self.context, self.fetchers, self.coordinator)
        self.replicas.going_offline = offline.going
        self.replicas.tell_controller = offline.tell_controller
        self.isr_changes.start()
        self.context.out.set_timer(RECOVERY_CHECKPOINT, self.context.settings.log_flush_offset_checkpoint_interval_ms)

    def stop(self) -> None:
        """The last part of an orderly stop: fetchers, checkpoints, marker."""
        self.fetchers.close_all()
        self.replicas.close_cleanly()

    def _advanced(self, partition: Partition) -> None:
        partition.check_parked(self.fetches, self.produces)

    # --- inputs ---

    def handle(self, event: Input) -> bool:
        """Returns whether the input was the broker's."""
        match event:
            case MessageReceived(connection):
                return self._message(connection, event)
            case TimerFired():
                return self._timer(event)
            case ConnectionAccepted(connection):
                self._clients[connection] = _Client()
                return True
            case ConnectionLost(connection):
                if self._clients.pop(connection, None) is not None:
                    self.metadata.forget(connection)
                    return True
                return self._connection_event(connection, event)
            case ConnectionOpened(connection):
                return self._connection_event(connection, event)
            case _:
                return False

    def _connection_event(self, connection: int, event: ConnectionOpened | ConnectionLost) -> bool:
        fetcher = self.fetchers.owner(connection)
        if fetcher is not None:
            if isinstance(event, ConnectionOpened):
                fetcher.opened(event)
            else:
                fetcher.lost(event)
            return True
        if self.channel.handles(event):
            self.channel.handle(event)
            return True
        return False

    def _timer(self, event: TimerFired) -> bool:
        match event.key[0]:
            case "fetch-wait":
                self.fetches.expired(int(event.key[1]))
            case "produce-wait":
                self.produces.expired(int(event.key[1]))
            case "fetcher":
                self.fetchers.timer(event)
            case "isr-shrink" if event.key == SHRINK:
                self.isr_changes.shrink_timer()
            case "isr-propagate" if event.key == PROPAGATE:
                self.isr_changes.notifications.timer()
            case "alter-isr-retry" if event.key == ALTER_RETRY:
                self.isr_changes.alter_isr.retry_timer()
            case "high-watermark-checkpoint" if event.key == HIGH_WATERMARK_CHECKPOINT:
                self.leadership.checkpoint_timer()
            case _ if event.key[0] == LOAD:
                self.coordinator.load_timer(event)
            case "recovery-point-checkpoint":
                self.replicas.checkpoint_recovery_points()
                self.context.out.set_timer(
                    RECOVERY_CHECKPOINT, self.context.settings.log_flush_offset_checkpoint_interval_ms
                )
            case _:
                if self.channel.handles(event):
                    self.channel.handle(event)
                    return True
                return False
        return True

    def _message(self, connection: int, event: MessageReceived) -> bool:
        client = self._clients.get(connection)
        if client is None:
            fetcher = self.fetchers.owner(connection)
            if fetcher is not None:
                fetcher.received(event)
                return True
            if self.channel.handles(event):
                self.channel.handle(event)
                return True
            return False
        if client.busy:
            if len(client.queue) >= REQUESTS_QUEUED_MAX:
                self._hang_up(connection)
            else:
                client.queue.append(event)
            return True
        self._serve(connection, client, event)
        return True

    # --- requests ---

    def _serve(self, connection: int, client: _Client, event: MessageReceived) -> None:
        client.busy = True

        def reply(message: Message | None) -> None:
            if self._clients.get(connection) is not client:
                return
            if message is not None:
                self.context.out.send(connection, message, event.correlation_id, event.version)
            client.busy = False
            if client.queue:
                self._serve(connection, client, client.queue.popleft())

        self._dispatch(connection, event, reply)

    def _dispatch(self, connection: int, event: MessageReceived, reply: Callable[[Message | None], None]) -> None:
        match message := event.message:
            case FetchRequest():
                self.fetching.fetch(message, reply, event.correlation_id)
            case ProduceRequest():
                self.appends.produce(message, reply, lambda: self._hang_up(connection))
            case MetadataRequest():
                reply(self.metadata.answer(message))
            case ObserveMetadataRequest():
                self.metadata.observe(connection)
                reply(None)
            case OffsetForLeaderEpochRequest():
                reply(self.questions.epoch_ends(message))
            case ListOffsetsRequest():
                reply(self.questions.offsets(message))
            case LeaderAndIsrRequest():
                self.leadership.leader_and_isr(message, reply, event.correlation_id)
            case UpdateMetadataRequest():
                self.leadership.update_metadata(message, reply)
                self.channel.learn()
            case StopReplicaRequest():
                self.leadership.stop_replica(message, reply)
            case InitProducerIdRequest():
                reply(self._init_producer_id())
            case FindCoordinatorRequest() if self.context.gates.group_coordinator:
                self.coordinator.find(message, reply)
            case OffsetCommitRequest() if self.context.gates.group_coordinator:
                self.coordinator.commit(message, reply)
            case OffsetFetchRequest() if self.context.gates.group_coordinator:
                reply(self.coordinator.fetch(message))
            case AlterIsrRequest() | ControlledShutdownRequest():
                self._for_controller(message, reply)
            case _:
                # A well-formed message that no broker serves: the peer is told by the end of its connection.
                self._hang_up(connection)

    def _hang_up(self, connection: int) -> None:
        if self._clients.pop(connection, None) is not None:
            self.context.out.close(connection)

    def _init_producer_id(self) -> InitProducerIdResponse:
        """Ids are unique per broker and life, without the block allocation Kafka keeps in the session service."""
        self._producer_ids += 1
        assert self._producer_ids < PRODUCER_IDS_PER_LIFE
        base = (self.context.broker * 1_000 + self.incarnation) * PRODUCER_IDS_PER_LIFE
        return InitProducerIdResponse(0, base + self._producer_ids, 0)
