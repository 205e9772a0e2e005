"""How many events per second Spark judges, beyond its start: a busy cluster's run of three million events.

    python -m benchmarks.audit_throughput

Two sizes show whether the cost is linear; the virtual machine's CPU time is kept too, for a machine that is shared.
And a run of ordinary size: from a session that is ready, and warmed up meanwhile, to its verdict.
"""

from __future__ import annotations

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

from audit.checks.registry import CHECKS
from audit.expected import Expected
from audit.run import audit_runs
from audit.session import find_java, spark_session, start_gateway
from audit.tiny_run import tiny_run
from benchmarks.figures import Figure, show, write
from benchmarks.synthetic_run import write_run
from emulator.exit_codes import HELD
from emulator.last_resort import ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

EVENTS = 3_000_000
SMALL_EVENTS = 5_000
SIX = tuple(check for name, check in CHECKS.items() if name != "dual-controller")
HEAP_MIB = 3072
BOUND = "CPU: parsing JSON 10 s, keeping it as Parquet 6 s, folding logs 4 s, the rest checks, compiling and collection"


def warm_up(spark: SparkSession, scratch: Path) -> None:
    """The first audit of a virtual machine takes several times as long as the next: it is of something else."""
    [verdict] = audit_runs(spark, [tiny_run(scratch)], scratch=str(scratch))
    assert verdict.valid is True, verdict


def timed(spark: SparkSession, run: Path, scratch: Path, *, six: bool = False) -> float:
    """Seconds of one audit."""
    began = time.perf_counter()
    checks = SIX if six else tuple(CHECKS.values())
    [verdict] = audit_runs(spark, [run], scratch=str(scratch), checks=checks, expected=lambda _: Expected())
    assert verdict.checks["lost-acknowledged"].count > 0, "the run was made with lost records in it"
    assert not verdict.unknown_because, verdict.unknown_because
    return time.perf_counter() - began


def main() -> list[Figure]:
    """Rates of the first audit of each kind in its own virtual machine."""
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name)
        sizes = {n: write_run(folder / str(n), n) for n in (EVENTS // 3, EVENTS, SMALL_EVENTS)}
        with start_gateway(find_java(os.environ), folder / "steady", tuning="steady", heap_mib=HEAP_MIB) as gateway:
            spark, jvm = spark_session(gateway), psutil.Process(gateway.process.pid)
            warm_up(spark, folder)
            third_s = timed(spark, folder / str(EVENTS // 3), folder / "scratch", six=True)
            before = sum(jvm.cpu_times()[:2])
            six_s = timed(spark, folder / str(EVENTS), folder / "scratch", six=True)
            cpu_s = sum(jvm.cpu_times()[:2]) - before
            all_s = timed(spark, folder / str(EVENTS), folder / "scratch")
        with start_gateway(find_java(os.environ), folder / "quick") as gateway:
            spark = spark_session(gateway)
            began = time.perf_counter()
            warm_up(spark, folder)
            warm_up_s = time.perf_counter() - began
            small_s = [timed(spark, folder / str(SMALL_EVENTS), folder / "scratch") for _ in range(3)]
    events = sizes[EVENTS]
    figures = [
        Figure(line="audit, six checks, beyond Spark's start", value=events / six_s, unit="events/s", target=250_000,
               higher_is_better=True, bound=BOUND),
        Figure(line="audit, all checks", value=events / all_s, unit="events/s", target=150_000, higher_is_better=True),
        Figure(line="an ordinary run, from a warm session to its verdict", value=statistics.median(small_s), unit="s",
               target=2.0, bound="a dozen Spark plans are made and run, whatever the number of events"),
    ]  # fmt: skip
    more: dict[str, object] = {
        "events": events, "six_s": six_s, "six_jvm_cpu_s": cpu_s, "all_s": all_s, "third_of_events_s": third_s,
        "small_s": small_s, "warm_up_s": warm_up_s,
    }  # fmt: skip
    write("audit_throughput", figures, more)
    return figures


def alone() -> int:
    """`python -m benchmarks.audit_throughput`."""
    show(main())
    return HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.audit_throughput", alone))
