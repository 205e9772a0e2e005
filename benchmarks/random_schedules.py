"""`python -m benchmarks.random_schedules [SEEDS]`: the recorded random schedules, 200 seeds each, in simulation.

Which schedules have every agreed entry right in how many seeds, and which recordings are reached: printed, and written
to benchmarks/results/random_schedules.json, from which docs/random-schedules.md is made and which
tests/test_random_schedules.py holds the machines to. Exits with 1 if a recording is reached by no seed or an agreed
entry is missing in any.
"""

import multiprocessing
import sys
from functools import partial
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.runs.schedules import Judged, judge, schedules

RESULTS = Path(__file__).parent / "results" / "random_schedules.json"
SEEDS = 200


def line(one: Judged) -> str:
    reached = ", ".join(f"{name} by {len(seeds)}" for name, seeds in one.reached.items())
    return (
        f"{one.schedule:18} {one.always:3} of {one.entries:3} agreed entries in every seed, "
        f"all of them in {one.seeds - len(one.broken):3} of {one.seeds} seeds; reached: {reached}"
    )


def main(arguments: list[str]) -> int:
    count = int(arguments[0]) if arguments else SEEDS
    began_s = perf_counter()
    judged: list[Judged] = []
    with multiprocessing.get_context("spawn").Pool() as pool:
        for one in pool.imap(partial(judge, seeds=range(1, count + 1)), schedules()):
            judged.append(one)
            print(line(one), flush=True)
            for example in one.examples:
                print(f"    {example}", flush=True)
    recordings = [seeds for one in judged for seeds in one.reached.values()]
    found, right = sum(map(bool, recordings)), sum(not one.broken for one in judged)
    print(
        f"{right} of {len(judged)} schedules have every agreed entry in every seed; {found} of {len(recordings)} "
        f"recordings are reached; {perf_counter() - began_s:.0f} s"
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(judged), indent=1) + b"\n")
    return 0 if right == len(judged) and found == len(recordings) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
