"""Topic deletion (semantics 4.4): stop and delete every replica, then delete the znodes.

Deletion needs all replicas. While one is on a dead broker, or the topic is being reassigned, the topic waits
(`ineligible_for_deletion`). Deletion resumes when the broker returns.
"""

from collections.abc import Iterable

from controller import partition_states, replica_states
from controller.controller_context import ControllerContext
from controller.controller_watches import read_children
from controller.session_calls import Procedure, perform
from controller.state import PartitionPosition, Replica, ReplicaPosition
from controller.state_writes import checked_writes
from protocol.events import TopicDeletionChanged, TopicRemoved
from protocol.messages.session_messages import Delete, GetChildren
from protocol.znodes import (
    DELETE_TOPICS,
    delete_topic_path,
    numbers_in,
    partition_path,
    partitions_path,
    state_path,
    topic_config_path,
    topic_path,
)


def deletions_changed(context: ControllerContext) -> Procedure[None]:
    """Handle a change of the children of `/admin/delete_topics`."""
    if not context.active:
        return
    requested = set((yield from read_children(DELETE_TOPICS)))
    unknown = requested - context.state.topics
    yield from checked_writes(context, [Delete(delete_topic_path(topic)) for topic in sorted(unknown)])
    requested -= unknown
    if not requested:
        return
    if not context.settings.delete_topic_enable:
        yield from _refuse(context, requested)
        return
    for topic in sorted(requested - context.state.to_be_deleted):
        _emit_change(context, topic, "asked")
    context.state.to_be_deleted |= requested
    mark_ineligible(context, {partition[0] for partition in context.state.being_reassigned} & requested, "reassignment")
    yield from try_deletions(context)


def _refuse(context: ControllerContext, requested: set[str]) -> Procedure[None]:
    """Refuse deletions: delete.topic.enable is off. Up to 0.10.1 the marks stay."""
    if context.gates.removes_refused_deletions:
        for topic in sorted(requested):
            _emit_change(context, topic, "refused", "delete.topic.enable")
        yield from checked_writes(context, [Delete(delete_topic_path(topic)) for topic in sorted(requested)])


def _emit_change(context: ControllerContext, topic: str, change: str, reason: str = "") -> None:
    state = context.state
    context.emit(TopicDeletionChanged(topic, change, state.epoch, reason, topic_id=state.topic_ids.get(topic, "")))


def initialize_deletions(context: ControllerContext) -> Procedure[None]:
    """Topics to delete when a controller takes over, and those of them that wait."""
    state = context.state
    requested = set((yield from read_children(DELETE_TOPICS)))
    if not context.settings.delete_topic_enable:
        if context.gates.disabled_deletions_reported:
            state.reported_deleted = {partition for partition in state.assignments if partition[0] in requested}
        yield from _refuse(context, requested)
        return
    state.to_be_deleted = requested & state.topics
    for topic in sorted(state.to_be_deleted):
        _emit_change(context, topic, "asked")
    _, offline = state.replicas_by_liveness()
    mark_ineligible(context, {replica[0] for replica in offline}, "offline replicas")
    mark_ineligible(context, {partition[0] for partition in state.being_reassigned}, "reassignment")


def mark_ineligible(context: ControllerContext, topics: Iterable[str], reason: str) -> None:
    """Suspend the deletion of `topics`, of those that are to be deleted."""
    for topic in sorted(set(topics) & context.state.to_be_deleted):
        context.state.ineligible_for_deletion.add(topic)
        _emit_change(context, topic, "halted", reason)


def resume_topics(context: ControllerContext, topics: Iterable[str]) -> Procedure[None]:
    """Resume the deletion of `topics`: the reason to wait is gone."""
    resumed = set(topics) & context.state.to_be_deleted
    if resumed:
        context.state.ineligible_for_deletion -= resumed
        yield from try_deletions(context)


