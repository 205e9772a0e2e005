"""The oracle's verdicts: `checks` of verdict.json, from the truth about a run.

A check is *violated* when it has found something. Otherwise it is *unknown* when a log that it must read is damaged,
*skipped* when the run has nothing to judge (no acknowledged record, no leader), and else *held*.
"""

from typing import Any

from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.judging.oracle.final_logs import FinalLogs
from emulator.judging.oracle.oracle_check import OracleCheck
from emulator.judging.oracle.promise_registry import ALLOWED
from emulator.judging.oracle.truth import Truth, Violation
from protocol.ids import topic_partition_text

EVIDENCE_MAX = 20
"""Maximum of violations in the evidence; `count` has them all."""

ACKS = {-1: "all", 1: "1", 0: "0"}


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
    return {name: _judged(anomaly, truth) for name, anomaly in ANOMALIES.items()}


def _judged(anomaly: OracleCheck, truth: Truth) -> dict[str, Any]:
    found = list(anomaly(truth))
    missing = _missing(anomaly, truth)
    many = anomaly.subjects(truth)
    check: dict[str, Any] = {"verdict": "held", "count": len(found), "judged": many, "subject": anomaly.subject}
    if found:
        check["verdict"] = "violated"
    elif missing:
        check |= {"verdict": "unknown", "reason": "; ".join(missing)}
    elif not many:
        check |= {"verdict": "skipped", "reason": f"no {anomaly.subject}"}
    if anomaly.name == "lost-acknowledged":
        acks = [ACKS[violation.details["acks"]] for violation in found]
        check["by_acks"] = {word: acks.count(word) for word in ACKS.values() if word in acks}
        allowed = [violation.details["allowed"] for violation in found]
        check["allowed"] = {rule: allowed.count(rule) for rule in ALLOWED if rule in allowed}
    return {**check, "evidence": [_evidence(violation) for violation in found[:EVIDENCE_MAX]]}


def _missing(anomaly: OracleCheck, truth: Truth) -> list[str]:
    """Reasons why the check cannot be judged."""
    if anomaly.reads == "all logs":
        return [why for logs in truth.damaged.values() for why in logs.values()]
    if anomaly.reads == "transactions" and not (truth.producers or truth.transactions):
        return []
    if anomaly.reads in ("final leaders' logs", "transactions"):
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
    if anomaly.reads == "states" and truth.states_missing:
        return [truth.states_missing]
    return []


def _evidence(violation: Violation) -> dict[str, Any]:
    topic, partition = violation.topic_partition
    where: dict[str, Any] = {"partition": topic_partition_text(topic, partition)} if topic else {}
    if violation.offset >= 0:
        where["offset"] = violation.offset
    return {**where, "text": violation.text, **violation.details}
