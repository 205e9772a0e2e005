"""Audits runs: Spark's findings, the scenario's expectations and health become verdicts.

with own_session(directory) as spark:
    [verdict] = audit_runs(spark, ["runs/az-isolated-leader-1"], scratch=scratch)
write_verdict(verdict, run)
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pyspark.errors import PySparkException

from audit.audit_run import EVIDENCE_MAX, judge
from audit.checks.check import Check
from audit.checks.check_registry import CHECKS
from audit.expected import Expected, expected_of
from audit.input import RunDirectory, find_runs
from audit.quarantine import quarantine
from audit.spark_session import first_line
from emulator.judging import health
from emulator.judging.audited_measures import measures_of
from emulator.judging.completeness import incomplete, reports_by_life
from emulator.judging.findings import EventCount, Findings, Judged
from emulator.judging.link_fault_effects import fault_verdicts, undone
from emulator.regular_files import write_whole
from emulator.runs.verdict_file import CheckVerdict, Quarantine, Verdict, compose, doubt, to_json

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def audit_runs(
    spark: SparkSession,
    runs: Sequence[str | Path],
    *,
    expected: Callable[[Path], Expected] | None = None,
    scratch: str,
    checks: Sequence[Check] = tuple(CHECKS.values()),
    evidence_max: int = EVIDENCE_MAX,
) -> list[Verdict]:
    """Verdicts of `runs` (directories or globs), in order.

    Writes nothing but quarantine.jsonl, where needed.

    Args:
        expected: expectations of the run at a path; None: read from the run (`audit.expected`).
        scratch: a directory for data that does not fit in memory, reachable by all executors.
        evidence_max: maximum of violations in a check's evidence; the count has all of them.

    Raises:
        AuditInputError: not a run.
    """
    began = time.monotonic()
    directories = find_runs(runs)
    wanted = [(expected or expected_of)(run.path) for run in directories]
    judged = _judged(spark, directories, checks, scratch, evidence_max)
    set_aside = quarantine(spark, directories, [of_run.counts for of_run in judged])
    verdicts = [
        _verdict(run, want, of_run, aside, checks)
        for run, want, of_run, aside in zip(directories, wanted, judged, set_aside, strict=True)
    ]
    for verdict in verdicts:
        verdict.measures["audit_s"] = round(time.monotonic() - began, 3)
    return verdicts


def _judged(
    spark: SparkSession, runs: Sequence[RunDirectory], checks: Sequence[Check], scratch: str, evidence_max: int
) -> list[Judged]:
    """Judge all runs at once; each alone where that fails.

    The events of one run may be why. A run that fails alone, too, has checks that could not be computed.

    Raises:
        PySparkException: the only run fails."""
    try:
        judged = judge(spark, runs, checks, scratch, evidence_max)
    except PySparkException:
        if len(runs) == 1:
            raise
    else:
        if len(runs) == 1 or not any(found.crashed for one in judged for found in one.findings.values()):
            return judged
    alone = []
    for number, run in enumerate(runs):
        try:
            alone += judge(spark, [run], checks, f"{scratch}/alone-{number}", evidence_max)
        except PySparkException as error:
            why = first_line(error)
            doubts = [f"Spark could not judge it: {why}"]
            alone.append(Judged({check.name: Findings(crashed=why) for check in checks}, [], [], doubts=doubts))
    return alone


def write_verdict(verdict: Verdict, run: Path) -> Path:
    """Write verdict.json in the run's directory, whole or not at all. Returns its path."""
    path = run / "verdict.json"
    write_whole(path, to_json(verdict))
    return path


