"""Requests of the controller: LeaderAndIsr, StopReplica, UpdateMetadata. Semantics 1.7.

One request at a time, by Kafka's replicaStateChangeLock. A request waits for locked partitions, and for topic
configurations from ZooKeeper that a new log needs. `replica_transitions` executes the changes of one replica.
"""

from emulator.machines.broker.broker_context import BrokerContext, SessionExpired
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.fifo_mutex import Turns
from emulator.machines.broker.replica_manager import Replicas
from emulator.machines.broker.replica_transitions import Change, ReplicaTransitions
from emulator.machines.broker.request_channel import Request
from protocol.errors import ErrorCode
from protocol.events import LeaderAndIsrIgnored
from protocol.ids import EPOCH_UNKNOWN, ControllerEpoch
from protocol.kinds import IgnoredReason
from protocol.messages.leadership_messages import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.work import Work

HIGH_WATERMARK_CHECKPOINT = ("high-watermark-checkpoint",)


class HighWatermarkCheckpoints:
    """Periodic checkpoints of the high watermarks, from the first change of a replica on."""

    def __init__(self, context: BrokerContext, replicas: Replicas) -> None:
        self._context = context
        self._replicas = replicas
        self._started = False

    def start(self) -> None:
        """Write the first checkpoint, unless they have begun."""
        if not self._started:
            self._started = True
            self._checkpoint()

    def _checkpoint(self) -> None:
        self._replicas.checkpoint_high_watermarks()
        interval_ms = self._context.settings.replica_high_watermark_checkpoint_interval_ms
        self._context.set_timer(HIGH_WATERMARK_CHECKPOINT, interval_ms, self._checkpoint)


