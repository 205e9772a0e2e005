"""Detects mutants by crash testing: deaths in runs of a mutant, until one run fails.

The same seed is then played with correct machines, and must not fail.
"""

from collections.abc import Sequence
from contextlib import closing
from time import perf_counter
from typing import Any

import msgspec

from emulator.judging.crash_testing.crash_seeds import DeathResult, DeathsOptions, play_seed
from emulator.runs.cores import on_all_cores
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS


class MutantTask(msgspec.Struct, frozen=True):
    """Task of a worker."""

    mutant: str
    deaths: DeathsOptions


class MutantWorker:
    def __init__(self, task: MutantTask) -> None:
        self._task = task

    def play(self, seed: int) -> DeathResult:
        return mutated(self._task, seed)


def mutated(task: MutantTask, seed: int) -> DeathResult:
    """One run with that mutant, judged by the rules of right machines.

    A gate that the mutant has altered excuses nothing. The task has the mutant's name: its patches are functions, which
    cannot be sent to another process.
    """
    return play_seed(task.deaths.plan(seed), applied(MUTANTS[task.mutant]))


def hunted(name: str, seeds: Sequence[int], processes: int | None = None) -> dict[str, Any]:
    """Until a run fails."""
    mutant = MUTANTS[name]
    task = MutantTask(name, DeathsOptions(mutant.scenarios, mutant.versions or (mutant.version,)))
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
