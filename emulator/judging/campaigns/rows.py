"""Builds the row of a run from the oracle's verdict, the measures and the trace."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from emulator.judging.campaigns.row import COUNTS, CheckRow, Row
from emulator.judging.judged import JudgedRun
from emulator.judging.seed_runs import SeedResult
from emulator.runs.verdict_file import Verdict
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import FaultAsked, IsrChangeAsked, IsrChangeEnded, MachineFault

FAULTS_MAX = 100
"""Maximum of faults in a row."""
MENDING = ("start", "resume", "start-refused", "died")
"""Values of `what` in a `machine_fault` that are no faults."""
GRANTED = "done"


def row_of(result: SeedResult, run: JudgedRun | None, **about: Any) -> Row:
    """The row of a run.

    `about`: its options, the fields of `Row` up to `parameters`, and `replay`.
    """
    row = {"seed": result.seed, "code": result.code, "error": result.error, "broken": result.broken, **about}
    if run is None:
        return Row(faults=(), valid="unknown", **row)
    world, verdict = run.played.world, run.verdict
    return Row(
        faults=tuple(dict.fromkeys(_faults(world)))[:FAULTS_MAX],
        valid=valid_word(verdict),
        unknown_because=tuple(verdict.unknown_because),
        checks=tuple(
            CheckRow(name, check.verdict, check.expected, check.count, check.judged)
            for name, check in verdict.checks.items()
        ),
        **_counts(verdict),
        **_writes(run),
        **_isr_changes(world),
        **_measures(verdict),
        recording=result.recording,
        races=result.races,
        differences=result.differences,
        outcome=result.outcome,
        trace=result.shape,
        simulated_s=result.simulated_s,
        wall_s=result.wall_s,
        inputs=result.inputs,
        **row,
    )


def seed_result(row: Row) -> SeedResult:
    """The result from which a row was made; a resumed campaign has some seeds as rows already."""
    return SeedResult(
        seed=row.seed,
        code=row.code,
        error=row.error,
        recording=row.recording,
        races=row.races,
        differences=row.differences,
        outcome=row.outcome,
        shape=row.trace,
        checks={one.check: (one.verdict, one.count) for one in row.checks},
        broken=row.broken,
        simulated_s=row.simulated_s,
        wall_s=row.wall_s,
        inputs=row.inputs,
    )


def valid_word(verdict: Verdict) -> str:
    """`true`, `false`, `unknown`: a column has one type."""
    return verdict.valid if isinstance(verdict.valid, str) else str(verdict.valid).lower()


def _counts(verdict: Verdict) -> dict[str, Any]:
    """Counts of violations; None where a check was not judged."""
    found = {}
    for column, name in COUNTS.items():
        check = verdict.checks.get(name)
        found[column] = check.count if check is not None and check.verdict in ("held", "violated") else None
    return found


def _writes(run: JudgedRun) -> dict[str, Any]:
    ended = Counter(one.outcome for one in run.played.operations if one.kind == "produce")
    return {"acknowledged": ended["ok"], "refused": ended["failed"], "undecided": ended["unknown"] + ended[""]}


def _measures(verdict: Verdict) -> dict[str, Any]:
    measures = verdict.measures
    named = ("unavailable_ms", "time_to_new_leader_ms", "dual_leader_ms", "dual_controller_ms")
    return {name: measures[name] for name in named} | {"exits": sum(measures["exits"].values())}


def _isr_changes(world: SimulatedWorld) -> dict[str, Any]:
    """Counts of successful ISR changes."""
    requested: dict[tuple[str, str, int], str] = {}
    granted = {"shrink": 0, "expand": 0}
    for node, _, _, _, _, event in world.trace.entries:
        match event:
            case IsrChangeAsked(topic=topic, partition=partition, change=change):
                requested[node, topic, partition] = change
            case IsrChangeEnded(topic=topic, partition=partition, result=result) if result == GRANTED:
                change = requested.pop((node, topic, partition), "")
                if change in granted:
                    granted[change] += 1
            case _:
                pass
    return {"isr_shrinks": granted["shrink"], "isr_expands": granted["expand"]}


def _faults(world: SimulatedWorld) -> Iterator[str]:
    for *_, event in world.trace.entries:
        match event:
            case FaultAsked(what=what):
                yield what
            case MachineFault(what=what, target=target) if what not in MENDING:
                yield f"{what} {target}"
            case _:
                pass
