"""The seven anomalies, each found in the truth about a run. One function per check gives the violations, in order.

What counts as one violation is fixed by the name of the check and is the same in the audit:

    lost-acknowledged           one acknowledged record that the final leader does not hold at its offset
    duplicate                   one batch that lies in the final leader's log more often than it was produced
    replica-divergence          one offset at which batches of two replicas begin and differ
    dual-leader                 one leader that goes on taking records while one of a later epoch leads elsewhere
    dual-controller             the same of controllers
    high-watermark-regression   one move back of a leader's high watermark in one epoch; one offset read with two
                                contents
    leader-epoch-monotonicity   one step back of a replica's epoch; one epoch that begins in a log before an older one
                                ends; one epoch with two leaders
"""

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from math import inf
from typing import Any

import msgspec

from emulator.judging.oracle.probe import Office
from emulator.judging.oracle.truth import Batch, Truth
from protocol.ids import TopicPartition

NO_PARTITION: TopicPartition = ("", -1)


class Violation(msgspec.Struct, frozen=True):
    """`offset` -1: of none. `details` are plain values."""

    topic_partition: TopicPartition
    offset: int
    text: str
    details: dict[str, Any] = {}


def lost_acknowledged(truth: Truth) -> Iterator[Violation]:
    held: dict[TopicPartition, dict[int, list[Batch]] | None] = {}
    for write in truth.writes:
        if write.outcome != "ok" or write.topic_partition[0] in truth.gone:
            continue
        if write.topic_partition not in held:
            held[write.topic_partition] = _by_digest(_final_log(truth, write.topic_partition))
        log = held[write.topic_partition]
        if log is not None and not any(_holds(batch, write.offset) for batch in log.get(write.digest, ())):
            text = (
                f"{write.value} was acknowledged (acks={write.acks}) at offset {write.offset}; "
                "the final leader does not have it"
            )
            details = {"value": write.value, "operation": write.operation, "acks": write.acks, "digest": write.digest}
            yield Violation(write.topic_partition, write.offset, text, details)


def duplicate(truth: Truth) -> Iterator[Violation]:
    produces = Counter((write.topic_partition, write.digest) for write in truth.writes)
    for topic_partition in truth.logs:
        if topic_partition[0] in truth.gone:
            continue
        for digest, batches in (_by_digest(_final_log(truth, topic_partition)) or {}).items():
            records = sum(batch.last - batch.first + 1 for batch in batches)
            produced = produces[topic_partition, digest]
            if len(batches) > 1 and records > produced:
                first, last = batches[0].first, batches[-1].first
                text = (
                    f"{len(batches)} copies of one batch, the first at offset {first}, the last at {last}; "
                    f"{produced} operations produced it"
                )
                details = {"digest": digest, "copies": len(batches), "operations": produced}
                yield Violation(topic_partition, last, text, details)


def replica_divergence(truth: Truth) -> Iterator[Violation]:
    for topic_partition, replicas in truth.logs.items():
        if topic_partition[0] in truth.gone:
            continue
        beginning: dict[int, dict[tuple[int, int], list[str]]] = {}
        for node, log in replicas.items():
            for batch in log:
                beginning.setdefault(batch.first, {}).setdefault((batch.epoch, batch.digest), []).append(node)
        for offset, contents in sorted(beginning.items()):
            if len(contents) > 1:
                held = [f"{' and '.join(nodes)} of epoch {epoch}" for (epoch, _), nodes in sorted(contents.items())]
                text = f"at offset {offset} the replicas hold different batches: {', '.join(held)}"
                yield Violation(topic_partition, offset, text, {"epochs": sorted(epoch for epoch, _ in contents)})


def dual_leader(truth: Truth) -> Iterator[Violation]:
    for stale, newer, from_ms, to_ms in _overlaps(truth.leaders):
        times = stale.appended_ms
        appended = bisect_right(times, inf if to_ms is None else to_ms) - bisect_left(times, from_ms)
        if appended:
            text = (
                f"{stale.node} (epoch {stale.epoch}) appended to its log as leader after {newer.node} "
                f"(epoch {newer.epoch}) had begun; both led {_lasting(from_ms, to_ms)}"
            )
            yield Violation(stale.topic_partition or NO_PARTITION, -1, text, _window(stale, newer, from_ms, to_ms))


def dual_controller(truth: Truth) -> Iterator[Violation]:
    for stale, newer, from_ms, to_ms in _overlaps(truth.controllers):
        text = (
            f"{stale.node} (controller epoch {stale.epoch}) still took itself for the controller after {newer.node} "
            f"(epoch {newer.epoch}) had become it, {_lasting(from_ms, to_ms)}"
        )
        yield Violation(NO_PARTITION, -1, text, _window(stale, newer, from_ms, to_ms))