def fail_replicas(context: ControllerContext, replicas: Iterable[Replica]) -> Procedure[None]:
    """Handle replicas that could not be deleted: their topics wait."""
    failed = [replica for replica in replicas if context.state.is_being_deleted(replica[0])]
    if failed:
        yield from replica_states.move(context, failed, ReplicaPosition.DELETION_INELIGIBLE)
        mark_ineligible(context, {replica[0] for replica in failed}, "replica deletion failure")
        yield from try_deletions(context)


def complete_replicas(context: ControllerContext, replicas: Iterable[Replica]) -> Procedure[None]:
    """Handle deleted replicas."""
    deleted = [replica for replica in replicas if context.state.is_being_deleted(replica[0])]
    yield from replica_states.move(context, deleted, ReplicaPosition.DELETION_SUCCESSFUL)
    yield from try_deletions(context)


def try_deletions(context: ControllerContext) -> Procedure[None]:
    """Advance deletions: finish topics without replicas, retry failed ones, begin eligible ones."""
    state = context.state
    retried: list[Replica] = []
    eligible = []
    for topic in sorted(state.to_be_deleted):
        positions = {state.replicas.get(replica) for replica in state.replicas_of_topic(topic)}
        if positions <= {ReplicaPosition.DELETION_SUCCESSFUL}:
            yield from _remove(context, topic)
            continue
        started = ReplicaPosition.DELETION_STARTED in positions
        if not started and ReplicaPosition.DELETION_INELIGIBLE in positions:
            retried += state.replicas_in(topic, ReplicaPosition.DELETION_INELIGIBLE)
        if not started and topic not in state.ineligible_for_deletion:
            eligible.append(topic)
    yield from replica_states.move(context, retried, ReplicaPosition.OFFLINE)
    if eligible:
        yield from _begin(context, eligible)


def _begin(context: ControllerContext, topics: list[str]) -> Procedure[None]:
    """Begin deletions: stop and delete the replicas.

    Partitions become NonExistent; brokers receive leader -2.
    """
    state = context.state
    for topic in topics:
        _emit_change(context, topic, "begun")
    unseen = [topic for topic in topics if topic not in state.deletion_started]
    partitions = [partition for topic in unseen for partition in state.partitions_of_topic(topic)]
    yield from partition_states.move(context, partitions, PartitionPosition.OFFLINE)
    yield from partition_states.move(context, partitions, PartitionPosition.NON_EXISTENT)
    state.deletion_started.update(unseen)
    reported = [partition for topic in topics for partition in state.partitions_of_topic(topic)]
    context.update_metadata(sorted(state.brokers), reported)
    alive: list[Replica] = []
    dead: list[Replica] = []
    for topic in topics:
        for replica in state.replicas_of_topic(topic):
            if not state.is_online(replica[2], replica[:2]):
                dead.append(replica)
            elif state.replicas.get(replica) is not ReplicaPosition.DELETION_SUCCESSFUL:
                alive.append(replica)
    yield from replica_states.move(context, dead, ReplicaPosition.DELETION_INELIGIBLE)
    yield from replica_states.move(context, alive, ReplicaPosition.OFFLINE)
    yield from replica_states.move(context, alive, ReplicaPosition.DELETION_STARTED)
    mark_ineligible(context, {replica[0] for replica in dead}, "offline replicas")


def _remove(context: ControllerContext, topic: str) -> Procedure[None]:
    """Delete a topic whose replicas are gone, the deepest znodes first."""
    state = context.state
    deleted = state.replicas_in(topic, ReplicaPosition.DELETION_SUCCESSFUL)
    partitions = state.partitions_of_topic(topic)
    yield from replica_states.move(context, deleted, ReplicaPosition.NON_EXISTENT)
    found = yield from perform(GetChildren(partitions_path(topic)))
    numbers = sorted({*numbers_in(found.children)} | {partition for _, partition in partitions})
    paths = [state_path(topic, number) for number in numbers]
    paths += [partition_path(topic, number) for number in numbers]
    paths += [partitions_path(topic), topic_path(topic), topic_config_path(topic), delete_topic_path(topic)]
    context.emit(TopicRemoved(topic, state.epoch, topic_id=state.topic_ids.get(topic, "")))
    yield from checked_writes(context, [Delete(path) for path in paths])
    state.forget_topic(topic)
