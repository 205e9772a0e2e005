"""ISR changes by leaders: written straight to ZooKeeper, or requested by AlterIsr.

Semantics 1.6. Neither moves the leader epoch. Both end with UpdateMetadata only, never LeaderAndIsr (semantics 4.3,
11.6).
"""

from collections.abc import Callable

from controller.controller_context import ControllerContext, ControllerMoved
from controller.controller_watches import read_children
from controller.reassignment import complete_if_caught_up
from controller.session_calls import Procedure, SessionLost, perform_all
from controller.state_writes import checked_writes, read_states, write_states
from protocol.errors import ErrorCode
from protocol.ids import CONTROLLER_EPOCH_UNKNOWN, BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange, IsrChanged
from protocol.messages.session_messages import Delete, GetData
from protocol.outbox import Outbox
from protocol.znodes import (
    ISR_CHANGE_NOTIFICATION,
    LOG_DIR_EVENT_NOTIFICATION,
    Leadership,
    decode_partitions,
)

AlterIsrReply = Callable[[Now, Outbox, AlterIsrResponse], None]


def notifications_changed(context: ControllerContext) -> Procedure[None]:
    """Handle new children of `/isr_change_notification`: leaders wrote these partitions' ISRs."""
    if not context.active:
        return
    names = yield from read_children(ISR_CHANGE_NOTIFICATION)
    paths = [f"{ISR_CHANGE_NOTIFICATION}/{name}" for name in names]
    found = yield from perform_all([GetData(path) for path in paths])
    changed: set[TopicPartition] = set()
    for path, result in zip(paths, found, strict=True):
        if not result.error:
            changed.update(decode_partitions(path, result.data))
    if changed:
        partitions = sorted(changed)
        context.state.states.update((yield from read_states(context, partitions)))
        context.update_metadata(sorted(context.state.brokers), partitions)
        for partition in partitions:
            yield from complete_if_caught_up(context, partition)
    yield from checked_writes(context, [Delete(path) for path in paths])


def begin_notifications(context: ControllerContext) -> Procedure[None]:
    """Watch for ISR notifications, and delete older ones.

    A new controller reads all states anyway. Up to 1.0 the older ones stay until the next notification.
    """
    gates, parents = context.gates, [ISR_CHANGE_NOTIFICATION]
    if not gates.watches_isr_changes:
        return
    if gates.watches_log_dir_failures:
        parents.insert(0, LOG_DIR_EVENT_NOTIFICATION)
    if not gates.deletes_old_notifications:
        yield from read_children(parents.pop())  # for the watch
    paths: list[str] = []
    for parent in parents:
        paths += [f"{parent}/{name}" for name in (yield from read_children(parent))]
    yield from checked_writes(context, [Delete(path) for path in paths])


def alter_isr(context: ControllerContext, request: AlterIsrRequest, reply: AlterIsrReply) -> Procedure[None]:
    """Handle AlterIsr (KIP-497); refused as a whole for an unregistered broker epoch."""
    if not context.active:
        reply(context.now, context.out, AlterIsrResponse(error=ErrorCode.NOT_CONTROLLER))
        return
    registration = context.state.brokers.get(request.broker)
    if registration is None or registration.epoch != request.broker_epoch:
        reply(context.now, context.out, AlterIsrResponse(error=ErrorCode.STALE_BROKER_EPOCH))
        return
    try:
        answers = yield from _change(context, request)
    except (ControllerMoved, SessionLost):
        # Kafka answers any failure so, these two included; its watch reports the successor.
        reply(context.now, context.out, AlterIsrResponse(error=ErrorCode.UNKNOWN_SERVER_ERROR))
        return
    reply(context.now, context.out, AlterIsrResponse(partitions=answers))
    for answer in answers:
        if not answer.error:
            yield from complete_if_caught_up(context, (answer.topic, answer.partition))


def _change(context: ControllerContext, request: AlterIsrRequest) -> Procedure[list[IsrChanged]]:
    results: dict[TopicPartition, IsrChanged] = {}
    accepted: dict[TopicPartition, Leadership] = {}
    for change in request.partitions:
        partition = (change.topic, change.partition)
        current = context.state.states.get(partition)
        requested = _requested(request.broker, change)
        refusal = _refusal(context, change, requested, current)
        if refusal:
            results[partition] = IsrChanged(*partition, error=refusal)
        elif current is not None and requested.same_decision(current):
            results[partition] = _answer(partition, current)
        else:
            accepted[partition] = requested
    written = yield from write_states(context, accepted)
    for partition, leadership in written.done.items():
        results[partition] = _answer(partition, leadership)
        context.decided(partition, leadership, "isr-change")
    for partition in written.outdated:
        results[partition] = IsrChanged(*partition, error=ErrorCode.INVALID_UPDATE_VERSION)
    for partition in written.failed:
        results[partition] = IsrChanged(*partition, error=ErrorCode.UNKNOWN_SERVER_ERROR)
    if written.done:
        context.state.states.update((yield from read_states(context, sorted(written.done))))
    requested_partitions = sorted({(change.topic, change.partition) for change in request.partitions})
    context.update_metadata(sorted(context.state.brokers), requested_partitions)
    return [results[partition] for partition in requested_partitions]


def _refusal(
    context: ControllerContext, change: IsrChange, requested: Leadership, current: Leadership | None
) -> ErrorCode:
    """Error of a change; NONE also if the state is already as requested, whatever its version."""
    gates, state = context.gates, context.state
    with_id = bool(change.topic_id) and gates.alter_partition_version >= 2
    if with_id and state.topic_ids.get(change.topic) != change.topic_id:
        return ErrorCode.UNKNOWN_TOPIC_ID
    if current is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    newer = change.zk_version > current.zk_version or change.leader_epoch > current.leader_epoch
    if newer and gates.isr_changes_checked_by_epoch:
        return ErrorCode.NOT_CONTROLLER  # the sender knows more: this controller has a successor
    if change.leader_epoch < current.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if requested.same_decision(current):
        return ErrorCode.NONE
    if change.zk_version < current.zk_version and gates.isr_changes_checked_by_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    if gates.isr_changes_need_live_brokers and not state.live.issuperset(change.isr):
        return ErrorCode.INELIGIBLE_REPLICA if with_id else ErrorCode.OPERATION_NOT_ATTEMPTED
    return ErrorCode.NONE


def _requested(broker: BrokerId, change: IsrChange) -> Leadership:
    return Leadership(broker, change.leader_epoch, tuple(change.isr), CONTROLLER_EPOCH_UNKNOWN, change.zk_version)


def _answer(partition: TopicPartition, state: Leadership) -> IsrChanged:
    return IsrChanged(
        *partition,
        leader=state.leader,
        leader_epoch=state.leader_epoch,
        isr=list(state.isr),
        zk_version=state.zk_version,
    )
