"""Outcomes of one fault over its seeds: shares of violations, and waiting times."""

from collections.abc import Iterable

import msgspec

from emulator.judging.advice.availability import Waits, worst_of
from emulator.judging.advice.outcomes import PROMISES, Outcome
from emulator.judging.advice.single_faults import Fault


class Broken(msgspec.Struct, frozen=True):
    """A broken promise: `runs` of `of` runs break `check`. `seed`, `reason`: of the first one."""

    check: str
    runs: int
    of: int
    seed: int
    reason: str


class FaultSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Outcomes of one fault.

    `conclusive`: count of conclusive runs; `inconclusive`: why the others are not.

    `writes`, `reads`: the longest waits of each AZ.
    """

    fault: Fault
    runs: int
    conclusive: int
    inconclusive: str
    broken: tuple[Broken, ...]
    writes: Waits
    reads: Waits

    @property
    def has_waits(self) -> bool:
        return any(self.writes.waited_ms.values()) or any(self.reads.waited_ms.values())


def summaries_of(faults: Iterable[Fault], outcomes: Iterable[Outcome]) -> list[FaultSummary]:
    """Summaries in the order of `faults`."""
    by_fault: dict[str, list[Outcome]] = {}
    for outcome in outcomes:
        by_fault.setdefault(outcome.fault, []).append(outcome)
    return [_summary(fault, sorted(found, key=_seed)) for fault in faults if (found := by_fault.get(fault.name))]


def _seed(outcome: Outcome) -> int:
    return outcome.seed


def _summary(fault: Fault, outcomes: list[Outcome]) -> FaultSummary:
    conclusive = [one for one in outcomes if not one.inconclusive]
    broken = []
    for check in PROMISES:
        found = [one for one in conclusive if check in one.broken]
        if found:
            broken.append(Broken(check, len(found), len(conclusive), found[0].seed, found[0].reasons[check]))
    return FaultSummary(
        fault=fault,
        runs=len(outcomes),
        conclusive=len(conclusive),
        inconclusive=next((one.inconclusive for one in outcomes if one.inconclusive), ""),
        broken=tuple(broken),
        writes=worst_of(one.writes for one in conclusive),
        reads=worst_of(one.reads for one in conclusive),
    )
