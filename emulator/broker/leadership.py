"""The controller's orders: LeaderAndIsr, StopReplica, UpdateMetadata. Semantics 1.7.

One order at a time, as Kafka's replicaStateChangeLock makes it; an order waits for partitions that are locked, and for
topic configurations that a new log needs from the session service. `roles` carries out what it says of one replica."""

from collections import deque
from collections.abc import Callable

from emulator.broker.context import BrokerContext
from emulator.broker.fetchers import Fetchers
from emulator.broker.replicas import Replicas
from emulator.broker.roles import Change, NoConfiguration, Roles
from protocol.errors import ErrorCode
from protocol.events import LeaderAndIsrIgnored
from protocol.ids import EPOCH_UNKNOWN
from protocol.messages.base import Message
from protocol.messages.leadership import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionError,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.messages.session import GetData, SessionError, SessionRequest, SessionResponse
from protocol.znodes import decode_topic_config, topic_config_path

HIGH_WATERMARK_CHECKPOINT = ("high-watermark-checkpoint",)
Reply = Callable[[Message | None], None]


class Leadership:
    """Carries out LeaderAndIsr, StopReplica and UpdateMetadata."""

    def __init__(self, context: BrokerContext, replicas: Replicas, fetchers: Fetchers, roles: Roles) -> None:
        self._context = context
        self._replicas = replicas
        self._fetchers = fetchers
        self._roles = roles
        self.controller_epoch = 0
        self._checkpointing = False
        self._orders: deque[Callable[[], None]] = deque()
        self._busy = False

    # --- one order at a time ---

    def leader_and_isr(self, request: LeaderAndIsrRequest, reply: Reply, correlation: int) -> None:
        """`correlation`: of the request, for events."""
        self._queue(lambda: self._begin_leader_and_isr(request, reply, correlation))

    def stop_replica(self, request: StopReplicaRequest, reply: Reply) -> None:
        self._queue(lambda: self._stop_replica(request, reply))

    def _queue(self, order: Callable[[], None]) -> None:
        self._orders.append(order)
        if not self._busy:
            self._next()

    def _next(self) -> None:
        self._busy = bool(self._orders)
        if self._busy:
            self._orders.popleft()()

    def _refused(self, controller_epoch: int, broker_epoch: int) -> ErrorCode:
        """Orders from the past, or for an earlier life of this broker."""
        if self._context.gates.broker_epochs and -1 < broker_epoch < self._context.broker_epoch:
            return ErrorCode.STALE_BROKER_EPOCH
        if controller_epoch < self.controller_epoch:
            return ErrorCode.STALE_CONTROLLER_EPOCH
        return ErrorCode.NONE

    # --- UpdateMetadata ---

    def update_metadata(self, request: UpdateMetadataRequest, reply: Reply) -> None:
        self._queue(lambda: self._update_metadata(request, reply))

    def _update_metadata(self, request: UpdateMetadataRequest, reply: Reply) -> None:
        refused = self._refused(request.controller_epoch, request.broker_epoch)
        if refused == ErrorCode.NONE:
            self.controller_epoch = request.controller_epoch
            self._replicas.metadata.update(request)
        reply(UpdateMetadataResponse(refused))
        self._next()

    # --- LeaderAndIsr ---

    def _begin_leader_and_isr(self, request: LeaderAndIsrRequest, reply: Reply, correlation: int) -> None:
        refused = self._refused(request.controller_epoch, request.broker_epoch)
        if refused != ErrorCode.NONE:
            self._refuse(refused, request, reply, correlation)
            return
        self._fetch_configs(request, lambda lacking: self._leader_and_isr(request, lacking, reply, correlation))

    def _refuse(self, refused: ErrorCode, request: LeaderAndIsrRequest, reply: Reply, correlation: int) -> None:
        if refused == ErrorCode.STALE_CONTROLLER_EPOCH:
            orderer = (request.controller_epoch, "controller epoch not newer", request.controller, correlation)
            self._context.emit(LeaderAndIsrIgnored("", -1, -1, self.controller_epoch, *orderer))
        reply(LeaderAndIsrResponse(refused))
        self._next()

    def _fetch_configs(self, request: LeaderAndIsrRequest, then: Callable[[frozenset[str]], None]) -> None:
        """A log that is created needs its topic's configuration. `then` is told the topics whose configuration could
        not be had, for the session expired meanwhile."""
        replicas = self._replicas
        missing = sorted(
            {
                state.topic
                for state in request.partitions
                if state.topic not in replicas.topic_configs and (state.topic, state.partition) not in replicas.logs
            }
        )
        if not missing:
            then(frozenset())
            return

        def answered(response: SessionResponse) -> None:
            if response.error == SessionError.SESSION_EXPIRED:
                then(frozenset(missing))
                return
            for topic, result in zip(missing, response.results, strict=False):
                found = result.error == SessionError.OK
                replicas.topic_configs[topic] = decode_topic_config(topic, result.data) if found else {}
            then(frozenset())

        self._context.ask_session(SessionRequest([GetData(topic_config_path(topic)) for topic in missing]), answered)

    def _leader_and_isr(
        self, request: LeaderAndIsrRequest, lacking: frozenset[str], reply: Reply, correlation: int
    ) -> None:
        def answer(error: ErrorCode, results: list[PartitionError]) -> None:
            reply(LeaderAndIsrResponse(error, results))
            self._next()

        locked = self._replicas.first_locked((state.topic, state.partition) for state in request.partitions)
        if locked is not None:
            locked.when_unlocked(lambda: self._leader_and_isr(request, lacking, reply, correlation))
            return
        refused = self._refused(request.controller_epoch, request.broker_epoch)
        if refused == ErrorCode.NONE:
            self.controller_epoch = request.controller_epoch
            try:
                results = self._apply(request, lacking, correlation)
            except NoConfiguration:
                answer(ErrorCode.UNKNOWN_SERVER_ERROR, [])
                return
            if self._replicas.failed:
                return
            self._fetchers.close_idle(lambda: answer(ErrorCode.NONE, results))
        else:
            self._refuse(refused, request, reply, correlation)

    def _apply(self, request: LeaderAndIsrRequest, lacking: frozenset[str], correlation: int) -> list[PartitionError]:
        """An entry for each partition; KAFKA_STORAGE_ERROR: its log directory failed, before or by this order. Raises
        NoConfiguration: the order ends half-way, and what was taken over until then stays."""
        lead: list[Change] = []
        follow: list[Change] = []
        results: list[PartitionError] = []
        me = self._context.broker
        orderer = (request.controller, request.controller_epoch, correlation)
        for state in request.partitions:
            place = (state.topic, state.partition)
            known = self._replicas.partitions.get(place)
            current = known.leader_epoch if known is not None else EPOCH_UNKNOWN
            if place in self._replicas.offline:
                self._roles.ignored(state, current, "in an offline log directory", orderer)
                results.append(PartitionError(*place, ErrorCode.KAFKA_STORAGE_ERROR))
            elif state.leader_epoch <= current:
                self._roles.ignored(state, current, "leader epoch not newer", orderer)
                results.append(PartitionError(*place, ErrorCode.STALE_CONTROLLER_EPOCH))
            elif me not in state.replicas:
                self._roles.ignored(state, current, "not a replica", orderer)
                results.append(PartitionError(*place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                partition = self._replicas.partition(place)
                (lead if state.leader == me else follow).append((partition, state))
                results.append(PartitionError(*place))
        self._roles.make_leaders(lead, lacking)
        leaders = {endpoint.broker: endpoint.node for endpoint in request.live_leaders}
        self._roles.make_followers(follow, lacking, leaders, orderer)
        if not self._checkpointing:
            self._checkpointing = True
            self.checkpoint_timer()
        for result in results:
            if (result.topic, result.partition) in self._replicas.offline:
                result.error = ErrorCode.KAFKA_STORAGE_ERROR
        return results

    def checkpoint_timer(self) -> None:
        """Begins with the first LeaderAndIsr: at once, then periodically."""
        self._replicas.checkpoint_high_watermarks()
        interval_ms = self._context.settings.replica_high_watermark_checkpoint_interval_ms
        self._context.out.set_timer(HIGH_WATERMARK_CHECKPOINT, interval_ms)

    # --- StopReplica ---

    def _stop_replica(self, request: StopReplicaRequest, reply: Reply) -> None:
        locked = self._replicas.first_locked((stop.topic, stop.partition) for stop in request.partitions)
        if locked is not None:
            locked.when_unlocked(lambda: self._stop_replica(request, reply))
            return
        refused = self._refused(request.controller_epoch, request.broker_epoch)
        results: list[PartitionError] = []
        if refused == ErrorCode.NONE:
            self.controller_epoch = request.controller_epoch
            for stop in request.partitions:
                place = (stop.topic, stop.partition)
                results.append(PartitionError(*place, self._roles.stop(place, stop.leader_epoch, delete=stop.delete)))
        reply(StopReplicaResponse(refused, results))
        self._next()
