"""Time of the oracle at ten thousand, a hundred thousand and a million events.

And ten minutes of a workload of 100 records a second, with an AZ cut off in each minute, played and judged: from the
sources, and with native code where `make fast` has compiled it.
"""

import gc
import os
import subprocess
import sys
import time
from collections import deque

from benchmarks.figure_records import Figure, write
from benchmarks.large_truth import large_truth
from emulator.compiled_modules import PURE_VARIABLE, look
from emulator.judging.judged import play_and_judge
from emulator.judging.oracle.anomalies import ANOMALIES
from emulator.runs.resolve import resolve
from emulator.runs.simulated import collector_disabled
from emulator.scenario.load import load_scenario

SIZES = (10_000, 100_000, 1_000_000)
LEAST_S = 0.05
"""Minimum time of a rule at the middle size: a faster one does not show its growth."""
MINUTES = 10
LIMIT_S = 300.0
WORKLOAD = """
id: workload
title: a workload of 100 records a second, an AZ cut off in each minute
kafka: [2.8]
settings: {min.insync.replicas: 2}
steps:
  - start: [0, 1, 2]
  - create-topic: {topic: t, assignment: [[0, 1, 2], [1, 2, 0]]}
  - workload: {name: steady, rate: 100, azs: [az-1]}
"""


def workload_of(minutes: int) -> str:
    """The scenario, as YAML."""
    cuts = [f"  - cut: az-{minute % 3}\n  - sleep: 10\n  - heal\n  - sleep: 50\n" for minute in range(minutes)]
    return f"{WORKLOAD}{''.join(cuts)}  - stop-workload: steady\n"


def judged_s(events: int) -> dict[str, float]:
    """{check: CPU seconds}"""
    truth, found = large_truth(events), {}
    gc.collect()
    with collector_disabled():
        for name, rule in ANOMALIES.items():
            began_s = time.process_time()
            deque(rule(truth), maxlen=0)
            found[name] = round(time.process_time() - began_s, 4)
    return found


def played_s(minutes: int) -> tuple[float, float, int]:
    """(CPU seconds to play it and to judge it, those to judge it, records written)"""
    resolved = resolve(load_scenario(workload_of(minutes), "workload.yaml"))
    gc.collect()
    began_s = time.process_time()
    run = play_and_judge(resolved, 1, run="bench")
    return time.process_time() - began_s, run.verdict.measures["audit_s"], len(run.truth.writes)


def native_played_s(minutes: int) -> float:
    """CPU seconds to play and judge it with native code, in a process of its own."""
    program = (
        "from emulator.compiled_modules import use; assert use()\n"
        f"from benchmarks.oracle_growth import played_s; print(played_s({minutes})[0])"
    )
    words, environ = [sys.executable, "-c", program], {**os.environ, PURE_VARIABLE: "0"}
    played = subprocess.run(words, env=environ, stdout=subprocess.PIPE, text=True, check=True, timeout=LIMIT_S)
    return float(played.stdout)


def main() -> list[Figure]:
    """CPU seconds: other work of the machine counts little."""
    seconds = {events: judged_s(events) for events in SIZES}
    _, middle, large = (seconds[events] for events in SIZES)
    growth = {name: large[name] / middle[name] for name in ANOMALIES if middle[name] >= LEAST_S}
    steepest = max(growth, key=lambda name: growth[name])
    all_s, judging_s, records = played_s(MINUTES)
    figures = [
        Figure(
            line="ten minutes of 100 records a second, an AZ cut off in each, played and judged",
            value=all_s, unit="s", target=20, bound=f"{records:,} records; {judging_s:.1f} s of it to judge them",
        ),
        Figure(line="a million events judged by the oracle", value=sum(large.values()), unit="s", target=60),
        Figure(
            line="ten times the events: growth of the time of the oracle's steepest check",
            value=growth[steepest], unit="x", target=20, bound=steepest,
        ),
    ]  # fmt: skip
    if look({}).usable:
        figures.insert(
            1, Figure(line="the same with native code (make fast)", value=native_played_s(MINUTES), unit="s", target=20)
        )
    write("oracle_growth", figures, {"seconds": {str(events): of for events, of in seconds.items()}})
    return figures
