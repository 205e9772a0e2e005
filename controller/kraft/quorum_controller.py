"""Controller of KRaft: standby, or active while its node leads the quorum.

    standby --(its node leads)--> claim --> active --(another leader, or none; an append fails)--> renounce --> standby

The active controller decides by its own state, which has the records that are not yet committed. A decision is one
batch: it is appended, applied at once, and its response waits until the batch is committed. On renouncing, all of that
is forgotten. Kraft-semantics 2.

Source: QuorumController.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import msgspec

from controller.kraft.activation_records import activation_records
from controller.kraft.alter_partition import alter_partition
from controller.kraft.broker_heartbeats import BrokerHeartbeats, ControlState
from controller.kraft.broker_registrations import fence_stale_broker, process_heartbeat, register_broker, unregister
from controller.kraft.cluster_view import ClusterView
from controller.kraft.committed_events import apply_and_report
from controller.kraft.config_requests import ConfigValidator, alter_configs, incremental_alter_configs, valid_settings
from controller.kraft.controller_log import ControllerLog
from controller.kraft.controller_settings import ControllerSettings
from controller.kraft.election_requests import (
    balance_leaders,
    elect_leaders,
    elect_unclean_leaders,
)
from controller.kraft.hash_order import registration_order
from controller.kraft.metadata_image import MetadataImage
from controller.kraft.open_elections import OpenElections
from controller.kraft.pending_replies import PendingReplies
from controller.kraft.periodic_tasks import NEVER_MS, PeriodicTasks, Task
from controller.kraft.producer_id_blocks import allocate_producer_ids
from controller.kraft.reassignments import alter_reassignments, list_reassignments
from controller.kraft.request_refusals import refusal
from controller.kraft.topic_requests import TopicPlacing, create_partitions, create_topics, delete_topics
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.events import ControllerChanged, Event
from protocol.gates import Gates, gates_for
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.administration import CreatePartitionsRequest, CreateTopicsRequest, DeleteTopicsRequest
from protocol.messages.configuration import AlterConfigsRequest, IncrementalAlterConfigsRequest
from protocol.messages.kraft_messages import BrokerHeartbeatRequest, BrokerRegistrationRequest, UnregisterBrokerRequest
from protocol.messages.leadership_messages import AlterIsrRequest
from protocol.messages.message_base import Message
from protocol.messages.placement import (
    AlterPartitionReassignmentsRequest,
    ElectLeadersRequest,
    ListPartitionReassignmentsRequest,
)
from protocol.messages.transactions import AllocateProducerIdsRequest
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    MetadataBatch,
    MetadataRecord,
    NoOpRecord,
    RegisterBrokerRecord,
    UnregisterBrokerRecord,
)

NOT_CLAIMED: Final = LeaderEpoch(-1)
Reply = Callable[[Message], None]


def _nothing(_end: Offset) -> None:
    """Default of `Write.appended`."""


class Write(msgspec.Struct):
    """A decision. `response` None: of a task.

    `appended`: called with the last offset that it rests on.
    """

    records: Sequence[MetadataRecord]
    response: Message | None = None
    appended: Callable[[Offset], None] = _nothing


class QuorumController:
    """State machine of one controller, for one life of its process.

    `image`: the committed state. `validate`: checks settings that a client alters.
    """

    def __init__(
        self,
        me: BrokerId,
        gates: Gates,
        settings: ControllerSettings,
        log: ControllerLog,
        chance: Chance,
        emit: Callable[[Event], None],
        validate: ConfigValidator = valid_settings,
    ) -> None:
        self._me = me
        self._gates = gates
        self._settings = settings
        self._log = log
        self._chance = chance
        self._emit = emit
        self._validate = validate
        self.image = MetadataImage()
        self._is_log_empty = True
        self._claimed = NOT_CLAIMED
        self._view = ClusterView(me, self.image, gates, settings)
        """By the committed image; while active, by one with the uncommitted records."""
        self._heartbeats = BrokerHeartbeats(gates, settings.broker_session_timeout_ms)
        self._pending = PendingReplies()
        self._tasks = PeriodicTasks(gates, settings)
        self._elections = OpenElections()
        """Of the view's image, until 3.9."""

    @property
    def active(self) -> bool:
        return self._claimed != NOT_CLAIMED

    @property
    def claimed_epoch(self) -> LeaderEpoch:
        """The epoch that it leads in; -1: it is not active."""
        return self._claimed

    @property
    def due_at_ms(self) -> float:
        """Time at which `due` has something to do; infinite: never."""
        return self._tasks.due_at_ms if self.active else NEVER_MS

    # --- the quorum ---

    def leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None:
        """Handle the notice of a leader: claim, or renounce."""
        if not self.active:
            if leader == self._me:
                self._claim(now, epoch)
        elif leader == self._me:
            self._claimed = epoch
            self._emit(ControllerChanged(True, int(epoch), "leads-quorum"))
        else:
            self._renounce("another-leader" if leader >= 0 else "no-leader")

    def committed(self, now: Now, batches: Sequence[MetadataBatch]) -> None:
        """Adopt committed batches, in order, and complete the responses that waited for them."""
        for batch in batches:
            assert not self.active or batch.epoch <= self._claimed, "the notice of a leader comes before its batches"
            if batch.records:
                self._is_log_empty = False
            for event in apply_and_report(self.image, batch):
                self._emit(event)
            self._pending.committed(Offset(batch.end - 1))

    def _claim(self, now: Now, epoch: LeaderEpoch) -> None:
        """Become active: sessions begin anew, then the tasks.

        Source: claim, CompleteActivationEvent.
        """
        self._claimed = epoch
        self._view = ClusterView(self._me, self.image.copy(), self._gates, self._settings)
        self._heartbeats = BrokerHeartbeats(self._gates, self._settings.broker_session_timeout_ms)
        for broker in registration_order(self.image.brokers):
            registration = self.image.brokers[broker]
            self._heartbeats.register(now.mono_ms, broker, fenced=registration.fenced)
            if not registration.fenced or self._gates.fenced_sessions_at_claim:
                self._heartbeats.note_contact(now.mono_ms, broker, registration.epoch)
        self._emit(ControllerChanged(True, int(epoch), "leads-quorum"))
        self._tasks.activate(now.mono_ms)
        if not self._gates.periodic_tasks:
            self._elections.begin(self._view.image)
        self._write(now, Write(activation_records(self._view, empty=self._is_log_empty)), None)

    def _renounce(self, reason: str) -> None:
        """Become standby: forget what is not committed, fail the waiting responses.

        Source: renounce.
        """
        epoch, self._claimed = self._claimed, NOT_CLAIMED
        self._log.resign(epoch)
        self._view = ClusterView(self._me, self.image, self._gates, self._settings)
        self._heartbeats = BrokerHeartbeats(self._gates, self._settings.broker_session_timeout_ms)
        self._tasks.deactivate()
        self._emit(ControllerChanged(False, int(epoch), reason))
        self._pending.fail_all()

    # --- writes ---

    def _write(self, now: Now, write: Write, complete: Callable[[bool], None] | None) -> bool:
        """Append a decision and apply it.

        Returns False if this node does not lead any more: it has renounced.

        A decision without records rests on uncommitted ones, too: its response waits for those.
        """
        rests_on = self._pending.highest_pending
        if write.records:
            last = self._log.append(self._claimed, write.records)
            if last is None:
                if complete is not None:
                    complete(False)
                self._renounce("append-refused")
                return False
            self._apply(now, write.records, last)
            self._pending.written(last)
            rests_on = last
        write.appended(Offset(self._log.end - 1))
        elections = self._elections
        imbalanced, leaderless = elections.any_imbalanced, elections.any_leaderless
        self._tasks.schedule_elections(now.mono_ms, imbalanced=imbalanced, leaderless=leaderless)
        if complete is not None:
            self._pending.add(rests_on, complete)
        return True

    def _apply(self, now: Now, records: Sequence[MetadataRecord], last: Offset) -> None:
        """Apply records to the uncommitted state, and registrations to the heartbeats (replay)."""
        first = last - len(records) + 1
        image = self._view.image
        elections = None if self._gates.periodic_tasks else self._elections
        for index, record in enumerate(records):
            known = isinstance(record, RegisterBrokerRecord) and record.broker in image.brokers
            if elections is not None:
                elections.removed(image, record)
            image.apply(record, Offset(first + index))
            if elections is not None:
                elections.applied(image, record)
            if isinstance(record, UnregisterBrokerRecord):
                self._heartbeats.remove(record.broker)
            elif isinstance(record, RegisterBrokerRecord | BrokerRegistrationChangeRecord):
                if known:
                    self._heartbeats.remove(record.broker)
                fenced = image.brokers[record.broker].fenced
                self._heartbeats.register(now.mono_ms, record.broker, fenced=fenced)

    # --- requests ---

    def handle(self, now: Now, request: Message, reply: Reply) -> None:
        """Handle a request; `reply` is called once, now or when the decision is committed."""
        if isinstance(request, ListPartitionReassignmentsRequest):
            reply(list_reassignments(self.image, request))
            return
        if not self.active:
            reply(refusal(request, ErrorCode.NOT_CONTROLLER))
            return
        if isinstance(request, BrokerHeartbeatRequest):
            self._heartbeats.note_contact(now.mono_ms, request.broker, request.broker_epoch)
        if self._pending.is_full:
            reply(refusal(request, ErrorCode.REQUEST_TIMED_OUT))
            return
        write = self._decide(now, request)

        def complete(done: bool) -> None:
            response = write.response if done else None
            reply(refusal(request, ErrorCode.NOT_CONTROLLER) if response is None else response)

        self._write(now, write, complete)

    def _decide(self, now: Now, request: Message) -> Write:
        """The decision about a request. Raises ValueError for no request of the controller."""
        view = self._view
        match request:
            case BrokerHeartbeatRequest():
                return self._heartbeat(now, request)
            case AlterIsrRequest():
                return Write(*alter_partition(view, request))
            case BrokerRegistrationRequest():
                end, ms = self._log.end, now.mono_ms
                write = Write(*register_broker(view, self._heartbeats, ms, end, request))
                self._tasks.fence_at(self._heartbeats.next_expiry_ms)
                return write
            case UnregisterBrokerRequest():
                return Write(*unregister(view, request))
            case CreateTopicsRequest():
                return Write(*create_topics(self._placing(), request))
            case CreatePartitionsRequest():
                return Write(*create_partitions(self._placing(), request))
            case DeleteTopicsRequest():
                return Write(*delete_topics(view, request))
            case ElectLeadersRequest():
                return Write(*elect_leaders(view, request))
            case AlterPartitionReassignmentsRequest():
                return Write(*alter_reassignments(view, request))
            case IncrementalAlterConfigsRequest():
                return Write(*incremental_alter_configs(view, self._validate, request))
            case AlterConfigsRequest():
                return Write(*alter_configs(view, self._validate, request))
            case AllocateProducerIdsRequest():
                return Write(*allocate_producer_ids(view, request))
            case _:
                raise ValueError(f"{type(request).__name__}: no request of the controller; send it to a broker")

    def _placing(self) -> TopicPlacing:
        return TopicPlacing(self._view, self._heartbeats.usable, self._chance, self._validate)

    def _heartbeat(self, now: Now, request: BrokerHeartbeatRequest) -> Write:
        records, response, state = process_heartbeat(self._view, self._heartbeats, now.mono_ms, request)
        self._tasks.fence_at(self._heartbeats.next_expiry_ms)
        write = Write(records, response)
        if state is ControlState.CONTROLLED_SHUTDOWN:
            write.appended = lambda end: self._heartbeats.begin_shutdown(request.broker, end)
        return write

    # --- tasks ---

    def due(self, now: Now) -> None:
        """Run the tasks that are due."""
        while self.active and (task := self._tasks.take_due(now.mono_ms)) is not None:
            self._run(now, task)

    def _run(self, now: Now, task: Task) -> None:
        records: Sequence[MetadataRecord] = [NoOpRecord()]
        more = False
        if task == "fence":
            records, more = fence_stale_broker(self._view, self._heartbeats, now.mono_ms)
        elif task == "balance":
            records, more = balance_leaders(self._view)
        elif task == "unclean":
            records, more = elect_unclean_leaders(self._view)
        self._tasks.ran(now.mono_ms, task, more=more)
        if task == "fence":
            self._tasks.fence_at(self._heartbeats.next_expiry_ms)
        self._write(now, Write(records), None)


def make_quorum_controller(
    me: BrokerId,
    version: str,
    settings: Mapping[str, Any],
    log: ControllerLog,
    chance: Chance,
    emit: Callable[[Event], None],
) -> QuorumController:
    """The controller of a release, for settings under Kafka's names. Raises UnknownVersion."""
    gates = gates_for(version, metadata="kraft")
    return QuorumController(me, gates, ControllerSettings.from_settings(settings), log, chance, emit)