def _verdict(
    run: RunDirectory, expected: Expected, judged: Judged, set_aside: Quarantine, checks: Sequence[Check]
) -> Verdict:
    counts = _count(judged.counts)
    lacking = _lacking(expected, judged, set_aside)
    verdicts = {
        check.name: _check_verdict(check, judged.findings[check.name], counts, expected, lacking) for check in checks
    }
    lasted_ms = max((count.last_ms or 0.0 for count in judged.counts if count.problem is None), default=0.0)
    of_settings = doubt(verdicts, expected.account, lasted_ms)
    measures = {"events": sum(c.events for c in judged.counts if c.problem is None), **measures_of(judged)}
    expectations = expected.judged(verdicts, measures)
    faults, reasons = fault_verdicts(judged.notes)
    lateness = health.late_timers(judged.notes, expected.timer_limit_ms)
    reasons += undone(judged.notes, expected.link_faults)
    reasons += health.unexpected_deaths(judged.notes, expected.exits) + lacking
    if judged.notes_total > len(judged.notes):
        reasons.append(f"only {len(judged.notes)} of {judged.notes_total} events about the run itself were looked at")
    reasons += _standstills(judged, expected)
    reasons += [*expected.missed, *of_settings]
    if expected.unfinished:
        reasons.append(expected.unfinished)
    if not any(count.problem is None for count in judged.counts):
        reasons.append("the run has no events")
    # Only a run that can be trusted in every other respect may be vouched for.
    vouched_by = compared = ""
    if lateness.late and lateness.worst_ms is not None and expected.vouch is not None and not reasons:
        vouched_by, compared = expected.vouch(verdicts, expectations, counts["acknowledged"])
    if lateness.late and not vouched_by:
        reasons.append(health.why_late(lateness, compared, expected.speed))
    return Verdict(
        run=run.name,
        scenario=expected.scenario,
        world=expected.world,
        valid=compose(expectations, verdicts.values(), reasons),
        expectations=expectations,
        faults=faults,
        checks=verdicts,
        measures={**measures, "timers_late_ms": lateness.worst_ms},
        quarantine=set_aside,
        unknown_because=reasons,
        settings=expected.account,
        vouched_by=vouched_by,
    )


def _standstills(judged: Judged, expected: Expected) -> list[str]:
    """Of a live cluster alone: its module reads the tables of all settings."""
    if expected.live_nodes is None:
        return []
    from emulator.judging.standstills import ensemble_of, standstills

    return standstills(judged.notes, reports_by_life(judged.counts), ensemble_of(expected.live_nodes))


def _lacking(expected: Expected, judged: Judged, set_aside: Quarantine) -> list[str]:
    """Reasons why events are missing or changed: a check may have held only because of that."""
    reasons = incomplete(
        judged.counts, judged.notes, processes=expected.processes, over=expected.over, speed=expected.speed
    )
    if set_aside.lines:
        some = "; ".join(f"{why}: {lines}" for why, lines in sorted(set_aside.reasons.items()))
        reasons.append(f"{set_aside.lines} lines are no events ({some}); they are in {set_aside.file}")
    return [*reasons, *judged.doubts, *expected.gaps]


def _count(counts: Sequence[EventCount]) -> Counter[str]:
    """Counts of a run, as `checks.check.Counts`."""
    total: Counter[str] = Counter()
    for count in counts:
        if count.problem is not None or count.event is None:
            continue
        total[count.event] += count.events
        for name in ("acknowledged", "acknowledged_by_all", "commits", "looks"):
            total[name] += getattr(count, name)
        if count.event == "batch_appended":
            total["led_appends"] += count.led
        if count.event == "high_watermark_moved":
            total["led_watermarks"] += count.led
    return total


def _check_verdict(
    check: Check, found: Findings, counts: Counter[str], expected: Expected, gaps: Sequence[str]
) -> CheckVerdict:
    verdict = CheckVerdict(
        verdict="held",
        expected=bool(expected.violations.get(check.name)) or (found.total > 0 and check.name in expected.sometimes),
        count=found.total,
        evidence=[_evidence(v.topic, v.partition, v.offset, v.text, v.details) for v in found.violations],
        by_acks=found.by_acks,
        allowed=found.allowed,
        judged=found.counted if check.counted else check.subjects(counts),
        subject=check.subject,
    )
    if found.crashed is not None:
        verdict.verdict, verdict.reason = "unknown", f"the check could not be computed: {found.crashed}"
    elif found.total:
        verdict.verdict = "violated"
        verdict.expected = verdict.expected or expected.all_violations
        doubts = [*gaps, *filter(None, (expected.lacking.get(check.name),))]
        if doubts:
            if check.of_absence:
                verdict.verdict = "unknown"
            verdict.reason = f"{doubts[0]}, and with it this might be no violation"
    elif check.name in expected.lacking:
        verdict.verdict, verdict.reason = "unknown", expected.lacking[check.name]
    elif verdict.judged == 0 and not gaps:
        verdict.verdict, verdict.reason = "skipped", f"no {check.subject}"
    elif (lacking := check.missing(counts)) is not None:
        verdict.verdict, verdict.reason = "unknown", lacking
    elif found.missing:
        verdict.verdict = "unknown"
        more = f" (and {found.missing_total - 1} more)" if found.missing_total > 1 else ""
        verdict.reason = found.missing[0] + more
    elif gaps:
        verdict.verdict, verdict.reason = "unknown", gaps[0]
    return verdict


def _evidence(topic: str, partition: int, offset: int, text: str, details: dict[str, Any]) -> dict[str, Any]:
    place: dict[str, Any] = {"partition": f"{topic}-{partition}"} if topic else {}
    if offset >= 0:
        place["offset"] = offset
    return {**place, "text": text, **details}
