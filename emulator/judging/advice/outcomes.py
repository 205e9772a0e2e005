"""What one run says of each promise: what was written, what was read, and who waited."""

from typing import Final

import msgspec

from emulator.judging.advice.availability import Waits, reads_of, writes_of
from emulator.judging.advice.reasons import reason_of
from emulator.judging.judged import JudgedRun
from emulator.runs.resolve import Resolved

WRITES: Final = {
    "lost-acknowledged": "no acknowledged record is lost",
    "duplicate": "none is there twice",
    "reordered": "order is kept",
    "replica-divergence": "replicas do not differ",
}
READS: Final = {
    "read-then-lost": "what was read stays",
    "non-monotonic-read": "no consumer is given again what it had",
    "skipped-read": "a change of leader leaves nothing out",
    "unseen": "whoever reads on has read what was before",
}
PROMISES: Final = WRITES | READS
"""{check: what is promised}"""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """`broken`: {check: violations}; `reasons`: {check: what happened to the first}. `writes`, `reads`: who waited.
    `untold`: why the run says nothing."""

    fault: str
    seed: int
    broken: dict[str, int] = {}
    reasons: dict[str, str] = {}
    writes: Waits = Waits()
    reads: Waits = Waits()
    untold: str = ""


def outcome_of(fault: str, seed: int, run: JudgedRun, resolved: Resolved) -> Outcome:
    checks = run.verdict.checks
    broken = {name: checks[name].count for name in PROMISES if checks[name].verdict == "violated"}
    return Outcome(
        fault=fault,
        seed=seed,
        broken=broken,
        reasons={name: reason_of(name, run, resolved) for name in broken},
        writes=writes_of(run.played.world),
        reads=reads_of(run.played.world, run.played.operations, resolved.scenario),
        untold="; ".join(run.verdict.unknown_because),
    )
