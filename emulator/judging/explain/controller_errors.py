"""Partitions that do not settle because of an error of the active controller (semantics 8)."""

from collections.abc import Collection, Sequence

from controller.controller_context import StateMachine
from controller.state import ReplicaPosition
from emulator.judging.explain.settled_state import controllers_of
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.gates import Gates
from protocol.ids import BrokerId, TopicPartition

GIVEN_UP = "8 (KAFKA-9089): a reassignment that was given up half-way leaves a replica that no broker is told of"
REPORTED_DELETED = "8 (KAFKA-3175): a new controller reports a marked topic as deleted where deletion is off"
NEVER_DELETED = "8 (KAFKA-6650): a topic with a partition that never had a leader is never deleted"
UNSENT = "8: a batch that was never sent blocks the replicas of a controller that is elected again"


def controller_error(
    world: SimulatedWorld,
    gates: Gates,
    topic_partition: TopicPartition,
    assigned: Sequence[int],
    isr: Collection[int],
) -> str:
    """The rule that keeps `topic_partition` unsettled; "" if none does."""
    for controller in controllers_of(world).values():
        if not controller.active:
            continue
        context, state = controller.context, controller.context.state
        if topic_partition in state.reported_deleted:
            return REPORTED_DELETED
        if StateMachine.REPLICAS in context.blocked:
            return UNSENT
        if gates.unled_replicas_stay_online and state.is_being_deleted(topic_partition[0]):
            return NEVER_DELETED
        untold = [
            broker
            for broker in set(assigned) - set(isr)
            if state.replicas.get((*topic_partition, BrokerId(broker))) in (None, ReplicaPosition.NON_EXISTENT)
        ]
        if gates.failed_reassignment_given_up and untold:
            return GIVEN_UP
    return ""
