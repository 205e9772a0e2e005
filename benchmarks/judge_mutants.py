"""`python -m benchmarks.judge_mutants [--runs N] [MUTANT...]`: mutants for crash testing.

Every mutant (`benchmarks.mutants`) is played as `benchmarks.kill_anywhere` plays: seeds of the whole catalogue in the
mutant's versions, until one run fails; the same seed is then played with machines that are right, and must be good.
Printed and written to benchmarks/results/judge_mutants.json: how many runs it took, and what was found. Exit code 1 if
a mutant lives, or a failure is not the mutant's.
"""

import argparse
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from benchmarks.mutants import MUTANTS, Mutant, applied
from benchmarks.mutants_seen import SEEN
from emulator.judging.crash_testing.crash_seeds import DeathResult, DeathsOptions, play_seed
from emulator.runs.cores import on_all_cores
from emulator.toplevel_errors import ended

RESULTS = Path(__file__).parent / "results" / "judge_mutants.json"
RUNS = 2_000
FIRST = 1


class MutantTask(msgspec.Struct, frozen=True):
    """Task of a worker."""

    mutant: str
    deaths: DeathsOptions


class MutantWorker:
    def __init__(self, task: MutantTask) -> None:
        self._asked = task

    def play(self, seed: int) -> DeathResult:
        return mutated(self._asked, seed)


def mutated(task: MutantTask, seed: int) -> DeathResult:
    """One run with that mutant, judged by the rules of right machines.

    A gate that the mutant has altered excuses nothing.
    """
    return play_seed(task.deaths.plan(seed), applied(mutant_named(task.mutant)))


def mutant_named(name: str) -> Mutant:
    """A mutant of either list.

    Patches are functions, which cannot be sent to another process: it looks them up. A mutant without a version is
    played in the version in which its check detects it.
    """
    if name in MUTANTS:
        return MUTANTS[name]
    seen = SEEN[name]
    if seen.mutant.versions:
        return seen.mutant
    return msgspec.structs.replace(seen.mutant, versions=(seen.version,))


def hunted(name: str, seeds: Sequence[int], processes: int | None = None) -> dict[str, Any]:
    """Until a run fails."""
    mutant = mutant_named(name)
    task = MutantTask(name, DeathsOptions(mutant.scenarios, mutant.versions))
    began_s, runs = perf_counter(), 0
    row: dict[str, Any] = {"mutant": name, "wrong": mutant.wrong, "found": False}
    with closing(on_all_cores(MutantWorker, task, seeds, processes)) as results:
        for result in results:
            runs += 1
            if result.error:
                row |= {"error": result.error}  # a machine that stumbles over its own assertion proves nothing
            elif result.failed:
                right = play_seed(result.plan)
                row |= {"found": right.good, "seed": result.seed, "plan": result.plan.text}
                row |= {"by": result.failed[0]}
                break
    return {**row, "runs": runs, "wall_s": round(perf_counter() - began_s, 1)}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", nargs="*", help="all if none is given")
    parser.add_argument("--runs", type=int, default=RUNS, help="of each, at most")
    parser.add_argument("--first", type=int, default=FIRST, help="the first seed; others follow")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.mutants if name not in MUTANTS]
    if unknown:
        parser.error(f"no mutant {unknown[0]!r}; there are: {', '.join(MUTANTS)}")
    if given.runs < 1:
        parser.error(f"--runs {given.runs}: at least 1")
    rows = []
    for mutant in given.mutants or MUTANTS:
        rows.append(hunted(mutant, range(given.first, given.first + given.runs)))
        print(msgspec.json.encode(rows[-1]).decode(), flush=True)
    if not given.mutants:
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    found = sum(row["found"] for row in rows)
    print(f"{found} of {len(rows)} mutants found")
    return 0 if found == len(rows) else 1


if __name__ == "__main__":
    sys.exit(ended("benchmarks.judge_mutants", main))
