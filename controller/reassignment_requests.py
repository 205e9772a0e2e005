"""Reassignments that a client requests and lists (KIP-455).

AlterPartitionReassignments, ListPartitionReassignments. The moves themselves are those of `reassignment`. A client
can cancel or replace a target while its move is under way.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from controller.controller_context import ControllerContext, ControllerMoved, ReassignmentFailed, WriteRefused
from controller.reassignment import go_on, remove_from_znode, towards
from controller.session_calls import Procedure, SessionLost
from protocol.errors import ErrorCode
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import Now
from protocol.outbox import Outbox
from protocol.znodes import ReplicaAssignment

Target = tuple[BrokerId, ...] | None
"""Requested replicas; None: cancel, back to the replicas before the reassignment."""


class Begun(msgspec.Struct, frozen=True):
    """Result of one partition's request. `why`: an error, for people."""

    error: ErrorCode = ErrorCode.NONE
    why: str = ""


UNKNOWN = Begun(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")


class Reassignments(msgspec.Struct, frozen=True):
    """Response to a client's request. `error`: of the whole request."""

    error: ErrorCode = ErrorCode.NONE
    begun: Mapping[TopicPartition, Begun] = {}
    moving: Mapping[TopicPartition, ReplicaAssignment] = {}


ReassignmentReply = Callable[[Now, Outbox, Reassignments], None]
NOT_CONTROLLER = Reassignments(ErrorCode.NOT_CONTROLLER)


def alter_reassignments(
    context: ControllerContext, targets: Mapping[TopicPartition, Target], reply: ReassignmentReply
) -> Procedure[None]:
    """Handle AlterPartitionReassignments; replies once, when all moves have begun.

    Replies NOT_CONTROLLER before it raises ControllerMoved, SessionLost or WriteRefused. Kafka's broker sends no
    response then.
    """
    if not context.active:
        reply(context.now, context.out, NOT_CONTROLLER)
        return
    try:
        begun = yield from _begun(context, targets)
    except (ControllerMoved, SessionLost, WriteRefused):
        reply(context.now, context.out, NOT_CONTROLLER)
        raise
    reply(context.now, context.out, Reassignments(begun=begun))


def list_reassignments(
    context: ControllerContext, partitions: Sequence[TopicPartition] | None, reply: ReassignmentReply
) -> Procedure[None]:
    """Handle ListPartitionReassignments. `partitions` None: all.

    Partitions that are not being reassigned are left out.
    """
    yield from ()
    if not context.active:
        reply(context.now, context.out, NOT_CONTROLLER)
        return
    state = context.state
    requested = sorted(state.being_reassigned) if partitions is None else partitions
    found = {one: state.assignments[one] for one in requested if one in state.assignments}
    moving = {one: assignment for one, assignment in found.items() if assignment.being_reassigned}
    reply(context.now, context.out, Reassignments(moving=moving))


def _begun(
    context: ControllerContext, targets: Mapping[TopicPartition, Target]
) -> Procedure[dict[TopicPartition, Begun]]:
    results: dict[TopicPartition, Begun] = {}
    moves: dict[TopicPartition, ReplicaAssignment] = {}
    for partition, target in targets.items():
        current = context.state.assignments.get(partition, ReplicaAssignment(()))
        refused = None if target is None else _refused(context, current, target)
        if refused is not None:
            results[partition] = refused
        elif target is not None:
            moves[partition] = towards(current, target)
        elif current.being_reassigned:
            moves[partition] = towards(current, current.origin)
        else:
            results[partition] = Begun(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    # The latest target takes precedence, by request or by znode.
    yield from remove_from_znode(context, lambda partition, _: partition in moves)
    for partition, assignment in moves.items():
        known = context.state.replicas_of(partition)
        if not known or context.state.is_being_deleted(partition[0]):
            results[partition] = UNKNOWN
            continue
        try:
            yield from go_on(context, partition, assignment)
            results[partition] = Begun()
        except (ReassignmentFailed, WriteRefused) as refused:
            results[partition] = Begun(ErrorCode.UNKNOWN_SERVER_ERROR, str(refused))
    return {partition: results[partition] for partition in targets}


def _refused(context: ControllerContext, current: ReplicaAssignment, target: tuple[BrokerId, ...]) -> Begun | None:
    """Error of an invalid target; None if it is valid (KafkaController.validateReplicas)."""
    shown = ", ".join(map(str, target))
    if not target:
        return _invalid("Empty replica list specified in partition reassignment.")
    if len(set(target)) < len(target):
        return _invalid(f"Duplicate replica ids in partition reassignment replica list: {shown}")
    if any(replica < 0 for replica in target):
        return _invalid(f"Invalid broker id in replica list: {shown}")
    adding = towards(current, target).adding
    if not set(adding) <= context.state.live:
        live = ", ".join(map(str, sorted(context.state.live)))
        new = ", ".join(map(str, adding))
        why = f"Replica assignment has brokers that are not alive. Replica list: {new}, live broker list: {live}"
        return _invalid(why)
    return None


def _invalid(why: str) -> Begun:
    return Begun(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
