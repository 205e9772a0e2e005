"""One partition on one broker: its role, its in-sync set as it knows it, its high watermark.

The leader feeds in log ends and fetches; the high watermark follows. Rules: semantics 1.1 to 1.5. ISR changes are
decided here and carried out by `isr_changes`. While a change is written straight to the session service the partition
is *locked* (semantics 1.6)."""

from collections.abc import Collection

from emulator.machines.broker.context import BrokerContext
from emulator.machines.broker.log import Log
from emulator.machines.broker.partition_lock import PartitionLock
from emulator.machines.broker.purgatory import Delayed, Purgatory
from emulator.machines.broker.remembered_batch import RememberedBatch
from emulator.machines.broker.remote_replica import RemoteReplica
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
from protocol.messages.leadership import PartitionState
from protocol.records.types import BatchHeader
from protocol.work import Work


def tell_epochs(context: BrokerContext, topic_partition: TopicPartition, log: Log) -> None:
    """Write down which epochs a log has noted since the last time."""
    for began in log.epochs.tell():
        topic, partition = topic_partition
        context.emit(LeaderEpochBegan(topic, partition, *began))


class UnassignedIsrMember(Exception):
    """The ISR names a replica that is not assigned (Partition.getReplicaOrException)."""


class PendingIsr:
    """An ISR change in flight. `maximal`: the set that counts for the high watermark meanwhile (E4)."""

    __slots__ = ("expands", "isr", "maximal")

    def __init__(self, isr: list[BrokerId], maximal: list[BrokerId], *, expands: bool) -> None:
        self.isr = isr
        self.maximal = maximal
        self.expands = expands


