"""Invariants of KRaft's controllers; each has a name, and a mutant that breaks it.

The appended state is that of all records in the log, the committed state that of the committed ones.
"""

from collections.abc import Sequence
from typing import Final

from controller.kraft.metadata_image import MetadataImage, PartitionRegistration
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER, BrokerId
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
)
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse
from protocol.messages.message_base import Message
from protocol.records.metadata_records import BrokerRegistrationChangeRecord, MetadataBatch, RegisterBrokerRecord

INVARIANTS: Final = (
    "answered-committed", "answered-once", "broker-epoch", "isr-change-epochs", "isr-eligible", "unfenced-caught-up",
    "isr-kept", "leader-in-isr", "leader-active", "elr-apart", "epochs-rise", "unclean-stop-leaves", "one-active",
    "committed-image", "resigns", "session-kept",
)  # fmt: skip
NOT_CHECKED: Final = -1


class InvariantBroken(AssertionError):
    """A broken invariant. `name`: of INVARIANTS."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(f"{name}: {text}")
        assert name in INVARIANTS, name
        self.name = name


def hold(name: str, holds: bool, text: object = "") -> None:
    """Raises InvariantBroken."""
    if not holds:
        raise InvariantBroken(name, str(text))


# --- requests, judged by the appended state when they arrive ---


def refusal_due(appended: MetadataImage, request: Message) -> str:
    """The invariant that a success of the request would break; "": none."""
    if isinstance(request, AlterIsrRequest):
        return _isr_refusal_due(appended, request)
    if isinstance(request, BrokerHeartbeatRequest):
        known = appended.brokers.get(request.broker)
        return "broker-epoch" if known is None or known.epoch != request.broker_epoch else ""
    return ""


def _isr_refusal_due(appended: MetadataImage, request: AlterIsrRequest) -> str:
    known = appended.brokers.get(request.broker)
    if known is None or known.epoch != request.broker_epoch:
        return "broker-epoch"
    for change in request.partitions:
        state = appended.partition(change.topic, change.partition)
        if state is None:
            continue
        if (change.leader_epoch, change.zk_version) != (state.leader_epoch, state.partition_epoch):
            return "isr-change-epochs"
        epochs = change.broker_epochs or [NOT_CHECKED] * len(change.isr)
        for member, epoch in zip(change.isr, epochs, strict=True):
            registered = appended.brokers.get(member)
            if registered is None or not registered.is_active or epoch not in (NOT_CHECKED, registered.epoch):
                return "isr-eligible"
    return ""


def stays_fenced_after(appended: MetadataImage, request: Message) -> bool:
    """Whether a heartbeat must not unfence its broker.

    The broker has not read its own registration, or wants to be fenced.
    """
    if not isinstance(request, BrokerHeartbeatRequest):
        return False
    known = appended.brokers.get(request.broker)
    behind = known is not None and request.metadata_offset < known.registered_at
    return known is not None and known.fenced and (behind or request.want_fence)


def succeeded(response: Message) -> bool:
    """Whether a response to an ISR change or heartbeat has no error anywhere."""
    if isinstance(response, AlterIsrResponse):
        return not response.error and not any(one.error for one in response.partitions)
    return isinstance(response, BrokerHeartbeatResponse) and not response.error


# --- responses, judged by the committed state ---


class Committed:
    """The committed state and all earlier ones."""

    def __init__(self) -> None:
        self.image = MetadataImage()
        self.states: dict[tuple[str, int, int], PartitionRegistration] = {}
        """{(topic id, partition, partition epoch): state}"""
        self.registered: set[tuple[BrokerId, int]] = set()
        self.perhaps_clean: set[str] = set()
        """Incarnations that have reported the broker epoch of the one before: it stopped in order."""

    def check_response(self, request: Message, response: Message) -> None:
        """A response without an error reports what is committed."""
        if isinstance(response, BrokerRegistrationResponse) and not response.error:
            assert isinstance(request, BrokerRegistrationRequest)
            is_registered = (request.broker, response.broker_epoch) in self.registered
            hold("answered-committed", is_registered, response)
        elif isinstance(response, AlterIsrResponse) and isinstance(request, AlterIsrRequest):
            for one in response.partitions:
                if not one.error:
                    state = self.states.get((request.partitions[0].topic_id, one.partition, one.zk_version))
                    reported = (one.isr, one.leader, one.leader_epoch)
                    same = state is not None and (list(state.isr), state.leader, state.leader_epoch) == reported
                    hold("answered-committed", same, (one, state))
        elif isinstance(response, BrokerHeartbeatResponse) and isinstance(request, BrokerHeartbeatRequest):
            expected = (ErrorCode.NONE, ErrorCode.NOT_CONTROLLER, ErrorCode.STALE_BROKER_EPOCH)
            assert response.error in expected, response

    def apply(self, batch: MetadataBatch, version: str) -> None:
        """Apply a committed batch, and check the state after it."""
        before = {(topic.topic_id, number): state for topic, number, state in self.image.partitions()}
        brokers = dict(self.image.brokers)
        self.image.apply_batch(batch)
        for broker, known in self.image.brokers.items():
            self.registered.add((broker, known.epoch))
        elr = self.image.features.get("eligible.leader.replicas.version", 0) > 0
        for topic, number, state in self.image.partitions():
            self.states[topic.topic_id, number, state.partition_epoch] = state
            self._check_state(state, before.get((topic.topic_id, number)), version, elr=elr)
        for record in batch.records:
            if isinstance(record, RegisterBrokerRecord) and version >= "4":
                former = brokers.get(record.broker)
                if former is not None and former.incarnation != record.incarnation:
                    self._check_left(record, elr=elr)

    def _check_state(
        self, state: PartitionRegistration, before: PartitionRegistration | None, version: str, *, elr: bool
    ) -> None:
        hold("isr-kept", bool(state.isr) or elr, state)
        hold("elr-apart", not set(state.isr) & set(state.elr), state)
        outside = set(state.isr) - set(state.replicas)
        if outside:  # the last known leader, of 4.x: a reassignment may have removed it (kraft-semantics 7.4)
            was = () if before is None else before.last_known_elr or before.isr
            hold("leader-in-isr", elr and outside == {state.leader} and state.leader in was, state)
        if state.leader != NO_LEADER:
            hold("leader-in-isr", state.leader in state.isr, state)
            known = self.image.brokers.get(state.leader)
            if before is None or before.leader != state.leader or version >= "4":
                hold("leader-active", known is not None and known.is_active, (state, known))
        if before is not None:
            raised = state.leader_epoch - before.leader_epoch
            is_new_leader = state.leader != before.leader
            hold("epochs-rise", raised in ((1,) if is_new_leader else (0, 1)), (before, state))
            changed = state.partition_epoch - before.partition_epoch
            hold("epochs-rise", changed in ((0, 1) if state != before else (0,)), (before, state))

    def _check_left(self, record: RegisterBrokerRecord, *, elr: bool) -> None:
        """A new incarnation is in no ISR, and after an unclean stop in no ELR.

        Without ELR it may be the last member of an ISR.
        """
        broker, unclean = record.broker, record.incarnation not in self.perhaps_clean
        for topic, number, state in self.image.partitions():
            last = state.isr == (broker,) and not elr
            gone = (broker not in state.isr or last) and not (unclean and broker in state.elr)
            hold("unclean-stop-leaves", gone, (topic.topic, number, state))


def fenced_by(batches: Sequence[MetadataBatch]) -> list[BrokerId]:
    """The brokers that these batches fence."""
    return [
        record.broker
        for batch in batches
        for record in batch.records
        if isinstance(record, BrokerRegistrationChangeRecord) and record.fenced > 0
    ]
