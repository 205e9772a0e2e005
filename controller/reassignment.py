"""Moving a partition to other brokers (semantics 4.2, 4.4; KIP-455).

RS: all replicas; TRS: the target; AR, RR: replicas being added, being removed.
1. Write RS = TRS + earlier replicas, AR and RR, into the topic's znode. LeaderAndIsr with a new epoch goes to RS.
  AR become New.
2. Wait until TRS is in the ISR. AlterIsr, a notification, or a watch on the state znode reports it.
3. AR become Online, and RS = TRS. If the leader is not in TRS, elect one of TRS, else raise the epoch. RR become
  Offline and are deleted. Clean up the znodes, and send UpdateMetadata.

Up to 2.3 the topic's znode does not keep AR and RR: a new controller takes all assigned replicas for the origin.
Step 1 does not write the znode if TRS is in the ISR already. In step 3 all of TRS becomes Online, and the last
LeaderAndIsr goes to RR, too.
"""

from collections.abc import Callable, Mapping

from controller import partition_states, replica_states
from controller.controller_context import ControllerContext, ReassignmentFailed, WriteRefused
from controller.partition_states import Strategy
from controller.session_calls import Procedure, perform
from controller.state import PartitionPosition, ReplicaPosition
from controller.state_writes import checked_writes, read_states
from controller.topic_deletion import mark_ineligible, resume_topics
from protocol.ids import BrokerId, TopicPartition
from protocol.messages.session_messages import Delete, Exists, GetData, SetData
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

Targets = Mapping[TopicPartition, tuple[BrokerId, ...]]
"""Targets by partition, as `/admin/reassign_partitions` has them."""


def towards(current: ReplicaAssignment, target: tuple[BrokerId, ...]) -> ReplicaAssignment:
    """Assignment of `current` on its way to `target`; the target comes first, in its order."""
    origin = current.origin
    everything = target + tuple(replica for replica in origin if replica not in target)
    return ReplicaAssignment(
        everything,
        adding=tuple(replica for replica in everything if replica not in origin),
        removing=tuple(replica for replica in everything if replica not in target),
    )


def reassignments_changed(context: ControllerContext, kind: str) -> Procedure[None]:
    """Handle a change of `/admin/reassign_partitions`, this controller's own changes included.

    `kind`: of the watch that fired.
    """
    if kind == "created" or not context.gates.watches_created_reassignments_only:
        yield from reassignment_requested(context)


def reassignment_requested(context: ControllerContext) -> Procedure[None]:
    """Begin the reassignments in `/admin/reassign_partitions`; if it is absent, watch for it.

    Up to 1.0 the watch reports each of the controller's own writes, too. A reassignment under way stays as it is.
    """
    if not context.active:
        return
    requested = yield from _watch_and_read(context)
    if not context.gates.watches_created_reassignments_only:
        requested = {partition: requested[partition] for partition in requested.keys() - context.state.being_reassigned}
    yield from _begin(context, requested)


def initialize_reassignments(context: ControllerContext) -> Procedure[Targets]:
    """Reassignments under way when a controller takes over; up to 2.3 the requested targets.

    Up to 2.3 topics' znodes do not contain reassignments. Only `resume_all` goes on with them; deletions wait for
    it from now on.
    """
    state = context.state
    if context.gates.topic_znode_keeps_reassignment:
        state.being_reassigned = {p for p, assignment in state.assignments.items() if assignment.being_reassigned}
        return {}
    requested = {**context.kept_reassignments, **(yield from _read(context))}
    context.kept_reassignments = {}
    state.being_reassigned = requested.keys() & state.assignments.keys()
    if not context.gates.successor_gives_up_moves_of_deleted_topics:
        state.being_reassigned -= {p for p, target in requested.items() if target == state.replicas_of(p)}
    return requested


def keep_reassignments(context: ControllerContext) -> None:
    """Keep reassignments under way for this broker's next term (up to 0.10.2)."""
    assignments = context.state.assignments
    under_way = sorted(context.state.being_reassigned & assignments.keys())
    context.kept_reassignments |= {partition: assignments[partition].target for partition in under_way}


def resume_all(context: ControllerContext, requested: Targets) -> Procedure[None]:
    """Resume reassignments in a new term: first the znode's, then those under way.

    `requested`: the znode's content, if it was read already.
    """
    if context.gates.topic_znode_keeps_reassignment:
        requested = yield from _watch_and_read(context)
    begun = yield from _begin(context, requested, resumes=True)
    for partition in sorted(context.state.being_reassigned - begun):
        yield from _goes_on(context, partition, context.state.assignments[partition])


def resume_on(context: ControllerContext, brokers: list[BrokerId]) -> Procedure[None]:
    """Resume reassignments whose target contains one of the returned `brokers`."""
    for partition in sorted(context.state.being_reassigned):
        assignment = context.state.assignments[partition]
        if set(assignment.target) & set(brokers):
            yield from go_on(context, partition, assignment)


def complete_if_caught_up(context: ControllerContext, partition: TopicPartition) -> Procedure[None]:
    """Finish a reassignment if the changed ISR contains its target."""
    if not context.active or partition not in context.state.being_reassigned:
        return
    assignment = context.state.assignments[partition]
    if (yield from _caught_up(context, partition, assignment)):
        yield from go_on(context, partition, assignment)


