"""Becoming leader, becoming follower, stopping: what an order of the controller does to one replica. Semantics 1.7.

A new leader never truncates, in any era."""

from emulator.broker.alter_isr import AlterIsr
from emulator.broker.context import BrokerContext
from emulator.broker.fetchers import Fetchers
from emulator.broker.group_coordinator import GroupCoordinator
from emulator.broker.parked import Purgatory
from emulator.broker.partition import Partition
from emulator.broker.remote_replica import RemoteReplica
from emulator.broker.replicas import ReplicaOffline, Replicas
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.events import LeaderAndIsrIgnored, RoleChanged, ids_text
from protocol.ids import EPOCH_DURING_DELETE, EPOCH_UNKNOWN, NO_LEADER, TopicPartition
from protocol.messages.leadership import PartitionState
from protocol.records.offset_commits import OFFSETS_TOPIC

Change = tuple[Partition, PartitionState]
Orderer = tuple[int, int, int]
"""(controller, its epoch, correlation id of its order)"""


class NoConfiguration(Exception):
    """A topic's configuration cannot be had, and a log is to be made."""


class Roles:
    """Carries out what `leadership` has accepted, for partitions that are not locked."""

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        fetchers: Fetchers,
        alter_isr: AlterIsr,
        fetches: Purgatory,
        produces: Purgatory,
        coordinator: GroupCoordinator,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._fetchers = fetchers
        self._alter_isr = alter_isr
        self._fetches = fetches
        self._produces = produces
        self._coordinator = coordinator

    def ignored(self, state: PartitionState, current: int, reason: str, orderer: Orderer) -> None:
        """Tells of an order that is not followed."""
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

    # --- leader ---

    def make_leaders(self, changes: list[Change], lacking: frozenset[str]) -> None:
        """`lacking`: topics whose configuration could not be had. What has no log and can be given none is offline.
        Raises NoConfiguration: what was taken over until then stays."""
        for partition, _ in changes:
            self._fetchers.remove((partition.topic, partition.partition))
        for partition, state in changes:
            self._demand_configuration(partition, lacking)
            if self._has_log(partition, state):
                self._make_leader(partition, state)

    def _has_log(self, partition: Partition, state: PartitionState) -> bool:
        """False: the replica is offline."""
        try:
            self._replicas.open_log(partition, is_new=state.is_new)
        except StorageError as error:
            self._replicas.storage_failed(error)
        except ReplicaOffline:
            pass  # its directory failed before
        else:
            return not partition.offline
        self._replicas.take_offline([(partition.topic, partition.partition)])
        return False

    def _make_leader(self, partition: Partition, state: PartitionState) -> None:
        context = self._context
        new_leader = not partition.leads
        previous_epoch = partition.leader_epoch
        self._adopt(partition, state)
        partition.isr = list(state.isr)
        log = partition.the_log
        partition.leader = context.broker
        partition.epoch_start = log.log_end
        if context.gates.assigns_epoch_on_election:
            try:
                log.epochs.assign(state.leader_epoch, log.log_end)
            except StorageError as error:
                self._replicas.storage_failed(error)
                return
            partition.tell_epochs()
        for remote in partition.remotes.values():
            remote.leader_epoch_began(
                log.log_end, context.now.mono_ms, in_isr=remote.broker in partition.isr, new_leader=new_leader
            )
        self._role_changed(partition, "leader", previous_epoch, state)
        if partition.advance_high_watermark():
            partition.check_parked(self._fetches, self._produces)
        if new_leader and partition.topic == OFFSETS_TOPIC and not partition.offline:
            self._coordinator.elected(partition.partition)

    def _adopt(self, partition: Partition, state: PartitionState) -> None:
        """What leader and follower take over alike. A pending ISR change counts no more (semantics 11.5)."""
        partition.controller_epoch = state.controller_epoch
        partition.assignment = list(state.replicas)
        partition.leader_epoch = state.leader_epoch
        partition.zk_version = state.zk_version
        partition.settings = self._replicas.settings_of(partition.topic)
        self._alter_isr.discard(partition)
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

    def make_followers(
        self, changes: list[Change], lacking: frozenset[str], leaders: dict[int, str], orderer: Orderer
    ) -> None:
        """`leaders`: where each leader is to be reached. Raises NoConfiguration, as `make_leaders`."""
        restarts: list[tuple[Partition, str]] = []
        for partition, state in changes:
            # Kafka asks for the configuration here, one partition after the other. Those before the one that fails
            # have their new leader and epoch, but none of the fetchers is touched (KAFKA-9307).
            self._demand_configuration(partition, lacking)
            if not self._has_log(partition, state):
                continue
            node = self._replicas.metadata.node_of(state.leader)
            if node is None:
                # The leader is not alive as this broker knows: only the log is made sure of; even the epoch stays.
                self.ignored(state, partition.leader_epoch, "leader not alive", orderer)
                continue
            previous_epoch, previous_leader = partition.leader_epoch, partition.leader
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
            if not partition.offline:  # another partition of this order may have found their directory failed
                self._fetchers.add(partition, partition.leader, leaders.get(partition.leader, node))

    def _demand_configuration(self, partition: Partition, lacking: frozenset[str]) -> None:
        if partition.topic in lacking and (partition.topic, partition.partition) not in self._replicas.logs:
            raise NoConfiguration(partition.topic)

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

    # --- stopping ---

    def stop(self, place: TopicPartition, leader_epoch: int, *, delete: bool) -> ErrorCode:
        """Stop fetching; `delete`: and forget the replica."""
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
            if place in self._replicas.offline:
                return ErrorCode.KAFKA_STORAGE_ERROR
            if partition is not None:
                if partition.topic == OFFSETS_TOPIC:
                    self._coordinator.resigned(partition.partition)
                self._alter_isr.discard(partition)
                partition.leader = NO_LEADER
                partition.check_parked(self._fetches, self._produces)
            try:
                self._replicas.delete(place)
            except ReplicaOffline:
                return ErrorCode.KAFKA_STORAGE_ERROR
            except StorageError as error:
                self._replicas.storage_failed(error)
                return ErrorCode.KAFKA_STORAGE_ERROR
        # Otherwise only its fetcher stops: role, epoch and high watermark stay, for the last checkpoint of a stop.
        return ErrorCode.NONE
