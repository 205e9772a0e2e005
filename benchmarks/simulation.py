"""The simulated world: speed against real time, cost of an input.

And the time of the dual-leader scenario with its verdict.
"""

import gc
import os
import statistics
import subprocess
import sys
import time

from benchmarks.figure_records import Figure, write
from emulator.compiled_modules import PURE_VARIABLE
from emulator.judging.judged import play_and_judge
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.simulated import play
from emulator.scenario import scenario_model as m
from protocol.ids import BrokerId

RUNS = 20
IDLE_S = 600.0
LIMIT_S = 300.0


def steady(seed: int) -> tuple[float, int, float]:
    """`quiet_scenario`: (simulated s, inputs, wall s)."""
    resolved = resolve(quiet_scenario())
    began = time.perf_counter()
    played = play(resolved, seed)
    return played.world.now_ms / 1000.0, played.world.inputs, time.perf_counter() - began


def quiet_scenario() -> m.Scenario:
    """Three brokers with a topic, a write now and then, for ten minutes."""
    scenario = find_scenario("az-isolated-leader")
    steps: list[m.AnyStep] = [step for step in scenario.steps if isinstance(step, m.Start | m.CreateTopic)]
    for _ in range(int(IDLE_S / 10)):
        steps += [m.Produce(broker=BrokerId(0), values=("v",), acks=-1), m.Sleep(seconds=10)]
    return m.Scenario(id="steady", title="", kafka=("2.6",), steps=tuple(steps), settings=scenario.settings)


def thousand_s() -> float:
    """A command of its own, from the sources."""
    words = [sys.executable, "-m", "emulator", "sim", "az-isolated-leader", "--seeds", "1..1000", "--json"]
    began = time.perf_counter()
    subprocess.run(words, env={**os.environ, PURE_VARIABLE: "1"}, stdout=subprocess.PIPE, check=True, timeout=LIMIT_S)
    return time.perf_counter() - began


def main() -> list[Figure]:
    """Medians of RUNS seeds."""
    resolved = resolve(find_scenario("az-isolated-leader"))
    play_and_judge(resolved, 0, run="warm")
    times = []
    for seed in range(1, RUNS + 1):
        gc.collect()
        began = time.perf_counter()
        play_and_judge(resolved, seed, run="bench")
        times.append(time.perf_counter() - began)
    rates, costs = [], []
    for seed in range(1, 6):
        gc.collect()
        simulated_s, inputs, wall_s = steady(seed)
        rates.append(simulated_s / wall_s)
        costs.append(wall_s / inputs * 1e6)
    judged, rate, cost = statistics.median(times), statistics.median(rates), statistics.median(costs)
    figures = [
        Figure(line="dual-leader scenario simulated and judged by the oracle", value=judged, unit="s", target=0.3),
        Figure(
            line="simulation of a 3-broker cluster",
            value=rate,
            unit="x real time",
            target=3500,
            stretch=10000,
            higher_is_better=True,
            bound="one core: codec, events and machines of every input",
        ),
        Figure(line="an input, codec and events included", value=cost, unit="µs", target=15),
        Figure(
            line="1,000 runs of the dual-leader scenario, judged, from the command to its summary",
            value=statistics.median(many := [thousand_s() for _ in range(3)]),
            unit="s",
            target=12,
            stretch=5,
            bound="all cores; a Python built with --enable-optimizations takes a tenth less",
        ),
    ]
    write("simulation", figures, {"seeds": RUNS, "thousand_s": many})
    return figures
