"""Becoming leader, becoming follower, stopping: the controller's orders. Semantics 1.7.

One order at a time, as Kafka's replicaStateChangeLock makes it; an order waits for partitions that are locked, and for
topic configurations that a new log needs from the session service.

A new leader never truncates, in any era."""

from collections import deque
from collections.abc import Callable

from emulator.broker.context import BrokerContext
from emulator.broker.fetchers import Fetchers
from emulator.broker.group_coordinator import GroupCoordinator
from emulator.broker.isr_changes import IsrChanges
from emulator.broker.parked import Purgatory
from emulator.broker.partition import Partition
from emulator.broker.remote_replica import RemoteReplica
from emulator.broker.replicas import Replicas
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.events import LeaderAndIsrIgnored, RoleChanged, ids_text
from protocol.ids import EPOCH_DURING_DELETE, EPOCH_UNKNOWN, NO_LEADER, TopicPartition
from protocol.messages.base import Message
from protocol.messages.leadership import (
    LeaderAndIsrRequest,
    LeaderAndIsrResponse,
    PartitionError,
    PartitionState,
    StopReplicaRequest,
    StopReplicaResponse,
    UpdateMetadataRequest,
    UpdateMetadataResponse,
)
from protocol.messages.session import GetData, SessionError, SessionRequest, SessionResponse
from protocol.records.offset_commits import OFFSETS_TOPIC
from protocol.znodes import decode_topic_config, topic_config_path

HIGH_WATERMARK_CHECKPOINT = ("high-watermark-checkpoint",)
Reply = Callable[[Message | None], None]
Orderer = tuple[int, int, int]
"""(controller, its epoch, correlation id of its order)"""


class _NoConfiguration(Exception):
    """A topic's configuration cannot be had, and a log is to be made."""


