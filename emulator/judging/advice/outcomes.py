"""Outcome of one run: broken promises of writes and reads, and clients' waiting times."""

from typing import Final

import msgspec

from emulator.check_table import ADVICE
from emulator.judging.advice.availability import Waits, reads_of, writes_of
from emulator.judging.explain.explanation import Evidence
from emulator.judging.explain.reasons import reason_of
from emulator.judging.judged import JudgedRun
from emulator.runs.resolve import Resolved

WRITES: Final = {name: words.promise for name, words in ADVICE.items() if not words.of_reads}
READS: Final = {name: words.promise for name, words in ADVICE.items() if words.of_reads}
PROMISES: Final = WRITES | READS
"""{check: its promise}"""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """Outcome of a run.

    `broken`: {check: count of violations}; `reasons`: {check: explanation of the first}. `writes`, `reads`: waiting
    times. `inconclusive`: why the run is inconclusive; "" if it is not. `bug`: an exception of this program, also in
    `inconclusive`.
    """

    fault: str
    seed: int
    broken: dict[str, int] = {}
    reasons: dict[str, str] = {}
    writes: Waits = Waits()
    reads: Waits = Waits()
    inconclusive: str = ""
    bug: str = ""


def outcome_of(fault: str, seed: int, run: JudgedRun, resolved: Resolved) -> Outcome:
    checks = run.verdict.checks
    broken = {name: checks[name].count for name in PROMISES if checks[name].verdict == "violated"}
    evidence = Evidence(resolved, run.played.world.trace.entries, run.truth)
    return Outcome(
        fault=fault,
        seed=seed,
        broken=broken,
        reasons={name: reason_of(name, checks[name].evidence, evidence) for name in broken},
        writes=writes_of(run.played.world),
        reads=reads_of(run.played.world, run.played.operations, resolved.scenario),
        inconclusive="; ".join(run.verdict.unknown_because),
    )
