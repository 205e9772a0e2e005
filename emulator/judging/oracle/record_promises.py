"""Checks of records: logs keep acknowledged records, once, in order, and alike."""

from collections.abc import Iterator

from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.liveness import isr_bound_ms
from emulator.judging.oracle.oracle_check import acknowledged_records, batches_in_logs, oracle_check
from emulator.judging.oracle.promise_registry import Allowances
from emulator.judging.oracle.truth import Truth, Violation, Write
from emulator.topology import identifier_named
from protocol.ids import TopicPartition
from protocol.numbers import number_in
from protocol.records.offset_commits import OFFSETS_TOPIC


@oracle_check("lost-acknowledged", "acknowledged records", acknowledged_records, reads="final leaders' logs")
def lost_acknowledged(truth: Truth) -> Iterator[Violation]:
    """One acknowledged record that the final leader does not hold at its offset."""
    final, allowances = FinalLogs(truth), Allowances(truth)
    for write in truth.writes:
        if write.outcome != "ok" or write.topic_partition[0] in truth.gone:
            continue
        if final.holds(write.topic_partition, write.digest, write.offset) is False:
            text = (
                f"{write.value} was acknowledged (acks={write.acks}) at offset {write.offset}; "
                "the final leader does not have it"
            )
            details = {
                "value": write.value,
                "operation": write.operation,
                "acks": write.acks,
                "allowed": allowances.of(write),
                "digest": write.digest,
            }
            yield Violation(write.topic_partition, write.offset, text, details)


@oracle_check("duplicate", "batches in the logs", batches_in_logs, reads="final leaders' logs")
def duplicate(truth: Truth) -> Iterator[Violation]:
    """One batch that the final leader's log has more often than it was produced."""
    produces: dict[tuple[TopicPartition, int], list[Write]] = {}
    for write in (*truth.writes, *truth.left_open):
        if write.outcome == "failed":
            continue
        produces.setdefault((write.topic_partition, write.digest), []).append(write)
    final = FinalLogs(truth)
    for topic_partition in truth.logs:
        if topic_partition[0] in truth.gone or topic_partition[0] == OFFSETS_TOPIC:
            continue
        for digest, batches in (final.by_digest(topic_partition) or {}).items():
            records = sum(batch.last - batch.first + 1 for batch in batches)
            writes = produces.get((topic_partition, digest), [])
            produced = len(writes)
            if len(batches) > 1 and records > produced:
                first, last = batches[0].first, batches[-1].first
                text = (
                    f"{len(batches)} copies of one batch, the first at offset {first}, the last at {last}; "
                    f"{produced} operations produced it"
                )
                details = {
                    "digest": digest,
                    "copies": len(batches),
                    "operations": produced,
                    "attempts": sum(write.attempts for write in writes),
                    "idempotent": bool(writes) and all(write.idempotent for write in writes),
                }
                yield Violation(topic_partition, last, text, details)


@oracle_check("reordered", "acknowledged records", acknowledged_records, reads="final leaders' logs")
def reordered(truth: Truth) -> Iterator[Violation]:
    """One acknowledged record below one that the same client requested earlier."""
    final = FinalLogs(truth)
    highest: dict[tuple[str, TopicPartition], Write] = {}
    for (node, _, _), write in sorted(
        ((_request_order(write), write) for write in truth.writes), key=lambda one: one[0]
    ):
        topic_partition, offset = write.topic_partition, write.offset
        if write.outcome != "ok" or offset < 0 or topic_partition[0] in truth.gone:
            continue
        if not final.holds(topic_partition, write.digest, offset):
            continue
        before = highest.get((node, topic_partition), write)
        if offset < before.offset:
            text = (
                f"{write.operation} lies at offset {offset}, before {before.operation} at {before.offset}, "
                "which was requested earlier"
            )
            details = {"operation": write.operation, "earlier": before.operation, "earlier_offset": before.offset}
            yield Violation(topic_partition, offset, text, details)
        else:
            highest[node, topic_partition] = write


@oracle_check("failed-but-stored", "batches in the logs", batches_in_logs, reads="final leaders' logs")
def failed_but_stored(truth: Truth) -> Iterator[Violation]:
    """One produce that failed for certain and whose batch the final leader holds."""
    final = FinalLogs(truth)
    others = {
        (write.topic_partition, write.digest)
        for write in (*truth.writes, *truth.left_open)
        if write.outcome != "failed"
    }
    for write in truth.writes:
        place = write.topic_partition
        if write.outcome != "failed" or place[0] in truth.gone or (place, write.digest) in others:
            continue
        if final.holds(place, write.digest, -1):
            text = f"{write.operation} failed for certain, and the final leader has its batch"
            yield Violation(place, -1, text, {"operation": write.operation, "digest": write.digest})


@oracle_check("replica-divergence", "batches in the logs", batches_in_logs, reads="all logs")
def replica_divergence(truth: Truth) -> Iterator[Violation]:
    """One offset at which batches of two running replicas in the ISR begin and differ."""
    quiescent = truth.quiescent
    caught_up = quiescent is not None and quiescent.end_ms - quiescent.since_ms > isr_bound_ms(quiescent)
    members: dict[TopicPartition, tuple[int, ...] | None] = {
        state.topic_partition: truth.assignments.get(state.topic_partition) if caught_up else state.isr
        for state in truth.states
        if state.until_ms is None
    }
    for topic_partition, replicas in truth.logs.items():
        if topic_partition[0] in truth.gone:
            continue
        beginning: dict[int, dict[tuple[int, int], list[str]]] = {}
        for node, log in replicas.items():
            if node in truth.halted or not _counts(node, members.get(topic_partition)):
                continue
            for batch in log:
                beginning.setdefault(batch.first, {}).setdefault((batch.epoch, batch.digest), []).append(node)
        for offset, contents in sorted(beginning.items()):
            if len(contents) > 1:
                held = [f"{' and '.join(nodes)} of epoch {epoch}" for (epoch, _), nodes in sorted(contents.items())]
                text = f"at offset {offset} the replicas hold different batches: {', '.join(held)}"
                yield Violation(topic_partition, offset, text, {"epochs": sorted(epoch for epoch, _ in contents)})


def _counts(node: str, members: tuple[int, ...] | None) -> bool:
    """Whether the replica is compared. `members` None: unknown.

    `members`: the ISR, since a replica outside is behind, and truncates its log before it returns to the ISR. After a
    sufficiently long quiescence: all assigned replicas.
    """
    return members is None or identifier_named(node) in members


@oracle_check("log-matching", "batches in the logs", batches_in_logs)
def log_matching(truth: Truth) -> Iterator[Violation]:
    """One offset of one leader epoch at which different batches were ever appended."""
    for topic_partition, batches in truth.appended.items():
        contents: dict[tuple[int, int], list[int]] = {}
        for epoch, first, _, digest in batches:
            if epoch >= 0:
                contents.setdefault((epoch, first), []).append(digest)
        for (epoch, first), digests in sorted(contents.items()):
            if len(digests) > 1:
                digests.sort()
                held = " and ".join(map(str, digests))
                text = f"offset {first} of leader epoch {epoch} was written with different content: {held}"
                yield Violation(topic_partition, first, text, {"leader_epoch": epoch, "digests": digests})


def _request_order(write: Write) -> tuple[str, int, int]:
    """(node, incarnation, number): sorts operations of one node by their beginning."""
    life, _, number = write.operation.rpartition(":")
    node, _, incarnation = life.rpartition(".")
    return node, _number(incarnation), _number(number)


def _number(text: str) -> int:
    number = number_in(text)
    return -1 if number is None else number
