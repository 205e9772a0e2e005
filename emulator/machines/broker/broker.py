"""The broker: composition of its parts, and dispatch of requests."""

from collections.abc import Callable

from emulator.machines.broker.appends import Appends
from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_metadata import MetadataCache
from emulator.machines.broker.configurations import Configurations
from emulator.machines.broker.controller_channel import ControllerChannel
from emulator.machines.broker.controller_requests import HighWatermarkCheckpoints, Leadership
from emulator.machines.broker.coordinator_lookup import CoordinatorLookup, CreateTopic
from emulator.machines.broker.dynamic_settings import DynamicSettings
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.fetches import Fetches
from emulator.machines.broker.group_coordinator import GroupCoordinator
from emulator.machines.broker.isr_writes import IsrChanges
from emulator.machines.broker.log_dir_queries import alter_replica_log_dirs, describe_log_dirs
from emulator.machines.broker.marker_writes import MarkerWrites
from emulator.machines.broker.metadata_deltas import MetadataDeltas
from emulator.machines.broker.offline_replicas import OfflineReplicas
from emulator.machines.broker.offset_queries import OffsetQueries
from emulator.machines.broker.producer_ids import ProducerIds
from emulator.machines.broker.producer_queries import describe_producers
from emulator.machines.broker.record_deletions import RecordDeletions
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.replica_transitions import Coordinator, ReplicaTransitions
from emulator.machines.broker.request_channel import Request, RequestChannel
from emulator.machines.broker.settings import BrokerSettings
from emulator.machines.broker.topic_auto_creation import TopicAutoCreation
from emulator.machines.broker.transaction_coordinator import TransactionCoordinator
from emulator.machines.broker.transaction_queries import TransactionQueries
from emulator.machines.broker.transaction_verification import TransactionVerification
from protocol.machine import ConnectionAccepted
from protocol.messages.administration import (
    CreatePartitionsRequest,
    CreateTopicsRequest,
    DeleteRecordsRequest,
    DeleteTopicsRequest,
)
from protocol.messages.configuration import (
    AlterConfigsRequest,
    DescribeConfigsRequest,
    IncrementalAlterConfigsRequest,
)
from protocol.messages.groups import (
    FindCoordinatorRequest,
    OffsetCommitRequest,
    OffsetDeleteRequest,
    OffsetFetchRequest,
)
from protocol.messages.leadership_messages import (
    AlterIsrRequest,
    ControlledShutdownRequest,
    LeaderAndIsrRequest,
    MetadataRequest,
    ObserveMetadataRequest,
    StopReplicaRequest,
    UpdateMetadataRequest,
)
from protocol.messages.membership import (
    DeleteGroupsRequest,
    DescribeGroupsRequest,
    HeartbeatRequest,
    JoinGroupRequest,
    LeaveGroupRequest,
    ListGroupsRequest,
    SyncGroupRequest,
)
from protocol.messages.message_base import Message
from protocol.messages.placement import (
    AlterPartitionReassignmentsRequest,
    AlterReplicaLogDirsRequest,
    DescribeClusterRequest,
    DescribeClusterResponse,
    DescribeLogDirsRequest,
    DescribeProducersRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from protocol.messages.replication_messages import (
    FetchRequest,
    ListOffsetsRequest,
    OffsetForLeaderEpochRequest,
    ProduceRequest,
)
from protocol.messages.transactions import (
    AddOffsetsToTxnRequest,
    AddPartitionsToTxnRequest,
    DescribeTransactionsRequest,
    EndTxnRequest,
    InitProducerIdRequest,
    ListTransactionsRequest,
    TxnOffsetCommitRequest,
    WriteTxnMarkersRequest,
)
from protocol.purposes import OBSERVE
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.records.transaction_states import TRANSACTIONS_TOPIC
from protocol.work import Until, Work

RECOVERY_CHECKPOINT = ("recovery-point-checkpoint",)
FLUSH = ("log-flush",)
LOG_START_CHECKPOINT = ("log-start-checkpoint",)
RETENTION = ("log-retention",)
FIRST_TASK_MS = 30_000.0
"""Delay before the log manager's tasks begin (LogManager.InitialTaskDelayMs)."""
TIMER_MAX_MS = 1e12
"""Longest period of a task; one with a longer period never runs."""

ADMINISTERED = (
    CreateTopicsRequest, DeleteTopicsRequest, CreatePartitionsRequest, DescribeConfigsRequest, AlterConfigsRequest,
    IncrementalAlterConfigsRequest, ElectLeadersRequest, AlterPartitionReassignmentsRequest,
    ListPartitionReassignmentsRequest,
)  # fmt: skip
"""Requests that the node handles, which has a controller."""
TRANSACTIONAL = (
    AddPartitionsToTxnRequest, AddOffsetsToTxnRequest, EndTxnRequest, WriteTxnMarkersRequest, TxnOffsetCommitRequest,
    DescribeTransactionsRequest, ListTransactionsRequest,
)  # fmt: skip
"""Requests about transactions."""
ControllerRequest = AlterIsrRequest | ControlledShutdownRequest
ControllerReply = Callable[[Message], None]


class Broker:
    """One life of a broker; it serves no connection before `start`.

    `for_controller` passes requests to the controller beside the broker. `create_topic` writes a topic into
    ZooKeeper. `unclean_enabled` is called with a topic whose unclean election was enabled. `reconfigured` is called
    with changed dynamic settings, and whether they enable unclean election of all topics. `channel`: to the
    controller, for ISR changes; None: to the one of the controller's own metadata updates (ZooKeeper).
    """

    def __init__(
        self,
        context: BrokerContext,
        for_controller: Callable[[ControllerRequest, ControllerReply], None],
        create_topic: CreateTopic,
        unclean_enabled: Callable[[str], None] = lambda topic: None,
        reconfigured: Callable[[BrokerSettings, bool], None] = lambda settings, unclean: None,
        channel: ControllerChannel | None = None,
    ) -> None:
        self.context = context
        self._for_controller = for_controller
        self.metadata = MetadataCache(context)
        self.replicas = Replicas(context, self.metadata)
        self.fetches, self.produces = self.replicas.fetches, self.replicas.produces
        self.channel = channel or ControllerChannel(context, self.metadata.controller_node)
        self.isr_changes = IsrChanges(context, self.replicas.partitions, self.channel)
        self.fetchers = Fetchers(context, self.replicas)
        self.record_deletions = RecordDeletions(context, self.replicas)
        self.verification = TransactionVerification(context, self.metadata)
        self.appends = Appends(context, self.replicas, self.produces, self.verification)
        self.coordinator = GroupCoordinator(context, self.replicas, self.metadata, self.appends)
        self.lookup = CoordinatorLookup(context, self.metadata, create_topic)
        self.producer_ids = ProducerIds(context)
        self.transactions = TransactionCoordinator(
            context, self.replicas, self.metadata, self.appends, self.producer_ids
        )
        self.transaction_queries = TransactionQueries(context, self.transactions.log)
        self.marker_writes = MarkerWrites(context, self.replicas, self.appends, self.coordinator.transaction_ended)
        coordinators: dict[str, Coordinator] = {
            OFFSETS_TOPIC: self.coordinator, TRANSACTIONS_TOPIC: self.transactions
        }  # fmt: skip
        self.auto_creation = TopicAutoCreation(context, self.metadata, create_topic)
        alter_isr = self.isr_changes.alter_isr
        transitions = ReplicaTransitions(
            context, self.replicas, self.fetchers, alter_isr, coordinators, self.coordinator
        )
        self._coordinators = coordinators
        checkpoints = HighWatermarkCheckpoints(context, self.replicas)
        self.leadership = Leadership(context, self.replicas, self.fetchers, transitions, checkpoints)
        self.deltas = MetadataDeltas(context, self.replicas, self.fetchers, transitions, checkpoints)
        self.fetching = Fetches(context, self.replicas, self.isr_changes, self.fetches)
        self.offset_queries = OffsetQueries(context, self.replicas)
        self.requests = RequestChannel(context, self._serve, self.metadata.forget)
        self.dynamic = DynamicSettings(context, self.replicas, self._reconfigured)
        self.configurations = Configurations(context, self.replicas, self.dynamic, unclean_enabled)
        self._tell_reconfigured = reconfigured
        self.administers: Callable[[Request], None] = Request.hang_up
        """Handler of ADMINISTERED requests: the node's."""
        self._serving = False
        self._started_ms = 0.0
        self._deletes_records = False

    def start(self, configurations: dict[str, dict[str, str]]) -> None:
        """Load the logs, with their topics' own settings, and begin the periodic tasks.

        The controller learns of failures meanwhile from this broker's response to its first LeaderAndIsr.
        """
        self.replicas.load_all(configurations)
        if self.replicas.failed:
            return
        offline = OfflineReplicas(self.context, self.fetchers, self._coordinators)
        self.transactions.start()
        self.replicas.going_offline = offline.going
        self.replicas.tell_controller = offline.tell_controller
        self.isr_changes.start()
        if not self.context.gates.metadata_from_image:
            self.configurations.start()
        self.context.set_timer(RECOVERY_CHECKPOINT, FIRST_TASK_MS, self._checkpoint_recovery_points)
        if self.context.settings.log_flush_scheduler_interval_ms < TIMER_MAX_MS:
            self.context.set_timer(FLUSH, FIRST_TASK_MS, self._flush)
        self._started_ms = self.context.now.mono_ms
        self.replicas.log_start_moved = self._log_start_moved
        if self.replicas.some_start_within:
            self._log_start_moved()
        self._serving = True

    def _reconfigured(self, settings: BrokerSettings, unclean: bool) -> None:
        self._tell_reconfigured(settings, unclean)
        self.requests.resized()

    def stop(self) -> None:
        """Stop in an orderly way, between controlled shutdown and the session's close.

        Closes the listener's connections and fetchers, writes checkpoints and marker (KafkaServer.shutdown).
        """
        self._serving = False
        self.requests.shut()
        self.fetchers.close_all()
        self.transactions.close()
        self.verification.close()
        self.replicas.close_cleanly()

    def accepted(self, event: ConnectionAccepted) -> None:
        """Handle a new connection."""
        if self._serving or event.purpose == OBSERVE:
            self.requests.accepted(event.connection, event.peer, event.purpose)
        else:
            # Kafka does not listen yet, and would refuse it.
            self.context.out.close(event.connection)

    # --- the log manager's tasks ---

    def _checkpoint_recovery_points(self) -> None:
        self.replicas.checkpoint_recovery_points()
        interval_ms = self.context.settings.log_flush_offset_checkpoint_interval_ms
        self.context.set_timer(RECOVERY_CHECKPOINT, interval_ms, self._checkpoint_recovery_points)

    def _flush(self) -> None:
        self.replicas.flush_dirty_logs()
        self.context.set_timer(FLUSH, self.context.settings.log_flush_scheduler_interval_ms, self._flush)

    def _log_start_moved(self) -> None:
        """Begin two tasks of the log manager, in their usual periods."""
        if not self._deletes_records:
            self._deletes_records = True
            settings = self.context.settings
            self._set_task(
                LOG_START_CHECKPOINT,
                settings.log_flush_start_offset_checkpoint_interval_ms,
                self.replicas.checkpoint_log_starts,
            )
            delete = self.replicas.delete_segments_below_starts
            self._set_task(RETENTION, settings.log_retention_check_interval_ms, delete)

    def _set_task(self, name: tuple[str], interval_ms: int, task: Callable[[], None]) -> None:
        """Run a task FIRST_TASK_MS after the start of this life, then every `interval_ms`."""
        if not 0 < interval_ms < TIMER_MAX_MS:
            return
        passed_ms = self.context.now.mono_ms - self._started_ms - FIRST_TASK_MS
        wait_ms = -passed_ms if passed_ms < 0 else interval_ms - passed_ms % interval_ms

        def due() -> None:
            task()
            self.context.set_timer(name, interval_ms, due)

        self.context.set_timer(name, wait_ms, due)

    # --- requests ---

    def _serve(self, request: Request) -> Work[None] | None:
        """Dispatch a request: its handler's work; None: it is done."""
        match message := request.message:
            case FetchRequest():
                return self.fetching.fetch(request, message)
            case ProduceRequest():
                return self.appends.produce(request, message)
            case MetadataRequest() if self.auto_creation.makes(message):
                return self.auto_creation.metadata(request, message)
            case MetadataRequest():
                request.answer(self.metadata.answer(message))
            case ObserveMetadataRequest():
                self.metadata.observe(request.connection)
                request.answer(None)
            case OffsetForLeaderEpochRequest():
                return self.offset_queries.epoch_ends(request, message)
            case ListOffsetsRequest():
                return self.offset_queries.offsets(request, message)
            case DeleteRecordsRequest() if self.context.gates.delete_records:
                return self.record_deletions.delete(request, message)
            case LeaderAndIsrRequest():
                return self.leadership.leader_and_isr(request, message)
            case UpdateMetadataRequest():
                return self._update_metadata(request, message)
            case StopReplicaRequest():
                return self.leadership.stop_replica(request, message)
            case InitProducerIdRequest():
                return self.transactions.init_producer_id(request, message)
            case FindCoordinatorRequest() if self.context.gates.group_coordinator:
                return self.lookup.find(request, message)
            case OffsetCommitRequest() if self.context.gates.group_coordinator:
                return self.coordinator.commit(request, message)
            case OffsetFetchRequest() if self.context.gates.group_coordinator:
                request.answer(self.coordinator.fetch(message))
            case JoinGroupRequest() if self.context.gates.group_coordinator:
                self.coordinator.members.join(request, message)
            case SyncGroupRequest() if self.context.gates.group_coordinator:
                return self.coordinator.members.sync(request, message)
            case HeartbeatRequest() if self.context.gates.group_coordinator:
                self.coordinator.members.heartbeat(request, message)
            case LeaveGroupRequest() if self.context.gates.group_coordinator:
                self.coordinator.members.leave(request, message)
            case ListGroupsRequest() if self.context.gates.group_coordinator:
                request.answer(self.coordinator.administration.list(message))
            case DescribeGroupsRequest() if self.context.gates.group_coordinator:
                request.answer(self.coordinator.administration.describe(message))
            case DeleteGroupsRequest() if self.context.gates.group_coordinator:
                return self.coordinator.delete(request, message)
            case DescribeLogDirsRequest():
                request.answer(describe_log_dirs(self.replicas, message))
            case AlterReplicaLogDirsRequest():
                request.answer(alter_replica_log_dirs(self.replicas, message))
            case DescribeProducersRequest():
                request.answer(describe_producers(self.replicas, self.metadata, message))
            case DescribeClusterRequest():
                controller = self.metadata.shown_controller()
                request.answer(DescribeClusterResponse(controller, list(self.metadata.live.values())))
            case OffsetDeleteRequest() if self.context.gates.group_coordinator:
                return self.coordinator.delete_offsets(request, message)
            case _ if isinstance(message, ADMINISTERED):
                self.administers(request)
            case _ if self.context.gates.transactions and isinstance(message, TRANSACTIONAL):
                return self._transactional(request, message)
            case ControlledShutdownRequest() if self.context.gates.controlled_shutdown_occupies_handler:
                return self._ask_controller(request, message)
            case AlterIsrRequest() | ControlledShutdownRequest():
                self._for_controller(message, request.answer)
            case _:
                # A well-formed message that no broker serves: closing its connection is the response.
                request.hang_up()
        return None

    def _transactional(self, request: Request, message: Message) -> Work[None] | None:
        """Dispatch a request about transactions."""
        match message:
            case AddPartitionsToTxnRequest():
                return self.transactions.add_partitions(request, message)
            case AddOffsetsToTxnRequest():
                offsets = (OFFSETS_TOPIC, self.coordinator.partition_of(message.group))
                return self.transactions.add_offsets(request, message, offsets)
            case EndTxnRequest():
                return self.transactions.end(request, message)
            case WriteTxnMarkersRequest():
                return self.marker_writes.write(request, message)
            case TxnOffsetCommitRequest():
                return self.coordinator.commit_in_transaction(request, message)
            case DescribeTransactionsRequest():
                request.answer(self.transaction_queries.describe(message))
            case ListTransactionsRequest():
                request.answer(self.transaction_queries.list(message))
        return None

    def _update_metadata(self, request: Request, message: UpdateMetadataRequest) -> Work[None]:
        yield from self.leadership.update_metadata(request, message)
        self.channel.learn()

    def _ask_controller(self, request: Request, message: ControllerRequest) -> Work[None]:
        answer = yield Until("the controller", lambda done: self._for_controller(message, done))
        assert isinstance(answer, Message)
        request.answer(answer)
