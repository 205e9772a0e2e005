"""The compiled machines (make fast) against their sources: equality and speed.

    python -m verification.compiled [--seeds N] [--turns N]

Traces: N seeds (2) of every catalogue scenario in every version, and one of every recording's script, all events with
their times and causes. Results: 400 seeds of az-isolated-leader, the whole output of `sim --json` but its time. Memory
left behind by runs: none. Then the measurements of `benchmarks.simulation`, and 1,000 seeds on all cores, of both sides
in turns, in CPU seconds. Each side is a process of its own. Exits with 1 if anything differs or a target is missed,
with 2 without usable native code.
"""

import argparse
import gc
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, Literal

import msgspec

from benchmarks.figure_records import Figure, show, write
from emulator.compiled_modules import MANIFEST, PURE_VARIABLE, Manifest, in_use, look, native_folder, use
from emulator.exit_codes import BROKEN, HELD, UNUSABLE
from emulator.toplevel_errors import ended
from verification import RESULTS

Side = Literal["pure", "compiled"]
SIDES: Final[tuple[Side, ...]] = ("pure", "compiled")
SEEDS: Final = 2
SEEDS_JUDGED: Final = 400
REMAINS: Final = 20
TIMED_SEEDS: Final = 1_000
TURNS: Final = 3
"""Medians of these: another program takes a core now and then."""
CHILD_TIMEOUT_S: Final = 1_800.0
NAMED_MAX: Final = 20
SCENARIO: Final = "az-isolated-leader"


# --- one side, in a process of its own ------------------------------------------------------------------------------


def traces(seeds: int) -> Any:
    from verification.trace_digests import digests

    return digests(seeds, (), ())


def results(seeds: int) -> Any:
    from emulator.judging.campaigns.campaign_runs import play_runs

    played = sorted(play_runs(_campaign(seeds), range(seeds)), key=lambda row: row.seed)
    return [msgspec.to_builtins(msgspec.structs.replace(result, wall_s=0.0)) for result in played]


def _campaign(seeds: int) -> Any:
    from emulator.judging.campaigns.campaign_runs import CampaignOptions
    from emulator.judging.campaigns.space import Space

    return CampaignOptions(Space(scenario=SCENARIO, kafka_version="2.6", seeds=seeds))


def remains(seeds: int) -> Any:
    """Objects that so many runs leave behind, when the collector has looked."""
    from emulator.judging.campaigns.campaign_runs import CampaignWorker

    worker, counts = CampaignWorker(_campaign(seeds + 2)), []
    for number in range(seeds + 2):
        worker.play(number)
        gc.collect()
        counts.append(len(gc.get_objects()))
    return counts[-1] - counts[1]  # one-time allocations have been made by then


def speeds(seeds: int) -> Any:
    """[x real time, µs for an input, s for a run with its verdict, s for all seeds].

    In CPU time, on which other programs have little effect.
    """
    from benchmarks.simulation import quiet_scenario
    from emulator.judging.campaigns.campaign_runs import play_runs
    from emulator.judging.judged import play_and_judge
    from emulator.runs.resolve import resolve
    from emulator.runs.scenario_sources import find_scenario
    from emulator.runs.simulated import play

    resolved = resolve(find_scenario(SCENARIO))
    play_and_judge(resolved, 0, run="warm")
    judged = []
    for seed in range(1, 21):
        began_s = time.process_time()
        play_and_judge(resolved, seed, run="bench")
        judged.append(time.process_time() - began_s)
    rates, costs_us, quiet = [], [], resolve(quiet_scenario())
    for seed in range(1, 6):
        began_s = time.process_time()
        world = play(quiet, seed).world
        took_s = time.process_time() - began_s
        rates.append(world.now_ms / 1000.0 / took_s)
        costs_us.append(took_s / world.inputs * 1e6)
    began_s = _processors_s()
    assert sum(1 for _ in play_runs(_campaign(seeds), range(seeds))) == seeds
    return [*map(statistics.median, (rates, costs_us, judged)), _processors_s() - began_s]


def _processors_s() -> float:
    """Of this process and those that it has waited for."""
    return sum(os.times()[:4])


SUBJECTS: Final = {"traces": traces, "results": results, "remains": remains, "speeds": speeds}


def child(side: Side, subject: str, seeds: int, folder: Path, file: Path) -> int:
    use(folder=folder)
    assert in_use() is (side == "compiled"), f"{side}: {look()}"
    file.write_bytes(msgspec.json.encode(SUBJECTS[subject](seeds)))
    return HELD


# --- both -----------------------------------------------------------------------------------------------------------


