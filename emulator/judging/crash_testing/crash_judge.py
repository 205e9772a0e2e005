"""Judges a run with a death: violations, and deviations that a rule allows."""

import msgspec

from emulator.judging.crash_testing.crash_run import Died
from emulator.judging.explain.broken_promises import Broken
from emulator.judging.explain.explanation import Rule, SimulatedEvidence, explain


class Judged(msgspec.Struct):
    """Result of a run.

    `failed`: violations that no rule allows. `allowed`: {rule: count of its uses}. `events`: descriptions of the events
    that removed allowed losses.
    """

    failed: list[Broken]
    allowed: dict[str, int]
    events: list[str] = []


def judge_death(died: Died) -> Judged:
    """Judge a simulated run by the true state of its world."""
    run, judged = SimulatedEvidence(died), Judged([], {})
    for broken in run.violations():
        put(judged, broken, explain(run, broken))
    for end in died.exits:
        put(judged, Broken("exit", f"{end.node} ended at {end.at_ms:.0f} ms: {end.reason}"), explain(run, end))
    for one in died.unsettled:
        put(judged, Broken("settled", one.text, one.topic_partition), explain(run, one))
    judged.events = run.rules.events
    return judged


def put(judged: Judged, broken: Broken, rule: Rule | None) -> None:
    """Count a broken promise by its rule, or as a failure."""
    if rule is None:
        judged.failed.append(broken)
    else:
        judged.allowed[rule.text] = judged.allowed.get(rule.text, 0) + 1
