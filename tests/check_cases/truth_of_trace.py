"""The oracle's truth about a trace, derived from its events.

The facts are those that the probe would see in the machines which emit these events. They go through the oracle's own
recorders, and `gathering` makes the truth of them. What `gathering` reads from
disks, machines and the world comes from the events here.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast
from unittest.mock import Mock

import msgspec

from emulator.judging.oracle.controller_terms import end
from emulator.judging.oracle.gathering import truth_of
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.transaction_facts import ProducerBatch, TransactionRecord
from emulator.judging.oracle.truth import Batch, IsrChange, LeaderView, MetadataLife, State, Term, Truth
from emulator.machines.client.client_operations import KeptOperations, Operation
from emulator.machines.client.client_state import KeptTransaction, Left, Read, Requested, TransactionChange
from emulator.machines.node.broker_node import BrokerNode
from emulator.machines.session.znode import Change
from emulator.runs.former_format import with_topic_ids
from protocol import events as e
from protocol.gates import gates_for
from protocol.ids import LeaderEpoch, Offset, TopicPartition, topic_partition_of
from protocol.znodes import TOPICS, decode_topic
from tests.audit.trace import TOPIC, TimedEvent, Trace

ALIVE = ("start", "resume", "pause", "slow-disk", "clock-jump")
"""Faults that end no process."""
HALTS = ("pause", "kill", "power-loss", "lose-disk", "lose-unsynced")


class _Replica:
    """A replica's log and role; the recorders read it as a log and as a partition."""

    def __init__(self, topic_partition: TopicPartition) -> None:
        self.topic, self.partition = topic_partition
        self.batches: list[Batch] = []
        self.producers: list[ProducerBatch] = []
        self.log_end = self.high_watermark = 0
        self.leader_epoch, self.leads = -1, False
        self.epochs = SimpleNamespace(entries=[])
        self.term: Term | None = None
        self.in_sync, self.least = -1, 1

    def ends_at(self, log_end: int) -> None:
        self.batches = [one for one in self.batches if one.last < log_end]
        self.producers = [one for one in self.producers if one.last < log_end]
        self.log_end = log_end
        self.high_watermark = min(self.high_watermark, log_end)

    def cached(self, epochs: str) -> None:
        pairs = [entry.partition(":") for entry in epochs.split()]
        self.epochs.entries = [(LeaderEpoch(int(epoch)), Offset(int(begins))) for epoch, _, begins in pairs]


