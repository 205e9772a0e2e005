"""Agreement of Spark's checks and the oracle on a thousand runs, including mutants.

    python -m verification.agreement [RUNS]

Runs are two and twenty seeds of every mutant in its play (`verification.mutants`), for most checks fire in theirs
alone; then every scenario of the catalogue on every version that it has, those of `kraft_plays`, every recorded
schedule and every recording of a KRaft cluster; and so on with other seeds until there are RUNS. Spark reads their
events, many runs as one job; the oracle has seen the simulated world itself. They agree on a run if each check has the
same verdict and finds as much, by acks and by what allows it, the faults were in force alike and the measures are the
same. No pre-test leaves out what Spark finds. Where a mutant's events contradict one another Spark does not believe
them, as it should: what held is unknown there. The figures say of how many runs each check was violated, and in how
many it held. Exits with 1 if they differ on any run, or a check was violated or held in fewer than `ENOUGH`.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import nullcontext
from itertools import count, islice
from pathlib import Path

import msgspec

from audit.audited_run import audit_runs
from audit.warm_spark import own_session
from benchmarks.figure_records import Figure, show, write
from emulator.exit_codes import BROKEN, HELD
from emulator.judging.judged import play_and_judge
from emulator.packaged import GOLDEN
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import catalogue, find_scenario
from emulator.runs.verdict_file import CheckVerdict, Verdict
from emulator.scenario.player.steps import StepFailed
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS
from verification.pretest_soundness import hidden_parts

RUNS = 1_450
KRAFT_PLAYS = Path(__file__).parent / "kraft_plays"
RECORDED = ("random-*", "kraft-*")
AT_ONCE = 100
ENOUGH = 20
"""Runs that violate a check, and that hold it."""
SEEDS_OF_MUTANTS = 22
"""In one of twenty the mutant may have no occasion."""
MEASURES = (
    *("events", "unavailable_ms", "recovered_ms", "clients", "unknown_outcomes"),
    *("time_to_new_leader_ms", "dual_leader_ms", "dual_controller_ms"),
)


class Play(msgspec.Struct, frozen=True):
    """One run. `mutant`: the mutant whose machines are wrong, "" if they are right."""

    scenario: str
    version: str | None
    seed: int
    mutant: str = ""

    @property
    def name(self) -> str:
        what = Path(self.scenario).parent.name if self.scenario.endswith(".json") else Path(self.scenario).stem
        return "-".join(filter(None, (self.mutant, f"{what}@{self.version or 'recorded'}", str(self.seed))))


def plays() -> Iterator[Play]:
    """Without end."""
    for seed in count(1):
        for again in range(SEEDS_OF_MUTANTS):
            for name, mutant in MUTANTS.items():
                yield Play(mutant.scenario, mutant.version, mutant.seed + SEEDS_OF_MUTANTS * (seed - 1) + again, name)
        for name in catalogue():
            for version in find_scenario(name).kafka:
                yield Play(name, version, seed)
        for path in sorted(KRAFT_PLAYS.glob("*.yaml")):
            for version in find_scenario(str(path)).kafka:
                yield Play(str(path), version, seed)
        for recording in sorted(path.parent for some in RECORDED for path in GOLDEN.glob(f"{some}/1.json")):
            yield Play(str(recording / "1.json"), None, seed)


def played(play: Play, folder: Path) -> tuple[Path, Verdict] | None:
    """The run's directory and the oracle's verdict; None: its steps or a mutant failed."""
    resolved = resolve(find_scenario(play.scenario), play.version)
    try:
        with applied(MUTANTS[play.mutant]) if play.mutant else nullcontext():
            run = play_and_judge(resolved, play.seed, run=play.name)
    except StepFailed:
        return None
    except AssertionError:
        if not play.mutant:
            raise
        return None
    directory = folder / play.name
    prepare(directory)
    write_simulated(directory, resolved, play.seed, run.played.world, run.observations)
    return directory, run.verdict


def differences(spark: Verdict, oracle: Verdict, *, doubted: bool = False) -> list[str]:
    """Differences, one sentence each. `doubted`: Spark rejects the events of a mutant."""
    found = [
        f"{name}: Spark {_checked(check)}, oracle {_checked(oracle.checks[name])}"
        for name, check in spark.checks.items()
        if _checked(check) != _checked(oracle.checks[name]) and not (doubted and check.verdict == "unknown")
    ]
    if _faults(spark) != _faults(oracle):
        found.append(f"faults: Spark {_faults(spark)}, oracle {_faults(oracle)}")
    for name in MEASURES:
        if (one := spark.measures[name]) != (other := oracle.measures[name]):
            found.append(f"{name}: Spark {one}, oracle {other}")
    return found


def _checked(check: CheckVerdict) -> tuple[str, int, dict[str, int], dict[str, int]]:
    return check.verdict, check.count, check.by_acks, check.allowed


def _faults(verdict: Verdict) -> list[tuple[object, ...]]:
    return [
        (f.rule, f.requested_ms, f.in_force_ms, f.healed_ms, f.frames_stopped, f.took_effect, f.healed)
        for f in verdict.faults
    ]


def main(number: int = RUNS) -> list[Figure]:
    """Compared runs and time."""
    began_s = time.perf_counter()
    verdicts: dict[str, Counter[str]] = {}
    differ: dict[str, list[str]] = {}
    compared = of_mutants = unplayed = doubted = 0
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name)
        with own_session(folder / "spark") as spark:
            todo = plays()
            while compared < number:
                with tempfile.TemporaryDirectory(dir=folder) as part:
                    runs: list[tuple[Path, Verdict]] = []
                    wrong: set[Path] = set()
                    for play in islice(todo, min(AT_ONCE, number - compared)):
                        if (run := played(play, Path(part))) is None:
                            unplayed += 1
                            continue
                        runs.append(run)
                        wrong |= {run[0]} if play.mutant else set()
                    of_mutants += len(wrong)
                    audited = audit_runs(spark, [path for path, _ in runs], scratch=str(folder / "scratch"))
                    for verdict, (path, oracle) in zip(audited, runs, strict=True):
                        compared += 1
                        doubts = path in wrong and bool(set(verdict.unknown_because) - set(oracle.unknown_because))
                        doubted += doubts
                        hidden = [f"its pre-test hides {part}" for part in hidden_parts(path, verdict)]
                        if found := differences(verdict, oracle, doubted=doubts) + hidden:
                            differ[path.name] = found
                            print(f"{path.name}: {'; '.join(found)}"[:1_000], file=sys.stderr, flush=True)
                        for check, judged in oracle.checks.items():
                            verdicts.setdefault(check, Counter())[judged.verdict] += 1
    rare = {
        verdict: min((of[verdict], check) for check, of in verdicts.items()) for verdict in ("violated", "held")
    }  # fmt: skip
    figures = [
        Figure(line=f"runs on which audit and oracle disagree, of {compared:,}", value=len(differ),
               unit="runs", target=0, bound=f"{of_mutants} of them with a mutant"),
        *(
            Figure(line=f"runs in which the rarest check was {verdict}", value=least, unit="runs", target=ENOUGH,
                   higher_is_better=True, bound=check)
            for verdict, (least, check) in rare.items()
        ),
    ]  # fmt: skip
    more: dict[str, object] = {
        "runs": compared,
        "unplayed": unplayed,
        "doubted": doubted,
        "took_s": round(time.perf_counter() - began_s, 1),
        "checks": {check: dict(sorted(of.items())) for check, of in verdicts.items()},
        "differ": differ,
    }
    write("agreement", figures, more, results=RESULTS)
    return figures


def alone() -> int:
    """`python -m verification.agreement [RUNS]`."""
    figures = main(int(sys.argv[1]) if len(sys.argv) > 1 else RUNS)
    show(figures)
    return HELD if all(figure.met for figure in figures) else BROKEN


if __name__ == "__main__":
    sys.exit(ended("verification.agreement", alone))
