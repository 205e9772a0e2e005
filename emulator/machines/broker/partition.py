"""One partition on one broker: its role, its in-sync set as it knows it, its high watermark.

The leader passes in log ends and fetches; the high watermark follows. Rules: semantics 1.1 to 1.5. ISR changes are
decided here and executed by `isr_writes`. While a change is written straight to ZooKeeper the partition is
*locked* (semantics 1.6).
"""

from collections.abc import Collection

from emulator.machines.broker.broker_context import BrokerContext
from emulator.machines.broker.broker_state import RememberedBatch
from emulator.machines.broker.partition_lock import PartitionLock
from emulator.machines.broker.purgatory import Delayed, Purgatory
from emulator.machines.broker.remote_replica import RemoteReplica
from emulator.machines.broker.replica_log import Log
from emulator.machines.broker.settings import BrokerSettings
from protocol.errors import ErrorCode
from protocol.events import (
    BatchAppended,
    DuplicateAnswered,
    HighWatermarkMoved,
    IsrChangeEnded,
    LeaderEpochBegan,
    LogStartMoved,
    LogTruncated,
    PartitionBlocked,
    RoleChanged,
    TransactionBatchAppended,
    ids_text,
)
from protocol.ids import (
    EPOCH_UNKNOWN,
    NO_LEADER,
    NO_OFFSET,
    BrokerId,
    ControllerEpoch,
    Offset,
    TopicPartition,
    topic_partition_text,
)
from protocol.kinds import CutReason
from protocol.messages.leadership_messages import PartitionState
from protocol.records.transaction_markers import decode_marker
from protocol.records.types import TRANSACTIONAL, BatchHeader
from protocol.work import Work


def tell_epochs(context: BrokerContext, topic_partition: TopicPartition, log: Log) -> None:
    """Emit the epochs that a log has noted since the last call."""
    for began in log.epochs.tell():
        topic, partition = topic_partition
        context.emit(LeaderEpochBegan(topic, partition, *began))


class UnassignedIsrMember(Exception):
    """The ISR contains a replica that is not assigned (Partition.getReplicaOrException)."""


class PendingIsr:
    """An ISR change in flight. `maximal`: the set that counts for the high watermark (E4)."""

    __slots__ = ("expands", "isr", "maximal")

    def __init__(self, isr: list[BrokerId], maximal: list[BrokerId], *, expands: bool) -> None:
        self.isr = isr
        self.maximal = maximal
        self.expands = expands