class _Seen:
    """Facts of the events so far."""

    def __init__(self, trace: Trace) -> None:
        self.operations = KeptOperations()
        self.probe = Probe(self.operations)
        self.replicas: dict[tuple[str, TopicPartition], _Replica] = {}
        self.assignments: dict[TopicPartition, tuple[int, ...]] = {}
        self.incarnations: dict[str, int] = {}
        self.control: dict[str, Term] = {}
        self.metadata_lives: dict[str, MetadataLife] = {}
        self.halted: set[str] = set()
        self.in_force: set[tuple[str, str]] = set()
        self.named: dict[str, Operation] = {}
        self.with_input: dict[str, tuple[tuple[str, float], TopicPartition, int]] = {}
        """{node: the input that last moved a high watermark}; the probe looks behind an input."""
        self.topic_id = ""
        """Of the present event."""
        self.transaction_records: dict[TopicPartition, dict[str, list[TransactionRecord]]] = {}
        ids = _topic_ids(trace)
        removed = sum(isinstance(happened.event, e.TopicRemoved) for happened in trace.events)
        for number in range(1, removed + 2):
            self.probe.incarnations.created(TOPIC, str(number))
        last = len(trace.events)
        while last and isinstance(trace.events[last - 1].event, e.NodeStopped):
            last -= 1
        for number, happened in enumerate(trace.events):
            if number < last:  # the stops at the end are the end of the run
                self.topic_id = ids[number]
                self.see(happened)
        for node in list(self.with_input):
            self._input_done(node)

    def see(self, happened: TimedEvent) -> None:
        node, event = happened.node, happened.event
        waiting = self.with_input.get(node)
        if waiting is not None and waiting[0] != (happened.cause, happened.at_ms):
            self._input_done(node)
        of = getattr(self, f"_{event.NAME}", None)
        if of is not None:
            of(happened, event)

    def _input_done(self, node: str) -> None:
        _, topic_partition, high_watermark = self.with_input.pop(node)
        self.probe.kept.reached(node, topic_partition, high_watermark)

    def _of(self, node: str, event: Any) -> tuple[TopicPartition, _Replica]:
        place = self.probe._key((event.topic, event.partition), self.topic_id)
        return place, self.replicas.setdefault((node, place), _Replica(place))

    # --- processes ---

    def _over(self, node: str, at_ms: float) -> None:
        for (of, _), replica in self.replicas.items():
            if of == node:
                end(replica.term, at_ms)
                replica.term, replica.leads = None, False
        end(self.control.pop(node, None), at_ms)

    def _node_started(self, happened: TimedEvent, event: e.NodeStarted) -> None:
        node = happened.node
        self._over(node, happened.at_ms)
        self.incarnations[node] = happened.incarnation
        self.halted.discard(node)
        for (of, place), replica in self.replicas.items():
            if of == node:
                self.probe.leader_views.ended(node, place, replica.log_end)

    def _node_stopped(self, happened: TimedEvent, event: e.NodeStopped) -> None:
        self._over(happened.node, happened.at_ms)
        self.halted.add(happened.node)

    def _machine_fault(self, happened: TimedEvent, event: e.MachineFault) -> None:
        if event.what not in ALIVE:
            self._over(event.target, happened.at_ms)
        if event.what in HALTS:
            self.halted.add(event.target)
        elif event.what == "resume":
            self.halted.discard(event.target)

    def _fault_in_force(self, happened: TimedEvent, event: e.FaultInForce) -> None:
        self.in_force.add((happened.node, event.rule))

    def _fault_healed(self, happened: TimedEvent, event: e.FaultHealed) -> None:
        self.in_force.discard((happened.node, event.rule))

    # --- the quorum of KRaft ---

    def _metadata_life(self, happened: TimedEvent) -> MetadataLife:
        known = self.metadata_lives.get(happened.node)
        if known is None or known.incarnation != happened.incarnation:
            known = self.metadata_lives[happened.node] = MetadataLife(happened.node, happened.incarnation)
            self.probe.quorum.lives.append(known)
        return known

    def _quorum_state_changed(self, happened: TimedEvent, event: e.QuorumStateChanged) -> None:
        life = self._metadata_life(happened)
        if event.leader >= 0:
            life.leaders.setdefault(event.epoch, set()).add(event.leader)
        life.highest = max(life.highest, event.highest_watermark)
        lowest = event.log_end if event.high_watermark < 0 else min(event.high_watermark, event.log_end)
        if lowest < life.highest and life.fell is None:
            life.fell = (life.highest, lowest)

    def _metadata_committed(self, happened: TimedEvent, event: e.MetadataCommitted) -> None:
        life = self._metadata_life(happened)
        life.committed.append((event.base_offset, event.offset, event.epoch, event.digest))
        life.highest = max(life.highest, event.offset)

    def _metadata_snapshot(self, happened: TimedEvent, event: e.MetadataSnapshot) -> None:
        if event.action == "loaded":
            life = self._metadata_life(happened)
            life.loaded = max(life.loaded, event.offset)

    def _partition_state_committed(self, happened: TimedEvent, event: e.PartitionStateCommitted) -> None:
        """The first controller that reads a record shows its state."""
        committed = self.probe.committed
        if event.offset <= max((state.zxid for state in committed.states), default=-1):
            return
        isr, elr, replicas = (
            tuple(map(int, filter(None, text.split(",")))) for text in (event.isr, event.elr, event.replicas)
        )
        place = (event.topic, event.partition)
        for state in committed.states:
            if state.topic_partition == place and state.until_ms is None:
                state.until_ms = happened.at_ms
        created = event.partition_epoch == 0
        if created or self.assignments.get(place) != replicas:
            committed.assigned_ms[event.topic] = happened.at_ms
        self.assignments[place] = replicas
        committed.note(State(
            place, event.offset, event.leader, event.leader_epoch, isr, event.epoch, created, event.partition_epoch,
            event.epoch, happened.at_ms, None, elr,
        ))  # fmt: skip

    # --- what is committed ---

    def _controller_changed(self, happened: TimedEvent, event: e.ControllerChanged) -> None:
        end(self.control.pop(happened.node, None), happened.at_ms)
        if event.active:
            term = self.control[happened.node] = Term(None, happened.node, event.controller_epoch, happened.at_ms)
            self.probe.controllers.append(term)

    def _znode_changed(self, happened: TimedEvent, event: e.ZnodeChanged) -> None:
        committed = self.probe.committed
        if event.zxid <= committed.zxid:
            return
        committed.zxid, committed._now_ms = event.zxid, happened.at_ms
        data = event.data.encode()
        list(committed._changed(event.zxid, Change(event.change, event.path, event.version, data, event.zxid)))
        topic = event.path.removeprefix(f"{TOPICS}/")
        if event.path.startswith(TOPICS) and "/" not in topic:
            for partition, assigned in decode_topic(topic, data).items():
                self.assignments[topic, partition] = assigned.replicas

    def _topic_removed(self, happened: TimedEvent, event: e.TopicRemoved) -> None:
        self.probe.going.discard(self.probe.incarnations.name(event.topic))
        self.probe.incarnations.ended(event.topic, len(self.operations))

    # --- replicas ---

    def _role_changed(self, happened: TimedEvent, event: e.RoleChanged) -> None:
        node, at_ms, probe = happened.node, happened.at_ms, self.probe
        place, replica = self._of(node, event)
        replica.leader_epoch, replica.leads = event.leader_epoch, event.role == "leader"
        probe._epoch(node, place, event.leader_epoch, at_ms)
        if replica.term is not None and not (replica.leads and replica.term.epoch == event.leader_epoch):
            end(replica.term, at_ms)
            replica.term = None
        in_sync = event.isr.count(",") + 1 if replica.leads and event.isr else -1
        self._believes(node, place, replica, in_sync, event.min_insync_replicas, event.high_watermark)
        if replica.leads and replica.term is None:
            term = replica.term = Term(place, node, event.leader_epoch, at_ms)
            if probe.committed.elected_uncleanly(place, event.leader_epoch):
                term.found = frozenset((one.digest, one.first, one.last) for one in replica.batches)
            probe.leaders.append(term)
            probe._watermark(node, place, event.leader_epoch, replica.high_watermark, at_ms)

    def _believes(
        self, node: str, place: TopicPartition, replica: _Replica, in_sync: int, least: int, high_watermark: int
    ) -> None:
        replica.in_sync, replica.least = in_sync, least
        ended = len(self.operations.ended)
        self.probe.leader_views.note(LeaderView(place, node, in_sync, least, max(0, high_watermark), ended))

    def _isr_change_ended(self, happened: TimedEvent, event: e.IsrChangeEnded) -> None:
        place, replica = self._of(happened.node, event)
        if event.result != "done":
            return
        change = (happened.node, happened.incarnation, event.leader_epoch, event.zk_version)
        self.probe.kept.isr_changes.append(IsrChange(place, *change))
        if event.min_insync_replicas >= 0:
            in_sync = event.isr.count(",") + 1
            least = event.min_insync_replicas
            self._believes(happened.node, place, replica, in_sync, least, event.high_watermark)

    def _topic_configured(self, happened: TimedEvent, event: e.TopicConfigured) -> None:
        self._configured(happened.node, event.config, event.topic)

    def _broker_configured(self, happened: TimedEvent, event: e.BrokerConfigured) -> None:
        self._configured(happened.node, event.config, "")

    def _configured(self, node: str, config: str, topic: str) -> None:
        name, _, value = config.partition("=")
        for (of, place), replica in self.replicas.items():
            if of == node and topic in ("", place[0]) and name == "min.insync.replicas":
                self._believes(node, place, replica, replica.in_sync, int(value), replica.high_watermark)

    # --- logs ---

    def _batch_appended(self, happened: TimedEvent, event: e.BatchAppended) -> None:
        place, replica = self._of(happened.node, event)
        batch = Batch(event.base_offset, event.last_offset, event.leader_epoch, event.digest)
        replica.batches.append(batch)
        replica.log_end = event.last_offset + 1
        held = self.probe.written.held_of(place)
        held.batches.add((batch.epoch, batch.first, batch.last, batch.digest))
        self._reached(happened, place, replica)
        if replica.term is not None and event.as_leader:
            replica.term.appended_ms.append(happened.at_ms)

    def _reached(self, happened: TimedEvent, place: TopicPartition, replica: _Replica) -> None:
        reached = self.probe.written.reached_by(happened.node, happened.incarnation, place)
        reached.log_end = max(reached.log_end, replica.log_end)
        reached.high_watermark = max(reached.high_watermark, replica.high_watermark)

    def _log_truncated(self, happened: TimedEvent, event: e.LogTruncated) -> None:
        node = happened.node
        place, replica = self._of(node, event)
        wiped = event.reason == "full"
        if wiped:
            replica.batches.clear()
        replica.ends_at(event.to)
        replica.cached(event.epochs)
        if event.to < event.log_end:
            log = cast("Any", replica)
            self.probe.kept.cut(node, happened.incarnation, place, log, log, event.log_end, wiped=wiped)
        if node in self.with_input:
            moved, of, high_watermark = self.with_input[node]
            self.with_input[node] = moved, of, min(high_watermark, event.to)
        self._reached(happened, place, replica)

    def _log_loaded(self, happened: TimedEvent, event: e.LogLoaded) -> None:
        node = happened.node
        place, replica = self._of(node, event)
        replica.ends_at(event.log_end)
        replica.high_watermark = 0
        replica.batches = [one for one in replica.batches if one.last >= event.log_start]
        replica.cached(event.epochs)
        logs = {place: cast("Any", replica)}
        self.probe.kept.loaded(node, happened.incarnation, logs, {place: event.checkpointed}, {})
        self.probe.leader_views.found(node, place, event.log_end)
        self._reached(happened, place, replica)

    def _log_created(self, happened: TimedEvent, event: e.LogCreated) -> None:
        place, _ = self._of(happened.node, event)
        self.replicas[happened.node, place] = _Replica(place)
        self.probe.kept.made_anew(happened.node, place)

    def _log_deleted(self, happened: TimedEvent, event: e.LogDeleted) -> None:
        place, replica = self._of(happened.node, event)
        end(replica.term, happened.at_ms)
        del self.replicas[happened.node, place]
        if event.reason == "topic-deleted":
            self.probe.going.add(place[0])

    def _log_start_moved(self, happened: TimedEvent, event: e.LogStartMoved) -> None:
        _, replica = self._of(happened.node, event)
        replica.batches = [one for one in replica.batches if one.last >= event.log_start]
        replica.cached(event.epochs)

    def _leader_epoch_began(self, happened: TimedEvent, event: e.LeaderEpochBegan) -> None:
        self._of(happened.node, event)[1].cached(event.epochs)

    def _high_watermark_moved(self, happened: TimedEvent, event: e.HighWatermarkMoved) -> None:
        node = happened.node
        place, replica = self._of(node, event)
        replica.high_watermark = event.high_watermark
        self.with_input[node] = ((happened.cause, happened.at_ms), place, event.high_watermark)
        self._reached(happened, place, replica)
        if replica.term is not None:
            self.probe._watermark(node, place, replica.term.epoch, event.high_watermark, happened.at_ms)

    # --- transactions ---

    def _transaction_batch_appended(self, happened: TimedEvent, event: e.TransactionBatchAppended) -> None:
        place, replica = self._of(happened.node, event)
        identity = (event.producer_id, event.producer_epoch, cast("Any", event.batch_kind))
        batch = ProducerBatch(event.base_offset, event.last_offset, event.digest, *identity)
        replica.producers.append(batch)
        self.probe.written.held_of(place).transactional.add(batch)

    def _transaction_state_changed(self, happened: TimedEvent, event: e.TransactionStateChanged) -> None:
        place = (event.topic, event.partition)
        if place not in self.transaction_records:
            self.probe.leaders.append(Term(place, happened.node, 0, happened.at_ms))
        partitions = tuple(map(topic_partition_of, filter(None, event.transaction_partitions.split(","))))
        record = TransactionRecord(
            event.transactional_id, event.producer_id, event.transaction_state, cast("Any", partitions)
        )
        self.transaction_records.setdefault(place, {}).setdefault(happened.node, []).append(record)

    def _producer_transaction_changed(self, happened: TimedEvent, event: e.ProducerTransactionChanged) -> None:
        known = self.operations.transactions.setdefault(
            event.transaction, KeptTransaction(event.transactional_id, event.transaction, event.number, [])
        )
        ended = len(self.operations.ended)
        known.changes.append(
            TransactionChange(event.change, event.reason, event.producer_id, event.producer_epoch, ended)
        )

    # --- clients ---

    def _operation(self, identifier: str, event: Any, kind: str = "fetch") -> Operation:
        if identifier not in self.named:
            offset = getattr(event, "offset", -1)
            operation = Operation(
                identifier, kind, event.topic, event.partition, getattr(event, "acks", 0), getattr(event, "value", ""),
                requested_offset=offset, kept=self.operations, records=getattr(event, "records", 1),
                transaction=getattr(event, "transaction", ""), isolation=getattr(event, "isolation", ""),
            )  # fmt: skip
            self.named[identifier] = operation
            self.operations.append(operation)
        return self.named[identifier]

    def _operation_invoked(self, happened: TimedEvent, event: e.OperationInvoked) -> None:
        self._operation(event.operation, event, event.kind)

    def _attempt_sent(self, happened: TimedEvent, event: e.AttemptSent) -> None:
        operation = self.named[event.operation]
        operation.attempts, operation.broker, operation.digest = event.attempt, event.broker, event.digest
        operation.requested = Requested(event.operation, event.attempt, event.broker, event.timeout_ms)
        self.operations.tried(operation.requested)
        self.operations.noted(happened.at_ms)

    def _attempt_ended(self, happened: TimedEvent, event: e.AttemptEnded) -> None:
        requested = self.named[event.operation].requested
        if requested is not None:
            requested.ended = True
            self.operations.news.append(requested)
            self.operations.noted(happened.at_ms)

    def _operation_ended(self, happened: TimedEvent, event: e.OperationEnded) -> None:
        operation = self.named[event.operation]
        if not operation.ended:
            operation.ended, operation.over = True, len(self.operations)
            operation.outcome, operation.offset, operation.broker = event.outcome, event.offset, event.broker
            operation.digest, operation.idempotent = event.digest, event.idempotent
            operation.partition, operation.topic_id = event.partition, self.topic_id
            self.operations.ended.append(operation)

    def _records_read(self, happened: TimedEvent, event: e.RecordsRead) -> None:
        given = (event.base_offset, event.last_offset, event.leader_epoch, event.digest, event.high_watermark)
        operation = self._operation(event.operation, event)
        ended = len(self.operations.ended)
        operation.reads.append(Read(*given, event.broker, ended, self.topic_id, Offset(event.last_stable_offset)))

    def _position_left(self, happened: TimedEvent, event: e.PositionLeft) -> None:
        operation = self.named[event.operation]
        operation.left.append(Left(len(operation.reads), Offset(event.offset), event.reason))


