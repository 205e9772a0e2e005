"""State machine of replicas (semantics 4.1, 4.2).

States: New, Online, Offline and the states of deletion. All changes go through `move`. OnlineReplica sends
LeaderAndIsr with the state as it is, without a new epoch. OfflineReplica stops the replica, removes it from the ISR
and informs the others; a dead replica receives nothing.

Brokers are handled one after another in one batch. Several brokers that died together cost one write and one epoch
each, but the others receive the last state only (semantics 11.4).
"""

from collections.abc import Iterable

from msgspec.structs import replace

from controller.controller_context import ControllerContext, ControllerMoved, StateMachine
from controller.partition_states import remove_from_isr
from controller.request_batches import RequestBatch
from controller.session_calls import Procedure
from controller.state import REPLICA_MOVES, Replica, ReplicaPosition
from controller.state_writes import read_states
from protocol.ids import BrokerId


def startup(context: ControllerContext) -> Procedure[None]:
    """Set each replica's position when a controller takes over; inform live brokers of theirs.

    Replicas on dead brokers go offline first from 2.3 (KAFKA-3143). Before, they stay in the ISR until the leader
    removes them. They begin as ineligible for deletion, in case their topic is being deleted.
    """
    online, offline = context.state.replicas_by_liveness()
    for replica in online:
        context.state.replicas[replica] = ReplicaPosition.ONLINE
    for replica in offline:
        context.state.replicas[replica] = ReplicaPosition.DELETION_INELIGIBLE
    yield from move(context, online, ReplicaPosition.ONLINE)
    if context.gates.startup_offlines_dead_replicas:
        yield from move(context, offline, ReplicaPosition.OFFLINE)


def move(context: ControllerContext, replicas: Iterable[Replica], target: ReplicaPosition) -> Procedure[None]:
    """Move the replicas whose state permits it. Raises ControllerMoved; then nothing is sent."""
    by_broker: dict[BrokerId, list[Replica]] = {}
    for replica in replicas:
        position = context.state.replicas.setdefault(replica, ReplicaPosition.NON_EXISTENT)
        if position in REPLICA_MOVES[target]:
            by_broker.setdefault(replica[2], []).append(replica)
    if not by_broker or StateMachine.REPLICAS in context.blocked:
        return
    batch = context.batch()
    try:
        yield from _move(context, batch, by_broker, target)
    except ControllerMoved:
        context.leave_unsent(StateMachine.REPLICAS, batch)
        raise
    context.send(batch)


def _move(
    context: ControllerContext, batch: RequestBatch, by_broker: dict[BrokerId, list[Replica]], target: ReplicaPosition
) -> Procedure[None]:
    for broker in sorted(by_broker):
        movable = sorted(by_broker[broker])
        match target:
            case ReplicaPosition.NEW:
                yield from _begin(context, batch, movable)
            case ReplicaPosition.ONLINE:
                _bring_online(context, batch, movable)
            case ReplicaPosition.OFFLINE:
                yield from _take_offline(context, batch, broker, movable)
            case ReplicaPosition.DELETION_STARTED:
                for replica in movable:
                    batch.add_stop_replica(broker, replica[:2], delete=True)
                    context.state.replicas[replica] = target
            case ReplicaPosition.NON_EXISTENT:
                _forget(context, movable)
            case ReplicaPosition.DELETION_SUCCESSFUL | ReplicaPosition.DELETION_INELIGIBLE:
                for replica in movable:
                    context.state.replicas[replica] = target


def _begin(context: ControllerContext, batch: RequestBatch, replicas: list[Replica]) -> Procedure[None]:
    """Move replicas to New; those of a partition with a leader receive LeaderAndIsr at once.

    A replica that leads cannot be new. Up to 1.0 the controller reads the state again first.
    """
    for replica in replicas:
        leadership = context.state.states.get(replica[:2])
        if leadership is not None and not context.gates.batched_controller_writes:
            leadership = (yield from read_states(context, [replica[:2]])).get(replica[:2])
        if leadership is not None:
            if leadership.leader == replica[2]:
                continue
            batch.add_leader_and_isr([replica[2]], replica[:2], leadership, is_new=True)
        context.state.replicas[replica] = ReplicaPosition.NEW


def _bring_online(context: ControllerContext, batch: RequestBatch, replicas: list[Replica]) -> None:
    for replica in replicas:
        partition = replica[:2]
        if context.state.replicas[replica] is ReplicaPosition.NEW:
            assignment = context.state.assignments[partition]
            if replica[2] not in assignment.replicas:
                added = (*assignment.replicas, replica[2])
                context.state.assignments[partition] = replace(assignment, replicas=added)
        elif partition in context.state.states:
            batch.add_leader_and_isr([replica[2]], partition, context.state.states[partition])
        context.state.replicas[replica] = ReplicaPosition.ONLINE


def _take_offline(
    context: ControllerContext, batch: RequestBatch, broker: BrokerId, replicas: list[Replica]
) -> Procedure[None]:
    for replica in replicas:
        batch.add_stop_replica(broker, replica[:2], delete=False)
    led_once = [replica[:2] for replica in replicas if replica[:2] in context.state.states]
    states = yield from remove_from_isr(context, broker, led_once)
    for partition, leadership in states.items():
        if not context.state.is_being_deleted(partition[0]):
            others = [other for other in context.state.replicas_of(partition) if other != broker]
            batch.add_leader_and_isr(others, partition, leadership)
        context.state.replicas[(*partition, broker)] = ReplicaPosition.OFFLINE
    if context.gates.unled_replicas_stay_online:
        return
    for replica in replicas:
        if replica[:2] not in context.state.states:
            batch.add_update_metadata(context.state.brokers, [replica[:2]])
            context.state.replicas[replica] = ReplicaPosition.OFFLINE


def _forget(context: ControllerContext, replicas: list[Replica]) -> None:
    """Remove replicas from the assignment and the state."""
    for replica in replicas:
        assignment = context.state.assignments[replica[:2]]
        gone = replica[2]
        context.state.assignments[replica[:2]] = replace(
            assignment,
            replicas=tuple(r for r in assignment.replicas if r != gone),
            adding=tuple(r for r in assignment.adding if r != gone),
            removing=tuple(r for r in assignment.removing if r != gone),
        )
        del context.state.replicas[replica]
