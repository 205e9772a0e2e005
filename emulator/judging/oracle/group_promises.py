"""Checks of consumer groups: commits, reads of committed offsets, and lost positions."""

from collections.abc import Iterator

from emulator.judging.oracle.group_commits import CommitsOfGroup
from emulator.judging.oracle.oracle_check import of_groups, oracle_check
from emulator.judging.oracle.truth import OfGroup, Truth, Violation
from protocol.ids import TopicPartition

NO_SUCH_PLACE = ("OffsetOutOfRangeException", "LogTruncationException")

Key = tuple[str, TopicPartition]
Stored = tuple[str, TopicPartition, bool]
"""(group, partition, whether ZooKeeper stores it, for old consumers, or a coordinator)"""


@oracle_check(
    "offset-out-of-range", "batches read and positions left", lambda truth: len(truth.reads) + len(truth.lost_positions)
)
def offset_out_of_range(truth: Truth) -> Iterator[Violation]:
    """One position that a consumer had reached, and that its log no longer had."""
    for lost in truth.lost_positions:
        if lost.reason in NO_SUCH_PLACE and lost.offset != lost.requested:
            text = f"{lost.operation} reached offset {lost.offset}, which no longer exists: {lost.reason}"
            details = {"operation": lost.operation, "reason": lost.reason}
            yield Violation(lost.topic_partition, lost.offset, text, details)


@oracle_check("group-ahead-of-log", "offsets committed", of_groups("commit"), reads="final leaders' logs")
def group_ahead_of_log(truth: Truth) -> Iterator[Violation]:
    """One group and partition whose last commit is beyond the final leader's log end."""
    leaders = truth.final_leaders()
    last: dict[Stored, OfGroup] = {}
    for commit in sorted(_acknowledged(truth), key=lambda one: one.ended):
        last[commit.group, commit.topic_partition, bool(commit.in_znodes)] = commit
    for (group, topic_partition, _), commit in sorted(last.items()):
        log = truth.logs.get(topic_partition, {}).get(leaders.get(topic_partition, ""))
        if log is None or topic_partition[0] in truth.gone:
            continue
        log_end = log[-1].last + 1 if log else 0
        if commit.offset > log_end:
            text = (
                f"group {group} has committed offset {commit.offset}, and the log of the final leader ends at {log_end}"
            )
            details = {"group": group, "operation": commit.operation, "log_end": log_end}
            yield Violation(topic_partition, commit.offset, text, details)


@oracle_check("committed-offset-regression", "reads of committed offsets", of_groups("committed"))
def committed_offset_regression(truth: Truth) -> Iterator[Violation]:
    """One read of a group's committed offset that finds less than was committed."""
    commits: dict[Key, list[OfGroup]] = {}
    for one in truth.of_groups:
        if one.kind == "commit":
            commits.setdefault((one.group, one.topic_partition), []).append(one)
    known: dict[tuple[Key, bool | None], CommitsOfGroup] = {}
    for look in truth.of_groups:
        if look.kind != "committed" or look.outcome != "ok":
            continue
        key = (look.group, look.topic_partition)
        where = key, look.in_znodes
        if where not in known:
            some = (one for one in commits.get(key, ()) if one.in_znodes in (look.in_znodes, None))
            known[where] = CommitsOfGroup(some)
        last = known[where].last_before(look.begun)
        if last is None or look.offset >= last.offset or known[where].may_be_found(look, last):
            continue
        text = (
            f"{look.operation} found offset {look.offset} committed by group {look.group}, "
            f"after {last.operation} had committed {last.offset}"
        )
        details = {"operation": look.operation, "group": look.group, "committed": last.offset}
        yield Violation(look.topic_partition, look.offset, text, details)


def _acknowledged(truth: Truth) -> list[OfGroup]:
    return [one for one in truth.of_groups if one.kind == "commit" and one.outcome == "ok"]