def state_changed(context: ControllerContext, partition: TopicPartition) -> Procedure[None]:
    """Handle a write of the state znode of a partition being reassigned."""
    if context.active and partition in context.state.being_reassigned:
        yield from perform(GetData(state_path(*partition), watch=True))
        yield from complete_if_caught_up(context, partition)


def _watch_and_read(context: ControllerContext) -> Procedure[Targets]:
    there = yield from perform(Exists(REASSIGN_PARTITIONS, watch=True))
    return {} if there.error else (yield from _read(context))


def _read(context: ControllerContext) -> Procedure[Targets]:
    found = yield from perform(GetData(REASSIGN_PARTITIONS))
    if found.error:
        return {}
    try:
        return decode_reassignment(found.data)
    except UnreadableZnode:
        yield from _delete_znode(context)  # malformed content requests nothing
        return {}


def _begin(context: ControllerContext, requested: Targets, *, resumes: bool = False) -> Procedure[set[TopicPartition]]:
    begun = set()
    refused = set()
    for partition, target in sorted(requested.items()):
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
    """Resume one reassignment; its failure ends neither the event nor the other reassignments.

    False: the controller gives it up, up to 2.3 (KAFKA-9089).
    """
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
    """Run the next steps of a reassignment (onPartitionReassignment).

    Raises ReassignmentFailed or WriteRefused.
    """
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
    yield from _send_new_assignment(context, partition, assignment)
    added = [(*partition, replica) for replica in assignment.adding]
    yield from replica_states.move(context, added, ReplicaPosition.NEW)


def _complete(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """Run step 3: the target is in sync."""
    state = context.state
    yield from _bring_target_online(context, partition, assignment)
    final = ReplicaAssignment(assignment.target)
    state.assignments[partition] = final
    leader = state.states[partition].leader
    if leader in final.replicas and state.is_online(leader, partition):
        left_out = () if context.gates.topic_znode_keeps_reassignment else assignment.removing
        yield from _send_new_assignment(context, partition, final, left_out)
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
    """Move the target's new replicas to Online.

    Up to 2.3 one by one, and the earlier replicas, too: online replicas receive the same state again.
    """
    if context.gates.topic_znode_keeps_reassignment:
        added = [(*partition, replica) for replica in assignment.adding]
        yield from replica_states.move(context, added, ReplicaPosition.ONLINE)
        return
    for replica in assignment.target:
        yield from replica_states.move(context, [(*partition, replica)], ReplicaPosition.ONLINE)


def _record(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[None]:
    """Write the znode, then memory, so that a successor can go on.

    Stops replicas of a superseded target.
    """
    current = context.state.assignments[partition]
    if current != assignment:
        yield from _write_assignment(context, partition, assignment)
        context.state.assignments[partition] = assignment
        unneeded = tuple(replica for replica in current.replicas if replica not in assignment.replicas)
        yield from _stop(context, partition, unneeded)


def _caught_up(context: ControllerContext, partition: TopicPartition, assignment: ReplicaAssignment) -> Procedure[bool]:
    """Whether the target is in the ISR.

    Up to 2.3 a mere reordering of replicas also waits until all are in sync.
    """
    if context.gates.topic_znode_keeps_reassignment and not assignment.being_reassigned:
        return True
    found = (yield from read_states(context, [partition])).get(partition)
    return found is not None and set(assignment.target) <= set(found.isr)


def _send_new_assignment(
    context: ControllerContext,
    partition: TopicPartition,
    assignment: ReplicaAssignment,
    left_out: tuple[BrokerId, ...] = (),
) -> Procedure[None]:
    """Send LeaderAndIsr with a new epoch. Raises ReassignmentFailed.

    `left_out`: further receivers, not in the assignment; they ignore it.
    """
    leadership = yield from partition_states.bump_epoch(context, partition)
    batch = context.batch()
    batch.add_leader_and_isr((*assignment.origin, *left_out), partition, leadership)
    is_new = context.gates.new_replicas_flagged_immediately
    batch.add_leader_and_isr(assignment.adding, partition, leadership, is_new=is_new)
    context.send(batch)


def _stop(context: ControllerContext, partition: TopicPartition, replicas: tuple[BrokerId, ...]) -> Procedure[None]:
    """Stop, delete and forget `replicas`; no wait for the brokers' responses (as in Kafka)."""
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
        _look_again(context)  # another client deleted it, and the watch is gone with it
        return
    requested = decode_reassignment(found.data)
    left = {partition: target for partition, target in requested.items() if not removed(partition, target)}
    if left:
        yield from checked_writes(context, [SetData(REASSIGN_PARTITIONS, encode_reassignment(left))])
    else:
        yield from _delete_znode(context)


def _delete_znode(context: ControllerContext) -> Procedure[None]:
    yield from checked_writes(context, [Delete(REASSIGN_PARTITIONS)])
    _look_again(context)


def _look_again(context: ControllerContext) -> None:
    """Queue an event that reads the znode: a change of the last one may have used up the watch."""
    if context.gates.watches_created_reassignments_only:
        context.look_for_reassignments()
