"""Controlled shutdown of a broker: move its leaderships, take its replicas out of ISRs.

Semantics 4.2. Only partitions with more than one replica count, from 2.1 on only of topics that stay. The broker
repeats its request until no partition remains or it gives up.
"""

from collections.abc import Callable

from controller import partition_states, replica_states
from controller.controller_context import ControllerContext, ControllerMoved
from controller.partition_states import Strategy
from controller.session_calls import Procedure, SessionLost
from controller.state import PartitionPosition, ReplicaPosition
from protocol.errors import ErrorCode
from protocol.ids import BROKER_EPOCH_UNKNOWN, BrokerId, TopicPartition
from protocol.machine import Now
from protocol.messages.leadership_messages import ControlledShutdownRequest, ControlledShutdownResponse
from protocol.outbox import Outbox

ControlledShutdownReply = Callable[[Now, Outbox, ControlledShutdownResponse], None]


def controlled_shutdown(
    context: ControllerContext, request: ControlledShutdownRequest, reply: ControlledShutdownReply
) -> Procedure[None]:
    """Handle ControlledShutdown; replies with the partitions that the broker still leads.

    Raises ControllerMoved or SessionLost after replying NOT_CONTROLLER.
    """
    try:
        response = yield from _relieve(context, request)
    except (ControllerMoved, SessionLost):
        reply(context.now, context.out, ControlledShutdownResponse(error=ErrorCode.NOT_CONTROLLER))
        raise
    reply(context.now, context.out, response)


def _relieve(context: ControllerContext, request: ControlledShutdownRequest) -> Procedure[ControlledShutdownResponse]:
    state = context.state
    broker = request.broker
    if not context.active:
        return ControlledShutdownResponse(error=ErrorCode.NOT_CONTROLLER)
    # Up to 2.1 the request carries no epoch: one of an earlier incarnation counts (KAFKA-7235).
    named = context.gates.broker_epochs and request.broker_epoch != BROKER_EPOCH_UNKNOWN
    if broker not in state.brokers:
        # Kafka looks up the epoch first, and this look-up fails by mistake.
        unknown = ErrorCode.UNKNOWN_SERVER_ERROR if named else ErrorCode.BROKER_NOT_AVAILABLE
        return ControlledShutdownResponse(error=unknown)
    if named and request.broker_epoch < state.brokers[broker].epoch:
        return ControlledShutdownResponse(error=ErrorCode.STALE_BROKER_EPOCH)
    state.shutting_down.add(broker)
    concerned = [
        partition
        for partition in state.partitions_on(broker)
        if partition in state.states and _counts(context, partition)
    ]
    one_by_one = [[partition] for partition in concerned]
    for partitions in one_by_one if context.gates.shutdown_moves_one_by_one else [concerned]:
        yield from _move_away(context, broker, partitions)
    remaining = [
        partition
        for partition, leadership in sorted(state.states.items())
        if leadership.leader == broker and _counts(context, partition)
    ]
    return ControlledShutdownResponse(remaining=remaining)


def _move_away(context: ControllerContext, broker: BrokerId, partitions: list[TopicPartition]) -> Procedure[None]:
    """Elect new leaders for what the broker leads; stop its followers and shrink their ISRs."""
    states = context.state.states
    led = [partition for partition in partitions if states[partition].leader == broker]
    followed = [partition for partition in partitions if states[partition].leader != broker]
    yield from partition_states.move(context, led, PartitionPosition.ONLINE, Strategy.CONTROLLED_SHUTDOWN)
    batch = context.batch()
    for partition in followed:
        batch.add_stop_replica(broker, partition, delete=False)
    context.send(batch)
    yield from replica_states.move(context, [(*partition, broker) for partition in followed], ReplicaPosition.OFFLINE)


def _counts(context: ControllerContext, partition: TopicPartition) -> bool:
    """Whether the controller moves the partition, or reports it as remaining."""
    deleted = context.gates.shutdown_leaves_deletions_alone and context.state.is_being_deleted(partition[0])
    return len(context.state.replicas_of(partition)) > 1 and not deleted
