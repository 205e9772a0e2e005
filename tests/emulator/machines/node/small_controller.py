"""Small controller of KRaft for tests of brokers.

It handles registrations, heartbeats, ISR changes and topics. It keeps no sessions and elects no leader: a test fences
brokers and changes partitions by `write`.
"""

from collections.abc import Callable, Sequence
from typing import Any

from protocol.errors import ErrorCode
from protocol.ids import BrokerId, LeaderEpoch
from protocol.machine import Now
from protocol.messages.administration import CreateTopicsRequest, CreateTopicsResponse, TopicResult
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChanged
from protocol.messages.message_base import Message
from protocol.records.compact_fields import uuid_text
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    MetadataBatch,
    MetadataRecord,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    TopicRecord,
)
from tests.emulator.machines.node.stand_in_controller import NO_OP_MS, StandInController


class SmallController(StandInController[Callable[[], None]]):
    """`ControllerMachine` with the least that brokers need. `requests`: all, in order."""

    def __init__(self, *given: Any) -> None:
        super().__init__(*given)
        self.requests: list[Message] = []
        self.refusals: dict[type[Message], ErrorCode] = {}
        """Errors of every request of a kind."""

    def leader_changed(self, now: Now, leader: BrokerId, epoch: LeaderEpoch) -> None:
        self.active, self._epoch = leader == self._me, epoch
        self.due_at_ms = now.mono_ms + NO_OP_MS if self.active else float("inf")
        if not self.active:
            self._parked.clear()

    def committed(self, now: Now, batches: Sequence[MetadataBatch]) -> None:
        for batch in batches:
            self.image.apply_batch(batch)
        for reply in self._completed(batches):
            reply()

    def due(self, now: Now) -> None:
        self._no_op_due(now)
        self.write([NoOpRecord()])

    def write(self, records: Sequence[MetadataRecord], then: Callable[[], None] = lambda: None) -> None:
        """Append records; `then` once they are committed."""
        offset = self._log.append(self._epoch, records)
        if offset is not None:
            self._parked.append((offset, then))

    def handle(self, now: Now, request: Message, reply: Callable[[Message], None]) -> None:
        self.requests.append(request)
        error = ErrorCode.NONE if self.active else ErrorCode.NOT_CONTROLLER
        error = error or self.refusals.get(type(request), ErrorCode.NONE)
        match request:
            case BrokerRegistrationRequest():
                self._register(request, reply, error)
            case BrokerHeartbeatRequest():
                self._heartbeat(request, reply, error)
            case AlterIsrRequest():
                self._alter(request, reply, error)
            case CreateTopicsRequest():
                self._create(request, reply, error)
            case _:
                raise AssertionError(request)

    def _register(
        self, request: BrokerRegistrationRequest, reply: Callable[[Message], None], error: ErrorCode
    ) -> None:
        if error:
            reply(BrokerRegistrationResponse(error))
            return
        epoch = self._log.end
        record = RegisterBrokerRecord(request.broker, request.incarnation, epoch, request.node, request.rack)
        self.write([record], lambda: reply(BrokerRegistrationResponse(0, epoch)))

    def _heartbeat(self, request: BrokerHeartbeatRequest, reply: Callable[[Message], None], error: ErrorCode) -> None:
        known = self.image.brokers.get(request.broker)
        if error or known is None or known.epoch != request.broker_epoch:
            reply(BrokerHeartbeatResponse(error or ErrorCode.STALE_BROKER_EPOCH))
            return
        caught_up = request.metadata_offset >= known.registered_at
        if request.want_shut_down:
            reply(BrokerHeartbeatResponse(0, caught_up, False, True))
        elif known.fenced and caught_up and not request.want_fence:
            record = BrokerRegistrationChangeRecord(request.broker, known.epoch, fenced=-1)
            self.write([record], lambda: reply(BrokerHeartbeatResponse(0, True, False)))
        else:
            reply(BrokerHeartbeatResponse(0, caught_up, known.fenced))

    def _alter(self, request: AlterIsrRequest, reply: Callable[[Message], None], error: ErrorCode) -> None:
        if error:
            reply(AlterIsrResponse(error))
            return
        records: list[MetadataRecord] = []
        answers: list[IsrChanged] = []
        for one in request.partitions:
            state = self.image.partition(one.topic, one.partition)
            assert state is not None and (one.leader_epoch, one.zk_version) == (
                state.leader_epoch,
                state.partition_epoch,
            )
            records.append(PartitionChangeRecord(one.topic_id, one.partition, isr=tuple(one.isr)))
            answers.append(
                IsrChanged(one.topic, one.partition, 0, state.leader, state.leader_epoch, one.isr, one.zk_version + 1)
            )
        self.write(records, lambda: reply(AlterIsrResponse(0, answers)))

    def _create(self, request: CreateTopicsRequest, reply: Callable[[Message], None], error: ErrorCode) -> None:
        if error:
            reply(CreateTopicsResponse([TopicResult(one.topic, error) for one in request.topics]))
            return
        records: list[MetadataRecord] = []
        for one in request.topics:
            topic_id = uuid_text(bytes(self._chance.below(256) for _ in range(16)))
            records.append(TopicRecord(one.topic, topic_id))
            for placed in one.assignment:
                isr = tuple(broker for broker in placed.brokers if broker in self.image.unfenced)
                records.append(PartitionRecord(topic_id, placed.partition, tuple(placed.brokers), isr, isr[0]))
        self.write(records, lambda: reply(CreateTopicsResponse([TopicResult(one.topic) for one in request.topics])))