def result_of(side: Side, subject: str, seeds: int, folder: Path) -> Any:
    """Result of `subject` on that side. `folder`: of the native code."""
    with TemporaryDirectory(prefix="faultline-") as own:
        file = Path(own) / "said.json"
        ask = ("--side", side, subject, str(seeds), str(folder), str(file))
        words = [sys.executable, "-m", "verification.compiled", *ask]
        environ = {**os.environ, PURE_VARIABLE: "1" if side == "pure" else "0"}
        subprocess.run(words, env=environ, stdin=subprocess.DEVNULL, timeout=CHILD_TIMEOUT_S, check=True)
        return msgspec.json.decode(file.read_bytes())


def differing(pure: dict[str, dict[str, str]], compiled: dict[str, dict[str, str]]) -> tuple[int, int]:
    """(runs that differ, runs); names some of the former."""
    assert pure.keys() == compiled.keys()
    both = [(name, seed, pure[name][seed], compiled[name].get(seed, "")) for name in pure for seed in pure[name]]
    wrong = [(name, seed, *results) for name, seed, *results in both if results[0] != results[1]]
    for name, seed, one, other in wrong[:NAMED_MAX]:
        print(f"{name}, seed {seed}: {one} from the sources, {other} compiled")
    return len(wrong), len(both)


def compare(seeds: int, turns: int) -> list[Figure]:
    """All figures, written to verification/results/compiled.json."""
    folder = native_folder()
    manifest = msgspec.json.decode((folder / MANIFEST).read_bytes(), type=Manifest)
    wrong, runs = differing(*(result_of(side, "traces", seeds, folder) for side in SIDES))
    pure, compiled = (result_of(side, "results", SEEDS_JUDGED, folder) for side in SIDES)
    unequal = [one["seed"] for one, other in zip(pure, compiled, strict=True) if one != other]
    print(f"{wrong} of {runs} traces differ; {len(unequal)} of {SEEDS_JUDGED} results {unequal[:NAMED_MAX]}")
    results: dict[Side, list[list[float]]] = {side: [] for side in SIDES}
    for _ in range(turns):
        for side in SIDES:
            results[side].append(result_of(side, "speeds", TIMED_SEEDS, folder))
    python, native = ([statistics.median(column) for column in zip(*results[side], strict=True)] for side in SIDES)
    figures = [
        Figure(line=f"traces that differ, of {runs:,}", value=wrong, unit="traces", target=0),
        Figure(line=f"results that differ, of {SEEDS_JUDGED} seeds", value=len(unequal), unit="seeds", target=0),
        Figure(
            line=f"objects that {REMAINS} compiled runs leave in memory", unit="objects", target=0,
            value=result_of("compiled", "remains", REMAINS, folder),
        ),
        Figure(
            line="simulation of a 3-broker cluster, compiled", value=native[0], unit="x real time", target=4000,
            higher_is_better=True, bound=f"{python[0]:,.0f} from the sources; structs, codec and heap are C already",
        ),
        Figure(
            line="an input, codec and events included, compiled", value=native[1], unit="µs", target=8,
            bound=f"{python[1]:.1f} from the sources",
        ),
        Figure(
            line="dual-leader scenario simulated and judged by the oracle, compiled", value=native[2], unit="s",
            target=0.02, bound=f"{python[2]:.4f} from the sources; scenario and observations are Python in both",
        ),
        Figure(
            line=f"{TIMED_SEEDS:,} seeds of {SCENARIO}, judged, compiled: of both cores", value=native[3], unit="s",
            target=14, bound=f"{python[3]:.1f} from the sources; half as long on two cores that are idle",
        ),
        Figure(
            line="compilation, once per change of the machines", value=manifest.seconds, unit="s", target=240,
            bound=f"{len(manifest.modules)} modules; the C compiler",
        ),
    ]  # fmt: skip
    more: dict[str, object] = {"by": manifest.by, "pure": results["pure"], "compiled": results["compiled"]}
    write("compiled", figures, more, results=RESULTS)
    return figures


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.compiled", description="Compiled, and sources.")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--turns", type=int, default=TURNS)
    parser.add_argument("--side", nargs=5, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.side:
        side, subject, seeds, folder, file = options.side
        return child(side, subject, int(seeds), Path(folder), Path(file))
    native = look({**os.environ, PURE_VARIABLE: "0"})
    if not native.usable:
        print(f"verification.compiled: nothing to compare: {native.problem or 'make fast first'}", file=sys.stderr)
        return UNUSABLE
    figures = compare(options.seeds, options.turns)
    show(figures)
    return HELD if all(figure.met for figure in figures) else BROKEN


if __name__ == "__main__":
    sys.exit(ended("verification.compiled", lambda: main(sys.argv[1:])))
