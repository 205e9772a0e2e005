"""Transitions of one replica by the controller's decisions: leader, follower, stopped.

Decisions come by requests (LeaderAndIsr, StopReplica; semantics 1.7) or by the metadata log (kraft-semantics 4). A new
leader never truncates, in any era.
"""

from collections.abc import Mapping, Sequence
from typing import Protocol

from emulator.machines.broker.alter_isr import AlterIsr
from emulator.machines.broker.broker_context import BrokerContext, SessionExpired
from emulator.machines.broker.fetchers import Fetchers
from emulator.machines.broker.group_coordinator import GroupCoordinator
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_manager import NotDeleted, ReplicaOffline, Replicas
from emulator.storage.files import StorageError
from protocol.errors import ErrorCode
from protocol.events import LeaderAndIsrIgnored, RoleChanged, ids_text
from protocol.ids import EPOCH_DURING_DELETE, EPOCH_UNKNOWN, BrokerId, ControllerEpoch, LeaderEpoch, TopicPartition
from protocol.kinds import CutReason, IgnoredReason
from protocol.messages.leadership_messages import PartitionError, PartitionState, StoppedPartition
from protocol.work import Work

Change = tuple[Partition, PartitionState]
Orderer = tuple[BrokerId, ControllerEpoch, int]
"""(controller, its epoch, correlation id of its request)"""


class Coordinator(Protocol):
    """A coordinator, whose state lies in the partitions of an internal topic."""

    def elected(self, number: int) -> None: ...
    def resigned(self, number: int) -> None: ...
    def going_offline(self, number: int) -> None: ...


