"""The oracle's verdicts: `checks` of verdict.json, from the truth about a run.

A check is violated when something was found, otherwise unknown when a log that it must read is damaged, skipped when
the run has nothing to judge (no acknowledged record, no leader), and held when there was something and all was well.
"""

from collections.abc import Callable, Iterable
from typing import Any

from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.probe import Probe
from emulator.judging.oracle.truth import Truth, truth_of
from emulator.judging.oracle.violations import Violation
from emulator.machines.client.operations import Operation
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.ids import topic_partition_text

EVIDENCE_MAX = 20
"""Violations told one by one; `count` has them all."""

ACKS = {-1: "all", 1: "1", 0: "0"}


def _acknowledged(truth: Truth) -> int:
    return sum(write.outcome == "ok" for write in truth.writes)


def _batches(truth: Truth) -> int:
    """Those in the logs; where nothing is left of them, what was acknowledged."""
    left = sum(len(log) for replicas in truth.logs.values() for log in replicas.values())
    return left or _acknowledged(truth)


def _reads(truth: Truth) -> int:
    return len(truth.reads)


SUBJECTS: dict[str, tuple[str, Callable[[Truth], int]]] = {
    "lost-acknowledged": ("acknowledged records", _acknowledged),
    "duplicate": ("batches in the logs", _batches),
    "reordered": ("acknowledged records", _acknowledged),
    "read-then-lost": ("batches read", _reads),
    "phantom-read": ("batches read", _reads),
    "read-above-high-watermark": ("batches read", _reads),
    "read-gap": ("batches read", _reads),
    "replica-divergence": ("batches in the logs", _batches),
    "log-matching": ("batches in the logs", _batches),
    "dual-leader": ("replicas with a role", lambda truth: truth.roles_seen),
    "dual-controller": ("terms as controller", lambda truth: len(truth.controllers) or truth.roles_seen),
    "high-watermark-regression": ("batches in the logs and reads", lambda truth: _batches(truth) + len(truth.reads)),
    "high-watermark-above-log-end": ("replicas with a role", lambda truth: truth.roles_seen),
    "leader-epoch-monotonicity": ("replicas with a role", lambda truth: truth.roles_seen),
    "partition-state": ("states of partitions committed", lambda truth: len(truth.states)),
}
"""What each check speaks of, and how much of it a run has; none: the check is skipped."""

READS_LEADERS = ("lost-acknowledged", "duplicate", "reordered", "read-then-lost")
READS_ALL = ("replica-divergence", "leader-epoch-monotonicity")
READS_STATES = ("partition-state",)


def judge_run(world: SimulatedWorld, operations: Iterable[Operation], probe: Probe) -> dict[str, dict[str, Any]]:
    """{check: {"verdict", "count", "evidence", "judged", "subject"}}; of lost records `by_acks`; of
    unknown and skipped checks `reason`."""
    return judge_truth(truth_of(world, operations, probe))


def judge_truth(truth: Truth) -> dict[str, dict[str, Any]]:
    return {name: _judged(name, truth) for name in ANOMALIES}


def _judged(name: str, truth: Truth) -> dict[str, Any]:
    found = list(ANOMALIES[name](truth))
    missing = _missing(name, truth)
    subject, subjects = SUBJECTS[name]
    judged = subjects(truth)
    check: dict[str, Any] = {"verdict": "held", "count": len(found), "judged": judged, "subject": subject}
    if found:
        check["verdict"] = "violated"
    elif missing:
        check |= {"verdict": "unknown", "reason": "; ".join(missing)}
    elif not judged:
        check |= {"verdict": "skipped", "reason": f"there were no {subject}"}
    if name == "lost-acknowledged":
        acks = [ACKS[violation.details["acks"]] for violation in found]
        check["by_acks"] = {word: acks.count(word) for word in ACKS.values() if word in acks}
    return {**check, "evidence": [_evidence(violation) for violation in found[:EVIDENCE_MAX]]}


def _missing(name: str, truth: Truth) -> list[str]:
    """Why the check cannot be judged."""
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
            f"nobody ever led {topic_partition[0]}-{topic_partition[1]}"
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
