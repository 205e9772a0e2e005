"""Timer lateness beside a starting Spark: basis of the default speed and the JVM's priority.

Ten processes of dummy machines exchange messages for some seconds at each speed: alone, beside a Spark that starts and
runs its first query (nice 0, nice 19, scheduling class idle), and beside an idle one. A run counts as long as p99.9 of
the lateness is below a tenth of the shortest scaled time-out; that is a produce's 1,500 ms in the recordings, so 150 ms
of scenario time.

    python -m benchmarks.spike [--seconds 8]        writes benchmarks/results/spike.json and spike.txt
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import trio

from benchmarks.dummies import LATENESS, specs
from emulator.toplevel_errors import ended
from emulator.topology import three_azs
from emulator.worlds.network.node_supervisor import Cluster

RESULTS = Path(__file__).with_name("results")
SPEEDS = (1.0, 2.0, 5.0, 10.0)
BESIDE = ("nothing", "spark starting, nice 0", "spark starting, nice 19", "spark starting, idle class", "spark idle")
NICENESS = {"spark starting, nice 0": 0, "spark starting, nice 19": 19, "spark starting, idle class": 20}
LATENESS_ALLOWED_MS = 150.0
SHARES = (("p50_ms", 0.5), ("p99_ms", 0.99), ("p999_ms", 0.999))


IDLE_CLASS = 20
"""As a niceness: Linux's SCHED_IDLE, which runs only where nothing else wants to."""


def spark_workload(directory: Path, nice: int) -> None:
    """Start the JVM, a session and a first query, and wait for the end of standard input.

    Reports the result of the query on standard output.
    """
    from audit.warm_spark import own_session

    started_s = time.monotonic()
    if nice == IDLE_CLASS:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))  # inherited by the JVM
    else:
        os.nice(nice)
    with own_session(directory) as spark:
        spark.range(300_000).selectExpr("sum(id % 7)", "count(distinct id % 1000)").collect()
        print(f"{time.monotonic() - started_s:.2f}", flush=True)
        sys.stdin.read()


def start_workload(directory: Path, nice: int) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "benchmarks.spike", "--workload", str(directory), "--nice", str(nice)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)


async def measure(beside: str, speed: float, seconds: float, scratch: Path) -> dict[str, Any]:
    """One cell: percentiles of lateness in scenario ms, over all processes."""
    topology = three_azs()
    run_dir = scratch / f"{beside.replace(' ', '-').replace(',', '')}-{speed:g}"
    workload = start_workload(run_dir / "spark", 0) if beside == "spark idle" else None
    spark_s = await trio.to_thread.run_sync(_ready_s, workload) if workload is not None else None
    async with Cluster(run_dir, topology, specs(topology), speed=speed, levels=("client", "replica")) as cluster:
        names = [node.name for node in topology.nodes]
        await cluster.start(*names)
        if beside.startswith("spark starting"):
            workload = start_workload(run_dir / "spark", NICENESS[beside])
        await trio.sleep(seconds)
        for name in names:
            await cluster.stop(name)
    if workload is not None:
        if spark_s is None:
            spark_s = await trio.to_thread.run_sync(_ready_s, workload)
        workload.communicate()
    samples = sorted(late_ms for name in names for late_ms in _samples(run_dir / "data" / name / LATENESS))
    cell: dict[str, Any] = {"beside": beside, "speed": speed, "timers": len(samples), "load": os.getloadavg()[0]}
    cell.update((key, round(samples[int(len(samples) * share)], 3)) for key, share in SHARES)
    cell["max_ms"] = round(samples[-1], 3)
    cell["spark_ready_s"] = spark_s
    cell["valid"] = cell["p999_ms"] <= LATENESS_ALLOWED_MS
    return cell


def _ready_s(workload: "subprocess.Popen[str]") -> float:
    assert workload.stdout is not None
    return float(workload.stdout.readline())


def _samples(path: Path) -> tuple[float, ...]:
    data = path.read_bytes()
    return struct.unpack(f"<{len(data) // 4}f", data)


def plot(cells: list[dict[str, Any]]) -> str:
    """A text plot: a row for each cell, a bar on a logarithmic scale from 0.1 ms to 10 s.

    | marks the limit of lateness.
    """
    import math

    def column(late_ms: float) -> int:
        return round(12 * (math.log10(max(late_ms, 0.1)) + 1))

    lines = ["timer lateness in scenario ms: ... p50  === p99  --- p99.9  > max;  | is what a run may have (p99.9)", ""]
    for cell in cells:
        bar = [" "] * 62
        bounds = [column(cell[key]) for key in ("p50_ms", "p99_ms", "p999_ms", "max_ms")]
        for start, end, mark in zip((0, *bounds), bounds, (".", "=", "-", ">"), strict=False):
            for position in range(start, min(end, len(bar))):
                bar[position] = mark
        bar[column(LATENESS_ALLOWED_MS)] = "|"
        figures = " ".join(f"{cell[key]:8.2f}" for key in ("p50_ms", "p99_ms", "p999_ms", "max_ms"))
        lines.append(f"{cell['beside']:24} x{cell['speed']:<4g} {figures}  {''.join(bar)}")
    return "\n".join(lines) + "\n"


def conclusion(cells: list[dict[str, Any]]) -> str:
    """The default speed, the JVM's priority and its start, from the numbers."""
    valid: dict[str, float] = {}
    for cell in cells:
        if cell["valid"]:
            valid[cell["beside"]] = max(cell["speed"], valid.get(cell["beside"], 0.0))
    starting = {beside: speed for beside, speed in valid.items() if beside in NICENESS}
    best = max(starting, key=lambda beside: (starting[beside], NICENESS[beside]), default="")
    if not best:
        return "No speed is safe beside a starting Spark: start it when the cluster has ended.\n"
    speeds = ", ".join(f"{beside}: x{speed:g}" for beside, speed in valid.items())
    return (
        f"Highest speed at which a run counts: {speeds}.\n"
        f"So: start the JVM with the run ({best.removeprefix('spark starting, ')}), default speed {starting[best]:g}.\n"
    )


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=8.0, help="real seconds for each cell")
    parser.add_argument("--repeat", type=int, default=1, help="measure each cell so often; the median p99.9 counts")
    parser.add_argument("--workload", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--nice", type=int, default=0, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.workload is not None:
        spark_workload(arguments.workload, arguments.nice)
        return 0
    scratch = Path(tempfile.mkdtemp(prefix="faultline-spike-"))
    try:
        cells = []
        for beside in BESIDE:
            for speed in SPEEDS:
                tries = []
                for number in range(arguments.repeat):
                    tries.append(trio.run(measure, beside, speed, arguments.seconds, scratch / str(number)))
                    print(tries[-1], file=sys.stderr)
                cells.append(sorted(tries, key=lambda cell: cell["p999_ms"])[len(tries) // 2])
    finally:
        shutil.rmtree(scratch)
    RESULTS.mkdir(exist_ok=True)
    result = {
        "benchmark": "spike", "cores": os.cpu_count(), "allowed_p999_ms": LATENESS_ALLOWED_MS,
        "conclusion": conclusion(cells), "cells": cells,
    }  # fmt: skip
    (RESULTS / "spike.json").write_text(json.dumps(result, indent=1) + "\n")
    text = f"{plot(cells)}\n{conclusion(cells)}"
    (RESULTS / "spike.txt").write_text(text)
    print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(ended("benchmarks.spike", main))