class ReplicaTransitions:
    """Executes accepted changes; waits for locked partitions.

    `controller_requests` or `metadata_deltas` has accepted them.
    """

    def __init__(
        self,
        context: BrokerContext,
        replicas: Replicas,
        fetchers: Fetchers,
        alter_isr: AlterIsr,
        coordinators: Mapping[str, Coordinator],
        groups: GroupCoordinator,
    ) -> None:
        self._context = context
        self._replicas = replicas
        self._fetchers = fetchers
        self._alter_isr = alter_isr
        self._coordinators = coordinators
        self._groups = groups
        self.without_log: list[TopicPartition] = []
        """Partitions without a log in the present request, because the session expired."""

    def take_offline_without_log(self) -> None:
        """Take these partitions offline at a request's end, without notifying the controller.

        From 3.1 they stay. Source: ReplicaManager.becomeLeaderOrFollower.
        """
        if self._context.gates.lost_session_takes_partition_offline:
            self._replicas.take_offline(self.without_log)
        self.without_log.clear()

    def ignored(self, state: PartitionState, current: LeaderEpoch, reason: IgnoredReason, orderer: Orderer) -> None:
        """Emit that a partition of a request is ignored."""
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

    def make_leaders(self, changes: list[Change], orderer: Orderer) -> Work[None]:
        """Make this broker leader; a partition that can get no log is offline.

        Raises SessionExpired; changes until then stay.
        """
        yield from self._fetchers.remove([(partition.topic, partition.partition) for partition, _ in changes])
        for partition, state in changes:
            yield from self._locked(partition)
            if (yield from self._has_log(partition, state, orderer)):
                yield from self._make_leader(partition, state)

    def _locked(self, partition: Partition) -> Work[None]:
        """Wait for the partition's lock, which each change needs."""
        if not partition.lock.is_free():
            yield from partition.lock.writing()

    def _has_log(
        self, partition: Partition, state: PartitionState, orderer: Orderer, *, skips: bool = True
    ) -> Work[bool]:
        """Open the log. False: the replica is offline, or has none (`without_log`).

        Raises SessionExpired where a partition is not skipped for that.
        """
        try:
            yield from self._replicas.open_log(partition, is_new=state.is_new)
        except SessionExpired:
            gates = self._context.gates
            if not skips or not (gates.lost_session_takes_partition_offline or gates.lost_session_skips_partition):
                raise
            self.ignored(state, partition.leader_epoch, IgnoredReason.SESSION_EXPIRED, orderer)
            self.without_log.append((partition.topic, partition.partition))
            return False
        except StorageError as error:
            self._replicas.storage_failed(error)
        except ReplicaOffline:
            pass  # its directory failed before
        else:
            return not partition.offline
        self._replicas.take_offline([(partition.topic, partition.partition)])
        return False

    def _make_leader(self, partition: Partition, state: PartitionState) -> Work[None]:
        """Make this broker leader.

        With its present leader epoch (KRaft) change its ISR and assignment alone.
        """
        context = self._context
        new_leader = not partition.leads
        previous_epoch = partition.leader_epoch
        self._alter_isr.forget(partition)
        if state.leader_epoch == previous_epoch:
            yield from self._change_isr(partition, state)
            return
        partition.become_leader(state, self._replicas.settings_of(partition.topic))
        log = partition.the_log
        if context.gates.assigns_epoch_on_election:
            try:
                log.epochs.assign(state.leader_epoch, log.log_end)
            except StorageError as error:
                self._replicas.storage_failed(error)
                return
            partition.tell_epochs()
        forgets = new_leader or context.gates.leaders_new_epoch_forgets_followers
        for remote in partition.remotes.values():
            in_isr = remote.broker in partition.isr
            remote.leader_epoch_began(log.log_end, context.now.mono_ms, in_isr=in_isr, forgets=forgets)
        self._role_changed(partition, "leader", previous_epoch, state)
        if partition.advance_high_watermark():
            yield from partition.check_parked()
        if new_leader and partition.topic in self._coordinators and not partition.offline:
            self._coordinators[partition.topic].elected(partition.partition)

    def _change_isr(self, partition: Partition, state: PartitionState) -> Work[None]:
        """Adopt ISR, assignment and partition epoch; a pending ISR change ends.

        Source: Partition.makeLeader, of a state that has the same leader epoch.
        """
        before, pending, previous = partition.isr, partition.pending, partition.partition_epoch
        partition.become_leader(state, self._replicas.settings_of(partition.topic))
        if pending is not None and pending.isr == partition.isr:
            partition.tell_isr_change_ended(partition.isr, "done", state.zk_version)
        elif before != partition.isr or previous != partition.partition_epoch:
            self._role_changed(partition, "leader", partition.leader_epoch, state)
        if partition.advance_high_watermark():
            yield from partition.check_parked()

    def _role_changed(
        self, partition: Partition, role: str, previous_epoch: LeaderEpoch, state: PartitionState
    ) -> None:
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
                partition.min_isr,
                state.zk_version,
            )
        )

    # --- follower ---

    def make_followers(self, changes: list[Change], leaders: dict[BrokerId, str], orderer: Orderer) -> Work[None]:
        """Make this broker follower. `leaders`: nodes of the leaders.

        Raises SessionExpired, as `make_leaders`. Then the partitions before the failed one have their new leader
        and epoch, but no fetcher has changed (KAFKA-9307).
        """
        restarts: list[tuple[Partition, str]] = []
        for partition, state in changes:
            node = self._node_of(state.leader, leaders)
            yield from self._locked(partition)
            try:
                # A partition whose leader is not alive gets its log elsewhere, where no lost session is caught.
                has_log = yield from self._has_log(partition, state, orderer, skips=node is not None)
            except SessionExpired:
                waiting = {id(one) for one, _ in restarts}
                for one, taken_over in changes:
                    if id(one) in waiting:
                        self.ignored(taken_over, one.leader_epoch, IgnoredReason.HALF_WAY, orderer)
                raise
            if not has_log:
                continue
            if node is None:
                # The leader is not alive in this broker's view: it only opens the log; even the epoch stays.
                self.ignored(state, partition.leader_epoch, IgnoredReason.LEADER_NOT_ALIVE, orderer)
                continue
            previous_epoch, previous_leader = partition.leader_epoch, partition.leader
            self._make_follower(partition, state)
            if self._must_restart(previous_leader, previous_epoch, partition):
                restarts.append((partition, node))
        yield from self._stop_fetching(restarts, cuts=bool(changes) and self._context.gates.truncates_to_high_watermark)
        for partition, node in restarts:
            # Another partition of this request may have found their directory failed.
            if not partition.offline and not self._context.stopping:
                self._fetchers.add(partition, partition.leader, leaders.get(partition.leader, node))

    def _make_follower(self, partition: Partition, state: PartitionState) -> None:
        previous_epoch, previous_leader = partition.leader_epoch, partition.leader
        self._alter_isr.forget(partition)
        partition.become_follower(state, self._replicas.settings_of(partition.topic))
        if partition.leader_epoch != previous_epoch or partition.leader != previous_leader:
            self._role_changed(partition, "follower", previous_epoch, state)
        if partition.topic in self._coordinators:
            self._coordinators[partition.topic].resigned(partition.partition)

    def _stop_fetching(self, restarts: Sequence[tuple[Partition, str | None]], *, cuts: bool = False) -> Work[None]:
        """Stop fetching partitions with a new leader or epoch, and complete their parked requests.

        `cuts`: truncate them to their high watermarks.
        """
        yield from self._fetchers.remove([(partition.topic, partition.partition) for partition, _ in restarts])
        if cuts:
            ends = [(one, one.the_log.high_watermark) for one, _ in restarts]
            self._replicas.truncate(ends, CutReason.HIGH_WATERMARK)
        if self._context.gates.deposed_leader_answers_parked:
            for partition, _ in restarts:  # no check of deletions, which wait until their time limit
                yield from partition.check_parked_produces()
                yield from partition.check_parked_fetches()

    def follow(self, changes: list[Change], leaders: Mapping[BrokerId, str], orderer: Orderer) -> Work[None]:
        """Make this broker follower by a change of the metadata log.

        `leaders`: nodes of the registered brokers. It steps down even where there is no leader. A new leader epoch
        restarts the fetcher. In a controlled shutdown a replica without a leader, or outside the ISR, stops fetching.

        Source: ReplicaManager.applyLocalFollowersDelta.
        """
        restarts: list[tuple[Partition, str | None]] = []
        stopped: list[TopicPartition] = []
        for partition, state in changes:
            yield from self._locked(partition)
            if not (yield from self._has_log(partition, state, orderer)):
                continue
            previous_epoch = partition.leader_epoch
            self._make_follower(partition, state)
            leaves = state.leader < 0 or self._context.broker not in state.isr
            if self._context.stopping and leaves:
                stopped.append((partition.topic, partition.partition))
            elif partition.leader_epoch > previous_epoch:
                restarts.append((partition, leaders.get(state.leader)))
        yield from self._stop_fetching(restarts)
        for partition, node in restarts:
            if node is not None and not partition.offline:
                self._fetchers.add(partition, partition.leader, node)
        yield from self._fetchers.remove(stopped)

    def _node_of(self, leader: BrokerId, leaders: dict[BrokerId, str]) -> str | None:
        """Node of a leader; None: it is not alive, as far as this broker knows."""
        known_by_metadata = self._context.gates.leaders_known_by_metadata
        return self._replicas.metadata.node_of(leader) if known_by_metadata else leaders.get(leader)

    def _must_restart(self, previous_leader: BrokerId, previous_epoch: LeaderEpoch, partition: Partition) -> bool:
        """Whether the fetcher must restart, by era (1.7, makeFollower)."""
        if previous_leader != partition.leader:
            return True
        rule = self._context.gates.fetcher_restart
        if rule == "leader-changed":
            return False
        if rule == "leader-or-epoch-jump":
            return partition.leader_epoch > previous_epoch + 1
        return partition.leader_epoch != previous_epoch

    # --- stopping ---

    def stop(self, orders: list[StoppedPartition]) -> Work[list[PartitionError]]:
        """Stop fetching; to delete, also remove the replica, under its lock.

        Otherwise only its fetcher stops. Role, epoch and high watermark stay, for the last checkpoint of a stop. A
        log that cannot be deleted fails the whole request up to 0.11 (KAFKA-4893): later partitions stay unchanged.
        """
        results = [PartitionError(order.topic, order.partition, self._fenced(order)) for order in orders]
        stopped = [(order, result) for order, result in zip(orders, results, strict=True) if not result.error]
        yield from self._fetchers.remove([(order.topic, order.partition) for order, _ in stopped])
        try:
            for order, result in stopped:
                if order.delete:
                    result.error = yield from self._delete((order.topic, order.partition))
        except NotDeleted:
            for result in results:
                result.error = ErrorCode.UNKNOWN_SERVER_ERROR
        return results

    def _fenced(self, order: StoppedPartition) -> ErrorCode:
        partition, gates = self._replicas.partitions.get((order.topic, order.partition)), self._context.gates
        if (
            partition is None
            or not gates.stop_replica_checks_epoch
            or order.leader_epoch in (EPOCH_UNKNOWN, EPOCH_DURING_DELETE)
            or order.leader_epoch > partition.leader_epoch
            or (order.leader_epoch == partition.leader_epoch and gates.stop_replica_takes_equal_epoch)
        ):
            return ErrorCode.NONE
        return ErrorCode.FENCED_LEADER_EPOCH

    def forget(self, topic_partitions: list[TopicPartition]) -> Work[None]:
        """Drop committed offsets of deleted partitions, on any broker."""
        if topic_partitions and self._context.gates.forgets_offsets_of_deleted_topics:
            yield from self._groups.partitions_deleted(topic_partitions)

    def _delete(self, topic_partition: TopicPartition) -> Work[ErrorCode]:
        partition = self._replicas.partitions.get(topic_partition)
        if partition is not None:
            yield from self._locked(partition)
            if partition.topic in self._coordinators:
                self._coordinators[partition.topic].resigned(partition.partition)
            self._alter_isr.forget(partition)
            partition.resign()
        try:
            self._replicas.delete(topic_partition)
        except ReplicaOffline:
            return ErrorCode.KAFKA_STORAGE_ERROR
        except StorageError as error:
            self._replicas.storage_failed(error)
            return ErrorCode.KAFKA_STORAGE_ERROR
        if partition is not None:
            yield from self._deleted(partition)
        return ErrorCode.NONE

    def _deleted(self, partition: Partition) -> Work[None]:
        """Complete the requests that wait for a deleted replica (KAFKA-9198).

        Before that version they wait until their time limit, unless another partition of theirs causes a check.
        """
        tells = self._context.gates.deleted_replica_answers_parked
        moved = tells and (partition.topic, partition.partition) in self._replicas.metadata.partitions
        partition.deleted(ErrorCode.NOT_LEADER_OR_FOLLOWER if moved else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if tells:
            yield from partition.check_parked_produces()
            yield from partition.check_parked_fetches()
