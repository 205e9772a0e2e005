"""`python -m verification.random_schedules [--seeds N] [SCHEDULE...]`: simulated schedules.

Which recordings are reached, and which entries that both recordings of a schedule agree on are rare: printed, and
written to verification/results/random_schedules.json, from which docs/random-schedules.md is made and which
tests/test_random_schedules.py holds the machines to; nothing is written for some schedules alone. Exit code 1 if a
recording is reached by no seed or an agreed entry is rare.
"""

import argparse
import sys
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.judging.schedule_judging import Judged, judge_all, schedules
from emulator.toplevel_errors import ended

RESULTS = Path(__file__).parent / "results" / "random_schedules.json"
SEEDS = 200
FURTHER = 6_000
"""Last seed of the search for a recording that no first seed reaches.

Some recordings are one race among many.
"""


def line(one: Judged) -> str:
    reached = ", ".join(f"{name} by {_by(one, seeds)}" for name, seeds in one.reached.items())
    return (
        f"{one.schedule:18} {one.always:3} of {one.entries:3} agreed entries in every seed, "
        f"all of them in {one.seeds - len(one.broken):3} of {one.seeds} seeds, {len(one.rare)} rare; reached: {reached}"
    )


def _by(one: Judged, seeds: tuple[int, ...]) -> str:
    return f"seed {seeds[0]}" if seeds and seeds[0] > one.seeds else str(len(seeds))


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("schedules", nargs="*", metavar="SCHEDULE", help="all if none is given")
    parser.add_argument("--seeds", type=int, default=SEEDS, help="of each")
    given = parser.parse_args(arguments)
    named: list[str] = given.schedules
    if unknown := sorted({*named} - {*schedules()}):
        parser.error(f"{unknown[0]}: there is {', '.join(schedules())}")
    if not 1 <= given.seeds <= FURTHER:
        parser.error(f"--seeds {given.seeds}: 1 to {FURTHER}")
    began_s = perf_counter()
    judged: list[Judged] = []
    further = range(given.seeds + 1, FURTHER + 1)
    for one in judge_all(named or schedules(), range(1, given.seeds + 1), further):
        judged.append(one)
        print(line(one), flush=True)
        for example in one.rare or one.examples:
            print(f"    {example}", flush=True)
    recordings = [seeds for one in judged for seeds in one.reached.values()]
    found, rare = sum(map(bool, recordings)), sum(len(one.rare) for one in judged)
    print(
        f"{found} of {len(recordings)} recordings are reached; {rare} agreed entries are rare; "
        f"{perf_counter() - began_s:.0f} s"
    )
    if not named:
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(judged), indent=1) + b"\n")
    return 0 if not rare and found == len(recordings) else 1


if __name__ == "__main__":
    sys.exit(ended("verification.random_schedules", lambda: main(sys.argv[1:])))
