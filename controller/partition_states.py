"""State machine of partitions, and the elections on the way to Online (semantics 4.1, 4.2).

States: NonExistent, New, Online, Offline. All changes go through `move`, `bump_epoch` and `remove_from_isr`. Every
move fills one batch of requests to brokers, sent at its end. A partition without an electable replica keeps its
state. The next broker startup or failure repeats its election.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec.structs import replace

from controller import elections
from controller.controller_context import (
    ControllerContext,
    ControllerMoved,
    ReassignmentFailed,
    StateMachine,
    WriteRefused,
)
from controller.request_batches import RequestBatch
from controller.session_calls import Procedure
from controller.state import PARTITION_MOVES, PartitionPosition
from controller.state_writes import create_states, read_states, unclean_election_enabled, write_states
from protocol.ids import BrokerId, TopicPartition
from protocol.znodes import Leadership

MAX_ELECTION_ROUNDS = 1000
"""Bound of repetitions of an election that the leader's writes outdated (Kafka: none)."""


class Strategy(Enum):
    """Election strategy; the value is the reason in StateDecided."""

    OFFLINE = "offline-election"
    UNCLEAN = "unclean-election"
    PREFERRED = "preferred-election"
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    REASSIGN = "reassign-election"


def startup(context: ControllerContext) -> Procedure[None]:
    """Set each partition's position when a controller takes over; elect missing leaders."""
    state = context.state
    for partition in state.all_partitions():
        leadership = state.states.get(partition)
        if leadership is None:
            position = PartitionPosition.NEW
        elif state.is_online(leadership.leader, partition):
            position = PartitionPosition.ONLINE
        else:
            position = PartitionPosition.OFFLINE
        state.partitions[partition] = position
    yield from elect_where_needed(context)


def elect_where_needed(context: ControllerContext, topic: str = "") -> Procedure[None]:
    """Move New and Offline partitions to Online, except topics being deleted.

    `topic`: partitions of this topic only; "": of all.
    """
    waiting = context.state.partitions_in(PartitionPosition.NEW, PartitionPosition.OFFLINE)
    waiting = [partition for partition in waiting if not context.state.is_being_deleted(partition[0])]
    waiting = [partition for partition in waiting if topic in ("", partition[0])]
    yield from move(context, waiting, PartitionPosition.ONLINE, Strategy.OFFLINE)


def move(
    context: ControllerContext,
    partitions: Iterable[TopicPartition],
    target: PartitionPosition,
    strategy: Strategy | None = None,
) -> Procedure[None]:
    """Move the partitions whose state permits it. Raises ControllerMoved; then nothing is sent."""
    state = context.state
    movable = []
    for partition in partitions:
        position = state.partitions.setdefault(partition, PartitionPosition.NON_EXISTENT)
        if position in PARTITION_MOVES[target]:
            movable.append(partition)
    if not movable or StateMachine.PARTITIONS in context.blocked:
        return
    batch = context.batch()
    try:
        yield from _move(context, batch, movable, target, strategy)
    except ControllerMoved:
        context.leave_unsent(StateMachine.PARTITIONS, batch)
        raise
    context.send(batch)


def _move(
    context: ControllerContext,
    batch: RequestBatch,
    movable: list[TopicPartition],
    target: PartitionPosition,
    strategy: Strategy | None,
) -> Procedure[None]:
    state = context.state
    if target is PartitionPosition.ONLINE:
        new = [p for p in movable if state.partitions[p] is PartitionPosition.NEW]
        led = [p for p in movable if state.partitions[p] is not PartitionPosition.NEW]
        yield from _initialize(context, batch, new)
        if led:
            assert strategy is not None, "an election needs a strategy"
            if context.gates.batched_controller_writes:
                yield from _elect(context, batch, led, strategy)
            else:
                for partition in led:
                    yield from _elect(context, batch, [partition], strategy)
    else:
        for partition in movable:
            state.partitions[partition] = target


