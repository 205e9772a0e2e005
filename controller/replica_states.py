"""Replicas: New, Online, Offline and the states of deletion (semantics 4.1, 4.2).

`move` is the only door. OnlineReplica sends LeaderAndIsr with the state as it is, no new epoch.
OfflineReplica stops the replica (a dead one hears nothing), takes it out of the ISR and tells the others.
Brokers are handled one after another in one batch: several that died together cost one write and one epoch
each, but the others hear the last state only (semantics 11.4).
"""

from collections.abc import Iterable

from msgspec.structs import replace

from controller.desk import Desk
from controller.partition_states import remove_from_isr
from controller.requests import RequestBatch
from controller.session_calls import Procedure
from controller.state import REPLICA_MOVES, Replica, ReplicaPosition


def startup(desk: Desk) -> Procedure[None]:
    """Where each replica stands when a controller takes over; tell the live ones what they host.

    Replicas on dead brokers go offline first from 2.3 (KAFKA-3143); before, they stay in the ISR until the
    leader removes them. They are entered as ineligible for deletion, in case their topic is being deleted.
    """
    online, offline = desk.state.replicas_by_liveness()
    for replica in online:
        desk.state.replicas[replica] = ReplicaPosition.ONLINE
    for replica in offline:
        desk.state.replicas[replica] = ReplicaPosition.DELETION_INELIGIBLE
    yield from move(desk, online, ReplicaPosition.ONLINE)
    if desk.gates.startup_offlines_dead_replicas:
        yield from move(desk, offline, ReplicaPosition.OFFLINE)


def move(desk: Desk, replicas: Iterable[Replica], target: ReplicaPosition) -> Procedure[None]:
    """Move those replicas that may. Raises ControllerMoved, and then nothing is sent."""
    by_broker: dict[int, list[Replica]] = {}
    for replica in replicas:
        position = desk.state.replicas.setdefault(replica, ReplicaPosition.NON_EXISTENT)
        if position in REPLICA_MOVES[target]:
            by_broker.setdefault(replica[2], []).append(replica)
    if not by_broker:
        return
    batch = desk.batch()
    for broker in sorted(by_broker):
        movable = sorted(by_broker[broker])
        match target:
            case ReplicaPosition.NEW:
                _begin(desk, batch, movable)
            case ReplicaPosition.ONLINE:
                _bring_online(desk, batch, movable)
            case ReplicaPosition.OFFLINE:
                yield from _take_offline(desk, batch, broker, movable)
            case ReplicaPosition.DELETION_STARTED:
                for replica in movable:
                    batch.add_stop_replica(broker, replica[:2], delete=True)
                    desk.state.replicas[replica] = target
            case ReplicaPosition.NON_EXISTENT:
                _forget(desk, movable)
            case ReplicaPosition.DELETION_SUCCESSFUL | ReplicaPosition.DELETION_INELIGIBLE:
                for replica in movable:
                    desk.state.replicas[replica] = target
    desk.send(batch)


def _begin(desk: Desk, batch: RequestBatch, replicas: list[Replica]) -> None:
    """A replica of a partition that has a leader already is told at once; one that leads cannot be new."""
    for replica in replicas:
        leadership = desk.state.states.get(replica[:2])
        if leadership is not None:
            if leadership.leader == replica[2]:
                continue
            batch.add_leader_and_isr([replica[2]], replica[:2], leadership, is_new=True)
        desk.state.replicas[replica] = ReplicaPosition.NEW


def _bring_online(desk: Desk, batch: RequestBatch, replicas: list[Replica]) -> None:
    for replica in replicas:
        partition = replica[:2]
        if desk.state.replicas[replica] is ReplicaPosition.NEW:
            assignment = desk.state.assignments[partition]
            if replica[2] not in assignment.replicas:
                added = (*assignment.replicas, replica[2])
                desk.state.assignments[partition] = replace(assignment, replicas=added)
        elif partition in desk.state.states:
            batch.add_leader_and_isr([replica[2]], partition, desk.state.states[partition])
        desk.state.replicas[replica] = ReplicaPosition.ONLINE


def _take_offline(desk: Desk, batch: RequestBatch, broker: int, replicas: list[Replica]) -> Procedure[None]:
    for replica in replicas:
        batch.add_stop_replica(broker, replica[:2], delete=False)
    led_once = [replica[:2] for replica in replicas if replica[:2] in desk.state.states]
    states = yield from remove_from_isr(desk, broker, led_once)
    for partition, leadership in states.items():
        if not desk.state.is_being_deleted(partition[0]):
            others = [other for other in desk.state.replicas_of(partition) if other != broker]
            batch.add_leader_and_isr(others, partition, leadership)
        desk.state.replicas[(*partition, broker)] = ReplicaPosition.OFFLINE
    for replica in replicas:
        if replica[:2] not in desk.state.states:
            batch.add_update_metadata(desk.state.brokers, [replica[:2]])
            desk.state.replicas[replica] = ReplicaPosition.OFFLINE


def _forget(desk: Desk, replicas: list[Replica]) -> None:
    """Off the assignment and out of the table."""
    for replica in replicas:
        assignment = desk.state.assignments[replica[:2]]
        gone = replica[2]
        desk.state.assignments[replica[:2]] = replace(
            assignment,
            replicas=tuple(r for r in assignment.replicas if r != gone),
            adding=tuple(r for r in assignment.adding if r != gone),
            removing=tuple(r for r in assignment.removing if r != gone),
        )
        del desk.state.replicas[replica]