class Leadership:
    """Carries out LeaderAndIsr, StopReplica and UpdateMetadata."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        fetchers: Fetchers,
        isr_changes: IsrChanges,
        fetches: Purgatory,
        produces: Purgatory,
        coordinator: GroupCoordinator,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._fetchers = fetchers
        self._isr_changes = isr_changes
        self._fetches = fetches
        self._produces = produces
        self._coordinator = coordinator
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
            except _NoConfiguration:
                answer(ErrorCode.UNKNOWN_SERVER_ERROR, [])
                return
            except StorageError as error:
                self._replicas.log_dir_failed(str(error))
                return
            self._fetchers.close_idle(lambda: answer(ErrorCode.NONE, results))
        else:
            self._refuse(refused, request, reply, correlation)

    def _apply(self, request: LeaderAndIsrRequest, lacking: frozenset[str], correlation: int) -> list[PartitionError]:
        """Raises _NoConfiguration: the order ends half-way, and what was taken over until then stays."""
        lead: list[tuple[Partition, PartitionState]] = []
        follow: list[tuple[Partition, PartitionState]] = []
        results: list[PartitionError] = []
        me = self._context.broker
        orderer = (request.controller, request.controller_epoch, correlation)
        for state in request.partitions:
            place = (state.topic, state.partition)
            known = self._replicas.partitions.get(place)
            current = known.leader_epoch if known is not None else EPOCH_UNKNOWN
            if state.leader_epoch <= current:
                self._ignored(state, current, "leader epoch not newer", orderer)
                results.append(PartitionError(*place, ErrorCode.STALE_CONTROLLER_EPOCH))
            elif me not in state.replicas:
                self._ignored(state, current, "not a replica", orderer)
                results.append(PartitionError(*place, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
            else:
                partition = self._replicas.partition(place)
                (lead if state.leader == me else follow).append((partition, state))
                results.append(PartitionError(*place))
        self._make_leaders(lead, lacking)
        leaders = {endpoint.broker: endpoint.node for endpoint in request.live_leaders}
        self._make_followers(follow, lacking, leaders, orderer)
        if not self._checkpointing:
            self._checkpointing = True
            self.checkpoint_timer()
        return results

    def _ignored(self, state: PartitionState, current: int, reason: str, orderer: Orderer) -> None:
        controller, controller_epoch, correlation = orderer
        self._context.emit(
            LeaderAndIsrIgnored(
                state.topic,
                state.partition,
                state.leader_epoch,
                current,
                controller_epoch,
                reason,
                controller,
                correlation,
                state.leader,
                ids_text(state.replicas),
                state.controller_epoch,
            )
        )

    def checkpoint_timer(self) -> None:
        """Begins with the first LeaderAndIsr: at once, then periodically."""
        self._replicas.checkpoint_high_watermarks()
        interval_ms = self._context.settings.replica_high_watermark_checkpoint_interval_ms
        self._context.out.set_timer(HIGH_WATERMARK_CHECKPOINT, interval_ms)

    # --- leader ---

    def _make_leaders(self, changes: list[tuple[Partition, PartitionState]], lacking: frozenset[str]) -> None:
        for partition, _ in changes:
            self._fetchers.remove((partition.topic, partition.partition))
        for partition, state in changes:
            self._demand_configuration(partition, lacking)
            self._make_leader(partition, state)

    def _make_leader(self, partition: Partition, state: PartitionState) -> None:
        context = self._context
        new_leader = not partition.leads
        previous_epoch = partition.leader_epoch
        self._adopt(partition, state)
        partition.isr = list(state.isr)
        log = self._replicas.open_log(partition)
        partition.leader = context.broker
        partition.epoch_start = log.log_end
        if context.gates.assigns_epoch_on_election:
            log.epochs.assign(state.leader_epoch, log.log_end)
            partition.tell_epochs()
        for remote in partition.remotes.values():
            remote.leader_epoch_began(
                log.log_end, context.now.mono_ms, in_isr=remote.broker in partition.isr, new_leader=new_leader
            )
        self._role_changed(partition, "leader", previous_epoch, state)
        if partition.advance_high_watermark():
            partition.check_parked(self._fetches, self._produces)
        if new_leader and partition.topic == OFFSETS_TOPIC:
            self._coordinator.elected(partition.partition)

    def _adopt(self, partition: Partition, state: PartitionState) -> None:
        """What leader and follower take over alike. A pending ISR change counts no more (semantics 11.5)."""
        partition.controller_epoch = state.controller_epoch
        partition.assignment = list(state.replicas)
        partition.leader_epoch = state.leader_epoch
        partition.zk_version = state.zk_version
        partition.settings = self._replicas.settings_of(partition.topic)
        self._isr_changes.discard(partition)
        others = [broker for broker in state.replicas if broker != self._context.broker]
        partition.remotes = {broker: partition.remotes.get(broker) or RemoteReplica(broker) for broker in others}

    def _role_changed(self, partition: Partition, role: str, previous_epoch: int, state: PartitionState) -> None:
        log = partition.the_log
        self._context.emit(
            RoleChanged(
                partition.topic,
                partition.partition,
                role,
                partition.leader,
                partition.leader_epoch,
                previous_epoch,
                partition.controller_epoch,
                log.log_end,
                log.high_watermark,
                ids_text(partition.isr),
                ids_text(state.adding),
                ids_text(state.removing),
            )
        )

    # --- follower ---

    def _make_followers(
        self,
        changes: list[tuple[Partition, PartitionState]],
        lacking: frozenset[str],
        leaders: dict[int, str],
        orderer: Orderer,
    ) -> None:
        restarts: list[tuple[Partition, str]] = []
        for partition, state in changes:
            # Kafka asks for the configuration here, one partition after the other. Those before the one that fails
            # have their new leader and epoch, but none of the fetchers is touched (KAFKA-9307).
            self._demand_configuration(partition, lacking)
            node = self._replicas.metadata.node_of(state.leader)
            if node is None:
                # The leader is not alive as this broker knows: only the log is made sure of; even the epoch stays.
                self._replicas.open_log(partition)
                self._ignored(state, partition.leader_epoch, "leader not alive", orderer)
                continue
            previous_epoch, previous_leader = partition.leader_epoch, partition.leader
            self._replicas.open_log(partition)
            self._adopt(partition, state)
            partition.isr = []
            partition.epoch_start = None
            partition.leader = state.leader
            self._role_changed(partition, "follower", previous_epoch, state)
            if partition.topic == OFFSETS_TOPIC:
                self._coordinator.resigned(partition.partition)
            if self._must_restart(previous_leader, previous_epoch, partition):
                restarts.append((partition, node))
        for partition, _ in restarts:
            self._fetchers.remove((partition.topic, partition.partition))
        if self._context.gates.truncates_to_high_watermark:
            for partition, _ in restarts:
                partition.truncate_to(partition.the_log.high_watermark, "high-watermark")
        for partition, _ in restarts:
            partition.check_parked(self._fetches, self._produces)
        for partition, node in restarts:
            self._fetchers.add(partition, partition.leader, leaders.get(partition.leader, node))

    def _demand_configuration(self, partition: Partition, lacking: frozenset[str]) -> None:
        if partition.topic in lacking and (partition.topic, partition.partition) not in self._replicas.logs:
            raise _NoConfiguration(partition.topic)

    def _must_restart(self, previous_leader: int, previous_epoch: int, partition: Partition) -> bool:
        """1.7, makeFollower: when the fetcher is left alone, by era."""
        if previous_leader != partition.leader:
            return True
        rule = self._context.gates.fetcher_restart
        if rule == "leader-changed":
            return False
        if rule == "leader-or-epoch-jump":
            return partition.leader_epoch > previous_epoch + 1
        return partition.leader_epoch != previous_epoch

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
                results.append(PartitionError(*place, self._stop_one(place, stop.leader_epoch, delete=stop.delete)))
        reply(StopReplicaResponse(refused, results))
        self._next()

    def _stop_one(self, place: TopicPartition, leader_epoch: int, *, delete: bool) -> ErrorCode:
        partition = self._replicas.partitions.get(place)
        if (
            partition is not None
            and self._context.gates.stop_replica_checks_epoch
            and leader_epoch not in (EPOCH_UNKNOWN, EPOCH_DURING_DELETE)
            and leader_epoch <= partition.leader_epoch
        ):
            return ErrorCode.FENCED_LEADER_EPOCH
        self._fetchers.remove(place)
        if delete:
            if partition is not None:
                if partition.topic == OFFSETS_TOPIC:
                    self._coordinator.resigned(partition.partition)
                self._isr_changes.discard(partition)
                partition.leader = NO_LEADER
                partition.check_parked(self._fetches, self._produces)
            self._replicas.delete(place)
        # Otherwise only its fetcher stops: role, epoch and high watermark stay, for the last checkpoint of a stop.
        return ErrorCode.NONE