class Leadership:
    """Executes LeaderAndIsr, StopReplica and UpdateMetadata."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        fetchers: Fetchers,
        transitions: ReplicaTransitions,
        checkpoints: HighWatermarkCheckpoints,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._fetchers = fetchers
        self._transitions = transitions
        self.controller_epoch = ControllerEpoch(0)
        self._checkpoints = checkpoints
        self._turns = Turns("its turn among the controller's orders", context.threads)

    def _refusal(self, broker_epoch: int) -> ErrorCode:
        """Error of a request for another registration of this broker than its known one.

        KafkaApis.isBrokerEpochStale. A newer one comes from a registration whose response is under way.
        """
        context = self._context
        if not context.gates.broker_epochs or broker_epoch < 0:
            return ErrorCode.NONE
        if broker_epoch < context.broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        newer = broker_epoch > context.broker_epoch >= 0
        fails = newer and context.gates.newer_broker_epoch_fails_orders
        return ErrorCode.UNKNOWN_SERVER_ERROR if fails else ErrorCode.NONE

    def _is_outdated(self, controller_epoch: ControllerEpoch) -> bool:
        if controller_epoch < self.controller_epoch:
            return True
        self.controller_epoch = controller_epoch
        return False

    # --- UpdateMetadata ---

    def update_metadata(self, request: Request, update: UpdateMetadataRequest) -> Work[None]:
        refusal = self._refusal(update.broker_epoch)
        if refusal:
            request.answer(UpdateMetadataResponse(refusal))
            return
        yield from self._turns.take()
        if self._is_outdated(update.controller_epoch):
            request.answer(UpdateMetadataResponse(ErrorCode.STALE_CONTROLLER_EPOCH))
        else:
            yield from self._transitions.forget(self._replicas.metadata.update(update))
            request.answer(UpdateMetadataResponse())
        self._turns.pass_on()

    # --- LeaderAndIsr ---

    def leader_and_isr(self, request: Request, orders: LeaderAndIsrRequest) -> Work[None]:
        refusal = self._refusal(orders.broker_epoch)
        if refusal:
            if refusal == ErrorCode.UNKNOWN_SERVER_ERROR:
                self._refused(orders, request.correlation_id)
            request.answer(LeaderAndIsrResponse(refusal))
            return
        yield from self._turns.take()
        answer = yield from self._leader_and_isr(orders, request.correlation_id)
        if not self._replicas.failed:
            request.answer(answer)
        self._turns.pass_on()

    def _refused(self, orders: LeaderAndIsrRequest, correlation: int) -> None:
        """Emit an event for each partition of a request for an unknown registration (KAFKA-9839)."""
        orderer = (orders.controller, orders.controller_epoch, correlation)
        for state in orders.partitions:
            known = self._replicas.partitions.get((state.topic, state.partition))
            current = known.leader_epoch if known is not None else EPOCH_UNKNOWN
            self._transitions.ignored(state, current, IgnoredReason.NEWER_REGISTRATION, orderer)

    def _leader_and_isr(self, orders: LeaderAndIsrRequest, correlation: int) -> Work[LeaderAndIsrResponse]:
        """Execute LeaderAndIsr.

        A partition's KAFKA_STORAGE_ERROR: its log directory failed, now or before.
        """
        if self._is_outdated(orders.controller_epoch):
            sender = (orders.controller_epoch, IgnoredReason.OLD_CONTROLLER, orders.controller, correlation)
            self._context.emit(LeaderAndIsrIgnored("", -1, -1, self.controller_epoch, *sender))
            return LeaderAndIsrResponse(ErrorCode.STALE_CONTROLLER_EPOCH)
        orderer = (orders.controller, orders.controller_epoch, correlation)
        lead: list[Change] = []
        follow: list[Change] = []
        results: list[PartitionError] = []
        for state in orders.partitions:
            topic_partition = (state.topic, state.partition)
            known = self._replicas.partitions.get(topic_partition)
            current = known.leader_epoch if known is not None else EPOCH_UNKNOWN
            if topic_partition in self._replicas.offline:
                self._transitions.ignored(state, current, IgnoredReason.OFFLINE, orderer)
                results.append(PartitionError(*topic_partition, ErrorCode.KAFKA_STORAGE_ERROR))
            elif state.leader_epoch <= current:
                self._transitions.ignored(state, current, IgnoredReason.OLD_EPOCH, orderer)
                results.append(PartitionError(*topic_partition, ErrorCode.STALE_CONTROLLER_EPOCH))
            elif self._context.broker not in state.replicas:
                self._transitions.ignored(state, current, IgnoredReason.NOT_A_REPLICA, orderer)
                results.append(PartitionError(*topic_partition, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                partition = self._replicas.partition(topic_partition)
                self._context.topic_ids[topic_partition] = state.topic_id
                (lead if state.leader == self._context.broker else follow).append((partition, state))
                results.append(PartitionError(*topic_partition))
        leaders = {endpoint.broker: endpoint.node for endpoint in orders.live_leaders}
        try:
            yield from self._transitions.make_leaders(lead, orderer)
            yield from self._transitions.make_followers(follow, leaders, orderer)
        except SessionExpired:
            self._transitions.without_log.clear()
            for partition, state in (*lead, *follow):
                if partition.leader_epoch != state.leader_epoch:
                    self._transitions.ignored(state, partition.leader_epoch, IgnoredReason.SESSION_EXPIRED, orderer)
            return LeaderAndIsrResponse(ErrorCode.UNKNOWN_SERVER_ERROR)
        if self._replicas.failed:
            return LeaderAndIsrResponse()
        for result in results:
            if (result.topic, result.partition) in self._replicas.offline:
                result.error = ErrorCode.KAFKA_STORAGE_ERROR
        self._transitions.take_offline_without_log()
        self._checkpoints.start()
        yield from self._fetchers.close_idle()
        return LeaderAndIsrResponse(ErrorCode.NONE, results)

    # --- StopReplica ---

    def stop_replica(self, request: Request, orders: StopReplicaRequest) -> Work[None]:
        refusal = self._refusal(orders.broker_epoch)
        if refusal:
            request.answer(StopReplicaResponse(refusal))
            return
        yield from self._turns.take()
        if self._is_outdated(orders.controller_epoch):
            request.answer(StopReplicaResponse(ErrorCode.STALE_CONTROLLER_EPOCH))
        else:
            results = yield from self._transitions.stop(orders.partitions)
            request.answer(StopReplicaResponse(ErrorCode.NONE, results))
        yield from self._fetchers.close_idle()  # for any sender, and after the response
        self._turns.pass_on()
