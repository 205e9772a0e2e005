"""A thousand runs of three thousand events each, audited as one job with a verdict each.

    python -m benchmarks.many_runs [RUNS] [EVENTS]

Beyond Spark's start. The processors' time is kept, too, of Java and of Python, for a machine that is shared.
"""

from __future__ import annotations

import sys
import tempfile
import time
from pathlib import Path

import psutil

from audit.audited_run import audit_runs
from audit.input import find_runs
from audit.spark_java import tuning_for
from audit.spark_keeper import Launch
from audit.warm_spark import own_session, server_of
from benchmarks.figure_records import Figure, show, write
from benchmarks.synthetic_run import write_run
from emulator.exit_codes import HELD
from emulator.toplevel_errors import ended

RUNS = 1_000
EVENTS = 3_000
TARGET_S = 90.0
BOUND = "processors: plans and compiling are those of one run; beyond them every file is opened, every line parsed"


def main(runs: int = RUNS, events: int = EVENTS) -> list[Figure]:
    """Every verdict is looked at: all runs were made with lost records in them."""
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name).resolve()
        paths = [folder / "runs" / f"run-{number}" for number in range(runs)]
        written = sum(write_run(path, events, run=path.name) for path in paths)
        size_bytes = sum(run.size_bytes for run in find_runs(paths))
        launch = Launch(tuning=tuning_for(size_bytes), idle_s=0.0, at_once=True)
        with own_session(folder / "spark", launch) as spark:
            server = server_of(folder / "spark")
            assert server is not None
            jvm = psutil.Process(server.java_pid)
            began, ours_s, java_s = time.perf_counter(), time.process_time(), sum(jvm.cpu_times()[:2])
            verdicts = audit_runs(spark, paths, scratch=str(folder / "scratch"))
            took_s = time.perf_counter() - began
            ours_s, java_s = time.process_time() - ours_s, sum(jvm.cpu_times()[:2]) - java_s
            peak_mib = jvm.memory_info().rss >> 20
    assert [verdict.run for verdict in verdicts] == [path.name for path in paths]
    assert all(verdict.checks["lost-acknowledged"].count > 0 and not verdict.unknown_because for verdict in verdicts)
    line = f"{runs:,} runs of {events:,} events, audited as one job"
    figures = [Figure(line=line, value=took_s, unit="s", target=TARGET_S, bound=BOUND)]
    more: dict[str, object] = {
        "runs": runs, "events": written, "bytes": size_bytes, "python_cpu_s": round(ours_s, 2),
        "java_cpu_s": round(java_s, 2), "java_rss_mib": peak_mib,
    }  # fmt: skip
    print(more)
    if runs == RUNS:
        write("many_runs", figures, more)
    return figures


def alone() -> int:
    """`python -m benchmarks.many_runs [RUNS] [EVENTS]`."""
    show(main(*map(int, sys.argv[1:])))
    return HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.many_runs", alone))
