"""Plays a scenario once and judges it: broken promises, and the rules that explain them.

Losses that its settings allow (acks=1, an unclean election, unsynced data) are no finds. A violation that a version's
error explains is a find, named by its rule. An unexplained one is the most interesting.
"""

import re
from collections.abc import Callable, Container, Iterator, Sequence

import msgspec

from emulator.judging.crash_testing.crash_judge import lost_tails
from emulator.judging.explain.broken_promises import broken_promises, broken_recoveries
from emulator.judging.explain.extra_invariants import further
from emulator.judging.explain.history_builder import history_of
from emulator.judging.explain.promise_rules import Rules
from emulator.judging.explain.run_history import History
from emulator.judging.explain.sanity import insane
from emulator.judging.explain.settled_state import Unsettled
from emulator.judging.explain.stuck import absent, exit_rule, unsettled_rule
from emulator.judging.fuzzing.coverage import reached_by
from emulator.judging.fuzzing.fuzz_runs import Over, play_schedule
from emulator.judging.oracle.gathering import truth_of
from emulator.judging.oracle.liveness import unanswered_request
from emulator.judging.oracle.promise_registry import too_few_copies
from emulator.judging.oracle.truth import Truth, Violation
from emulator.runs.resolve import resolve
from emulator.runs.simulated import collector_disabled
from emulator.scenario import scenario_model as m
from emulator.worlds.simulated.heap import RunTooLong
from protocol.events import RoleChanged
from protocol.gates import Gates
from protocol.ids import TopicPartition

BUG = "bug"
"""An exception of this program; it is found, shrunk and written like a broken promise."""
NO_RULE = "no rule allows it"
KNOWN = re.compile(r"\((?:KAFKA-\d+|KIP-(?:101|903|966))\)")
"""Pattern of rules of Kafka's own errors (semantics 8)."""
UNTOLD_ISR = "1.6 (KAFKA-1367): the controller does not hear of an ISR that a leader has changed"
FORGETFUL = "7 (KAFKA-9254): a log that is told twice of its broker's settings has forgotten what its topic says"
CHECKS = {"isr": "under-replicated", "leader": "no-leader", "no-state": "no-leader"}
"""{failure to settle: the audit's check for it}."""
LEFT_PARKED = "1.7: what is parked at a leader that is deposed is left to its time-out"
TOO_FEW = "too-few-copies"
UNANSWERED = "unanswered-request"
IN_PEACE: dict[str, Callable[[Truth], Iterator[Violation]]] = {
    UNANSWERED: unanswered_request,
    TOO_FEW: too_few_copies,
}
"""Checks of the oracle for liveness in a quiescent period."""
FIRST = (
    "dead", "ensemble", "unregistered", "controller", "no-state", "leader", "role", "isr", "log-end", "high-watermark",
    "settings", "metadata", "told-isr",
)  # fmt: skip
"""Failures to settle in the order of causality: an earlier one explains later ones."""


class Broken(msgspec.Struct, frozen=True, order=True):
    """A broken promise.

    `what`: of crash testing, of `further`, a check's name, or BUG. `rule`: the rule that explains it. `text`: one case.
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
        return bool(KNOWN.search(self.rule))

    @property
    def lasts(self) -> bool:
        """Whether it is a failure to settle, which counts only if it lasts."""
        return self.what in CHECKS.values() or self.what in IN_PEACE or self.what.startswith("settled")


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


def _broken(run: Over, truth: Truth) -> Iterator[Broken]:
    entries = run.world.trace.entries
    history = history_of(entries)
    rules = Rules(run.resolved, history, tails=lost_tails(run.logs.found, run.world.topology))
    isr = {of: stated[-1].state.isr for of, stated in history.states.items() if stated}
    promised = (*broken_promises(truth, history), *broken_recoveries(run.logs.found))
    gone = absent(run, history, rules.gates).keys()
    # Replicas that hold different batches from some offset on hold fewer copies of each.
    apart = {one.topic_partition: one for one in reversed(promised) if one.what == "divergence"}
    for one in (*promised, *insane(run.world, truth, rules.gates)):
        if one.what == "divergence" and not set(one.others) & set(isr.get(one.topic_partition, ())) - gone:
            continue  # no promise covers a replica that has not returned yet, or cannot
        yield from _finds(one.what, rules.allowing(one), one.text)
    exits = {exit_rule(rules.gates, end.kind): end for end in reversed(run.exits)}
    for name, anomaly in IN_PEACE.items():
        for found in anomaly(truth):
            rule = ""
            if name == TOO_FEW:
                parted = apart.get(found.topic_partition)
                if parted is not None and parted.offset <= found.offset:
                    rule = rules.allowing(parted)
                rule = rule or _standing_still(run, history, rules.gates, found.topic_partition)
            elif not rules.gates.deposed_leader_answers_parked and _deposed(run, str(found.details["broker"])):
                rule = LEFT_PARKED
            yield from _finds(name, rule, found.text)
    for event in further(entries, history, rules.gates):
        yield from _finds(event.what, event.rule, event.text)
    for rule, end in exits.items():
        yield from _finds("exit", rule, f"{end.node} ended by itself: {end.reason}")
    yield from _unsettled(run, history, rules.gates, exits)


def _standing_still(run: Over, history: History, gates: Gates, topic_partition: TopicPartition) -> str:
    """The rule by which a replica of the partition does not copy its missing records."""
    found = (one for one in run.unsettled if one.topic_partition == topic_partition)
    return next(filter(None, (unsettled_rule(run, history, gates, one) for one in found)), "")


def _deposed(run: Over, broker: str) -> bool:
    """Whether the broker followed where it had led."""
    changes = (entry[5] for entry in run.world.trace.entries if entry[0] == f"broker-{broker}")
    led: set[TopicPartition] = set()
    for event in changes:
        if type(event) is RoleChanged:
            if event.role == "leader":
                led.add((event.topic, event.partition))
            elif event.role == "follower" and (event.topic, event.partition) in led:
                return True
    return False


def _unsettled(run: Over, history: History, gates: Gates, exits: Container[str]) -> Iterator[Broken]:
    """One failure to settle of each rule, and the first unexplained one."""
    found = sorted(run.unsettled, key=lambda one: FIRST.index(one.what))
    unexplained = True
    for one in found:
        rule = _rule(one, gates) or unsettled_rule(run, history, gates, one)
        if rule and one.what == "controller":
            return  # and no controller handles the rest
        if rule and rule not in exits:
            yield from _finds("settled", rule, one.text)
        elif not rule and unexplained:
            unexplained = False
            yield from _finds(CHECKS.get(one.what, f"settled-{one.what}"), "", one.text)


def _rule(one: Unsettled, gates: Gates) -> str:
    """The rule of a failure that crash testing does not cover."""
    if one.what == "told-isr" and not gates.watches_isr_changes:
        return UNTOLD_ISR
    if one.what == "settings" and gates.topic_config_lost_on_reload:
        return FORGETFUL
    return ""


def _finds(what: str, rule: str, text: str) -> Iterator[Broken]:
    """A violation by a known error, or without a rule."""
    if not rule or KNOWN.search(rule):
        yield Broken(what, rule or NO_RULE, text)


def without(scenario: m.Scenario, undone: Sequence[int]) -> m.Scenario:
    """The scenario without those steps."""
    kept = tuple(step for number, step in enumerate(scenario.steps, 1) if number not in undone)
    return msgspec.structs.replace(scenario, steps=kept)
