"""Registrations and heartbeats of brokers: their records and responses (KIP-631).

Kraft-semantics 3.2 to 3.4.

Source: ClusterControlManager.registerBroker, ReplicationControlManager.processBrokerHeartbeat,
maybeFenceOneStaleBroker.
"""

from typing import Final

from controller.kraft.broker_heartbeats import BrokerHeartbeats, ControlState
from controller.kraft.cluster_view import ClusterView
from controller.kraft.replication_control import (
    begin_controlled_shutdown,
    fence_broker,
    leave_partitions,
    unfence_broker,
    unregister_broker,
)
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, Offset
from protocol.messages.kraft_messages import (
    BrokerHeartbeatRequest,
    BrokerHeartbeatResponse,
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    UnregisterBrokerRequest,
    UnregisterBrokerResponse,
)
from protocol.records.compact_fields import is_uuid
from protocol.records.metadata_records import MetadataRecord, RegisterBrokerRecord

NO_PREVIOUS_EPOCH: Final = -1


def register_broker(
    view: ClusterView,
    heartbeats: BrokerHeartbeats,
    now_ms: float,
    next_offset: Offset,
    request: BrokerRegistrationRequest,
) -> tuple[list[MetadataRecord], BrokerRegistrationResponse]:
    """Register a broker's process, fenced.

    `next_offset`: of the log; the epoch of a new incarnation.
    """
    if not is_uuid(request.incarnation):
        return [], BrokerRegistrationResponse(ErrorCode.INVALID_REQUEST)
    broker, gates = request.broker, view.gates
    existing = view.image.brokers.get(broker)
    is_same = existing is not None and existing.incarnation == request.incarnation
    if existing is not None and not is_same and heartbeats.has_valid_session(now_ms, broker, existing.epoch):
        return [], BrokerRegistrationResponse(ErrorCode.DUPLICATE_BROKER_REGISTRATION)
    records: list[MetadataRecord] = []
    epoch, fenced, shuts_down = int(next_offset), True, False
    if existing is not None and is_same:
        fenced, shuts_down = existing.fenced, existing.in_controlled_shutdown
        epoch = existing.epoch if gates.same_incarnation_keeps_epoch else epoch
    else:
        if existing is not None and gates.new_incarnation_leaves_isrs:
            clean = request.previous_epoch != NO_PREVIOUS_EPOCH and request.previous_epoch == existing.epoch
            records.extend(leave_partitions(view, broker, clean=clean))
        heartbeats.remove(broker)
    record = RegisterBrokerRecord(
        broker, request.incarnation, epoch, request.node, request.rack, fenced, in_controlled_shutdown=shuts_down
    )
    heartbeats.register(now_ms, broker, fenced=fenced)
    return [*records, record], BrokerRegistrationResponse(broker_epoch=epoch)


def unregister(
    view: ClusterView, request: UnregisterBrokerRequest
) -> tuple[list[MetadataRecord], UnregisterBrokerResponse]:
    """Remove a broker's registration (KIP-500, `kafka-cluster unregister`)."""
    if request.broker not in view.image.brokers:
        return [], UnregisterBrokerResponse(ErrorCode.BROKER_ID_NOT_REGISTERED)
    return unregister_broker(view, request.broker), UnregisterBrokerResponse()


def process_heartbeat(
    view: ClusterView, heartbeats: BrokerHeartbeats, now_ms: float, request: BrokerHeartbeatRequest
) -> tuple[list[MetadataRecord], BrokerHeartbeatResponse, ControlState]:
    """Handle a heartbeat: its records, its response, and the broker's next state."""
    broker = request.broker
    registration = view.image.brokers.get(broker)
    if registration is None or registration.epoch != request.broker_epoch:
        return [], BrokerHeartbeatResponse(ErrorCode.STALE_BROKER_EPOCH), ControlState.FENCED
    registered_at = registration.registered_at
    present, state = heartbeats.next_state(request, registered_at, lambda: view.has_leaderships(broker))
    records = _state_change(view, broker, state) if present is not state else []
    heartbeats.touch(now_ms, broker, fenced=state.is_fenced, metadata_offset=request.metadata_offset)
    response = BrokerHeartbeatResponse(
        is_caught_up=request.metadata_offset >= registered_at,
        is_fenced=state.is_fenced,
        should_shut_down=state is ControlState.SHUTDOWN_NOW,
    )
    return records, response, state


def _state_change(view: ClusterView, broker: BrokerId, state: ControlState) -> list[MetadataRecord]:
    if state.is_fenced:
        return fence_broker(view, broker)
    if state is ControlState.UNFENCED:
        return unfence_broker(view, broker)
    return begin_controlled_shutdown(view, broker)


def fence_stale_broker(
    view: ClusterView, heartbeats: BrokerHeartbeats, now_ms: float
) -> tuple[list[MetadataRecord], bool]:
    """Fence one broker whose session has expired. Returns whether a session had expired.

    One at a time: each fencing sees the effects of the one before, so that the last of an ISR stays in it.
    """
    expired = heartbeats.remove_expired(now_ms)
    if expired is None:
        return [], False
    broker, epoch = expired
    registration = view.image.brokers.get(broker)
    if registration is None or epoch not in (None, registration.epoch):
        return [], True  # an entry of a former incarnation
    records = fence_broker(view, broker)
    heartbeats.fence(broker)
    return records, True
