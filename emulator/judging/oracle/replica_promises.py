"""Checks of replicas: truncated commits, leader epoch caches, checkpoints, fenced leaders."""

from collections.abc import Iterator, Mapping
from itertools import islice

from emulator.judging.oracle.oracle_check import batches_in_logs, committed_states, oracle_check
from emulator.judging.oracle.truth import State, Truth, Violation
from protocol.ids import TopicPartition

ENTRIES_MAX = 20
"""Maximum of a leader epoch cache's entries in a violation's text."""


@oracle_check("fenced-leader-change", "committed states of partitions", committed_states, reads="states")
def fenced_leader_change(truth: Truth) -> Iterator[Violation]:
    """One version of a partition's state that a leader takes for its own change of the ISR.

    A later leader epoch was committed by then.
    """
    reached = _highest_epochs(truth.states)
    for change in truth.isr_changes:
        versions = reached.get(change.topic_partition, {})
        epoch = versions.get(change.version, change.epoch)
        if epoch > change.epoch:
            text = (
                f"{change.node} changed the ISR as leader of epoch {change.epoch}, as version {change.version}, "
                f"when leader epoch {epoch} was committed"
            )
            details = {"node": change.node, "leader_epoch": change.epoch, "version": change.version, "reached": epoch}
            yield Violation(change.topic_partition, -1, text, details)


@oracle_check("committed-truncated", "batches in the logs", batches_in_logs)
def committed_truncated(truth: Truth) -> Iterator[Violation]:
    """One truncation of a replica's log below a high watermark that the replica had reached."""
    for cut in truth.cuts:
        text = (
            f"{cut.node} cut its log from {cut.log_end} to {cut.to}, "
            f"and had had a high watermark of {cut.high_watermark}"
        )
        yield Violation(cut.topic_partition, cut.to, text, {"node": cut.node, "high_watermark": cut.high_watermark})


@oracle_check("epoch-cache", "batches in the logs", batches_in_logs, reads="all logs")
def epoch_cache(truth: Truth) -> Iterator[Violation]:
    """One entry of a leader epoch cache that begins above a log's end, in one incarnation.

    Also one epoch of a final log that its cache does not have where it begins.
    """
    for one in truth.outlived:
        text = (
            f"{one.node}, in incarnation {one.incarnation}, still had leader epoch {one.epoch} begin at offset "
            f"{one.begins} after its log ended at {one.log_end}"
        )
        yield Violation(one.topic_partition, one.begins, text, {"node": one.node, "leader_epoch": one.epoch})
    for topic_partition, replicas in truth.logs.items():
        if topic_partition[0] in truth.gone:
            continue
        for node, log in replicas.items():
            cache: dict[int, int] = dict(truth.caches.get(topic_partition, {}).get(node, ()))
            firsts: dict[int, int] = {}
            for batch in log:
                if batch.first <= firsts.get(batch.epoch, batch.first):
                    firsts[batch.epoch] = batch.first
            has = _entries_text(cache)
            for epoch, first in sorted(firsts.items()):
                if epoch >= 0 and cache.get(epoch) != first:
                    text = f"in the log of {node} leader epoch {epoch} begins at offset {first}; its cache has: {has}"
                    yield Violation(topic_partition, first, text, {"node": node, "leader_epoch": epoch})


def _entries_text(cache: Mapping[int, int]) -> str:
    """Text of the first entries; a broken cache may have thousands."""
    some = ", ".join(f"{epoch} from {begins}" for epoch, begins in islice(cache.items(), ENTRIES_MAX))
    more = f" and {len(cache) - ENTRIES_MAX} more" if len(cache) > ENTRIES_MAX else ""
    return f"{some or 'nothing'}{more}"


@oracle_check("checkpoint-ahead", "logs found at starts", lambda truth: truth.logs_found)
def checkpoint_ahead(truth: Truth) -> Iterator[Violation]:
    """One replica whose log, at one start, ended below its checkpointed high watermark."""
    for ahead in truth.ahead:
        text = (
            f"{ahead.node}, at the start of incarnation {ahead.incarnation}, had {ahead.checkpointed} as checkpointed "
            f"high watermark, and its log ended at {ahead.log_end}"
        )
        details = {"node": ahead.node, "incarnation": ahead.incarnation, "checkpointed": ahead.checkpointed}
        yield Violation(ahead.topic_partition, ahead.log_end, text, details)


def _highest_epochs(states: list[State]) -> dict[TopicPartition, dict[int, int]]:
    """{partition: {version of its state: the highest leader epoch up to it}}"""
    found: dict[TopicPartition, dict[int, int]] = {}
    highest: dict[TopicPartition, int] = {}
    for state in states:
        of = state.topic_partition
        highest[of] = state.leader_epoch if state.created else max(state.leader_epoch, highest.get(of, -1))
        found.setdefault(of, {})[state.version] = highest[of]
    return found
