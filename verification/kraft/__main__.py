"""`python -m verification.kraft [--seeds N] [--mutants]`: KRaft's controllers under test.

They receive random requests and failovers. Each seed is judged by the invariants. With `--mutants`, each wrong
controller plays seeds until an invariant breaks. Results: verification/results/kraft_controllers.json,
kraft_controller_mutants.json. Exit code 1 if a seed breaks, or if a mutant is not detected.
"""

from __future__ import annotations

import argparse
import sys
from contextlib import closing
from time import perf_counter
from typing import Any

import msgspec

from emulator.exit_codes import BROKEN, HELD
from emulator.runs.cores import on_all_cores
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.kraft.controller_mutants import CONTROLLER_MUTANTS, broken_by, search
from verification.kraft.controller_world import STEPS

SEEDS = 5_000
MUTANT_SEEDS = 50


class ControllerWorker:
    def __init__(self, options: None) -> None:
        pass

    def play(self, seed: int) -> tuple[int, str]:
        return seed, broken_by(seed)


def played_seeds(first: int, count: int, processes: int | None) -> dict[str, Any]:
    """Seeds from `first` on, and their figures."""
    began_s = perf_counter()
    with closing(on_all_cores(ControllerWorker, None, range(first, first + count), processes)) as results:
        broken = [{"seed": seed, "by": by} for seed, by in results if by]
    wall_s = round(perf_counter() - began_s)
    return {"first": first, "seeds": count, "steps": count * STEPS, "broken": broken, "wall_s": wall_s}


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"number of seeds (default {SEEDS})")
    parser.add_argument("--first", type=int, default=0, help="the first seed (default 0)")
    parser.add_argument("--processes", type=int, default=None, help="default: one for each core")
    parser.add_argument("--mutants", action="store_true", help="play the wrong controllers instead")
    chosen = parser.parse_args(arguments)
    if chosen.mutants:
        rows = [search(name, MUTANT_SEEDS) for name in CONTROLLER_MUTANTS]
        for row in rows:
            print(f"{row['mutant']:<32} {row['by'] or 'not detected':<26} seed {row['seed']}")
        _store("kraft_controller_mutants.json", rows)
        return HELD if all(row["detected"] for row in rows) else BROKEN
    figures = played_seeds(chosen.first, chosen.seeds, chosen.processes)
    for one in figures["broken"]:
        print(f"seed {one['seed']}: {one['by']}")
    print(f"{figures['seeds']} seeds, {len(figures['broken'])} broken")
    if chosen.seeds == SEEDS:
        _store("kraft_controllers.json", figures)
    return BROKEN if figures["broken"] else HELD


def _store(name: str, content: object) -> None:
    (RESULTS / name).write_bytes(msgspec.json.format(msgspec.json.encode(content)) + b"\n")


if __name__ == "__main__":
    sys.exit(ended("verification.kraft", main))
