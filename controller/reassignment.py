"""Moving a partition to other brokers (semantics 4.2, 4.4; KIP-455).

RS: all replicas; TRS: the target; AR, RR: being added, being removed.

1. RS = TRS + what was there, AR and RR, into the topic's znode; a new epoch, LeaderAndIsr to RS; AR become
New. 2. Wait until TRS is in the ISR: told by AlterIsr, by a notification, or by a watch on the state znode.
3. AR Online; RS = TRS; a leader out of TRS if it is not in it, else a new epoch; RR Offline and deleted;
the znodes
   cleaned up; UpdateMetadata.

Up to 2.3 the topic's znode does not keep AR and RR: a new controller takes everything that is there for the
origin. It is not written in step 1 if TRS is in the ISR already; in step 3 all of TRS goes Online, and the last
LeaderAndIsr goes to RR, too.
"""

from collections.abc import Callable, Mapping

from controller import partition_states, replica_states
from controller.context import ControllerContext, ReassignmentFailed, WriteRefused
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

Asked = Mapping[TopicPartition, tuple[BrokerId, ...]]
"""Targets, as `/admin/reassign_partitions` names them."""


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
    if not context.active:
        return
    asked = yield from _watch_and_read(context)
    if not context.gates.hears_of_created_reassignments_only:
        asked = {partition: asked[partition] for partition in asked.keys() - context.state.being_reassigned}
    yield from _begin(context, asked)


def initialize_reassignments(context: ControllerContext) -> Procedure[Asked]:
    """What a new controller finds under way, and up to 2.3 what it is asked for: topics' znodes do not tell there.

    Only `resume_all` goes on with it; deletions have to wait for it from now on."""
    state = context.state
    if context.gates.topic_znode_keeps_reassignment:
        state.being_reassigned = {p for p, assignment in state.assignments.items() if assignment.being_reassigned}
        return {}
    asked = {**context.kept_reassignments, **(yield from _read(context))}
    context.kept_reassignments = {}
    state.being_reassigned = asked.keys() & state.assignments.keys()
    if not context.gates.successor_gives_up_moves_of_deleted_topics:
        state.being_reassigned -= {p for p, target in asked.items() if target == state.replicas_of(p)}
    return asked


def keep_reassignments(context: ControllerContext) -> None:
    """A term ends: what is under way is in memory still when this broker is elected again (up to 0.10.2)."""
    assignments = context.state.assignments
    under_way = sorted(context.state.being_reassigned & assignments.keys())
    context.kept_reassignments |= {partition: assignments[partition].target for partition in under_way}


def resume_all(context: ControllerContext, asked: Asked) -> Procedure[None]:
    """A new controller: what the znode asks for (`asked`, if it was read already), then what was under way."""
    if context.gates.topic_znode_keeps_reassignment:
        asked = yield from _watch_and_read(context)
    begun = yield from _begin(context, asked, resumes=True)
    for partition in sorted(context.state.being_reassigned - begun):
        yield from _goes_on(context, partition, context.state.assignments[partition])


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


def _watch_and_read(context: ControllerContext) -> Procedure[Asked]:
    there = yield from perform(Exists(REASSIGN_PARTITIONS, watch=True))
    return {} if there.error else (yield from _read(context))


def _read(context: ControllerContext) -> Procedure[Asked]:
    found = yield from perform(GetData(REASSIGN_PARTITIONS))
    if found.error:
        return {}
    try:
        return decode_reassignment(found.data)
    except UnreadableZnode:
        yield from _delete_znode(context)  # an operator's slip: nothing is asked
        return {}


def _begin(context: ControllerContext, asked: Asked, *, resumes: bool = False) -> Procedure[set[TopicPartition]]:
    begun = set()
    refused = set()
    for partition, target in sorted(asked.items()):
        if _is_refused(context, partition, target, resumes):
            refused.add(partition)
        else:
            assignment = towards(context.state.assignments[partition], target)
            if (yield from _goes_on(context, partition, assignment)):
                begun.add(partition)
            else:
                refused.add(partition)
    if not context.gates.topic_znode_keeps_reassignment:
        context.state.being_reassigned -= refused
    if refused:
        yield from remove_from_znode(context, lambda partition, _: partition in refused)
    return begun


