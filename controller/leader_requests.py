"""Elections that a client requests, partition by partition (ElectLeaders: KIP-183, KIP-460).

Preferred: the preferred replica leads again. Unclean: a live replica leads where no live replica is in sync,
whatever the topic's setting.
"""

from collections.abc import Callable, Mapping, Sequence

import msgspec

from controller import partition_states
from controller.controller_context import ControllerContext, ControllerMoved
from controller.partition_states import Strategy
from controller.session_calls import Procedure, SessionLost
from controller.state import PartitionPosition
from protocol.errors import ErrorCode
from protocol.ids import NO_LEADER, BrokerId, TopicPartition, topic_partition_text
from protocol.machine import Now
from protocol.outbox import Outbox


class Elected(msgspec.Struct, frozen=True):
    """Result of one partition's election. `leader`: the new leader. `why`: an error, for people."""

    error: ErrorCode = ErrorCode.NONE
    why: str = ""
    leader: BrokerId = NO_LEADER


Elections = Mapping[TopicPartition, Elected]
ElectionReply = Callable[[Now, Outbox, Elections], None]

NOT_AVAILABLE = {
    Strategy.PREFERRED: ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE,
    Strategy.UNCLEAN: ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE,
}


def not_controller(partitions: Sequence[TopicPartition]) -> Elections:
    return {partition: Elected(ErrorCode.NOT_CONTROLLER) for partition in partitions}


def elect_leaders(
    context: ControllerContext, partitions: Sequence[TopicPartition], strategy: Strategy, reply: ElectionReply
) -> Procedure[None]:
    """Handle ElectLeaders; replies once.

    Replies NOT_CONTROLLER before it raises ControllerMoved or SessionLost. Kafka's broker sends no response then.
    """
    if not context.active:
        reply(context.now, context.out, not_controller(partitions))
        return
    try:
        results = yield from _elected(context, partitions, strategy)
    except (ControllerMoved, SessionLost):
        reply(context.now, context.out, not_controller(partitions))
        raise
    reply(context.now, context.out, results)


def _elected(
    context: ControllerContext, partitions: Sequence[TopicPartition], strategy: Strategy
) -> Procedure[Elections]:
    state = context.state
    results: dict[TopicPartition, Elected] = {}
    electable: list[TopicPartition] = []
    for partition in partitions:
        if partition not in state.assignments:
            results[partition] = Elected(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, "The partition does not exist.")
        elif state.is_being_deleted(partition[0]):
            results[partition] = Elected(ErrorCode.INVALID_TOPIC_EXCEPTION, "The topic is being deleted")
        elif _is_led_well(context, partition, strategy):
            reported = context.gates.reports_unneeded_elections
            results[partition] = Elected(ErrorCode.ELECTION_NOT_NEEDED if reported else ErrorCode.NONE)
        else:
            electable.append(partition)
    before = {partition: state.states.get(partition) for partition in electable}
    yield from partition_states.move(context, electable, PartitionPosition.ONLINE, strategy)
    for partition in electable:
        leadership = state.states.get(partition)
        if leadership is not None and leadership != before[partition] and _is_led_well(context, partition, strategy):
            results[partition] = Elected(leader=leadership.leader)
        else:
            why = f"Failed to elect leader for partition {topic_partition_text(*partition)} ({strategy.value})"
            results[partition] = Elected(NOT_AVAILABLE[strategy], why)
    return {partition: results[partition] for partition in partitions}


def _is_led_well(context: ControllerContext, partition: TopicPartition, strategy: Strategy) -> bool:
    """Whether there is no need for an election."""
    leadership = context.state.states.get(partition)
    if leadership is None:
        return False
    if strategy is Strategy.PREFERRED:
        return leadership.leader == context.state.replicas_of(partition)[0]
    return leadership.leader in context.state.live
