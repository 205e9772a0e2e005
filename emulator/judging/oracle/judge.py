"""The oracle's verdicts: `checks` of verdict.json, from the truth about a run.

A check is *violated* when it has found something. Otherwise it is *unknown* when a log that it must read is damaged,
*skipped* when the run has nothing to judge (no acknowledged record, no leader), and else *held*.
"""

from collections.abc import Callable
from typing import Any

from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.liveness import isr_bound_ms, judged, leader_bound_ms, requests_judged
from emulator.judging.oracle.promise_registry import ALLOWED, promised
from emulator.judging.oracle.truth import Truth, Violation
from protocol.ids import topic_partition_text

EVIDENCE_MAX = 20
"""Maximum of violations in the evidence; `count` has them all."""

ACKS = {-1: "all", 1: "1", 0: "0"}


def _acknowledged(truth: Truth) -> int:
    return sum(write.outcome == "ok" for write in truth.writes)


def _batches(truth: Truth) -> int:
    """Count of batches in the logs; of acknowledged records where no batch is left."""
    left = sum(len(log) for replicas in truth.logs.values() for log in replicas.values())
    return left or _acknowledged(truth)


def _acknowledged_by_all(truth: Truth) -> int:
    return sum(write.outcome == "ok" and write.acks == -1 for write in truth.writes)


def _reads(truth: Truth) -> int:
    return len(truth.reads)


def _of_groups(kind: str) -> Callable[[Truth], int]:
    return lambda truth: sum(one.kind == kind and one.outcome == "ok" for one in truth.of_groups)


IN_PEACE = "partitions in a long enough quiescent period"

SUBJECTS: dict[str, tuple[str, Callable[[Truth], int]]] = {
    "lost-acknowledged": ("acknowledged records", _acknowledged),
    "duplicate": ("batches in the logs", _batches),
    "reordered": ("acknowledged records", _acknowledged),
    "acknowledged-below-min-insync": ("records acknowledged with acks=all", _acknowledged_by_all),
    "read-then-lost": ("batches read", _reads),
    "phantom-read": ("batches read", _reads),
    "read-above-high-watermark": ("batches read", _reads),
    "read-gap": ("batches read", _reads),
    "non-monotonic-read": ("batches read", _reads),
    "skipped-read": ("batches read", _reads),
    "unseen": ("batches read", _reads),
    "inconsistent-offsets": ("batches read", _reads),
    "offset-out-of-range": (
        "batches read and positions left", lambda truth: len(truth.reads) + len(truth.lost_positions)
    ),
    "group-ahead-of-log": ("offsets committed", _of_groups("commit")),
    "committed-offset-regression": ("reads of committed offsets", _of_groups("committed")),
    "replica-divergence": ("batches in the logs", _batches),
    "log-matching": ("batches in the logs", _batches),
    "dual-leader": ("replicas with a role", lambda truth: truth.roles_seen),
    "dual-controller": ("terms as controller", lambda truth: len(truth.controllers) or truth.roles_seen),
    "high-watermark-regression": ("batches in the logs and reads", lambda truth: _batches(truth) + len(truth.reads)),
    "high-watermark-above-log-end": ("replicas with a role", lambda truth: truth.roles_seen),
    "leader-epoch-monotonicity": ("replicas with a role", lambda truth: truth.roles_seen),
    "partition-state": ("committed states of partitions", lambda truth: len(truth.states)),
    "fenced-leader-change": ("committed states of partitions", lambda truth: len(truth.states)),
    "committed-truncated": ("batches in the logs", _batches),
    "epoch-cache": ("batches in the logs", _batches),
    "checkpoint-ahead": ("logs found at starts", lambda truth: truth.logs_found),
    "no-leader": (IN_PEACE, lambda truth: judged(truth, leader_bound_ms)),
    "under-replicated": (IN_PEACE, lambda truth: judged(truth, isr_bound_ms)),
    "unanswered-request": ("requests in a long enough quiescent period", requests_judged),
    "too-few-copies": ("records acknowledged with acks=all before a long enough quiescent period", promised),
}
"""{check: (its subjects, their count in a run)}; a check without subjects is skipped."""

READS_LEADERS = ("lost-acknowledged", "duplicate", "reordered", "read-then-lost", "unseen", "group-ahead-of-log")
READS_ALL = ("replica-divergence", "leader-epoch-monotonicity", "epoch-cache", "too-few-copies")
READS_STATES = ("dual-controller", "partition-state", "fenced-leader-change", "no-leader", "under-replicated")


def unknown_outcomes(truth: Truth) -> dict[str, int]:
    """Counts of produces whose outcome their clients do not know, by the final leader's log.

    `in_log`, `not_in_log`, and `open`: the produce did not end, or there is no such log.
    """
    final, counted = FinalLogs(truth), {"in_log": 0, "not_in_log": 0, "open": truth.unended}
    for write in truth.writes:
        if write.outcome == "unknown" and write.topic_partition[0] not in truth.gone:
            there = final.holds(write.topic_partition, write.digest, -1)
            counted["open" if there is None else "in_log" if there else "not_in_log"] += 1
    return counted


def judge_truth(truth: Truth) -> dict[str, dict[str, Any]]:
    """{check: {"verdict", "count", "evidence", "judged", "subject"}}.

    The check of lost records also has `by_acks` and `allowed`; unknown and skipped checks have `reason`.
    """
    return {name: _judged(name, truth) for name in ANOMALIES}


def _judged(name: str, truth: Truth) -> dict[str, Any]:
    found = list(ANOMALIES[name](truth))
    missing = _missing(name, truth)
    subject, subjects = SUBJECTS[name]
    many = subjects(truth)
    check: dict[str, Any] = {"verdict": "held", "count": len(found), "judged": many, "subject": subject}
    if found:
        check["verdict"] = "violated"
    elif missing:
        check |= {"verdict": "unknown", "reason": "; ".join(missing)}
    elif not many:
        check |= {"verdict": "skipped", "reason": f"no {subject}"}
    if name == "lost-acknowledged":
        acks = [ACKS[violation.details["acks"]] for violation in found]
        check["by_acks"] = {word: acks.count(word) for word in ACKS.values() if word in acks}
        allowed = [violation.details["allowed"] for violation in found]
        check["allowed"] = {rule: allowed.count(rule) for rule in ALLOWED if rule in allowed}
    return {**check, "evidence": [_evidence(violation) for violation in found[:EVIDENCE_MAX]]}


def _missing(name: str, truth: Truth) -> list[str]:
    """Reasons why the check cannot be judged."""
    if name in READS_ALL:
        return [why for logs in truth.damaged.values() for why in logs.values()]
    if name in READS_LEADERS:
        known = (*truth.logs, *truth.damaged)
        final = truth.final_leaders()
        leaders = {topic_partition: final.get(topic_partition) for topic_partition in known}
        damaged = [
            why
            for topic_partition, logs in truth.damaged.items()
            for node, why in logs.items()
            if node == leaders[topic_partition]
        ]
        leaderless = [
            f"{topic_partition[0]}-{topic_partition[1]} never had a leader"
            for topic_partition, leader in leaders.items()
            if leader is None and any(truth.logs.get(topic_partition, {}).values())
        ]
        return damaged + leaderless
    if name in READS_STATES and truth.states_missing:
        return [truth.states_missing]
    return []


def _evidence(violation: Violation) -> dict[str, Any]:
    topic, partition = violation.topic_partition
    where: dict[str, Any] = {"partition": topic_partition_text(topic, partition)} if topic else {}
    if violation.offset >= 0:
        where["offset"] = violation.offset
    return {**where, "text": violation.text, **violation.details}
