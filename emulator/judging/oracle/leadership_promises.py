"""Checks of leaders and controllers: terms, high watermarks, committed states."""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator
from math import inf
from typing import Any

from emulator.judging.oracle.controller_terms import overlapping
from emulator.judging.oracle.oracle_check import batches_in_logs, committed_states, oracle_check, replicas_with_role
from emulator.judging.oracle.truth import NO_PARTITION, Batch, State, Term, Truth, Violation
from protocol.ids import TopicPartition


@oracle_check("dual-leader", "replicas with a role", replicas_with_role)
def dual_leader(truth: Truth) -> Iterator[Violation]:
    """One leader that appends records while one of a later epoch leads elsewhere."""
    for stale, newer, from_ms, to_ms in _overlaps(truth.leaders):
        times = stale.appended_ms
        appended = bisect_right(times, inf if to_ms is None else to_ms) - bisect_left(times, from_ms)
        if appended:
            text = (
                f"{stale.node} (epoch {stale.epoch}) appended to its log as leader after {newer.node} "
                f"(epoch {newer.epoch}) had begun; both led {_lasting(from_ms, to_ms)}"
            )
            yield Violation(stale.topic_partition or NO_PARTITION, -1, text, _window(stale, newer, from_ms, to_ms))


@oracle_check(
    "dual-controller", "terms as controller", lambda truth: len(truth.controllers) or truth.roles_seen, reads="states"
)
def dual_controller(truth: Truth) -> Iterator[Violation]:
    """One controller epoch that decided states after a later one was committed.

    Also one controller epoch that several nodes had.
    """
    names = {term.epoch: term.node for term in reversed(truth.controllers)}
    for epoch, states in sorted(_written_late(truth.states).items()):
        text = (
            f"{names.get(epoch, 'a controller')} (controller epoch {epoch}) wrote {len(states)} states of partitions "
            f"after controller epoch {states[0].reached} was committed"
        )
        yield Violation(NO_PARTITION, -1, text, {"controller_epoch": epoch, "states": len(states)})
    nodes: dict[int, set[str]] = {}
    for term in truth.controllers:
        nodes.setdefault(term.epoch, set()).add(term.node)
    for epoch, held in sorted(nodes.items()):
        if epoch > 0 and len(held) > 1:
            text = f"{' and '.join(sorted(held))} were controller in the same controller epoch {epoch}"
            yield Violation(NO_PARTITION, -1, text, {"controller_epoch": epoch, "nodes": sorted(held)})


@oracle_check(
    "high-watermark-regression",
    "batches in the logs and reads",
    lambda truth: batches_in_logs(truth) + len(truth.reads),
)
def high_watermark_regression(truth: Truth) -> Iterator[Violation]:
    """One decrease of a leader's high watermark in one epoch; one offset read with two contents."""
    for back in truth.watermarks_back:
        text = f"{back.node}, leader of epoch {back.epoch}, moved its high watermark back from {back.was} to {back.now}"
        yield Violation(back.topic_partition, back.now, text, {"node": back.node, "was": back.was, "now": back.now})
    contents: dict[tuple[TopicPartition, int], set[tuple[int, int]]] = {}
    for given in truth.reads:
        content = (given.read.leader_epoch, given.read.digest)
        contents.setdefault((given.topic_partition, given.read.base_offset), set()).add(content)
    for (topic_partition, offset), found in sorted(contents.items()):
        if len(found) > 1:
            epochs = sorted(epoch for epoch, _ in found)
            text = f"offset {offset} was read with different content, of leader epochs {', '.join(map(str, epochs))}"
            yield Violation(topic_partition, offset, text, {"epochs": epochs})


@oracle_check("high-watermark-above-log-end", "replicas with a role", replicas_with_role)
def high_watermark_above_log_end(truth: Truth) -> Iterator[Violation]:
    """One incarnation of a broker with a high watermark above the largest end of the log."""
    for reached in truth.reached:
        node, incarnation = reached.node, reached.incarnation
        high_watermark, log_end = reached.high_watermark, reached.log_end
        if high_watermark > log_end:
            text = (
                f"{node}, in incarnation {incarnation}, had a high watermark of {high_watermark}, "
                f"and its log never reached beyond {log_end}"
            )
            details = {"node": node, "incarnation": incarnation, "high_watermark": high_watermark, "log_end": log_end}
            yield Violation(reached.topic_partition, log_end, text, details)


