"""Judges a run with a death: violations, and deviations that a rule allows."""

import msgspec

from emulator.judging.crash_testing.crash_run import Died
from emulator.judging.explain.broken_promises import Broken, broken_promises, broken_recoveries
from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.promise_rules import Rules
from emulator.judging.explain.recoveries import Recovery
from emulator.judging.explain.run_history import LostTail
from emulator.judging.explain.sanity import insane
from emulator.judging.explain.stuck import exit_rule, unsettled_rule
from emulator.judging.oracle.gathering import truth_of
from emulator.topology import Topology


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
    history = history_of(died.world.trace.entries)
    truth = truth_of(died.world, died.operations, died.probe)
    tails = lost_tails(died.attendant.logs.found, died.world.topology)
    rules = Rules(died.resolved, history, tails=tails)
    judged = Judged([], {})
    found = (*broken_promises(truth, history), *broken_recoveries(died.attendant.logs.found))
    for broken in (*found, *insane(died.world, truth, rules.gates)):
        put(judged, broken, rules.allowing(broken))
    judged.events = rules.events
    for end in died.attendant.exits:
        broken = Broken("exit", f"{end.node} ended at {end.at_ms:.0f} ms: {end.reason}")
        put(judged, broken, exit_rule(rules.gates, end.kind))
    for one in died.unsettled:
        put(judged, Broken("settled", one.text, one.topic_partition), unsettled_rule(died, history, rules.gates, one))
    return judged


def lost_tails(recoveries: list[Recovery], topology: Topology) -> list[LostTail]:
    """Tails of logs that power losses and lost disks removed."""
    return [
        LostTail(
            one.at_ms,
            topology.node(one.node).number,
            one.topic_partition,
            max(one.held[len(one.recovered)].first, one.recovered[-1].last + 1 if one.recovered else 0),
            one.held[-1].last,
            one.disk,
        )
        for one in recoveries
        if (one.power or one.disk) and len(one.recovered) < len(one.held)
    ]


def put(judged: Judged, broken: Broken, rule: str) -> None:
    """Count a broken promise by its rule, or as a failure."""
    if rule:
        judged.allowed[rule] = judged.allowed.get(rule, 0) + 1
    else:
        judged.failed.append(broken)
