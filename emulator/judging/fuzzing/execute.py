"""Plays a scenario once and judges it: broken promises, and the rules that explain them.

Losses that its settings allow (acks=1, an unclean election, unsynced data) are no finds. A violation that a version's
error explains is a find, named by its rule. An unexplained one is the most interesting.
"""

from collections.abc import Iterator, Sequence

import msgspec

from emulator.judging.explain.explanation import Evidence, Rule, SimulatedEvidence, explain
from emulator.judging.explain.liveness_rules import LIVENESS
from emulator.judging.explain.stuck import absent
from emulator.judging.fuzzing.coverage import reached_by
from emulator.judging.fuzzing.fuzz_runs import ScheduleRun, play_schedule
from emulator.judging.oracle.gathering import truth_of
from emulator.judging.oracle.truth import Truth
from emulator.runs.resolve import resolve
from emulator.runs.simulated import collector_disabled
from emulator.scenario import scenario_model as m
from emulator.worlds.simulated.heap import RunTooLong

BUG = "bug"
"""An exception of this program; it is found, shrunk and written like a broken promise."""
NO_RULE = "no rule allows it"
CHECKS = {"isr": "under-replicated", "leader": "no-leader", "no-state": "no-leader"}
"""{failure to settle: the audit's check for it}."""
FIRST = (
    "dead", "ensemble", "unregistered", "controller", "no-state", "leader", "role", "isr", "log-end", "high-watermark",
    "settings", "metadata", "told-isr", "transaction",
)  # fmt: skip
"""Failures to settle in the order of causality: an earlier one explains later ones."""


class Broken(msgspec.Struct, frozen=True, order=True):
    """A broken promise.

    `what`: of the explained violations, a check's name, or BUG. `rule`: the rule that explains it. `text`: one case.
    """

    what: str
    rule: str
    text: str

    @property
    def cause(self) -> str:
        """Key that all finds of one error share."""
        return f"{self.what}: {self.rule}"

    @property
    def known(self) -> bool:
        """Whether it is one of Kafka's own named errors."""
        return Rule(self.rule).known

    @property
    def lasts(self) -> bool:
        """Whether it is a failure to settle, which counts only if it lasts."""
        return self.what in CHECKS.values() or self.what in LIVENESS or self.what.startswith("settled")


class Trial(msgspec.Struct, frozen=True):
    """Result of one run.

    `broken`: one of each cause. `reached`: see `coverage`. `undone`: numbers of impossible steps, from 1. `error`: the
    run did not end, which is no find. `bug`: an exception of a machine, a bug of this program (and among the broken).
    """

    broken: tuple[Broken, ...] = ()
    reached: frozenset[str] = frozenset()
    simulated_s: float = 0.0
    undone: tuple[int, ...] = ()
    error: str = ""
    bug: str = ""

    def has(self, cause: str) -> bool:
        return any(one.cause == cause for one in self.broken)


def tried(scenario: m.Scenario, seed: int, *, looks_on: bool = True, helped: bool = True) -> Trial:
    """Play and judge a scenario. `looks_on`, `helped`: as of `play_schedule`.

    Raises the errors of `resolve`.
    """
    resolved = resolve(scenario)
    with collector_disabled():
        try:
            run = play_schedule(resolved, seed, looks_on=looks_on, helped=helped)
            truth = truth_of(run.world, run.operations, run.probe)
        except RunTooLong as error:
            return Trial(error=f"{type(error).__name__}: {error}")
        except Exception as error:  # the other runs go on; a replay of this one shows the traceback
            text = f"{type(error).__name__}: {error}"
            return Trial((Broken(BUG, f"{type(error).__name__}, a bug of faultline", text),), bug=text)
        found: dict[str, Broken] = {}
        for one in _broken(run, truth):
            found.setdefault(one.cause, one)
        return Trial(
            tuple(sorted(found.values())),
            reached_by(run.world.trace.entries),
            run.world.now_ms / 1000.0,
            tuple(run.undone),
        )


def _broken(run: ScheduleRun, truth: Truth) -> Iterator[Broken]:
    evidence = SimulatedEvidence(run, truth)
    isr = {of: stated[-1].state.isr for of, stated in evidence.history.states.items() if stated}
    gone = absent(run, evidence.history, evidence.gates).keys()
    for one in (*evidence.violations(), *evidence.further_violations()):
        if one.what == "divergence" and not set(one.others) & set(isr.get(one.topic_partition, ())) - gone:
            continue  # no promise covers a replica that has not returned yet, or cannot
        yield from _finds(one.what, explain(evidence, one), one.text)
    for end in run.exits:
        yield from _finds("exit", explain(evidence, end), f"{end.node} ended by itself: {end.reason}")
    yield from _unsettled(run, evidence)


def _unsettled(run: ScheduleRun, evidence: Evidence) -> Iterator[Broken]:
    """Failures to settle with a rule, and the first unexplained one."""
    exits = {explain(evidence, end) for end in run.exits}
    unexplained = True
    for one in sorted(run.unsettled, key=lambda one: FIRST.index(one.what)):
        rule = explain(evidence, one)
        if rule is not None and one.what == "controller":
            return  # and no controller handles the rest
        if rule is not None and rule not in exits:
            yield from _finds("settled", rule, one.text)
        elif rule is None and unexplained:
            unexplained = False
            yield from _finds(CHECKS.get(one.what, f"settled-{one.what}"), None, one.text)


def _finds(what: str, rule: Rule | None, text: str) -> Iterator[Broken]:
    """A violation by a known error, or without a rule."""
    if rule is None or rule.known:
        yield Broken(what, rule.text if rule is not None else NO_RULE, text)


def without(scenario: m.Scenario, undone: Sequence[int]) -> m.Scenario:
    """The scenario without those steps."""
    kept = tuple(step for number, step in enumerate(scenario.steps, 1) if number not in undone)
    return msgspec.structs.replace(scenario, steps=kept)
