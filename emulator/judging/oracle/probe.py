"""The probe: inspects machines after each of their inputs and records facts.

A topic with the name of a deleted one is another topic (semantics 4.5): facts have the name of its incarnation
(`partition_incarnations`).

The probe reads the memory of machines and sends them nothing. A node leads a partition, or controls the cluster, from
the time at which its own memory says so, until the memory says otherwise or the process is gone.

An inspection without changes must cost next to nothing: five comparisons per partition.
"""

from typing import Any

from emulator.judging.oracle.checkpoint_state import Kept
from emulator.judging.oracle.committed_metadata import CommittedMetadata
from emulator.judging.oracle.committed_records import Committed
from emulator.judging.oracle.controller_terms import end
from emulator.judging.oracle.leader_view import LeaderViews
from emulator.judging.oracle.log_extent import EverHeld, Reached, Written, held
from emulator.judging.oracle.partition_incarnations import Incarnations
from emulator.judging.oracle.poll_state import Seen, Watch
from emulator.judging.oracle.quorum_view import QuorumViews
from emulator.judging.oracle.truth import IsrChange, LeaderView, StepBack, Term
from emulator.machines.broker.partition import Partition
from emulator.machines.broker.replica_log import Log
from emulator.machines.client.client_operations import KeptOperations
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.node.controller_node import ControllerNode
from emulator.machines.node.kraft_broker_node import KraftBrokerNode
from emulator.machines.node.kraft_controller_node import KraftControllerNode
from emulator.machines.session.server import SessionServer
from emulator.worlds.simulated.node import SimulatedNode
from protocol.ids import TopicPartition

WATCHED = (BrokerNode, ControllerNode, KraftBrokerNode, KraftControllerNode)
"""Machines that can lead or control."""
PLACES = 3
"""Times are rounded to the microsecond, as in events."""


