"""`python -m verification.quorum [--seeds N] [--mutants]`: faults on the Raft quorum.

Each seed draws a cluster, its releases and its faults, and is judged by the invariants. With `--mutants`, each wrong
quorum plays seeds until an invariant breaks. Results: verification/results/quorum.json, quorum_mutants.json. Exit code
1 if a seed breaks, or if a mutant is not detected.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from contextlib import closing
from time import perf_counter
from typing import Any

import msgspec

from emulator.exit_codes import BROKEN, HELD
from emulator.runs.cores import on_all_cores
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.quorum.mutant_search import search
from verification.quorum.quorum_mutants import QUORUM_MUTANTS
from verification.quorum.quorum_seeds import SeedResult, play_quorum_seed

SEEDS = 2_000
MUTANT_SEEDS = 1_300
PROGRESS_SEEDS = 500


class QuorumWorker:
    def __init__(self, options: None) -> None:
        pass

    def play(self, seed: int) -> SeedResult:
        return play_quorum_seed(seed)


def played_seeds(first: int, count: int, processes: int | None) -> dict[str, Any]:
    """Seeds from `first` on, and their figures."""
    began_s, broken = perf_counter(), []
    sums: Counter[str] = Counter()
    simulated_ms = 0.0
    with closing(on_all_cores(QuorumWorker, None, range(first, first + count), processes)) as results:
        for done, result in enumerate(results, start=1):
            sums.update(steps=result.steps, committed=result.committed, epochs=result.epochs)
            simulated_ms += result.simulated_ms
            if result.broken:
                broken.append({"seed": result.seed, "setup": result.setup, "by": result.broken, "text": result.text})
                print(f"seed {result.seed}, {result.setup}: {result.broken}: {result.text}", flush=True)
            if done % PROGRESS_SEEDS == 0:
                print(f"{done} seeds, {len(broken)} broken", flush=True)
    return {
        "first": first,
        "seeds": count,
        "broken": broken,
        "steps": sums["steps"],
        "committed_offsets": sums["committed"],
        "epochs": sums["epochs"],
        "simulated_s": round(simulated_ms / 1000),
        "wall_s": round(perf_counter() - began_s),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=SEEDS, help=f"number of seeds (default {SEEDS})")
    parser.add_argument("--first", type=int, default=1, help="the first seed (default 1)")
    parser.add_argument("--processes", type=int, default=None, help="default: one for each core")
    parser.add_argument("--mutants", action="store_true", help="play the wrong quorums instead")
    chosen = parser.parse_args(arguments)
    if chosen.mutants:
        rows = [search(name, MUTANT_SEEDS) for name in QUORUM_MUTANTS]
        for row in rows:
            print(f"{row['mutant']:<32} {row['by'] or 'not detected':<26} seed {row['seed']}")
        (RESULTS / "quorum_mutants.json").write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
        return HELD if all(row["detected"] for row in rows) else BROKEN
    figures = played_seeds(chosen.first, chosen.seeds, chosen.processes)
    print(f"{figures['seeds']} seeds, {figures['steps']} steps, {len(figures['broken'])} broken")
    if chosen.seeds == SEEDS:
        (RESULTS / "quorum.json").write_bytes(msgspec.json.format(msgspec.json.encode(figures)) + b"\n")
    return BROKEN if figures["broken"] else HELD


if __name__ == "__main__":
    sys.exit(ended("verification.quorum", main))