def _goes_on(
    context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Procedure[bool]:
    """A step that fails ends neither the event nor the others. False: it is given up, up to 2.3 (KAFKA-9089)."""
    try:
        yield from go_on(context, partition, assignment)
    except (ReassignmentFailed, WriteRefused):
        return not context.gates.failed_reassignment_given_up
    return True


def _is_refused(
    context: ControllerContext, partition: TopicPartition, target: tuple[BrokerId, ...], resumes: bool
) -> bool:
    state, gates = context.state, context.gates
    if partition not in state.assignments or not target:
        return True
    if state.is_being_deleted(partition[0]) and (gates.successor_gives_up_moves_of_deleted_topics or not resumes):
        return True
    if gates.ignores_reassignment_to_same_replicas and target == state.replicas_of(partition):
        return True
    return gates.reassigns_to_live_brokers_only and not set(target) <= set(state.brokers)


def go_on(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """onPartitionReassignment. Raises ReassignmentFailed or WriteRefused."""
    state, gates = context.state, context.gates
    mark_ineligible(context, {partition[0]}, "reassignment")
    if gates.topic_znode_keeps_reassignment:
        yield from _record(context, partition, assignment)
    state.being_reassigned.add(partition)
    if not gates.alter_isr:
        yield from perform(GetData(state_path(*partition), watch=True))
    if (yield from _caught_up(context, partition, assignment)):
        yield from _complete(context, partition, assignment)
        return
    if not gates.topic_znode_keeps_reassignment:
        yield from _record(context, partition, assignment)
    yield from _tell_new_assignment(context, partition, assignment)
    added = [(*partition, replica) for replica in assignment.adding]
    yield from replica_states.move(context, added, ReplicaPosition.NEW)


def _complete(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """The target is in sync: step 3."""
    state = context.state
    yield from _bring_target_online(context, partition, assignment)
    final = ReplicaAssignment(assignment.target)
    state.assignments[partition] = final
    leader = state.states[partition].leader
    if leader in final.replicas and state.is_online(leader, partition):
        left_out = () if context.gates.topic_znode_keeps_reassignment else assignment.removing
        yield from _tell_new_assignment(context, partition, final, left_out)
    else:
        yield from partition_states.move(context, [partition], PartitionPosition.ONLINE, Strategy.REASSIGN)
    yield from _stop(context, partition, assignment.removing)
    yield from _write_assignment(context, partition, final)
    yield from remove_from_znode(context, lambda other, target: other == partition and target == final.replicas)
    state.being_reassigned.discard(partition)
    context.update_metadata(sorted(state.brokers), [partition])
    yield from resume_topics(context, {partition[0]})


def _bring_target_online(
    context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment
) -> Procedure[None]:
    """Up to 2.3 one by one, and those that were there too: who is online is told again what it knows."""
    if context.gates.topic_znode_keeps_reassignment:
        added = [(*partition, replica) for replica in assignment.adding]
        yield from replica_states.move(context, added, ReplicaPosition.ONLINE)
        return
    for replica in assignment.target:
        yield from replica_states.move(context, [(*partition, replica)], ReplicaPosition.ONLINE)


def _record(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """The znode before memory, so that a successor can go on; replicas of a superseded target are stopped."""
    current = context.state.assignments[partition]
    if current != assignment:
        yield from _write_assignment(context, partition, assignment)
        context.state.assignments[partition] = assignment
        unneeded = tuple(replica for replica in current.replicas if replica not in assignment.replicas)
        yield from _stop(context, partition, unneeded)


def _caught_up(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[bool]:
    """Up to 2.3 another order of the same replicas waits, too, until all of them are in sync."""
    if context.gates.topic_znode_keeps_reassignment and not assignment.being_reassigned:
        return True
    found = (yield from read_states(context, [partition])).get(partition)
    return found is not None and set(assignment.target) <= set(found.isr)


def _tell_new_assignment(
    context: ControllerContext,
    partition: TopicPartition,
    assignment: ReplicaAssignment,
    left_out: tuple[BrokerId, ...] = (),
) -> Procedure[None]:
    """With a new epoch. `left_out`: told too, though not named: they ignore it. Raises ReassignmentFailed."""
    leadership = yield from partition_states.bump_epoch(context, partition)
    batch = context.batch()
    batch.add_leader_and_isr((*assignment.origin, *left_out), partition, leadership)
    is_new = context.gates.added_replicas_are_told_at_once_that_they_are_new
    batch.add_leader_and_isr(assignment.adding, partition, leadership, is_new=is_new)
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
    asked = decode_reassignment(found.data)
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