class Probe:
    """Recorder of facts: `look` is the world's `after_step`; all facts are in order of time.

    `operations`: those of all clients, a list that grows as they begin.

    `going`: topics whose deletion has begun and not ended.
    """

    def __init__(self, operations: KeptOperations | None = None) -> None:
        self._operations = KeptOperations() if operations is None else operations
        self.incarnations = Incarnations()
        self.going: set[str] = set()
        self.leaders: list[Term] = []
        self.controllers: list[Term] = []
        self.watermarks_back: list[StepBack] = []
        self.epochs_back: list[StepBack] = []
        self.committed = Committed(self.incarnations)
        self.metadata = CommittedMetadata(self.committed, self.incarnations)
        self.quorum = QuorumViews()
        self.written = Written()
        self.kept = Kept()
        self.leader_views = LeaderViews()
        self._watches: dict[str, Watch] = {}
        self._highest_epoch: dict[tuple[str, TopicPartition], int] = {}
        self._highest_watermark: dict[tuple[str, TopicPartition, int], int] = {}

    @property
    def roles_seen(self) -> int:
        """Count of replicas that ever received a leader epoch."""
        return len(self._highest_epoch)

    def look(self, node: SimulatedNode, now_ms: float) -> None:
        """Inspect `node` after an input or its death."""
        machine: Any = node.machine
        if type(machine) is SessionServer:  # half of all inputs are its
            if machine.committed_zxid > self.committed.zxid:
                self._committed(machine, round(now_ms, PLACES))
            return
        if self._operations.news:
            self._operations.noted(round(now_ms, PLACES))
        watch = self._watches.get(node.node.name)
        if watch is None or watch.machine is not machine:
            if watch is not None:
                self._life_ended(watch, round(now_ms, PLACES))
            if not isinstance(machine, WATCHED):
                return
            watch = self._watches[node.node.name] = Watch(node, machine, self.quorum)
        if watch.quorum is not None:
            self._look_at_quorum(watch, round(now_ms, PLACES))
        if watch.found is None and watch.logs:
            # Logs that exist before the controller names any partition are those of an earlier incarnation.
            logs = {} if watch.partitions else watch.logs
            if watch.on_disk is not None:  # a broker of KRaft loads logs and makes others in one step
                logs = {found: log for found, log in watch.logs.items() if found in watch.on_disk}
            watch.found = {topic_partition: log.log_end for topic_partition, log in logs.items()}
            ends = {self._key(topic_partition): log for topic_partition, log in logs.items()}
            known = {self._key(topic_partition): offset for topic_partition, offset in watch.checkpointed.items()}
            led = {self._key(of): one.leader_epoch for of, one in watch.partitions.items() if one.leads}
            self.kept.loaded(watch.name, node.incarnation, ends, known, led)
        if watch.loading:
            self._loaded(watch)
        seen = watch.seen
        partitions = watch.partitions
        if len(partitions) != len(seen):
            self._partitions_changed(watch, round(now_ms, PLACES))
        for topic_partition, partition in partitions.items():
            last = seen.get(topic_partition)
            if last is None or partition is not last.partition or partition.transitions != last.transitions:
                if last is None or _differs(partition, last):
                    self._partition_changed(watch, topic_partition, partition, round(now_ms, PLACES))
                    last = seen[topic_partition]
                last.transitions = partition.transitions
            log = partition.log
            if log is not None and (log.high_watermark != last.high_watermark or log.log_end != last.log_end):
                self._log_changed(watch, last, log, now_ms)
        if watch.cuts != node.cuts:
            self._cut(watch)
        epoch, term = watch.control_epoch, watch.control
        if epoch != (0 if term is None else term.epoch):
            self._control(watch, epoch, round(now_ms, PLACES))

    def _committed(self, server: SessionServer, at_ms: float) -> None:
        """Take over commits from the server that is furthest ahead."""
        for topic in self.committed.catch_up(server, at_ms):
            self.going.discard(self.incarnations.name(topic))
            self.incarnations.ended(topic, len(self._operations))

    def _look_at_quorum(self, watch: Watch, at_ms: float) -> None:
        """Record a node's view of the metadata log, and what the controller furthest ahead has read."""
        assert watch.quorum is not None
        batches = watch.quorum.look()
        if watch.part is not None:
            for topic in self.metadata.catch_up(batches, at_ms):
                self.incarnations.ended(topic, len(self._operations))

    def _loaded(self, watch: Watch) -> None:
        """Record the logs that a broker has found on its disks, before it changes them."""
        for topic_partition, log in watch.loading.items():
            self.leader_views.found(watch.name, self._key(topic_partition), log.log_end)
        watch.loading = {}

    def _key(self, topic_partition: TopicPartition, topic_id: str = "") -> TopicPartition:
        """The partition, of the topic's incarnation with this id, or of the present one."""
        return self.incarnations.name(topic_partition[0], topic_id), topic_partition[1]

    # --- what changed ---

    def _life_ended(self, watch: Watch, at_ms: float) -> None:
        del self._watches[watch.name]
        for seen in watch.seen.values():
            end(seen.term, at_ms)
            if seen.log is not None:
                self.leader_views.ended(watch.name, seen.key, seen.log_end)
        end(watch.control, at_ms)

    def _partitions_changed(self, watch: Watch, at_ms: float) -> None:
        """End the terms of partitions that are gone; `look` itself finds new ones."""
        for topic_partition in [seen for seen in watch.seen if seen not in watch.partitions]:
            gone = watch.seen.pop(topic_partition)
            end(gone.term, at_ms)
            machine = watch.machine
            brokers = BrokerNode | KraftBrokerNode
            if isinstance(machine, brokers) and topic_partition not in machine.broker.metadata.partitions:
                self.going.add(gone.key[0])  # the broker's metadata says that the topic is deleted

    def _partition_changed(
        self, watch: Watch, topic_partition: TopicPartition, partition: Partition, at_ms: float
    ) -> None:
        seen = watch.seen.get(topic_partition)
        key = self._key(topic_partition, partition.topic_id)
        if seen is None or seen.partition is not partition or seen.key != key:
            if seen is not None:
                end(seen.term, at_ms)
            seen = watch.seen[topic_partition] = Seen(partition, key, *self._noted(watch, key))
        if partition.leader_epoch != seen.epoch:
            seen.epoch = partition.leader_epoch
            self._epoch(watch.name, key, seen.epoch, at_ms)
        log = partition.log
        goes_on = partition.leads and seen.term is not None and seen.term.epoch == seen.epoch
        if goes_on and partition.partition_epoch != seen.zk_version:
            change = (watch.name, watch.node.incarnation, seen.epoch, partition.partition_epoch)
            self.kept.isr_changes.append(IsrChange(key, *change))
        seen.zk_version = partition.partition_epoch
        high_watermark = seen.high_watermark
        if log is not None and log is not seen.log:
            self.leader_views.found(watch.name, key, log.log_end)
            self.written.found(key, log, watch.node.files)
            seen.log_end = log.log_end
            self._log_found(watch, topic_partition, seen, log)
        seen.leader, seen.log, seen.leads = partition.leader, log, partition.leads
        if seen.term is not None and not (seen.leads and seen.term.epoch == seen.epoch):
            end(seen.term, at_ms)
            seen.term = None
        if log is not None:
            self._log_changed(watch, seen, log, at_ms)
        self._believes(watch, seen, partition, high_watermark)
        if seen.leads and seen.term is None:
            seen.term = Term(key, watch.name, seen.epoch, at_ms)
            if log is not None and self.committed.elected_uncleanly(key, seen.epoch):
                seen.term.found = held(log, watch.node.files)
            self.leaders.append(seen.term)
            # A restarted leader of KRaft begins with its checkpoint: it has not moved its high watermark.
            place = (watch.name, key, seen.epoch)
            self._highest_watermark[place] = max(self._highest_watermark.get(place, -1), seen.high_watermark)

    def _believes(self, watch: Watch, seen: Seen, partition: Partition, high_watermark: int) -> None:
        """Record a leader's view of its ISR. `high_watermark`: at the last inspection."""
        seen.isr, seen.pending, seen.settings = partition.isr, partition.pending, partition.settings
        in_sync = len(partition.maximal_isr) if seen.leads else -1
        least, ended = partition.min_isr, len(self._operations.ended)
        self.leader_views.note(LeaderView(seen.key, watch.name, in_sync, least, max(0, high_watermark), ended))

    def _log_changed(self, watch: Watch, seen: Seen, log: Log, now_ms: float) -> None:
        """Record a new log end or high watermark."""
        log_end, high_watermark, first = log.log_end, log.high_watermark, log.segments[0]
        if log_end < seen.log_end:
            wiped = first is not seen.first
            of = (watch.name, watch.node.incarnation, seen.key, seen.partition)
            self.kept.cut(*of, log, seen.log_end, wiped=wiped)
        seen.first = first
        self.kept.reached(watch.name, seen.key, high_watermark)
        if log_end > seen.log_end:
            self.written.appended(seen.ever_held, log, seen.log_end, watch.node.files)
            if seen.term is not None:
                seen.term.appended_ms.append(round(now_ms, PLACES))
        seen.log_end, seen.high_watermark = log_end, high_watermark
        reached = seen.reached
        if log_end > reached.log_end:
            reached.log_end = log_end
        if high_watermark > reached.high_watermark:
            reached.high_watermark = high_watermark
        if seen.term is not None:
            self._watermark(watch.name, seen.key, seen.epoch, high_watermark, now_ms)

    def _log_found(self, watch: Watch, topic_partition: TopicPartition, seen: Seen, log: Log) -> None:
        """Record a partition's log: found by this incarnation and perhaps cut already, or new."""
        found = (watch.found or {}).pop(topic_partition, None)
        if found is None:
            self.kept.made_anew(watch.name, seen.key)
        elif log.log_end < found:
            self.kept.cut(watch.name, watch.node.incarnation, seen.key, seen.partition, log, found)

    def _cut(self, watch: Watch) -> None:
        """Read all logs anew after a file became shorter.

        Records below a log's former end may be new, even if the end is not lower.
        """
        watch.cuts = watch.node.cuts
        for seen in watch.seen.values():
            if seen.log is not None:
                self.written.found(seen.key, seen.log, watch.node.files)

    def _noted(self, watch: Watch, key: TopicPartition) -> tuple[EverHeld, Reached]:
        return self.written.held_of(key), self.written.reached_by(watch.name, watch.node.incarnation, key)

    def _epoch(self, node: str, topic_partition: TopicPartition, epoch: int, at_ms: float) -> None:
        if epoch < 0:
            return
        highest = self._highest_epoch.get((node, topic_partition), -1)
        if epoch < highest:
            self.epochs_back.append(StepBack(topic_partition, node, -1, highest, epoch, at_ms))
        self._highest_epoch[node, topic_partition] = max(highest, epoch)

    def _watermark(
        self, node: str, topic_partition: TopicPartition, epoch: int, high_watermark: int, now_ms: float
    ) -> None:
        place = (node, topic_partition, epoch)
        highest = self._highest_watermark.get(place, -1)
        if high_watermark < highest:
            at_ms = round(now_ms, PLACES)
            self.watermarks_back.append(StepBack(topic_partition, node, epoch, highest, high_watermark, at_ms))
        elif high_watermark > highest:
            self._highest_watermark[place] = high_watermark

    def _control(self, watch: Watch, epoch: int, at_ms: float) -> None:
        """Record a controller's epoch; 0: not active, or still without an own epoch (up to 2.0)."""
        term = watch.control
        if term is not None and term.epoch != epoch:
            end(term, at_ms)
            term = watch.control = None
        if term is None and epoch > 0:
            term = watch.control = Term(None, watch.name, epoch, at_ms)
            self.controllers.append(term)


def _differs(partition: Partition, last: Seen) -> bool:
    """Whether the partition's state changed since the last inspection, its log's ends apart."""
    return (
        partition is not last.partition
        or partition.leader_epoch != last.epoch
        or partition.leader != last.leader
        or partition.log is not last.log
        or partition.partition_epoch != last.zk_version
        or partition.isr is not last.isr
        or partition.pending is not last.pending
        or partition.settings is not last.settings
    )
