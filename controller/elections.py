"""Leader elections as functions of the known state (semantics 4.2).

All strategies search the assignment in its order, except the controlled shutdown of old versions. The first replica
that qualifies becomes leader. They return the next state, with its leader epoch one higher, or None if no replica
qualifies. The ISR keeps its order (semantics 11.3).
`live`: replicas that may lead: alive, not shutting down, with a log directory in order. `controller_epoch` and
`zk_version` of the result are those of the given state; the writer of the state fills them in.
"""

from collections.abc import Collection, Sequence

from msgspec.structs import replace

from protocol.ids import NO_LEADER, BrokerId, ControllerEpoch, LeaderEpoch
from protocol.znodes import Leadership


def _elected(state: Leadership, leader: BrokerId, isr: Sequence[BrokerId]) -> Leadership:
    return replace(state, leader=leader, leader_epoch=state.leader_epoch + 1, isr=tuple(isr))


def initial(
    assignment: Sequence[BrokerId], live: Collection[BrokerId], controller_epoch: ControllerEpoch
) -> Leadership | None:
    """State of a new partition: the first live replica leads, all live ones in sync, epoch 0."""
    live_replicas = tuple(replica for replica in assignment if replica in live)
    if not live_replicas:
        return None
    return Leadership(live_replicas[0], LeaderEpoch(0), live_replicas, controller_epoch)


def offline(
    assignment: Sequence[BrokerId],
    state: Leadership,
    live: Collection[BrokerId],
    unclean: bool,
    *,
    marks_recovery: bool = False,
) -> Leadership | None:
    """Elect for a partition without leader: the first live replica in sync.

    The new ISR is the live members. `unclean`: if there is none, the first live replica alone. `marks_recovery`: that
    state says that its leader must recover (KIP-704).
    """
    for replica in assignment:
        if replica in live and replica in state.isr:
            return _elected(state, replica, [member for member in state.isr if member in live])
    if unclean:
        for replica in assignment:
            if replica in live:
                chosen = _elected(state, replica, [replica])
                return replace(chosen, recovering=True) if marks_recovery else chosen
    return None


def preferred(assignment: Sequence[BrokerId], state: Leadership, live: Collection[BrokerId]) -> Leadership | None:
    """Elect the preferred replica, if it is live and in sync; the ISR stays as it is."""
    if assignment and assignment[0] in live and assignment[0] in state.isr:
        return _elected(state, assignment[0], state.isr)
    return None


def controlled_shutdown(
    assignment: Sequence[BrokerId],
    state: Leadership,
    live_or_shutting_down: Collection[BrokerId],
    shutting_down: Collection[BrokerId],
    *,
    by_isr: bool = False,
) -> Leadership | None:
    """Elect the first live replica in sync that is not shutting down.

    Brokers that shut down leave the ISR. `by_isr`: elect the first member left in the ISR, alive or not.
    """
    isr = [member for member in state.isr if member not in shutting_down]
    if by_isr:
        return _elected(state, isr[0], isr) if isr else None
    for replica in assignment:
        if replica in live_or_shutting_down and replica in isr:
            return _elected(state, replica, isr)
    return None


def reassign(target: Sequence[BrokerId], state: Leadership, live: Collection[BrokerId]) -> Leadership | None:
    """Elect the first live replica in sync of a reassignment's target; the ISR stays as it is."""
    for replica in target:
        if replica in live and replica in state.isr:
            return _elected(state, replica, state.isr)
    return None


def without_replica(state: Leadership, replica: BrokerId, keep_last: bool) -> Leadership | None:
    """Remove an offline `replica` from the ISR, and from leadership. None: it is not in the ISR.

    `keep_last`: the last member stays in the ISR so that it may return as leader. Otherwise the ISR ends up empty.
    """
    if replica not in state.isr:
        return None
    isr = [member for member in state.isr if member != replica]
    if not isr and keep_last:
        isr = list(state.isr)
    return _elected(state, NO_LEADER if state.leader == replica else state.leader, isr)


def same_again(state: Leadership) -> Leadership:
    """New epoch for the same leader and ISR; informs all replicas of a changed assignment.

    Semantics 4.2, reassign.
    """
    return _elected(state, state.leader, state.isr)