def high_watermark_regression(truth: Truth) -> Iterator[Violation]:
    for back in truth.watermarks_back:
        text = f"{back.node}, leader of epoch {back.epoch}, moved its high watermark back from {back.was} to {back.now}"
        yield Violation(back.topic_partition, back.now, text, {"node": back.node, "was": back.was, "now": back.now})
    contents: dict[tuple[TopicPartition, int], set[tuple[int, int]]] = {}
    for topic_partition, read in truth.reads:
        contents.setdefault((topic_partition, read.base_offset), set()).add((read.leader_epoch, read.digest))
    for (topic_partition, offset), found in sorted(contents.items()):
        if len(found) > 1:
            epochs = sorted(epoch for epoch, _ in found)
            text = f"offset {offset} was read with different content, of leader epochs {', '.join(map(str, epochs))}"
            yield Violation(topic_partition, offset, text, {"epochs": epochs})


def leader_epoch_monotonicity(truth: Truth) -> Iterator[Violation]:
    for back in truth.epochs_back:
        text = f"{back.node} went back from leader epoch {back.was} to {back.now}"
        yield Violation(back.topic_partition, -1, text, {"node": back.node, "was": back.was, "now": back.now})
    for topic_partition, replicas in truth.logs.items():
        for node, log in replicas.items():
            for epoch, first, before in _epochs_out_of_order(log):
                text = f"in the log of {node} epoch {epoch} starts at offset {first}, before an older epoch's {before}"
                yield Violation(topic_partition, first, text, {"node": node, "leader_epoch": epoch, "older_at": before})
    leaders: dict[tuple[TopicPartition, int], set[str]] = {}
    for office in truth.leaders:
        leaders.setdefault((office.topic_partition or NO_PARTITION, office.epoch), set()).add(office.node)
    for (topic_partition, epoch), nodes in sorted(leaders.items()):
        if len(nodes) > 1:
            text = f"{' and '.join(sorted(nodes))} led in the same leader epoch {epoch}"
            yield Violation(topic_partition, -1, text, {"leader_epoch": epoch, "nodes": sorted(nodes)})


ANOMALIES: dict[str, Callable[[Truth], Iterator[Violation]]] = {
    "lost-acknowledged": lost_acknowledged,
    "duplicate": duplicate,
    "replica-divergence": replica_divergence,
    "dual-leader": dual_leader,
    "dual-controller": dual_controller,
    "high-watermark-regression": high_watermark_regression,
    "leader-epoch-monotonicity": leader_epoch_monotonicity,
}
"""In the order in which verdicts list them."""


def _final_log(truth: Truth, topic_partition: TopicPartition) -> list[Batch] | None:
    """The final leader's; None if nobody ever led, or it cannot be read."""
    leader = truth.final_leader(topic_partition)
    return None if leader is None else truth.logs.get(topic_partition, {}).get(leader)


def _by_digest(log: list[Batch] | None) -> dict[int, list[Batch]] | None:
    """Batches of equal content together, in order."""
    if log is None:
        return None
    found: dict[int, list[Batch]] = {}
    for batch in log:
        found.setdefault(batch.digest, []).append(batch)
    return found


def _holds(batch: Batch, offset: int) -> bool:
    return offset < 0 or batch.first <= offset <= batch.last


def _overlaps(offices: Iterable[Office]) -> Iterator[tuple[Office, Office, float, float | None]]:
    """(stale, newer, from_ms, to_ms) of every two offices of one partition, different nodes and epochs, held at
    once."""
    by_partition: dict[TopicPartition | None, list[Office]] = {}
    for office in offices:
        by_partition.setdefault(office.topic_partition, []).append(office)
    for held in by_partition.values():
        held.sort(key=lambda office: office.epoch)
        for index, stale in enumerate(held):
            for newer in held[index + 1 :]:
                if newer.epoch == stale.epoch or newer.node == stale.node:
                    continue
                from_ms = max(stale.from_ms, newer.from_ms)
                to_ms = min(inf if office.to_ms is None else office.to_ms for office in (stale, newer))
                if from_ms < to_ms:
                    yield stale, newer, from_ms, None if to_ms == inf else to_ms


def _window(stale: Office, newer: Office, from_ms: float, to_ms: float | None) -> dict[str, Any]:
    offices = {"stale": stale.node, "stale_epoch": stale.epoch, "newer": newer.node, "newer_epoch": newer.epoch}
    return {**offices, "from_ms": from_ms, "to_ms": to_ms}


def _lasting(from_ms: float, to_ms: float | None) -> str:
    return "to the end of the run" if to_ms is None else f"for {to_ms - from_ms:.0f} ms"


def _epochs_out_of_order(log: list[Batch]) -> Iterator[tuple[int, int, int]]:
    """(epoch, its first offset, the last offset of an older one) where the former comes before the latter."""
    ranges: dict[int, tuple[int, int]] = {}
    for batch in log:
        first, last = ranges.get(batch.epoch, (batch.first, batch.last))
        ranges[batch.epoch] = (min(first, batch.first), max(last, batch.last))
    before = -1
    for epoch, (first, last) in sorted(ranges.items()):
        if first < before:
            yield epoch, first, before
        before = max(before, last)
