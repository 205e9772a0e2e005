"""Moving a partition to other brokers (semantics 4.2, 4.4; KIP-455).

RS: all replicas; TRS: the target; AR, RR: being added, being removed.

1. RS = TRS + what was there, AR and RR, into the topic's znode; a new epoch, LeaderAndIsr to RS; AR become
New. 2. Wait until TRS is in the ISR: told by AlterIsr, by a notification, or by a watch on the state znode.
3. AR Online; RS = TRS; a leader out of TRS if it is not in it, else a new epoch; RR Offline and deleted;
the znodes
   cleaned up; UpdateMetadata.

Up to 2.3 the topic's znode does not keep AR and RR: a new controller takes everything that is there for the
origin.
"""

from collections.abc import Callable, Mapping

from controller import partition_states, replica_states
from controller.context import ControllerContext
from controller.partition_states import Strategy
from controller.session_calls import Procedure, perform
from controller.state import PartitionPosition, ReplicaPosition
from controller.state_writes import checked_writes, read_states
from controller.topic_deletion import mark_ineligible, resume_topics
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.session import Delete, Exists, GetData, SetData
from protocol.znodes import (
    REASSIGN_PARTITIONS,
    ReplicaAssignment,
    UnreadableZnode,
    decode_reassignment,
    encode_reassignment,
    encode_topic,
    state_path,
    topic_path,
)


def towards(current: ReplicaAssignment, target: tuple[BrokerId, ...]) -> ReplicaAssignment:
    """`current` on its way to `target`; the target comes first, in its order."""
    origin = current.origin
    everything = target + tuple(replica for replica in origin if replica not in target)
    return ReplicaAssignment(
        everything,
        adding=tuple(replica for replica in everything if replica not in origin),
        removing=tuple(replica for replica in everything if replica not in target),
    )


def reassignments_changed(context: ControllerContext, kind: str) -> Procedure[None]:
    """`/admin/reassign_partitions` was created, changed or deleted, by us too (`kind`, of the watch that fired)."""
    if kind == "created" or not context.gates.hears_of_created_reassignments_only:
        yield from reassignment_asked(context)


def reassignment_asked(context: ControllerContext) -> Procedure[None]:
    """Begin what `/admin/reassign_partitions` asks for; if it is not there, watch for it.

    Up to 1.0 we are told of each of our own writes to it, too: what is under way stays as it is."""
    if context.active:
        skips = not context.gates.hears_of_created_reassignments_only
        yield from _begin_asked(context, set(context.state.being_reassigned) if skips else set())


def resume_all(context: ControllerContext) -> Procedure[None]:
    """A new controller: what the znode asks for, then what was under way."""
    begun = yield from _begin_asked(context, set())
    for partition in sorted(context.state.being_reassigned - begun):
        yield from go_on(context, partition, context.state.assignments[partition])


def resume_on(context: ControllerContext, brokers: list[BrokerId]) -> Procedure[None]:
    """Brokers came back: go on with what moves to them."""
    for partition in sorted(context.state.being_reassigned):
        assignment = context.state.assignments[partition]
        if set(assignment.target) & set(brokers):
            yield from go_on(context, partition, assignment)


def complete_if_caught_up(context: ControllerContext, partition: TopicPartition) -> Procedure[None]:
    """The ISR changed: finish, if that was what the reassignment waited for."""
    if not context.active or partition not in context.state.being_reassigned:
        return
    assignment = context.state.assignments[partition]
    if (yield from _caught_up(context, partition, assignment)):
        yield from go_on(context, partition, assignment)


def state_changed(context: ControllerContext, partition: TopicPartition) -> Procedure[None]:
    """A state znode that is watched because its partition is being reassigned was written."""
    if context.active and partition in context.state.being_reassigned:
        yield from perform(GetData(state_path(*partition), watch=True))
        yield from complete_if_caught_up(context, partition)


def _begin_asked(context: ControllerContext, skipped: set[TopicPartition]) -> Procedure[set[TopicPartition]]:
    there = yield from perform(Exists(REASSIGN_PARTITIONS, watch=True))
    if there.error:
        return set()
    found = yield from perform(GetData(REASSIGN_PARTITIONS))
    if found.error:
        return set()
    begun = set()
    refused = set()
    try:
        asked = decode_reassignment(found.data)
    except UnreadableZnode:
        yield from _delete_znode(context)  # an operator's slip: nothing is asked
        return set()
    for partition, target in sorted(asked.items()):
        if partition in skipped:
            continue
        assignment = context.state.assignments.get(partition)
        if assignment is None or not target or context.state.is_being_deleted(partition[0]):
            refused.add(partition)
            continue
        if context.gates.ignores_reassignment_to_same_replicas and target == assignment.replicas:
            refused.add(partition)
            continue
        if context.gates.reassigns_to_live_brokers_only and not set(target) <= set(context.state.brokers):
            refused.add(partition)
            continue
        yield from go_on(context, partition, towards(assignment, target))
        begun.add(partition)
    if refused:
        yield from remove_from_znode(context, lambda partition, _: partition in refused)
    return begun


