"""Time of Spark's audit of a busy cluster's run of one and three million events.

    python -m benchmarks.audit_throughput

Without Spark's start. The virtual machine's CPU time is recorded too, for a shared machine. Also a run of ordinary
size: from a ready session, warmed up meanwhile, to its verdict.
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import psutil

from audit.audited_run import audit_runs
from audit.expected import Expected
from audit.input import read_directory
from audit.spark_java import tuning_for
from audit.spark_keeper import Launch
from audit.tiny_run import tiny_run
from audit.warm_spark import own_session, server_of
from benchmarks.figure_records import Figure, show, write
from benchmarks.synthetic_run import write_run
from emulator.exit_codes import HELD
from emulator.runs.verdict_file import Verdict
from emulator.toplevel_errors import ended

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZES = {1_000_000: 7.0, 3_000_000: 13.0}
"""{events: target in seconds}"""
SMALL_EVENTS = 5_000
BOUND = "each of about a hundred jobs costs a tenth of a second, for any number of events (docs/audit-cost.md)"


def warm_up(spark: SparkSession, scratch: Path) -> None:
    """Warm up a virtual machine by an audit of another run.

    The first audit of a virtual machine takes several times as long as the next.
    """
    [verdict] = audit_runs(spark, [tiny_run(scratch)], scratch=str(scratch))
    assert verdict.valid is True, verdict


class Audited(NamedTuple):
    """`took_s`: of the clock; `cpu_s`: of Java's processors."""

    took_s: float
    cpu_s: float
    verdict: Verdict


def timed(spark: SparkSession, run: Path, scratch: Path) -> tuple[float, Verdict]:
    """(seconds of one audit, its verdict)."""
    began = time.perf_counter()
    [verdict] = audit_runs(spark, [run], scratch=str(scratch), expected=lambda _: Expected())
    assert verdict.checks["lost-acknowledged"].count > 0, "the run was made with lost records in it"
    assert not verdict.unknown_because, verdict.unknown_because
    return time.perf_counter() - began, verdict


def first_audit(folder: Path, run: Path) -> Audited:
    """The first big audit in its virtual machine, without Spark's start and its warm-up."""
    launch = Launch(tuning=tuning_for(read_directory(run).size_bytes), idle_s=0.0, at_once=True)
    place = folder / f"spark-{run.name}"
    with own_session(place, launch) as spark:
        server = server_of(place)
        assert server is not None
        jvm = psutil.Process(server.java_pid)
        warm_up(spark, folder)
        before = sum(jvm.cpu_times()[:2])
        took_s, verdict = timed(spark, run, folder / "scratch")
        return Audited(took_s, sum(jvm.cpu_times()[:2]) - before, verdict)


def main() -> list[Figure]:
    """Figures of the first audit of each size, in its own virtual machine.

    Its heap has the size of `faultline audit`'s.
    """
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name)
        first = {}
        for events in SIZES:
            write_run(folder / str(events), events)
            first[events] = first_audit(folder, folder / str(events))
        write_run(folder / "small", SMALL_EVENTS)
        with own_session(folder / "quick") as spark:
            began = time.perf_counter()
            warm_up(spark, folder)
            warm_up_s = time.perf_counter() - began
            small_s = [timed(spark, folder / "small", folder / "scratch")[0] for _ in range(3)]
    figures = [
        *(
            Figure(line=f"audit of {events:,} events, all checks, without Spark's start", value=audited.took_s,
                   unit="s", target=SIZES[events], bound=BOUND)
            for events, audited in first.items()
        ),
        Figure(line="an ordinary run, from a warm session to its verdict", value=statistics.median(small_s), unit="s",
               target=2.0, bound="a dozen Spark plans are made and run, for any number of events"),
    ]  # fmt: skip
    more: dict[str, object] = {
        "jvm_cpu_s": {str(events): audited.cpu_s for events, audited in first.items()}, "small_s": small_s,
        "warm_up_s": warm_up_s,
    }  # fmt: skip
    write("audit_throughput", figures, more)
    return figures


def alone() -> int:
    """`python -m benchmarks.audit_throughput`."""
    show(main())
    return HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.audit_throughput", alone))
