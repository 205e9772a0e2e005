"""The dual-leader scenario from the command to the audited verdict, as a user runs it.
it."""

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.figure_records import Figure, write

RUNS = 3
LIMIT_S = 120


def once(directory: Path) -> tuple[float, dict[str, float]]:
    """(seconds, the verdict's measures). Raises if the run is not valid."""
    os.sync()  # pending writes of other benchmarks would disturb this one
    began = time.perf_counter()
    command = [sys.executable, "-m", "emulator", "run", "az-isolated-leader", "--json", "--out", str(directory)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    seconds = time.perf_counter() - began
    if done.returncode != 0:
        raise RuntimeError(f"exit code {done.returncode}: {done.stderr[-2000:]}{done.stdout[-2000:]}")
    return seconds, json.loads(done.stdout)["measures"]


def main() -> list[Figure]:
    """Median of RUNS."""
    seconds, measures = [], []
    for run in range(RUNS):
        with tempfile.TemporaryDirectory(prefix="faultline-") as directory:
            one, measured = once(Path(directory) / f"run-{run}")
        seconds.append(one)
        measures.append(measured)
    figures = [
        Figure(
            line="dual-leader scenario, real processes: command to audited verdict", value=statistics.median(seconds),
            unit="s", target=12, stretch=10, bound="the scenario's own 40 s at speed 5 are 8 s of it",
        )
    ]  # fmt: skip
    write("dual_leader", figures, {"seconds": seconds, "measures": measures})
    return figures