def _initialize(
    context: ControllerContext, batch: RequestBatch, partitions: Sequence[TopicPartition]
) -> Procedure[None]:
    """Write leader and ISR of new partitions; without a live replica they stay New."""
    firsts: dict[TopicPartition, Leadership] = {}
    for partition in partitions:
        online = context.state.online(partition)
        first = elections.initial(context.state.replicas_of(partition), online, context.state.epoch)
        if first is not None:
            firsts[partition] = first
    if not firsts:
        return
    written = yield from create_states(context, firsts)
    for partition, leadership in written.done.items():
        context.state.states[partition] = leadership
        context.state.partitions[partition] = PartitionPosition.ONLINE
        context.decided(partition, leadership, "created")
        batch.add_leader_and_isr(leadership.isr, partition, leadership, is_new=True)


def _elect(
    context: ControllerContext, batch: RequestBatch, partitions: Sequence[TopicPartition], strategy: Strategy
) -> Procedure[None]:
    """Read, elect and write; repeat for partitions that their leader wrote meanwhile.

    From 1.1 to 2.3 the repetition is for all partitions.
    """
    remaining = list(partitions)
    for _ in range(MAX_ELECTION_ROUNDS):
        found = yield from read_states(context, remaining)
        # A state with a higher controller epoch is a newer controller's: leave it alone (semantics 4.1).
        ours = {p: s for p, s in found.items() if s.controller_epoch <= context.state.epoch}
        reasons: dict[TopicPartition, str] = {}
        elected: dict[TopicPartition, Leadership] = {}
        unclean = yield from _unclean(context, ours, strategy)
        for partition, leadership in ours.items():
            chosen = _choose(context, partition, leadership, strategy, unclean.get(partition[0], False))
            if chosen is not None:
                elected[partition] = chosen
                in_sync = chosen.leader in leadership.isr
                reasons[partition] = strategy.value if in_sync else Strategy.UNCLEAN.value
        written = yield from write_states(context, elected)
        for partition, leadership in written.done.items():
            context.state.states[partition] = leadership
            context.state.partitions[partition] = PartitionPosition.ONLINE
            context.unclean_elections += leadership.leader not in ours[partition].isr
            context.decided(partition, leadership, reasons[partition])
            batch.add_leader_and_isr(_recipients(context, partition, strategy), partition, leadership)
        if not written.outdated:
            return
        if not context.gates.elections_repeat_all_for_one:
            remaining = written.outdated
    raise AssertionError(f"{MAX_ELECTION_ROUNDS} elections for {remaining} were outdated before they were written")


def _unclean(
    context: ControllerContext, states: Mapping[TopicPartition, Leadership], strategy: Strategy
) -> Procedure[dict[str, bool]]:
    """Whether unclean election is enabled, by topic, for partitions with no ISR member online."""
    if strategy is not Strategy.OFFLINE:
        return {}
    topics = {
        partition[0]
        for partition, leadership in states.items()
        if not any(context.state.is_online(member, partition) for member in leadership.isr)
    }
    return (yield from unclean_election_enabled(context, sorted(topics))) if topics else {}


def _choose(
    context: ControllerContext, partition: TopicPartition, leadership: Leadership, strategy: Strategy, unclean: bool
) -> Leadership | None:
    assignment = context.state.replicas_of(partition)
    online = context.state.online(partition)
    match strategy:
        case Strategy.OFFLINE | Strategy.UNCLEAN:
            unclean = unclean or strategy is Strategy.UNCLEAN
            marks = context.gates.leader_recovery_state
            return elections.offline(assignment, leadership, online, unclean, marks_recovery=marks)
        case Strategy.PREFERRED:
            return elections.preferred(assignment, leadership, online)
        case Strategy.CONTROLLED_SHUTDOWN:
            candidates = context.state.online(partition, even_shutting_down=True)
            by_isr = context.gates.shutdown_elects_by_isr
            return elections.controlled_shutdown(
                assignment, leadership, candidates, context.state.shutting_down, by_isr=by_isr
            )
        case Strategy.REASSIGN:
            return elections.reassign(context.state.assignments[partition].target, leadership, online)