def go_on(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """onPartitionReassignment."""
    state = context.state
    mark_ineligible(context, {partition[0]}, "reassignment")
    yield from _record(context, partition, assignment)
    if not context.gates.alter_isr:
        yield from perform(GetData(state_path(*partition), watch=True))
    if not (yield from _caught_up(context, partition, assignment)):
        yield from _tell_new_assignment(context, partition, assignment)
        added = [(*partition, replica) for replica in assignment.adding]
        yield from replica_states.move(context, added, ReplicaPosition.NEW)
        return
    added = [(*partition, replica) for replica in assignment.adding]
    yield from replica_states.move(context, added, ReplicaPosition.ONLINE)
    final = ReplicaAssignment(assignment.target)
    state.assignments[partition] = final
    leader = state.states[partition].leader
    if leader in final.replicas and state.is_online(leader, partition):
        yield from _tell_new_assignment(context, partition, final)
    else:
        yield from partition_states.move(context, [partition], PartitionPosition.ONLINE, Strategy.REASSIGN)
    yield from _stop(context, partition, assignment.removing)
    yield from _write_assignment(context, partition, final)
    yield from remove_from_znode(context, lambda other, target: other == partition and target == final.replicas)
    state.being_reassigned.discard(partition)
    context.update_metadata(sorted(state.brokers), [partition])
    yield from resume_topics(context, {partition[0]})


def _record(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """The znode before memory, so that a successor can go on; replicas of a superseded target are stopped."""
    current = context.state.assignments[partition]
    if current != assignment:
        yield from _write_assignment(context, partition, assignment)
        context.state.assignments[partition] = assignment
        unneeded = tuple(replica for replica in current.replicas if replica not in assignment.replicas)
        yield from _stop(context, partition, unneeded)
    context.state.being_reassigned.add(partition)


def _caught_up(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[bool]:
    if not assignment.being_reassigned:
        return True
    found = (yield from read_states(context, [partition])).get(partition)
    return found is not None and set(assignment.target) <= set(found.isr)


def _tell_new_assignment(
    context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Procedure[None]:
    leadership = yield from partition_states.bump_epoch(context, partition)
    if leadership is None:
        return
    batch = context.batch()
    batch.add_leader_and_isr(assignment.origin, partition, leadership)
    batch.add_leader_and_isr(assignment.adding, partition, leadership, is_new=True)
    context.send(batch)


def _stop(context: ControllerContext, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> Procedure[None]:
    """Out of the ISR, stopped, deleted, forgotten; nobody waits for the brokers' answers (as in Kafka)."""
    removed = [(*partition, replica) for replica in replicas]
    for target in (
        ReplicaPosition.OFFLINE,
        ReplicaPosition.DELETION_STARTED,
        ReplicaPosition.DELETION_SUCCESSFUL,
        ReplicaPosition.NON_EXISTENT,
    ):
        yield from replica_states.move(context, removed, target)


def _write_assignment(
    context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Procedure[None]:
    topic = partition[0]
    everything = {p[1]: context.state.assignments[p] for p in context.state.partitions_of_topic(topic)}
    everything[partition[1]] = assignment
    content = encode_topic(everything, with_reassignment=context.gates.topic_znode_keeps_reassignment)
    yield from checked_writes(context, [SetData(topic_path(topic), content)])


def remove_from_znode(
    context: ControllerContext, removed: Callable[[TopicPartition, tuple[BrokerId, ...]], bool]
) -> Procedure[None]:
    found = yield from perform(GetData(REASSIGN_PARTITIONS))
    if found.error:
        _look_again(context)  # somebody else deleted it, and our watch is gone with it
        return
    asked: Mapping[TopicPartition, tuple[BrokerId, ...]] = decode_reassignment(found.data)
    left = {partition: target for partition, target in asked.items() if not removed(partition, target)}
    if left:
        yield from checked_writes(context, [SetData(REASSIGN_PARTITIONS, encode_reassignment(left))])
    else:
        yield from _delete_znode(context)


def _delete_znode(context: ControllerContext) -> Procedure[None]:
    yield from checked_writes(context, [Delete(REASSIGN_PARTITIONS)])
    _look_again(context)


def _look_again(context: ControllerContext) -> None:
    """For the next one, by an event of its own: a change of the last one may have taken the watch away."""
    if context.gates.hears_of_created_reassignments_only:
        context.look_for_reassignments()
