"""Leadership back to the preferred replica: when asked by znode, and by itself from time to time (semantics
4.4)."""

from controller import partition_states
from controller.context import ControllerContext
from controller.partition_states import Strategy
from controller.session_calls import Procedure, perform
from controller.state import PartitionPosition
from controller.state_writes import checked_writes
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import TimerKey
from protocol.messages.session import Delete, Exists, GetData
from protocol.znodes import PREFERRED_REPLICA_ELECTION, UnreadableZnode, decode_partitions

REBALANCE_TIMER: TimerKey = ("controller", "auto-leader-rebalance")
FIRST_REBALANCE_MS = 5_000
"""From taking over to the first automatic election."""


def election_asked(context: ControllerContext) -> Procedure[None]:
    """`/admin/preferred_replica_election` was created: elect, then delete it.

    The watch tells us of our own deletion too; then we find nothing, and watch for the next request."""
    if not context.active:
        return
    there = yield from perform(Exists(PREFERRED_REPLICA_ELECTION, watch=True))
    if not there.error:
        yield from _elect_as_asked(context)


def elect_pending(context: ControllerContext) -> Procedure[None]:
    """A new controller takes up what was asked of the one before."""
    yield from _elect_as_asked(context, pending=True)


def _elect_as_asked(context: ControllerContext, *, pending: bool = False) -> Procedure[None]:
    """`pending`: partitions that the preferred replica leads are done, in every version."""
    state = context.state
    found = yield from perform(GetData(PREFERRED_REPLICA_ELECTION))
    if found.error:
        return
    try:
        named = decode_partitions(PREFERRED_REPLICA_ELECTION, found.data)
    except UnreadableZnode:
        named = []  # an operator's slip: nothing is asked, and the znode goes as it would have anyway
    asked = [
        partition for partition in named if partition in state.assignments and not state.is_being_deleted(partition[0])
    ]
    if pending or not context.gates.preferred_election_moves_leader_to_itself:
        asked = [partition for partition in asked if not _led_by_preferred(context, partition)]
    yield from partition_states.move(context, asked, PartitionPosition.ONLINE, Strategy.PREFERRED)
    yield from checked_writes(context, [Delete(PREFERRED_REPLICA_ELECTION)])


def _led_by_preferred(context: ControllerContext, partition: TopicPartition) -> bool:
    leadership = context.state.states.get(partition)
    return leadership is not None and leadership.leader == context.state.replicas_of(partition)[0]


def schedule_rebalance(context: ControllerContext, *, first: bool, cancel: bool = False) -> None:
    """Set the timer of the next automatic election, if they are enabled; `cancel`: none any more."""
    if cancel:
        context.out.cancel_timer(REBALANCE_TIMER)
    elif context.settings.auto_leader_rebalance_enable:
        interval_ms = context.settings.leader_imbalance_check_interval_seconds * 1000
        after_ms = FIRST_REBALANCE_MS if first else interval_ms
        context.out.set_timer(REBALANCE_TIMER, after_ms, context.rebalance_due)


def rebalance(context: ControllerContext) -> Procedure[None]:
    """For each broker: too many of the partitions that prefer it are led by others -> elect it where it can
    lead."""
    if not context.active:
        return
    state = context.state
    preferring: dict[BrokerId, list[TopicPartition]] = {}
    for partition in state.all_partitions():
        if not state.is_being_deleted(partition[0]) and state.replicas_of(partition):
            preferring.setdefault(state.replicas_of(partition)[0], []).append(partition)
    for broker in sorted(preferring):
        led = {p: state.states[p] for p in preferring[broker] if p in state.states}
        elsewhere = [p for p, leadership in led.items() if leadership.leader != broker]
        ratio = len(elsewhere) / len(preferring[broker])
        if ratio <= context.settings.leader_imbalance_per_broker_percentage / 100 or state.being_reassigned:
            continue
        able = [p for p in elsewhere if state.is_online(broker, p)]
        if context.gates.balance_goes_by_remembered_isr:
            able = [p for p in able if broker in led[p].isr]
        batches = [[partition] for partition in able] if context.gates.leaders_balanced_one_by_one else [able]
        for batch in batches:
            yield from partition_states.move(context, batch, PartitionPosition.ONLINE, Strategy.PREFERRED)
    schedule_rebalance(context, first=False)