def _recipients(context: ControllerContext, partition: TopicPartition, strategy: Strategy) -> Sequence[BrokerId]:
    match strategy:
        case Strategy.OFFLINE | Strategy.UNCLEAN:
            return context.state.online(partition)
        case Strategy.CONTROLLED_SHUTDOWN:
            includes_leaving = not context.gates.leader_and_isr_skips_leaving_leader
            return context.state.online(partition, even_shutting_down=includes_leaving)
        case Strategy.REASSIGN:
            return context.state.assignments[partition].target
        case Strategy.PREFERRED:
            return context.state.replicas_of(partition)


def bump_epoch(context: ControllerContext, partition: TopicPartition) -> Procedure[Leadership]:
    """Write a new leader epoch with the same leader and ISR (updateLeaderEpoch).

    For a reassignment's steps. Raises WriteRefused; ReassignmentFailed if there is no state, or a newer controller
    wrote it.
    """
    for _ in range(MAX_ELECTION_ROUNDS):
        found = (yield from read_states(context, [partition])).get(partition)
        if found is None:
            raise ReassignmentFailed(f"{partition} never had a leader")
        if found.controller_epoch > context.state.epoch:
            raise ReassignmentFailed(f"the state of {partition} is a newer controller's")
        written = yield from write_states(context, {partition: elections.same_again(found)})
        if partition in written.done:
            leadership = written.done[partition]
            if not context.gates.reassignment_epoch_not_remembered:
                context.state.states[partition] = leadership
            context.decided(partition, leadership, "reassignment")
            return leadership
        if partition in written.failed:
            raise WriteRefused(written.failed[partition])
    raise AssertionError(f"{MAX_ELECTION_ROUNDS} new epochs for {partition} were outdated before they were written")


def remove_from_isr(
    context: ControllerContext, broker: BrokerId, partitions: Sequence[TopicPartition]
) -> Procedure[dict[TopicPartition, Leadership]]:
    """Remove `broker` from the ISRs that contain it, with a new epoch each.

    Where it led, the leader is -1. Returns the state of each partition that could be read, changed or not, with
    this controller's epoch.
    """
    results: dict[TopicPartition, Leadership] = {}
    remaining = list(partitions)
    for _ in range(MAX_ELECTION_ROUNDS):
        found = yield from read_states(context, remaining)
        ours = {p: s for p, s in found.items() if s.controller_epoch <= context.state.epoch}
        keep_last = yield from _last_member_stays(context, broker, ours)
        shrunk: dict[TopicPartition, Leadership] = {}
        for partition, leadership in ours.items():
            without = elections.without_replica(leadership, broker, keep_last.get(partition[0], True))
            if without is None:
                results[partition] = replace(leadership, controller_epoch=context.state.epoch)
            else:
                shrunk[partition] = without
        written = yield from write_states(context, shrunk)
        for partition, leadership in written.done.items():
            context.decided(partition, leadership, "offline-replica", broker)
            results[partition] = leadership
        remaining = written.outdated
        if not remaining:
            context.state.states.update(results)
            return results
    raise AssertionError(f"{MAX_ELECTION_ROUNDS} ISR changes for {remaining} were outdated before they were written")


def _last_member_stays(
    context: ControllerContext, broker: BrokerId, states: Mapping[TopicPartition, Leadership]
) -> Procedure[dict[str, bool]]:
    """Whether the last ISR member stays, by topic; absent: it stays.

    Up to 1.0 it leaves the ISR where unclean election is enabled.
    """
    if context.gates.sole_isr_member_kept:
        return {}
    topics = sorted({partition[0] for partition, s in states.items() if s.isr == (broker,)})
    enabled = yield from unclean_election_enabled(context, topics)
    return {topic: not unclean for topic, unclean in enabled.items()}
