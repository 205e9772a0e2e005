"""Handlers of brokers' responses; no procedure waits for these (semantics 4.3)."""

from controller import replica_states
from controller.broker_events import replicas_offline
from controller.controller_context import ControllerContext
from controller.controller_watches import read_children
from controller.session_calls import Procedure, perform_all
from controller.state import ReplicaPosition
from controller.state_writes import checked_writes
from controller.topic_deletion import complete_replicas, fail_replicas
from protocol.errors import ErrorCode
from protocol.events import BrokersHandled, ReplicasMarkedOffline, ids_text
from protocol.ids import BrokerId, partitions_text
from protocol.messages.leadership_messages import LeaderAndIsrResponse, StopReplicaRequest, StopReplicaResponse
from protocol.messages.session_messages import Delete, GetData
from protocol.znodes import LOG_DIR_EVENT_NOTIFICATION, decode_log_dir_event


def leader_and_isr_answered(
    context: ControllerContext, broker: BrokerId, response: LeaderAndIsrResponse
) -> Procedure[None]:
    """Handle KAFKA_STORAGE_ERROR for partitions: the replica's log directory failed (KIP-112)."""
    if not context.active or response.error or broker not in context.state.brokers:
        return
    before = context.state.offline_log_dirs.get(broker, set())
    errors = {(entry.topic, entry.partition): entry.error for entry in response.partitions}
    online = {partition for partition, error in errors.items() if not error}
    failed = {partition for partition, error in errors.items() if error == ErrorCode.KAFKA_STORAGE_ERROR}
    after = (before - online) | failed
    context.state.offline_log_dirs[broker] = after
    newly = sorted(after - before)
    if newly:
        context.emit(ReplicasMarkedOffline(broker, partitions_text(newly), context.state.epoch))
        offline = [(*partition, broker) for partition in newly]
        yield from replicas_offline(context, offline, context.state.partitions_without_online_leader())


def stop_replica_answered(
    context: ControllerContext, broker: BrokerId, request: StopReplicaRequest, response: StopReplicaResponse
) -> Procedure[None]:
    """Handle deleted, or undeletable, replicas of topics being deleted."""
    if not context.active:
        return
    deleted = {(p.topic, p.partition) for p in request.partitions if p.delete}
    errors = {(entry.topic, entry.partition): entry.error for entry in response.partitions}
    concerned = [
        (*partition, broker)
        for partition in sorted(deleted)
        if context.state.replicas.get((*partition, broker)) is ReplicaPosition.DELETION_STARTED
        and context.state.is_being_deleted(partition[0])
    ]
    failed = [r for r in concerned if response.error or errors.get(r[:2], ErrorCode.NONE)]
    done = [replica for replica in concerned if replica not in failed]
    if failed:
        yield from fail_replicas(context, failed)
    if done:
        yield from complete_replicas(context, done)


def log_dir_events_changed(context: ControllerContext) -> Procedure[None]:
    """Handle a failed log directory: send LeaderAndIsr for all replicas to find the failed ones."""
    if not context.active:
        return
    names = yield from read_children(LOG_DIR_EVENT_NOTIFICATION)
    paths = [f"{LOG_DIR_EVENT_NOTIFICATION}/{name}" for name in names]
    found = yield from perform_all([GetData(path) for path in paths])
    brokers = {decode_log_dir_event(p, r.data) for p, r in zip(paths, found, strict=True) if not r.error}
    context.emit(BrokersHandled("log-dir-failure", ids_text(sorted(brokers))))
    replicas = context.state.replicas_on(brokers)
    yield from replica_states.move(context, replicas, ReplicaPosition.ONLINE)
    yield from checked_writes(context, [Delete(path) for path in paths])