class Partition:
    """`leader` -1 none known; `isr` empty on a follower; `epoch_start`: log end when this broker became leader."""

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
        self.leader = NO_LEADER
        self.leader_epoch = EPOCH_UNKNOWN
        self.zk_version = -1
        self.controller_epoch = ControllerEpoch(0)
        self.assignment: list[BrokerId] = []
        self.isr: list[BrokerId] = []
        self.pending: PendingIsr | None = None
        self.epoch_start: Offset | None = None
        self.remotes: dict[BrokerId, RemoteReplica] = {}
        self.unassigned: dict[BrokerId, RemoteReplica] = {}
        """Members of the ISR that are not assigned: the last that is known of them."""
        self.lock = PartitionLock(topic_partition_text(topic, partition), context.threads, lambda: context.chance)
        self.parked_fetches: dict[int, Delayed] = {}
        self.parked_produces: dict[int, Delayed] = {}
        self.parked_deletions: dict[int, Delayed] = {}
        self.offline = False
        self.gone = ErrorCode.NONE
        """Its replica has been deleted, and this is what a produce is told that still waits for it."""

    # --- transitions: the only doors to what is known of it ---

    def has_log(self, log: Log) -> None:
        """It is there, found or made."""
        self.log = log

    def configured(self, settings: BrokerSettings) -> None:
        """The broker's settings, or its topic's own, are others."""
        self.settings = settings

    def become_leader(self, state: PartitionState, settings: BrokerSettings) -> None:
        """1.7. A new leader never truncates."""
        known = self.remotes
        self._adopt(state, settings)
        self.isr = list(state.isr)
        strangers = [broker for broker in self.isr if broker not in state.replicas]
        self.unassigned = {broker: known.get(broker) or RemoteReplica(broker) for broker in strangers}
        self.leader = self.context.broker
        self.epoch_start = self.the_log.log_end

    def become_follower(self, state: PartitionState, settings: BrokerSettings) -> None:
        """1.7, of the leader that the state names."""
        self._adopt(state, settings)
        self.isr = []
        self.unassigned = {}
        self.epoch_start = None
        self.leader = state.leader

    def _adopt(self, state: PartitionState, settings: BrokerSettings) -> None:
        """What leader and follower take over alike. A pending ISR change counts no more (semantics 11.5)."""
        self.controller_epoch = state.controller_epoch
        self.assignment = list(state.replicas)
        self.leader_epoch = state.leader_epoch
        self.zk_version = state.zk_version
        self.settings = settings
        self.pending = None
        others = [broker for broker in state.replicas if broker != self.context.broker]
        self.remotes = {broker: self.remotes.get(broker) or RemoteReplica(broker) for broker in others}

    def resign(self) -> None:
        """It is being deleted: nobody leads it any more, and no change of its ISR is under way."""
        self.leader = NO_LEADER
        self.pending = None

    def deleted(self, told: ErrorCode) -> None:
        """Nothing is left of it but who waits here, who is `told` that when somebody looks."""
        self.gone = told

    def isr_change_begins(self, isr: list[BrokerId], *, expands: bool) -> None:
        """Until it is confirmed, given up or overtaken, the larger of the two sets counts (E4)."""
        self.pending = PendingIsr(isr, isr if expands else self.isr, expands=expands)

    def isr_confirmed(self, isr: list[BrokerId], zk_version: int) -> None:
        """Recorded, as that version of the state."""
        self.isr = isr
        self.unassigned = {broker: known for broker, known in self.unassigned.items() if broker in isr}
        self.zk_version = zk_version
        self.pending = None

    # --- what it is ---

    @property
    def leads(self) -> bool:
        return self.leader == self.context.broker and self.log is not None

    @property
    def maximal_isr(self) -> list[BrokerId]:
        return self.pending.maximal if self.pending is not None else self.isr

    def go_offline(self) -> None:
        """Its log directory failed: whoever still holds this object finds it out."""
        self.offline = True
        if self.log is not None and self.leader_epoch >= 0:
            ends = (self.log.log_end, self.log.high_watermark)
            epochs = (self.leader_epoch, self.leader_epoch, self.controller_epoch)
            self.context.emit(RoleChanged(self.topic, self.partition, "offline", NO_LEADER, *epochs, *ends, ""))

    @property
    def the_log(self) -> Log:
        assert self.log is not None, f"{self.topic}-{self.partition} has no log yet"
        return self.log

    # --- high watermark (1.5) ---

    def advance_high_watermark(self, at_ms: float | None = None) -> bool:
        """Leader: the smallest log end among the maximal ISR and, from 0.10.2, the recently caught up. Only forward.
        `at_ms`: recent as of a follower's fetch (default: as of now)."""
        log = self.the_log
        now_ms = self.context.now.mono_ms if at_ms is None else at_ms
        lag_max_ms = self.settings.replica_lag_time_max_ms
        reached = log.log_end
        in_sync = self.maximal_isr
        recent_counts = self.context.gates.recently_caught_up_holds_high_watermark
        for replica in self.remotes.values():
            if replica.log_end < reached and (
                replica.broker in in_sync or (recent_counts and now_ms - replica.last_caught_up_ms <= lag_max_ms)
            ):
                reached = replica.log_end
        if reached <= log.high_watermark:
            return False
        self._moved(reached)
        return True

    def follow_high_watermark(self, leaders: Offset) -> None:
        """Follower: what the leader said, clamped to the own log. May move back."""
        log = self.the_log
        clamped = max(log.log_start, min(leaders, log.log_end))
        if clamped != log.high_watermark:
            self._moved(clamped)

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
        """The event says the batch's own epoch: -1 where the format has none, for a follower cannot know it."""
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
        if self.the_log.epochs.untold:
            self.tell_epochs()

    def answered_as_duplicate(self, sent: BatchHeader, written: RememberedBatch) -> None:
        """A producer sent sequence numbers that `written` has."""
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
        """Write down which epochs the log has noted since the last time."""
        tell_epochs(self.context, (self.topic, self.partition), self.the_log)

    def truncate_to(self, offset: Offset, reason: CutReason) -> bool:
        """Cut, and say so even where nothing is cut (as Kafka's log does). Whether something was."""
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
        """`log_end`, `high_watermark`: before."""
        ends = (offset, log_end, effective, high_watermark)
        self.context.emit(LogTruncated(self.topic, self.partition, *ends, reason, self.the_log.epochs.text))

    def increment_log_start(self, offset: Offset, reason: str) -> bool:
        """Records below are deleted (semantics 1.10); whether it moved. `reason`: requested, or what the leader says.
        Raises StorageError."""
        log = self.the_log
        previous = log.log_start
        if not log.increment_log_start(offset):
            return False
        told = (offset, previous, reason, self.leader_epoch, log.epochs.text)
        self.context.emit(LogStartMoved(self.topic, self.partition, *told))
        return True

    def low_watermark(self, live: Collection[BrokerId]) -> Offset:
        """Where the log begins on every replica whose broker lives; -1: of one it is not known."""
        starts = [replica.log_start for replica in self.remotes.values() if replica.broker in live]
        return min([self.the_log.log_start, *starts])

    # --- followers, as the leader sees them (1.2 to 1.4) ---

    def follower_fetched(
        self, broker: BrokerId, fetch_offset: Offset, leader_log_end: Offset, arrived_ms: float
    ) -> None:
        """Note a follower's fetch. It counts as of its arrival, however long it waited for the lock since."""
        self.remotes[broker].fetched(fetch_offset, leader_log_end, arrived_ms)

    def may_join_isr(self, replica: RemoteReplica) -> bool:
        """1.4: not in, caught up to the high watermark (and the leader epoch's start), no change in flight."""
        if self.pending is not None or replica.broker in self.isr or not self.leads:
            return False
        if replica.log_end < self.the_log.high_watermark:
            return False
        if self.context.gates.expand_needs_epoch_start:
            return self.epoch_start is not None and replica.log_end >= self.epoch_start
        return True

    def member(self, broker: BrokerId) -> RemoteReplica | None:
        """A member of the ISR, assigned or not; None: the leader itself."""
        return self.remotes.get(broker) or self.unassigned.get(broker)

    def out_of_sync(self) -> list[BrokerId]:
        """1.3: members of the ISR to be removed now. Raises UnassignedIsrMember."""
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
            if gates.lag_by_messages:
                # 0.8.2: by time since its last fetch (or since it was believed in sync), or by records behind.
                heard_ms = max(replica.last_fetch_ms, replica.last_caught_up_ms)
                stuck = now_ms - heard_ms > self.settings.replica_lag_time_max_ms
                behind = log_end - replica.log_end if replica.log_end >= 0 else 0
                if stuck or behind > self.settings.replica_lag_max_messages:
                    gone.append(broker)
            elif gates.caught_up_replica_not_shrunk and replica.log_end == log_end:
                continue
            elif now_ms - replica.last_caught_up_ms > self.settings.replica_lag_time_max_ms:
                gone.append(broker)
        return gone

    def tell_isr_change_ended(self, isr: list[BrokerId], result: str, zk_version: int) -> None:
        """See `IsrChangeEnded`."""
        high_watermark = self.log.high_watermark if self.log is not None else NO_OFFSET
        told = (result, zk_version, self.leader_epoch, high_watermark, self.settings.min_insync_replicas)
        self.context.emit(IsrChangeEnded(self.topic, self.partition, ids_text(isr), *told))

    def tell_lock(self) -> None:
        """Whether it is locked for the time of an ISR change's write."""
        self.context.emit(PartitionBlocked(self.topic, self.partition, self.lock.held, self.lock.waiting))

    # --- parked requests ---

    def check_parked(self) -> Work[None]:
        """The high watermark moved, or leadership changed: see who can be answered."""
        yield from self.check_parked_produces()
        yield from self.check_parked_fetches()
        yield from self.check_parked_deletions()

    def check_parked_deletions(self) -> Work[None]:
        for delayed in list(self.parked_deletions.values()):
            yield from self._deletions.check(delayed)

    def check_parked_produces(self) -> Work[None]:
        for delayed in list(self.parked_produces.values()):
            yield from self._produces.check(delayed)

    def check_parked_fetches(self) -> Work[None]:
        for delayed in list(self.parked_fetches.values()):
            yield from self._fetches.check(delayed)