def _topic_ids(trace: Trace) -> list[str]:
    """The topic's id in each event, as the reader of format 1 adds it; "": it adds none."""
    texts = trace.texts()
    found = {
        key: iter([msgspec.json.decode(line).get("topic_id", "") for line in text.splitlines()])
        for key, text in zip(texts, with_topic_ids(texts.values()), strict=True)
    }
    return [next(found[one.node, one.incarnation, one.event.LEVEL == "wire"]) for one in trace.events]


def truth_of_trace(trace: Trace) -> Truth:
    """All that the oracle would know of the run."""
    seen = _Seen(trace)
    nodes = {name: _node(seen, trace, name, incarnation) for name, incarnation in seen.incarnations.items()}
    entries = [(0, 0, 0, 0, one.at_ms, one.event) for one in trace.events]
    world = SimpleNamespace(nodes=nodes, trace=SimpleNamespace(entries=entries))
    truth = truth_of(cast("Any", world), seen.operations, seen.probe)
    truth.halted = {node for node in seen.halted if node.startswith("broker-")}
    truth.assignments = seen.assignments
    for (node, (name, partition)), replica in seen.replicas.items():
        place = (seen.probe.incarnations.shown(name), partition)
        truth.logs.setdefault(place, {})[node] = replica.batches
        truth.caches.setdefault(place, {})[node] = replica.epochs.entries
        if replica.producers:
            truth.producers.setdefault(place, {})[node] = replica.producers
    truth.transaction_records = seen.transaction_records
    return truth


def _node(seen: _Seen, trace: Trace, name: str, incarnation: int) -> SimpleNamespace:
    """All of it that `gathering` reads; no role, so that it looks for no disk."""
    links = SimpleNamespace(in_force={rule for node, rule in seen.in_force if node == name})
    machine: Any = None
    if name.startswith("broker-"):
        given = dict(word.partition("=")[::2] for word in trace.settings.split())
        patient = tuple(map(int, trace.version.split(".")[:2])) >= (2, 5)
        settings = SimpleNamespace(
            request_timeout_ms=int(given.get("request.timeout.ms", 30_000)),
            replica_socket_timeout_ms=int(given.get("replica.socket.timeout.ms", 30_000)),
            zookeeper_session_timeout_ms=18_000 if patient else 6_000,
            replica_lag_time_max_ms=30_000 if patient else 10_000,
        )
        context = SimpleNamespace(settings=settings, gates=gates_for(trace.version))
        machine = Mock(spec=BrokerNode, context=context)
    return SimpleNamespace(
        node=SimpleNamespace(name=name, roles=()), incarnation=incarnation, links=links, machine=machine
    )
