"""Kills processes, one per trial, with every engine and driver of this machine.

A whole benchmark (RUNS trials) writes verification/results/killed_processes.json. Exit code 1 if a process or file was
left behind, or a response failed.
"""

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed
from itertools import count
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from benchmarks.figure_records import machine
from emulator.toplevel_errors import ended
from emulator.worlds.containers.tool import DockerFailed, DockerMissing, engine_version
from emulator.worlds.packet_filter.rights import missing
from verification.killed_processes.remaining_processes import Home
from verification.killed_processes.trials import SCENARIO, Ordered, Place, Trial, played

RESULTS: Final = Path(__file__).parents[1] / "results" / "killed_processes.json"
RUNS: Final = 300
RUNS_MAX: Final = 100_000
PLACES: Final[tuple[Place, ...]] = (
    ("process", "nodes"), ("process", "kernel"), ("docker", "nodes"), ("docker", "kernel"),
)  # fmt: skip


def places() -> tuple[list[Place], dict[str, str]]:
    """The engines and drivers that this machine has; {missing one: reason}."""
    lacking: dict[str, str] = {}
    if problems := missing():
        lacking["kernel"] = problems[0]
    try:
        engine_version()
    except (DockerMissing, DockerFailed) as error:
        lacking["docker"] = str(error)
    return [place for place in PLACES if not set(place) & set(lacking)], lacking


def orders(there: list[Place], runs: int) -> list[Ordered]:
    """Trials with at least `runs` kills: every kind with every engine and driver in turn.

    A run in real time takes as long as its scenario, so there are fewer of those.
    """
    found: list[Ordered] = []
    for turn in count():
        az = turn % 3
        nodes = (f"broker-{az}", f"session-{az}", f"client-{az}")
        for place in there:
            kept = place != ("process", "nodes")
            agents = (f"agent client-{az}", f"agent broker-{(az + 1) % 3}", f"agent session-{az}") if kept else ()
            last = "owner" if kept or turn % 2 else "fork server"
            found += [Ordered("up", place, (*nodes, *agents, last)), Ordered("run", place, ("owner",))]
            if not kept or turn % 4 == 1:
                other = "agent broker-0" if kept else "fork server"
                found.append(Ordered("run", place, (nodes[0] if turn % 2 else other,)))
        found += [Ordered("audit", ("", ""), (victim,)) for victim in ("owner", "java")]
        found.append(Ordered("run", ("process", "nodes"), ("java",)))
        if sum(len(order.victims) for order in found) >= runs:
            return found
    raise AssertionError("unreachable")


def summary_of(trials: list[Trial], lacking: dict[str, str], wall_s: float) -> dict[str, Any]:
    kills: defaultdict[str, int] = defaultdict(int)
    for trial in trials:
        kills[_words(trial)] += 1
    return {
        "machine": machine(),
        "runs": len(trials),
        "failed": sum(bool(trial.problems) for trial in trials),
        "kills": dict(sorted(kills.items())),
        "problems": [trial for trial in trials if trial.problems],
        "not_here": lacking,
        "wall_s": round(wall_s, 1),
    }


def _words(trial: Trial) -> str:
    return " ".join(part for part in (trial.what, trial.engine, trial.driver, trial.killed) if part)


def _named(order: Ordered) -> str:
    return "/".join(order.place) if order.what != "audit" else "audit"


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.killed_processes", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=1, help="seed of the moments of the kills")
    parser.add_argument("--at-once", type=int, default=2, choices=range(1, 17), help="number of simultaneous clusters")
    parser.add_argument("--only", action="append", default=[], help="engine/driver, or audit (repeatable)")
    parser.add_argument("--results", type=Path, help="file for the results; without it only a whole benchmark is saved")
    given = parser.parse_args(arguments)
    if not 1 <= given.runs <= RUNS_MAX:
        parser.error(f"--runs {given.runs}: 1 to {RUNS_MAX}")
    there, lacking = places()
    known = ["audit", *("/".join(place) for place in there)]
    if unknown := [one for one in given.only if one not in known]:
        parser.error(f"--only {unknown[0]}: here there is {', '.join(known)}")
    wanted = [one for one in orders(there, given.runs) if not given.only or _named(one) in given.only]
    target = given.results or (RESULTS if given.runs >= RUNS and not given.only else None)
    began_s, trials = perf_counter(), list[Trial]()
    with tempfile.TemporaryDirectory(prefix="faultline-killed-") as name, ThreadPoolExecutor(given.at_once) as pool:
        events = Path(name) / "events"
        run = Home(Path(name) / "first", docker=False).ran("run", SCENARIO, "--audit", "none", "--out", str(events))
        assert events.exists(), run.output

        def play(number: int) -> list[Trial]:
            order, draw = wanted[number], random.Random(f"{given.seed} {number}")
            return played(order, Path(name) / str(number), draw, events if order.what == "audit" else None)

        summary = summary_of([], lacking, 0.0)
        for result in as_completed([pool.submit(play, number) for number in range(len(wanted))]):
            for trial in result.result():
                trials.append(trial)
                print(f"{len(trials)}: {_words(trial)}: {'; '.join(trial.problems) or 'nothing left'}", flush=True)
            summary = summary_of(trials, lacking, perf_counter() - began_s)
            if target is not None:
                target.write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    print(f"{summary['runs']} processes killed, {summary['failed']} trials failed, {summary['wall_s']:g} s")
    return 1 if summary["failed"] else 0


if __name__ == "__main__":
    sys.exit(ended("verification.killed_processes", main))
