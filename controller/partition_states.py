"""Partitions: NonExistent, New, Online, Offline, and the elections on the way to Online (semantics 4.1, 4.2).

`move` is the only door. Every move fills one batch of requests to brokers, sent at its end. A partition for
which an election finds nobody stays where it is and is tried again with the next broker that comes or goes.
"""

from collections.abc import Iterable, Mapping, Sequence
from enum import Enum

from msgspec.structs import replace

from controller import elections
from controller.context import ControllerContext, ControllerMoved, ReassignmentFailed, StateMachine, WriteRefused
from controller.requests import RequestBatch
from controller.session_calls import Procedure
from controller.state import PARTITION_MOVES, PartitionPosition
from controller.state_writes import create_states, read_states, unclean_election_enabled, write_states
from protocol.ids import BrokerId, TopicPartition
from protocol.znodes import Leadership

MAX_ELECTION_ROUNDS = 1000
"""Times that an election is repeated because the leader wrote the state meanwhile (Kafka: without end)."""


class Strategy(Enum):
    """How a leader is chosen; the value is the reason that StateDecided gives."""

    OFFLINE = "offline-election"
    UNCLEAN = "unclean-election"
    PREFERRED = "preferred-election"
    CONTROLLED_SHUTDOWN = "controlled-shutdown"
    REASSIGN = "reassign-election"


def startup(context: ControllerContext) -> Procedure[None]:
    """Where each partition stands when a controller takes over; then elect for those that have no leader."""
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
    """New and Offline partitions to Online, but for topics being deleted; of one topic alone, if it is named."""
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
    """Move those partitions that may. Raises ControllerMoved, and then nothing is sent."""
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
    """First leader and ISR of new partitions; without a live replica they stay New."""
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
    """Read, choose, write; again for those that were written by their leader meanwhile, from 1.1 to 2.3 for all."""
    remaining = list(partitions)
    for _ in range(MAX_ELECTION_ROUNDS):
        found = yield from read_states(context, remaining)
        # A state with a higher controller epoch is the work of a newer controller: hands off (semantics 4.1).
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
    """Whether unclean election is allowed, for topics of partitions with nobody of the ISR online."""
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
        case Strategy.OFFLINE:
            return elections.offline(assignment, leadership, online, unclean)
        case Strategy.UNCLEAN:
            return elections.offline(assignment, leadership, online, True)
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
            told = not context.gates.shutting_down_leader_not_told
            return context.state.online(partition, even_shutting_down=told)
        case Strategy.REASSIGN:
            return context.state.assignments[partition].target
        case Strategy.PREFERRED:
            return context.state.replicas_of(partition)


def bump_epoch(context: ControllerContext, partition: TopicPartition) -> Procedure[Leadership]:
    """A new leader epoch with the same leader and ISR (a reassignment's steps). Raises WriteRefused, or
    ReassignmentFailed: there is no state, or a newer controller wrote it (updateLeaderEpoch)."""
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
    """Take `broker` out of the ISRs that contain it, with one epoch more each; -1 leads where it led.

    The answer has the state of each partition that could be read, changed or not, stamped with our
    controller epoch.
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
    """Up to 1.0 the last member leaves the ISR where unclean election is allowed; by topic, absent: it
    stays."""
    if context.gates.sole_isr_member_kept:
        return {}
    topics = sorted({partition[0] for partition, s in states.items() if s.isr == (broker,)})
    enabled = yield from unclean_election_enabled(context, topics)
    return {topic: not unclean for topic, unclean in enabled.items()}
