"""One controller of KRaft under test, with a log that commits when the test says so."""

from collections.abc import Sequence
from typing import Any

from controller.kraft.broker_heartbeats import NO_LIMIT
from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from controller.kraft.quorum_controller import QuorumController, make_quorum_controller
from protocol.chance import Chance
from protocol.events import Event
from protocol.ids import NO_BROKER, BrokerId, LeaderEpoch, Offset
from protocol.machine import Now
from protocol.messages.administration import CreateTopicsRequest, CreateTopicsResponse, NewTopic, PlacedPartition
from protocol.messages.configuration import AlteredResource, AlteredSetting, IncrementalAlterConfigsRequest
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange
from protocol.messages.message_base import Message
from protocol.records.compact_fields import uuid_text
from protocol.records.metadata_records import MetadataRecord
from verification.kraft.shared_log import SharedLog

ME = BrokerId(100)
OLD, NEW = "3.9", "4.4"


class ControllerCase:
    """A controller and its log; `replies` in the order of their completion."""

    def __init__(self, version: str = NEW, log: SharedLog | None = None, seed: int = 1, **settings: Any) -> None:
        self.log = log or SharedLog()
        self.events: list[Event] = []
        self.now_ms = 0.0
        named = {name.replace("_", "."): value for name, value in settings.items()}
        self.controller: QuorumController = make_quorum_controller(
            ME, version, named, self.log, Chance(seed), self.events.append
        )
        self.delivered = 0

    # --- the quorum ---

    def claim(self) -> "ControllerCase":
        self.log.lead()
        self.commit()
        self.controller.leader_changed(self.now, ME, self.log.epoch)
        self.commit()
        return self

    def commit(self) -> None:
        """Commit all that is appended."""
        self.log.committed = len(self.log.batches)
        batches = self.log.batches[self.delivered :]
        self.delivered = self.log.committed
        if batches:
            self.controller.committed(self.now, batches)

    def lose(self, leader: BrokerId = NO_BROKER) -> None:
        self.log.leads = False
        self.controller.leader_changed(self.now, leader, LeaderEpoch(self.log.epoch + 1))

    # --- time ---

    @property
    def now(self) -> Now:
        return Now(self.now_ms, self.now_ms)

    def at(self, now_ms: float) -> "ControllerCase":
        """Let time pass, and commit what the controller's tasks write."""
        while self.controller.due_at_ms <= now_ms:
            assert self.controller.due_at_ms < NO_LIMIT
            self.now_ms = max(self.now_ms, self.controller.due_at_ms)
            self.controller.due(self.now)
            self.commit()
        self.now_ms = now_ms
        return self

    def after(self, passed_ms: float) -> "ControllerCase":
        return self.at(self.now_ms + passed_ms)

    # --- requests ---

    def sent(self, request: Message) -> list[Message]:
        """Send a request; the list gets its response."""
        replies: list[Message] = []
        self.controller.handle(self.now, request, replies.append)
        return replies

    def call(self, request: Message) -> Any:
        """The response, once all is committed."""
        replies = self.sent(request)
        self.commit()
        assert len(replies) == 1, replies
        return replies[0]

    def register(self, broker: int, life: int = 1, previous_epoch: int = -1) -> BrokerRegistrationResponse:
        response = self.call(registration(broker, life, previous_epoch))
        assert isinstance(response, BrokerRegistrationResponse)
        return response

    def heartbeat(self, broker: int, offset: int | None = None, **wishes: bool) -> BrokerHeartbeatResponse:
        """A heartbeat of the present registration, caught up unless `offset` says otherwise."""
        known = self.state.brokers[BrokerId(broker)]
        at = Offset(self.log.end - 1 if offset is None else offset)
        response = self.call(BrokerHeartbeatRequest(BrokerId(broker), known.epoch, at, **wishes))
        assert isinstance(response, BrokerHeartbeatResponse)
        return response

    def start(self, *brokers: int) -> "ControllerCase":
        """Register and unfence brokers."""
        for broker in brokers:
            assert self.register(broker, life=self.log.end).error == 0
            assert not self.heartbeat(broker).is_fenced
        return self

    def create(self, topic: str, *assignment: Sequence[int], **configs: str) -> CreateTopicsResponse:
        placed = [PlacedPartition(number, [BrokerId(one) for one in row]) for number, row in enumerate(assignment)]
        named = {name.replace("_", "."): value for name, value in configs.items()}
        new = NewTopic(topic, assignment=placed, configs={**named})
        response = self.call(CreateTopicsRequest([new], timeout_ms=1000))
        assert isinstance(response, CreateTopicsResponse)
        return response

    def alter(self, isr: Sequence[int], topic: str = "t", **changes: Any) -> AlterIsrResponse:
        response = self.call(self.proposal(isr, topic, **changes))
        assert isinstance(response, AlterIsrResponse)
        return response

    def proposal(self, isr: Sequence[int], topic: str = "t", **changes: Any) -> AlterIsrRequest:
        """The request of the present leader for partition 0.

        `changes`: fields of its IsrChange, the `sender`, its `broker_epoch`.
        """
        state = self.partition(topic)
        topic_id = self.state.topics[topic].topic_id
        sender = changes.pop("sender", state.leader)
        epoch = changes.pop("broker_epoch", None)
        known = self.state.brokers.get(BrokerId(sender))
        change = IsrChange(
            topic,
            changes.pop("partition", 0),
            state.leader,
            LeaderEpoch(changes.pop("leader_epoch", state.leader_epoch)),
            [BrokerId(one) for one in isr],
            changes.pop("partition_epoch", state.partition_epoch),
            changes.pop("topic_id", topic_id),
            changes.pop("broker_epochs", []),
        )
        assert not changes, changes
        if epoch is None:
            epoch = known.epoch if known is not None else -1
        return AlterIsrRequest(BrokerId(sender), epoch, [change])

    # --- views ---

    @property
    def state(self) -> MetadataImage:
        return self.controller.image

    def partition(self, topic: str = "t", number: int = 0) -> PartitionRegistration:
        found = self.state.partition(topic, number)
        assert found is not None
        return found

    def summary(self, topic: str = "t", number: int = 0) -> tuple[int, int, list[int], int]:
        """Leader, leader epoch, ISR, partition epoch."""
        state = self.partition(topic, number)
        return state.leader, state.leader_epoch, list(state.isr), state.partition_epoch

    def records(self, since: int = 0) -> list[MetadataRecord]:
        """All records from offset `since` on."""
        return [
            record
            for batch in self.log.batches
            for index, record in enumerate(batch.records)
            if batch.base_offset + index >= since
        ]


def registration(broker: int, life: int = 1, previous_epoch: int = -1) -> BrokerRegistrationRequest:
    incarnation = uuid_text(broker.to_bytes(8, "big") + life.to_bytes(8, "big"))
    return BrokerRegistrationRequest(BrokerId(broker), incarnation, f"broker-{broker}", "", previous_epoch)


def cluster(version: str = NEW, brokers: int = 3, **settings: Any) -> ControllerCase:
    """An active controller with unfenced brokers."""
    return ControllerCase(version, **settings).claim().start(*range(brokers))


def altered(case: ControllerCase, kind: int, name: str, *settings: AlteredSetting) -> int:
    """The error of an IncrementalAlterConfigs for one resource."""
    response = case.call(IncrementalAlterConfigsRequest([AlteredResource(kind, name, list(settings))]))
    return int(response.resources[0].error)
