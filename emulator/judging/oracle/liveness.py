"""Checks of liveness in a quiescent period: leaders, ISRs and responses."""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from emulator.judging.oracle.oracle_check import oracle_check
from emulator.judging.oracle.truth import NO_PARTITION, QuiescentPeriod, State, Truth, Violation, Waited

Bound = Callable[[QuiescentPeriod], float]
QUIESCENT = "with all faults healed and all nodes alive"
IN_PEACE = "partitions in a long enough quiescent period"
LATE_MS = 1_000
"""Maximum lateness of a client's own timer."""


def leader_bound_ms(quiescent: QuiescentPeriod) -> float:
    """Maximum time without a leader."""
    return 2.0 * quiescent.session_ms


def isr_bound_ms(quiescent: QuiescentPeriod) -> float:
    return float(quiescent.lag_ms + quiescent.session_ms + quiescent.stalled_ms)


def request_bound_ms(quiescent: QuiescentPeriod) -> float:
    """Maximum time without a response; leaders look for lagging replicas once in the lag time."""
    return isr_bound_ms(quiescent) + quiescent.lag_ms


def requests_judged(truth: Truth) -> int:
    """Count of requests to judge; 0 without a long enough quiescent period."""
    return sum(1 for _ in _waited_for(truth))


def _waited_for(truth: Truth) -> Iterator[Waited]:
    """Requests in flight during a long enough quiescent period."""
    quiescent = truth.quiescent
    if quiescent is not None and quiescent.end_ms - quiescent.since_ms > request_bound_ms(quiescent):
        for one in truth.waited:
            if one.ended_ms is None or one.ended_ms > quiescent.since_ms:
                yield one


@oracle_check("no-leader", IN_PEACE, lambda truth: judged(truth, leader_bound_ms), reads="states")
def no_leader(truth: Truth) -> Iterator[Violation]:
    """One committed state without a leader that lasts too long in a quiescent period."""
    for state, from_ms, lasted_ms in lasting(truth, leader_bound_ms):
        if state.leader < 0:
            text = f"no leader for {lasted_ms:.0f} ms from {from_ms:.0f} ms on, {QUIESCENT}"
            yield Violation(state.topic_partition, -1, text, {"from_ms": from_ms, "lasted_ms": lasted_ms})


@oracle_check("under-replicated", IN_PEACE, lambda truth: judged(truth, isr_bound_ms), reads="states")
def under_replicated(truth: Truth) -> Iterator[Violation]:
    """One committed state with fewer in-sync replicas than assigned that lasts too long."""
    for state, from_ms, lasted_ms in lasting(truth, isr_bound_ms, truth.assigned_ms):
        replicas = truth.assignments.get(state.topic_partition, ())
        if len(state.isr) < len(replicas):
            isr, assigned = (",".join(map(str, some)) for some in (state.isr, replicas))
            text = f"{isr} of {assigned} were in sync for {lasted_ms:.0f} ms from {from_ms:.0f} ms on, {QUIESCENT}"
            yield Violation(state.topic_partition, -1, text, {"from_ms": from_ms, "lasted_ms": lasted_ms})


@oracle_check("unanswered-request", "requests in a long enough quiescent period", requests_judged)
def unanswered_request(truth: Truth) -> Iterator[Violation]:
    """One attempt of a client without a response for too long in a quiescent period."""
    if truth.quiescent is None:
        return
    quiescent, least_ms = truth.quiescent, request_bound_ms(truth.quiescent)
    for one in _waited_for(truth):
        from_ms = max(one.sent_ms, quiescent.since_ms)
        lasted_ms = (quiescent.end_ms if one.ended_ms is None else one.ended_ms) - from_ms
        if lasted_ms > (max(least_ms, one.timeout_ms + LATE_MS) if quiescent.links_broken else least_ms):
            text = (
                f"attempt {one.attempt} of {one.operation}, which {one.client} sent to broker-{one.broker}, "
                f"waited {lasted_ms:.0f} ms for a response from {from_ms:.0f} ms on, {QUIESCENT}"
            )
            details = {"operation": one.operation, "attempt": one.attempt, "client": one.client, "broker": one.broker}
            yield Violation(NO_PARTITION, -1, text, {**details, "from_ms": from_ms, "lasted_ms": lasted_ms})


def judged(truth: Truth, bound: Bound) -> int:
    """Count of partitions to judge; 0 without a long enough quiescent period."""
    quiescent = truth.quiescent
    if quiescent is None or quiescent.end_ms - quiescent.since_ms <= bound(quiescent):
        return 0
    return len({state.topic_partition for state in truth.states})


def lasting(
    truth: Truth, bound: Bound, not_before_ms: Mapping[str, float] = MappingProxyType({})
) -> Iterator[tuple[State, float, float]]:
    """(state, beginning in the quiescent period, duration) of states that exceed the bound.

    `not_before_ms`: {topic: time from which its states count}.
    """
    quiescent = truth.quiescent
    if quiescent is None:
        return
    for state in truth.states:
        from_ms = max(state.from_ms, quiescent.since_ms, not_before_ms.get(state.topic_partition[0], 0.0))
        lasted_ms = (quiescent.end_ms if state.until_ms is None else state.until_ms) - from_ms
        if lasted_ms > bound(quiescent):
            yield state, from_ms, lasted_ms
