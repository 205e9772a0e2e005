"""Builds the row of a run from the oracle's verdict, the measures and the trace."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from emulator.judging.campaigns.row import COUNTS, CheckRow, Row
from emulator.judging.judged import JudgedRun, NotJudged
from emulator.judging.run_outcome import broken_in, digest_of
from emulator.runs.verdict_file import Verdict
from emulator.worlds.simulated.world import SimulatedWorld
from protocol.events import FaultRequested, IsrChangeEnded, IsrChangeRequested, MachineFault

FAULTS_MAX = 100
"""Maximum of faults in a row."""
MENDING = ("start", "resume", "start-refused", "died")
"""Values of `what` in a `machine_fault` that are no faults."""
GRANTED = "done"


def row_of(run: JudgedRun, **about: Any) -> Row:
    """The row of a run. `about`: its options, the outcome's comparison, and `wall_s`."""
    world, verdict = run.played.world, run.verdict
    return Row(
        code=verdict.exit_code,
        broken=broken_in(verdict),
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
        trace=digest_of(world.trace.shape()),
        simulated_s=world.now_ms / 1000.0,
        inputs=world.inputs,
        **about,
    )


def not_played(failed: NotJudged, place: str = "", **about: Any) -> Row:
    """The row of a run without a verdict. `place`: of the failed step in the scenario's file."""
    return Row(faults=(), valid="unknown", code=failed.code, error=f"{place}{failed.why}", **about)


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
            case IsrChangeRequested(topic=topic, partition=partition, change=change):
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
            case FaultRequested(what=what):
                yield what
            case MachineFault(what=what, target=target) if what not in MENDING:
                yield f"{what} {target}"
            case _:
                pass
