"""Preferred replica election: on request by znode, and periodically (semantics 4.4)."""

from controller import partition_states
from controller.controller_context import ControllerContext
from controller.partition_states import Strategy
from controller.session_calls import Procedure, perform
from controller.state import PartitionPosition
from controller.state_writes import checked_writes
from protocol.ids import BrokerId, TopicPartition
from protocol.machine import TimerKey
from protocol.messages.session_messages import Delete, Exists, GetData
from protocol.znodes import PREFERRED_REPLICA_ELECTION, UnreadableZnode, decode_partitions

REBALANCE_TIMER: TimerKey = ("controller", "auto-leader-rebalance")
FIRST_REBALANCE_MS = 5_000
"""Delay from taking over to the first automatic election, in ms."""


def election_requested(context: ControllerContext) -> Procedure[None]:
    """Handle `/admin/preferred_replica_election`: elect, then delete it.

    The watch reports the controller's own deletion, too. Then the znode is absent, and this only sets the next
    watch.
    """
    if not context.active:
        return
    there = yield from perform(Exists(PREFERRED_REPLICA_ELECTION, watch=True))
    if not there.error:
        yield from _elect_requested(context)


def elect_pending(context: ControllerContext) -> Procedure[None]:
    """Handle a request that the previous controller left."""
    yield from _elect_requested(context, pending=True)


def _elect_requested(context: ControllerContext, *, pending: bool = False) -> Procedure[None]:
    """Elect the partitions in the znode; `pending`: skip those that the preferred replica leads."""
    state = context.state
    found = yield from perform(GetData(PREFERRED_REPLICA_ELECTION))
    if found.error:
        return
    try:
        named = decode_partitions(PREFERRED_REPLICA_ELECTION, found.data)
    except UnreadableZnode:
        named = []  # malformed content requests nothing; the znode is deleted in any case
    requested = [
        partition for partition in named if partition in state.assignments and not state.is_being_deleted(partition[0])
    ]
    if pending or not context.gates.preferred_election_moves_leader_to_itself:
        requested = [partition for partition in requested if not _led_by_preferred(context, partition)]
    yield from partition_states.move(context, requested, PartitionPosition.ONLINE, Strategy.PREFERRED)
    yield from checked_writes(context, [Delete(PREFERRED_REPLICA_ELECTION)])


def _led_by_preferred(context: ControllerContext, partition: TopicPartition) -> bool:
    leadership = context.state.states.get(partition)
    return leadership is not None and leadership.leader == context.state.replicas_of(partition)[0]


def schedule_rebalance(context: ControllerContext, *, first: bool, cancel: bool = False) -> None:
    """Set the timer of the next automatic election, if enabled; `cancel`: cancel it."""
    if cancel:
        context.out.cancel_timer(REBALANCE_TIMER)
    elif context.settings.auto_leader_rebalance_enable:
        interval_ms = context.settings.leader_imbalance_check_interval_seconds * 1000
        after_ms = FIRST_REBALANCE_MS if first else interval_ms
        context.out.set_timer(REBALANCE_TIMER, after_ms, context.rebalance_due)


def rebalance(context: ControllerContext) -> Procedure[None]:
    """Rebalance leaders: elect each broker that leads too few of the partitions that prefer it.

    Only where it can lead.
    """
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
        if ratio <= context.settings.leader_imbalance_per_broker_percentage / 100:
            continue
        if state.being_reassigned and context.gates.reassignment_stops_balance:
            continue
        able = [p for p in elsewhere if state.is_online(broker, p)]
        if context.gates.balance_goes_by_remembered_isr:
            able = [p for p in able if broker in led[p].isr]
        batches = [[partition] for partition in able] if context.gates.leaders_balanced_one_by_one else [able]
        for batch in batches:
            yield from partition_states.move(context, batch, PartitionPosition.ONLINE, Strategy.PREFERRED)
    schedule_rebalance(context, first=False)
