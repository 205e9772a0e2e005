"""Handlers of topic creation, growth and disappearance (semantics 4.4)."""

from collections.abc import Sequence

from controller import partition_states, replica_states
from controller.controller_context import ControllerContext
from controller.controller_watches import read_children
from controller.partition_states import Strategy
from controller.session_calls import Procedure, perform, perform_all
from controller.state import PartitionPosition, ReplicaPosition
from controller.state_writes import checked_writes
from protocol.ids import TopicPartition
from protocol.messages.session_messages import GetChildren, GetData, SetData
from protocol.znodes import (
    TOPICS,
    ReplicaAssignment,
    decode_topic,
    encode_topic,
    numbers_in,
    partitions_path,
    topic_id_of,
    topic_path,
)


def read_assignments(
    context: ControllerContext, topics: Sequence[str]
) -> Procedure[dict[TopicPartition, ReplicaAssignment]]:
    """Assignments of all partitions of `topics`, and the topics' ids; keeps watching them."""
    found = yield from perform_all([GetData(topic_path(topic), watch=True) for topic in topics])
    for topic, result in zip(topics, found, strict=True):
        if not result.error:
            context.state.topic_ids[topic] = topic_id_of(result.czxid)
    return {
        (topic, partition): assignment
        for topic, result in zip(topics, found, strict=True)
        if not result.error
        for partition, assignment in decode_topic(topic, result.data).items()
    }


def topics_changed(context: ControllerContext) -> Procedure[None]:
    """Handle a change of the children of `/brokers/topics`."""
    if not context.active:
        return
    state = context.state
    topics = set((yield from read_children(TOPICS)))
    new = sorted(topics - state.topics)
    for gone in sorted(state.topics - topics):
        state.forget_topic(gone)
    state.topics = topics
    added = yield from read_assignments(context, new)
    state.assignments.update(added)
    yield from _create(context, sorted(added))


def partitions_changed(context: ControllerContext, topic: str) -> Procedure[None]:
    """Handle a changed topic znode: create new partitions.

    A changed assignment of a known partition is the controller's own write. If the topic is being deleted, the
    controller ignores new partitions; from 2.0 on it removes them from the znode (KAFKA-6612).
    """
    if not context.active or topic not in context.state.topics:
        return
    found = yield from read_assignments(context, [topic])
    added = {p: a for p, a in found.items() if p not in context.state.assignments}
    if not added:
        return
    if context.state.is_being_deleted(topic):
        if context.gates.growth_while_deleted_taken_back:
            yield from _restore(context, topic)
        return
    context.state.assignments.update(added)
    yield from _create(context, sorted(added))


def _restore(context: ControllerContext, topic: str) -> Procedure[None]:
    """Write the topic znode without partitions that were never created."""
    found = yield from perform(GetChildren(partitions_path(topic)))
    existing = set(numbers_in(found.children))
    kept = {p[1]: context.state.assignments[p] for p in context.state.partitions_of_topic(topic) if p[1] in existing}
    content = encode_topic(kept, with_reassignment=context.gates.topic_znode_keeps_reassignment)
    yield from checked_writes(context, [SetData(topic_path(topic), content)])


def _create(context: ControllerContext, partitions: list[TopicPartition]) -> Procedure[None]:
    """Move new partitions and replicas to New, then Online (onNewPartitionCreation)."""
    if not partitions:
        return
    yield from partition_states.move(context, partitions, PartitionPosition.NEW)
    replicas = context.state.replicas_of_partitions(partitions)
    yield from replica_states.move(context, replicas, ReplicaPosition.NEW)
    yield from partition_states.move(context, partitions, PartitionPosition.ONLINE, Strategy.OFFLINE)
    yield from replica_states.move(context, replicas, ReplicaPosition.ONLINE)
