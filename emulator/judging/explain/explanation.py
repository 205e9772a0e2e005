"""`explain`: the rule of docs/semantics.md that allows a violation of a run."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property

import msgspec

from emulator.judging.explain.broken_promises import Broken, broken_promises, broken_recoveries
from emulator.judging.explain.extra_invariants import BEHAVIOURS, behaviour_rule, forbidden_behaviour
from emulator.judging.explain.finished_run import Exited, FinishedRun
from emulator.judging.explain.history_builder import TimedEvent, history_of
from emulator.judging.explain.liveness_rules import LIVENESS, TOO_FEW, broken_liveness, parked_rule
from emulator.judging.explain.metadata_log_checks import lost_disks_rule, metadata_log_broken
from emulator.judging.explain.promise_rules import Rules, gates_of
from emulator.judging.explain.recoveries import Recovery, lost_tails
from emulator.judging.explain.run_history import History, LostTail
from emulator.judging.explain.sanity import insane
from emulator.judging.explain.settled_partitions import Unsettled
from emulator.judging.explain.stuck import exit_rule, unsettled_rule
from emulator.judging.explain.transaction_rules import (
    TRANSACTIONS,
    broken_transactions,
    transaction_rule,
)
from emulator.judging.oracle.gathering import truth_of
from emulator.judging.oracle.truth import Truth
from emulator.runs.resolve import Resolved

KNOWN = re.compile(r"\((?:KAFKA-\d+|KIP-(?:101|447|903|966))\)")
"""Pattern of rules of Kafka's own errors (semantics 8)."""


class Rule(msgspec.Struct, frozen=True):
    """A rule of docs/semantics.md.

    `text`: its section, the number of Kafka's error if it is one, and a sentence.
    """

    text: str

    @property
    def known(self) -> bool:
        """Whether it is one of Kafka's own named errors."""
        return bool(KNOWN.search(self.text))


class Evidence:
    """Evidence of a run: its events in order of time, the truth at its end, and its recoveries."""

    def __init__(
        self, resolved: Resolved, events: Sequence[TimedEvent], truth: Truth, recoveries: Sequence[Recovery] = ()
    ) -> None:
        self.gates = gates_of(resolved)
        self.events = events
        self.truth = truth
        self._resolved = resolved
        self._recoveries = recoveries

    @cached_property
    def history(self) -> History:
        return history_of(self.events)

    @cached_property
    def tails(self) -> list[LostTail]:
        return lost_tails(self._recoveries, self._resolved.spec.topology)

    @cached_property
    def rules(self) -> Rules:
        return Rules(self._resolved, self.history, tails=self.tails)

    def violations(self) -> Iterator[Broken]:
        """Broken promises in logs, terms, states and recoveries."""
        yield from broken_promises(self.truth, self.history)
        yield from broken_recoveries(self._recoveries)

    def unsettled_rule(self, one: Unsettled) -> str:
        """The rule by which the cluster does not settle; "": none, as of a run without its world."""
        return ""

    def liveness_rule(self, broken: Broken) -> str:
        """The rule that allows a broken promise of liveness."""
        return ""

    def lost_disks_rule(self, what: str) -> str:
        """The rule by which lost disks of voters allow it; "": none, as without a world."""
        return ""


class SimulatedEvidence(Evidence):
    """Evidence of a finished simulated run, with the state of its world."""

    def __init__(self, run: FinishedRun, truth: Truth | None = None) -> None:
        truth = truth or truth_of(run.world, run.operations, run.probe)
        super().__init__(run.resolved, run.world.trace.entries, truth, run.recoveries)
        self._run = run

    def violations(self) -> Iterator[Broken]:
        """Broken promises, and machines' states that no version has."""
        yield from super().violations()
        yield from insane(self._run.world, self.truth, self.gates)
        yield from metadata_log_broken(self._run.world, self._resolved.spec.kafka_version)

    def further_violations(self) -> Iterator[Broken]:
        """Broken promises of liveness and of transactions, and behaviour that only events show."""
        yield from broken_liveness(self.truth)
        yield from broken_transactions(self.truth)
        yield from forbidden_behaviour(self._run.world.trace.entries, self.history)

    def unsettled_rule(self, one: Unsettled) -> str:
        return unsettled_rule(self._run, self.history, self.gates, one)

    def liveness_rule(self, broken: Broken) -> str:
        if broken.what != TOO_FEW:
            return parked_rule(self._run.world, self.gates, broken.broker)
        parted = self._divergences.get(broken.topic_partition)
        rule = self.rules.allowing(parted) if parted is not None and parted.offset <= broken.offset else ""
        # Or a replica of the partition does not copy its missing records.
        still = (one for one in self._run.unsettled if one.topic_partition == broken.topic_partition)
        return rule or next(filter(None, map(self.unsettled_rule, still)), "")

    def lost_disks_rule(self, what: str) -> str:
        return lost_disks_rule(self._run.world, what)

    @cached_property
    def _divergences(self) -> dict[tuple[str, int], Broken]:
        """The first divergence of each partition.

        Replicas that differ from there on hold fewer copies of each later batch.
        """
        found: dict[tuple[str, int], Broken] = {}
        for one in broken_promises(self.truth, self.history):
            if one.what == "divergence":
                found.setdefault(one.topic_partition, one)
        return found


def explain(run: Evidence, violation: Broken | Exited | Unsettled) -> Rule | None:
    """The rule that allows a violation.

    None: no rule does, so faultline has a bug, or Kafka an error that no rule names.
    """
    match violation:
        case Exited(kind=kind, reason=reason):
            text = exit_rule(run.gates, kind, reason) or run.lost_disks_rule("exit")
        case Unsettled():
            text = run.unsettled_rule(violation) or run.lost_disks_rule(violation.what)
        case Broken(what=what) if what in LIVENESS:
            text = run.liveness_rule(violation)
        case Broken(what=what) if what in TRANSACTIONS:
            text = transaction_rule(run.gates, run.truth, run.events, run.tails, violation)
        case Broken(what=what) if what in BEHAVIOURS:
            text = behaviour_rule(run.gates, violation)
        case _:
            text = run.rules.allowing(violation) or run.lost_disks_rule(violation.what)
    return Rule(text) if text else None