@oracle_check("leader-epoch-monotonicity", "replicas with a role", replicas_with_role, reads="all logs")
def leader_epoch_monotonicity(truth: Truth) -> Iterator[Violation]:
    """One decrease of a replica's epoch.

    Also one epoch that begins in a log before an older one ends, and one epoch with two leaders.
    """
    for back in truth.epochs_back:
        text = f"{back.node} went back from leader epoch {back.was} to {back.now}"
        yield Violation(back.topic_partition, -1, text, {"node": back.node, "was": back.was, "now": back.now})
    for topic_partition, replicas in truth.logs.items():
        for node, log in replicas.items():
            for epoch, first, before in _epochs_out_of_order(log):
                text = f"in the log of {node} epoch {epoch} starts at offset {first}, before an older epoch's {before}"
                yield Violation(topic_partition, first, text, {"node": node, "leader_epoch": epoch, "older_at": before})
    leaders: dict[tuple[TopicPartition, int], set[str]] = {}
    for term in truth.leaders:
        leaders.setdefault((term.topic_partition or NO_PARTITION, term.epoch), set()).add(term.node)
    for (topic_partition, epoch), nodes in sorted(leaders.items()):
        if len(nodes) > 1:
            text = f"{' and '.join(sorted(nodes))} led in the same leader epoch {epoch}"
            yield Violation(topic_partition, -1, text, {"leader_epoch": epoch, "nodes": sorted(nodes)})


@oracle_check("partition-state", "committed states of partitions", committed_states, reads="states")
def partition_state(truth: Truth) -> Iterator[Violation]:
    """One committed state of a partition and rule that it breaks.

    Its leader epoch or controller epoch is older than the state's before, it has another leader in the same leader
    epoch, its leader is not in its in-sync replicas.
    """
    before: dict[TopicPartition, State] = {}
    for state in truth.states:
        last = None if state.created else before.get(state.topic_partition)
        before[state.topic_partition] = state
        for why in _broken_rules(state, last):
            details = {
                "zxid": state.zxid,
                "leader": state.leader,
                "leader_epoch": state.leader_epoch,
                "isr": list(state.isr),
                "controller_epoch": state.controller_epoch,
            }
            yield Violation(state.topic_partition, -1, f"{why} (zxid {state.zxid})", details)


def _broken_rules(state: State, last: State | None) -> Iterator[str]:
    if last is not None:
        if state.leader_epoch < last.leader_epoch:
            yield f"leader epoch {state.leader_epoch} after {last.leader_epoch}"
        if state.controller_epoch < last.controller_epoch:
            yield f"controller epoch {state.controller_epoch} after {last.controller_epoch}"
        if state.leader_epoch == last.leader_epoch and state.leader != last.leader:
            yield f"leader {state.leader} after {last.leader} in the same leader epoch {state.leader_epoch}"
    if state.leader >= 0 and state.leader not in state.isr:
        yield f"leader {state.leader} is not in its in-sync replicas {','.join(map(str, state.isr))}"


def _written_late(states: Iterable[State]) -> dict[int, list[State]]:
    """{controller epoch: states with new leader epochs written after a later one was committed}"""
    found: dict[int, list[State]] = {}
    known: dict[TopicPartition, int] = {}
    for state in states:
        decided = state.created or state.leader_epoch > known.get(state.topic_partition, -1)
        known[state.topic_partition] = state.leader_epoch
        if decided and state.controller_epoch < state.reached:
            found.setdefault(state.controller_epoch, []).append(state)
    return found


def _overlaps(terms: Iterable[Term]) -> Iterator[tuple[Term, Term, float, float | None]]:
    """(stale, newer, from_ms, to_ms) of every two terms of one partition that overlap."""
    for stale, newer in overlapping(terms):
        to_ms = min(inf if term.to_ms is None else term.to_ms for term in (stale, newer))
        yield stale, newer, max(stale.from_ms, newer.from_ms), None if to_ms == inf else to_ms


def _window(stale: Term, newer: Term, from_ms: float, to_ms: float | None) -> dict[str, Any]:
    terms = {"stale": stale.node, "stale_epoch": stale.epoch, "newer": newer.node, "newer_epoch": newer.epoch}
    return {**terms, "from_ms": from_ms, "to_ms": to_ms}


def _lasting(from_ms: float, to_ms: float | None) -> str:
    return "to the end of the run" if to_ms is None else f"for {to_ms - from_ms:.0f} ms"


def _epochs_out_of_order(log: list[Batch]) -> Iterator[tuple[int, int, int]]:
    """(epoch, its first offset, larger last offset of an older epoch)."""
    ranges: dict[int, tuple[int, int]] = {}
    for batch in log:
        first, last = ranges.get(batch.epoch, (batch.first, batch.last))
        first, last = batch.first if batch.first < first else first, batch.last if batch.last > last else last
        ranges[batch.epoch] = (first, last)
    before = -1
    for epoch, (first, last) in sorted(ranges.items()):
        if first < before:
            yield epoch, first, before
        before = max(before, last)
