"""Kills RUNS processes, one in each trial, over every engine and driver that this machine has; writes
benchmarks/results/killed_processes.json for a whole benchmark. Exit code 1 if something was left, or an answer failed.
"""

import argparse
import random
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import cycle
from pathlib import Path
from time import perf_counter
from typing import Any, Final

import msgspec

from benchmarks.figures import machine
from benchmarks.killed_processes.left import Home
from benchmarks.killed_processes.trials import SCENARIO, Ordered, Place, Trial, played
from emulator.containers.tool import DockerFailed, DockerMissing, engine_version
from emulator.packet_filter.rights import missing

RESULTS: Final = Path(__file__).parents[1] / "results" / "killed_processes.json"
RUNS: Final = 300
RUNS_MAX: Final = 100_000
PLACES: Final[tuple[Place, ...]] = (
    ("process", "nodes"), ("process", "kernel"), ("docker", "nodes"), ("docker", "kernel"),
)  # fmt: skip


def places() -> tuple[list[Place], dict[str, str]]:
    """Those that this machine has; {place: why it has it not}."""
    lacking: dict[str, str] = {}
    if problems := missing():
        lacking["kernel"] = problems[0]
    try:
        engine_version()
    except (DockerMissing, DockerFailed) as error:
        lacking["docker"] = str(error)
    return [place for place in PLACES if not set(place) & set(lacking)], lacking


def orders(there: list[Place]) -> Iterator[Ordered]:
    """Without an end, every kind in every place in turn; those that are cheap more often."""
    for turn in cycle(range(6)):
        az = turn % 3
        nodes = (f"broker-{az}", f"session-{az}", f"client-{az}")
        for place in there:
            kept = place != ("process", "nodes")
            if place[0] == "docker" and turn % 3:
                continue
            keepers = (f"keeper client-{az}", f"keeper broker-{(az + 1) % 3}", f"keeper session-{az}") if kept else ()
            last = "owner" if kept or turn % 2 else "fork server"
            yield Ordered("up", place, (*nodes, *keepers, last))
            yield Ordered("run", place, ("owner",))
            other = ("keeper broker-0",) if kept else ("fork server",)
            yield Ordered("run", place, (nodes[0],) if turn % 2 else other)
        if not turn % 3:
            yield Ordered("run", ("process", "nodes"), ("java",))
        yield Ordered("audit", ("", ""), ("owner",))
        yield Ordered("audit", ("", ""), ("java",))


def summary_of(trials: list[Trial], lacking: dict[str, str], wall_s: float) -> dict[str, Any]:
    kills: defaultdict[str, int] = defaultdict(int)
    for trial in trials:
        kills[" ".join(part for part in (trial.what, trial.engine, trial.driver, trial.killed) if part)] += 1
    return {
        "machine": machine(),
        "runs": len(trials),
        "failed": sum(bool(trial.problems) for trial in trials),
        "kills": dict(sorted(kills.items())),
        "problems": [trial for trial in trials if trial.problems],
        "not_here": lacking,
        "wall_s": round(wall_s, 1),
    }


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.killed_processes", description=__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--seed", type=int, default=1, help="of the moments")
    parser.add_argument("--only", action="append", default=[], help="engine/driver, or audit (repeatable)")
    parser.add_argument("--results", type=Path, help="the file that is written; none for less than a whole benchmark")
    given = parser.parse_args(arguments)
    if not 1 <= given.runs <= RUNS_MAX:
        parser.error(f"--runs {given.runs}: 1 to {RUNS_MAX}")
    there, lacking = places()
    known = ["audit", *("/".join(place) for place in there)]
    if unknown := [one for one in given.only if one not in known]:
        parser.error(f"--only {unknown[0]}: here there is {', '.join(known)}")
    began_s, trials, draw = perf_counter(), list[Trial](), random.Random(given.seed)
    with tempfile.TemporaryDirectory(prefix="faultline-killed-") as name:
        events = Path(name) / "events"
        run = Home(Path(name) / "first", docker=False).ran("run", SCENARIO, "--audit", "none", "--out", str(events))
        assert events.exists(), run.said
        for number, order in enumerate(orders(there)):
            if len(trials) >= given.runs:
                break
            if given.only and ("/".join(order.place) if order.what != "audit" else "audit") not in given.only:
                continue
            for trial in played(order, Path(name) / str(number), draw, events if order.what == "audit" else None):
                trials.append(trial)
                words = " ".join(part for part in (trial.what, trial.engine, trial.driver, trial.killed) if part)
                print(f"{len(trials)}: {words}: {'; '.join(trial.problems) or 'nothing left'}", flush=True)
    summary = summary_of(trials, lacking, perf_counter() - began_s)
    target = given.results or (RESULTS if len(trials) >= RUNS and not given.only else None)
    if target is not None:
        target.write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    print(f"{summary['runs']} processes killed, {summary['failed']} trials failed, {summary['wall_s']:g} s")
    return 1 if summary["failed"] else 0


if __name__ == "__main__":
    sys.exit(main())
