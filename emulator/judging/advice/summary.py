"""Outcomes of one fault over its seeds: which promise it breaks in which share of the runs, who waits and how long."""

from collections.abc import Iterable

import msgspec

from emulator.judging.advice.availability import Waits, worst_of
from emulator.judging.advice.faults import Fault
from emulator.judging.advice.outcomes import PROMISES, Outcome


class Broken(msgspec.Struct, frozen=True):
    """`runs` of `of` runs break the promise of `check`; the first with `seed`, because of `reason`."""

    check: str
    runs: int
    of: int
    seed: int
    reason: str


class FaultSummary(msgspec.Struct, frozen=True, kw_only=True):
    """`told`: runs that say something; `untold`: why others don't. `writes`, `reads`: who waited, of each AZ the worst
    of all runs."""

    fault: Fault
    runs: int
    told: int
    untold: str
    broken: tuple[Broken, ...]
    writes: Waits
    reads: Waits

    @property
    def somebody_waits(self) -> bool:
        return any(self.writes.waited_ms.values()) or any(self.reads.waited_ms.values())


def summaries_of(faults: Iterable[Fault], outcomes: Iterable[Outcome]) -> list[FaultSummary]:
    """In the order of `faults`."""
    by_fault: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_fault.setdefault(outcome.fault, []).append(outcome)
    return [_summary(fault, sorted(found, key=_seed)) for fault in faults if (found := by_fault.get(fault.name))]


def _seed(outcome: Outcome) -> int:
    return outcome.seed


def _summary(fault: Fault, outcomes: list[Outcome]) -> FaultSummary:
    told = [one for one in outcomes if not one.untold]
    broken = []
    for check in PROMISES:
        found = [one for one in told if check in one.broken]
        if found:
            broken.append(Broken(check, len(found), len(told), found[0].seed, found[0].reasons[check]))
    return FaultSummary(
        fault=fault,
        runs=len(outcomes),
        told=len(told),
        untold=next((one.untold for one in outcomes if one.untold), ""),
        broken=tuple(broken),
        writes=worst_of(one.writes for one in told),
        reads=worst_of(one.reads for one in told),
    )
