"""Data of the report, for text, JSON and page."""

from collections.abc import Iterator, Mapping

import msgspec

from emulator.judging.advice.advice import Advice, PairsAdvice
from emulator.judging.advice.advice_runs import Base, Bug
from emulator.judging.advice.loss_causes import Cause
from emulator.judging.advice.recommendation import Recommendation
from emulator.judging.advice.summary import Broken, FaultSummary


class AdviceReport(msgspec.Struct, frozen=True):
    """Data of a report.

    `replays`: {fault that breaks something: the command that replays its scenario, without the seed}. `pairs`: None if
    not requested. `bugs`: (run that met a bug of faultline, the command that replays it).
    """

    advice: Advice
    base: Base
    replays: Mapping[str, str]
    pairs: PairsAdvice | None = None
    recommendation: Recommendation | None = None
    bugs: tuple[tuple[Bug, str], ...] = ()


class Shown(msgspec.Struct, frozen=True):
    """A cause by the first of its pairs.

    `ended`: pairs in which the change ends it; `others`: other pairs.
    """

    cause: Cause
    summary: FaultSummary
    broken: Broken
    change: tuple[str, ...] | None
    ended: int
    others: tuple[str, ...]


def shown_of(pairs: PairsAdvice) -> Iterator[Shown]:
    summaries = {one.fault.name: one for one in pairs.advice.summaries}
    for cause in pairs.causes:
        first = summaries[cause.faults[0]]
        broken = next(one for one in first.broken if one.check == cause.check)
        change = pairs.advice.remedies.get((cause.check, first.fault.name))
        ended = sum((cause.check, fault) in pairs.advice.remedies for fault in cause.faults)
        others = tuple(summaries[fault].fault.text for fault in cause.faults[1:])
        yield Shown(cause, first, broken, change, ended, others)