class Partition:
    """One partition.

    `leader` -1: unknown. `leads`: this broker does, and has the log. `isr` is empty on a follower. `epoch_start`: log
    end when this broker became leader.
    """

    def __init__(
        self,
        context: BrokerContext,
        topic: str,
        partition: int,
        settings: BrokerSettings,
        fetches: Purgatory,
        produces: Purgatory,
        deletions: Purgatory,
    ) -> None:
        self._deletions = deletions
        self.context = context
        self._fetches = fetches
        self._produces = produces
        self.topic = topic
        self.partition = partition
        self.settings = settings
        self.log: Log | None = None
        self.the_log: Log
        """The same, for those that come only where there is one."""
        self.leader = NO_LEADER
        self.leads = False
        self.transitions = 0
        """Count of the transitions so far: an observer need not compare a state that had none."""
        self.leader_epoch = EPOCH_UNKNOWN
        self.partition_epoch = -1
        self.controller_epoch = ControllerEpoch(0)
        self.assignment: list[BrokerId] = []
        self.isr: list[BrokerId] = []
        self.pending: PendingIsr | None = None
        self.epoch_start: Offset | None = None
        self.remotes: dict[BrokerId, RemoteReplica] = {}
        self.unassigned: dict[BrokerId, RemoteReplica] = {}
        """Members of the ISR that are not assigned: their last known state."""
        self.lock = PartitionLock(topic_partition_text(topic, partition), context.threads, lambda: context.chance)
        self.parked_fetches: dict[int, Delayed] = {}
        self.parked_produces: dict[int, Delayed] = {}
        self.parked_deletions: dict[int, Delayed] = {}
        self.offline = False
        self.gone = ErrorCode.NONE
        """Error of produces that wait for a deleted replica."""

    @property
    def topic_id(self) -> str:
        """Of the last order; empty before."""
        return self.context.topic_ids.get((self.topic, self.partition), "")

    # --- transitions: its state changes only by these ---

    def has_log(self, log: Log) -> None:
        """Set its log, found or created."""
        self.transitions += 1
        self.log = self.the_log = log
        self.leads = self.leader == self.context.broker

    def configured(self, settings: BrokerSettings) -> None:
        """Set its effective settings: the broker's, or its topic's own, have changed."""
        self.transitions += 1
        self.settings = settings

    def become_leader(self, state: PartitionState, settings: BrokerSettings) -> None:
        """Become leader (1.7). A new leader never truncates.

        The start of the leader epoch moves with that alone: in KRaft a state of the same epoch changes the ISR.
        """
        known, began = self.remotes, state.leader_epoch > self.leader_epoch
        self._adopt(state, settings)
        self.isr = list(state.isr)
        not_assigned = [broker for broker in self.isr if broker not in state.replicas]
        self.unassigned = {broker: known.get(broker) or RemoteReplica(broker) for broker in not_assigned}
        self.leader = self.context.broker
        self.leads = self.log is not None
        if began or self.epoch_start is None:
            self.epoch_start = self.the_log.log_end

    def become_follower(self, state: PartitionState, settings: BrokerSettings) -> None:
        """Become follower of the state's leader (1.7)."""
        self._adopt(state, settings)
        self.isr = []
        self.unassigned = {}
        self.epoch_start = None
        self.leader = state.leader
        self.leads = self.leader == self.context.broker and self.log is not None

    def _adopt(self, state: PartitionState, settings: BrokerSettings) -> None:
        """Adopt the state, as leader or follower. It cancels a pending ISR change (semantics 11.5)."""
        self.transitions += 1
        self.controller_epoch = state.controller_epoch
        self.assignment = list(state.replicas)
        self.leader_epoch = state.leader_epoch
        self.partition_epoch = state.zk_version
        self.settings = settings
        self.pending = None
        others = [broker for broker in state.replicas if broker != self.context.broker]
        self.remotes = {broker: self.remotes.get(broker) or RemoteReplica(broker) for broker in others}

    def resign(self) -> None:
        """Stop leading, and drop a pending ISR change: the partition is being deleted."""
        self.transitions += 1
        self.leader = NO_LEADER
        self.leads = False
        self.pending = None

    def deleted(self, error: ErrorCode) -> None:
        """Mark the replica as deleted; requests that still wait here get `error` when checked."""
        self.gone = error

    def isr_change_begins(self, isr: list[BrokerId], *, expands: bool) -> None:
        """Begin an ISR change. Until its end the larger of the two sets counts (E4)."""
        self.transitions += 1
        self.pending = PendingIsr(isr, isr if expands else self.isr, expands=expands)

    def isr_change_reverted(self) -> None:
        """End a change that was not made: the last confirmed ISR counts again."""
        self.transitions += 1
        self.pending = None

    def isr_confirmed(self, isr: list[BrokerId], partition_epoch: int) -> None:
        """Set the recorded ISR, with its version of the state."""
        self.transitions += 1
        self.isr = isr
        self.unassigned = {broker: known for broker, known in self.unassigned.items() if broker in isr}
        self.partition_epoch = partition_epoch
        self.pending = None

    # --- role ---

    @property
    def min_isr(self) -> int:
        """`min.insync.replicas` in force; from 3.7 at most the number of replicas."""
        required = self.settings.min_insync_replicas
        return min(required, 1 + len(self.remotes)) if self.context.gates.min_isr_at_most_replicas else required

    @property
    def maximal_isr(self) -> list[BrokerId]:
        return self.pending.maximal if self.pending is not None else self.isr

    def go_offline(self) -> None:
        """Mark it offline: its log directory failed. Other holders of this object see the mark."""
        self.offline = True
        if self.log is not None and self.leader_epoch >= 0:
            ends = (self.log.log_end, self.log.high_watermark)
            epochs = (self.leader_epoch, self.leader_epoch, self.controller_epoch)
            self.context.emit(RoleChanged(self.topic, self.partition, "offline", NO_LEADER, *epochs, *ends, ""))

    # --- high watermark (1.5) ---

    def advance_high_watermark(self, at_ms: float | None = None) -> bool:
        """Advance the leader's high watermark to the smallest log end of the maximal ISR.

        Only forward. From 0.10.2 recently caught up replicas count, too. From 3.7 it stands still while the ISR is
        too small. `at_ms`: recent as of a follower's fetch (default: as of now).
        """
        gates = self.context.gates
        if gates.high_watermark_needs_min_isr and len(self.isr) < self.min_isr:
            return False
        log = self.the_log
        now_ms = self.context.now.mono_ms if at_ms is None else at_ms
        lag_max_ms = self.settings.replica_lag_time_max_ms
        reached = log.log_end
        in_sync = self.isr if self.pending is None else self.pending.maximal
        recent_counts, eligible_only = (
            gates.recently_caught_up_holds_high_watermark,
            gates.high_watermark_waits_for_eligible_only,
        )
        for replica in self.remotes.values():
            if replica.log_end < reached and (
                replica.broker in in_sync
                or (
                    recent_counts
                    and now_ms - replica.last_caught_up_ms <= lag_max_ms
                    and (not eligible_only or self.context.may_be_in_isr(replica.broker, replica.broker_epoch))
                )
            ):
                reached = replica.log_end
        if reached <= log.high_watermark:
            return False
        self._moved(reached)
        return True

    def follow_high_watermark(self, leaders: Offset) -> bool:
        """Set a follower's high watermark: the leader's, clamped to the own log. May move back.

        Whether it has moved.
        """
        log = self.the_log
        if not log.log_start <= leaders <= log.log_end:
            leaders = max(log.log_start, min(leaders, log.log_end))
        if leaders == log.high_watermark:
            return False
        self._moved(leaders)
        return True

    def _moved(self, high_watermark: Offset) -> None:
        log = self.the_log
        previous, log.high_watermark = log.high_watermark, high_watermark
        self.context.emit(
            HighWatermarkMoved(
                self.topic,
                self.partition,
                high_watermark,
                previous,
                self.leader == self.context.broker,
                self.leader_epoch,
            )
        )

    # --- log changes, with their events ---

    def appended(self, header: BatchHeader, *, as_leader: bool) -> None:
        """Emit an append.

        The event has the batch's own epoch: -1 where the format has none, for a follower cannot know it.
        """
        self.context.emit(
            BatchAppended(
                self.topic,
                self.partition,
                header.base_offset,
                header.last_offset,
                header.leader_epoch,
                header.crc,
                as_leader,
            )
        )
        if self.the_log.epochs.unreported:
            self.tell_epochs()
        if header.attributes & TRANSACTIONAL:
            self._tell_transactional(header, as_leader=as_leader)

    def _tell_transactional(self, header: BatchHeader, *, as_leader: bool) -> None:
        """Emit a transactional batch, or a marker."""
        kind, coordinator_epoch = "data", -1
        if header.is_control:
            data = self.the_log.read(header.base_offset, header.next_offset, header.size_bytes)
            marker = decode_marker(data)
            if marker is None:
                return
            kind, coordinator_epoch = "commit" if marker.commits else "abort", marker.coordinator_epoch
        self.context.emit(
            TransactionBatchAppended(
                self.topic,
                self.partition,
                header.base_offset,
                header.last_offset,
                header.producer_id,
                header.producer_epoch,
                header.base_sequence,
                kind,
                coordinator_epoch,
                as_leader,
                header.crc,
            )
        )

    def answered_as_duplicate(self, sent: BatchHeader, written: RememberedBatch) -> None:
        """Emit that a producer repeated the sequence numbers of `written`."""
        self.context.emit(
            DuplicateAnswered(
                self.topic,
                self.partition,
                written.base_offset,
                written.last_offset,
                self.leader_epoch,
                sent.crc,
                written.digest,
                sent.producer_id,
                sent.producer_epoch,
                sent.base_sequence,
                sent.last_sequence,
            )
        )

    def tell_epochs(self) -> None:
        """Emit the epochs that the log has noted since the last call."""
        tell_epochs(self.context, (self.topic, self.partition), self.the_log)

    def truncate_to(self, offset: Offset, reason: CutReason) -> bool:
        """Truncate, with an event even if no record is removed (as Kafka's log). Whether any was."""
        log = self.the_log
        log_end, high_watermark = log.log_end, log.high_watermark
        effective = log.truncate_to(offset)
        self._tell_cut(offset, log_end, high_watermark, reason, effective=effective)
        return effective

    def truncate_fully(self, offset: Offset) -> None:
        log = self.the_log
        log_end, high_watermark = log.log_end, log.high_watermark
        log.truncate_fully(offset)
        self._tell_cut(offset, log_end, high_watermark, CutReason.FULL, effective=True)

    def _tell_cut(
        self, offset: Offset, log_end: Offset, high_watermark: Offset, reason: CutReason, *, effective: bool
    ) -> None:
        """Emit a truncation. `log_end`, `high_watermark`: before it."""
        ends = (offset, log_end, effective, high_watermark)
        self.context.emit(LogTruncated(self.topic, self.partition, *ends, reason, self.the_log.epochs.text))

    def increment_log_start(self, offset: Offset, reason: str) -> bool:
        """Delete the records below (semantics 1.10); whether the start moved. Raises StorageError.

        `reason`: requested, or the leader's log start.
        """
        log = self.the_log
        previous = log.log_start
        if not log.increment_log_start(offset):
            return False
        fields = (offset, previous, reason, self.leader_epoch, log.epochs.text)
        self.context.emit(LogStartMoved(self.topic, self.partition, *fields))
        return True

    def low_watermark(self, live: Collection[BrokerId]) -> Offset:
        """Smallest log start of the replicas on live brokers; -1: one is unknown."""
        starts = [replica.log_start for replica in self.remotes.values() if replica.broker in live]
        return min([self.the_log.log_start, *starts])

    # --- followers in the leader's view (1.2 to 1.4) ---

    def follower_fetched(
        self, broker: BrokerId, fetch_offset: Offset, leader_log_end: Offset, arrived_ms: float, broker_epoch: int = -1
    ) -> None:
        """Note a follower's fetch as of its arrival, however long it waited for the lock since."""
        self.remotes[broker].fetched(fetch_offset, leader_log_end, arrived_ms, broker_epoch)

    def may_join_isr(self, replica: RemoteReplica) -> bool:
        """Whether a replica may join the ISR (1.4).

        It is not in, has caught up to the high watermark (and the leader epoch's start), no change is in flight, and
        from 3.3 its broker is alive.
        """
        if self.pending is not None or replica.broker in self.isr or not self.leads:
            return False
        if replica.log_end < self.the_log.high_watermark:
            return False
        if self.context.gates.isr_admits_live_brokers_only and not self.context.may_be_in_isr(
            replica.broker, replica.broker_epoch
        ):
            return False
        if self.context.gates.expand_needs_epoch_start:
            return self.epoch_start is not None and replica.log_end >= self.epoch_start
        return True

    def member(self, broker: BrokerId) -> RemoteReplica | None:
        """A member of the ISR, assigned or not; None: the leader itself."""
        return self.remotes.get(broker) or self.unassigned.get(broker)

    def out_of_sync(self) -> list[BrokerId]:
        """Members of the ISR to be removed now (1.3). Raises UnassignedIsrMember."""
        if not self.leads or self.pending is not None:
            return []
        gates = self.context.gates
        log_end = self.the_log.log_end
        now_ms = self.context.now.mono_ms
        gone: list[BrokerId] = []
        if self.unassigned and gates.unassigned_isr_member_ends_check:
            raise UnassignedIsrMember
        for broker in self.isr:
            replica = self.member(broker)
            if replica is None:
                continue
            if gates.unassigned_isr_member_removed and broker in self.unassigned:
                gone.append(broker)
            elif gates.lag_by_messages:
                # 0.8.2: by time since its last fetch (or since it last counted as in sync), or by records behind.
                last_seen_ms = max(replica.last_fetch_ms, replica.last_caught_up_ms)
                stuck = now_ms - last_seen_ms > self.settings.replica_lag_time_max_ms
                behind = log_end - replica.log_end if replica.log_end >= 0 else 0
                if stuck or behind > self.settings.replica_lag_max_messages:
                    gone.append(broker)
            elif gates.caught_up_replica_not_shrunk and replica.log_end == log_end:
                continue
            elif now_ms - replica.last_caught_up_ms > self.settings.replica_lag_time_max_ms:
                gone.append(broker)
        return gone

    def tell_isr_change_ended(self, isr: list[BrokerId], result: str, partition_epoch: int) -> None:
        """Emit the end of an ISR change; see `IsrChangeEnded`."""
        high_watermark = self.log.high_watermark if self.log is not None else NO_OFFSET
        fields = (result, partition_epoch, self.leader_epoch, high_watermark, self.min_isr)
        self.context.emit(IsrChangeEnded(self.topic, self.partition, ids_text(isr), *fields))

    def tell_lock(self) -> None:
        """Emit whether an ISR change's write locks it."""
        self.context.emit(PartitionBlocked(self.topic, self.partition, self.lock.held, self.lock.waiting))

    # --- parked requests ---

    def check_parked(self) -> Work[None]:
        """Check parked requests: the high watermark advanced, or leadership changed."""
        if self.parked_produces:
            yield from self._produces.check_all(self.parked_produces)
        if self.parked_fetches:
            yield from self._fetches.check_all(self.parked_fetches)
        if self.parked_deletions:
            yield from self._deletions.check_all(self.parked_deletions)

    def check_parked_deletions(self) -> Work[None]:
        return self._deletions.check_all(self.parked_deletions)

    def check_parked_produces(self) -> Work[None]:
        return self._produces.check_all(self.parked_produces)

    def check_parked_fetches(self) -> Work[None]:
        return self._fetches.check_all(self.parked_fetches)
