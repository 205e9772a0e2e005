"""Deaths anywhere: `python -m verification.kill_anywhere [--runs N] [--metadata M]`.

A node dies at any moment, many times. Each seed picks a catalogue scenario, a version of it, a broker, a controller or
a session server, and a moment: a step of the script, or a storage operation after it. The node is killed (or loses
power), started again, and in the end all faults are ended. A run is good when no assertion failed, the cluster has
settled, and the version's promises under these settings were kept; where a rule of docs/semantics.md allows a
violation, the run names it.

With --orderly no node dies: a broker is stopped in an orderly way between two steps, and started again. Settings, roles
and responses must then be as without it.

The simulated world uses all cores and writes verification/results/kill_anywhere.json (with --metadata kraft
kill_anywhere_kraft.json). Exit code 1 if a run failed, with
the command that plays it again; 3 if the timers of every network run were late.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from emulator.cli.commands.run_scenario import DEFAULT_SPEED
from emulator.judging.crash_testing.crash_plan import Plan, resolved_for, scenario_of, versions_of
from emulator.judging.crash_testing.crash_seeds import (
    DeathResult,
    DeathsOptions,
    DeathWorker,
    play_network_seed,
    replay_command,
)
from emulator.runs.cores import collect, on_all_cores
from emulator.runs.resolve import Resolved
from emulator.runs.scenario_sources import catalogue
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.toplevel_errors import ended
from emulator.topology import KRAFT, ZOOKEEPER
from protocol.versions import VERSIONS
from verification.network_runs import lateness_ms

RESULTS = Path(__file__).parent / "results"
RUNS = {"sim": 20_000, "network": 50}
RUNS_MAX = 1_000_000
TELL_EVERY = 100


def text_of(deaths: DeathsOptions, result: DeathResult, world: str) -> str:
    """A run that failed, in full."""
    lines = [f"seed {result.seed}: {result.plan.text}"]
    lines += [f"    {why}" for why in (*((result.error,) if result.error else ()), *result.failed)]
    return "\n".join([*lines, f"    {replay_command(deaths, result.seed, world)}"])


def summary_of(results: Sequence[DeathResult], wall_s: float) -> dict[str, Any]:
    """Totals of all runs: good ones, by scenario and by version, and rules by frequency."""
    allowed = Counter(rule for result in results for rule in result.allowed)
    return {
        "runs": len(results),
        "first": min((result.seed for result in results), default=0),
        "good": sum(result.good for result in results),
        "failed": sorted(result.seed for result in results if not result.good),
        "deaths": sum(result.deaths for result in results),
        "power_losses": sum(result.deaths for result in results if result.plan.power),
        "between_storage_operations": sum(result.plan.operations >= 0 for result in results),
        "nobody_died": sum(not result.deaths for result in results),
        "by_scenario": dict(sorted(Counter(result.plan.scenario for result in results).items())),
        "by_version": {v: n for v in VERSIONS if (n := sum(result.plan.version == v for result in results))},
        "by_victim": dict(sorted(Counter(result.plan.victim.partition("-")[0] for result in results).items())),
        "allowed": dict(sorted(allowed.items())),
        "wall_s": round(wall_s, 1),
        "runs_per_s": round(len(results) / wall_s, 1) if wall_s else 0.0,
        "busy_ms_per_run": round(1000.0 * sum(result.wall_s for result in results) / max(1, len(results))),
    }


def simulate(deaths: DeathsOptions, seeds: Sequence[int]) -> dict[str, Any]:
    """All seeds, or those played before an interrupt; the summary. Prints a failed one at once."""
    began_s = perf_counter()
    results: list[DeathResult] = []

    def add(result: DeathResult) -> None:
        results.append(result)
        if not result.good:
            print(text_of(deaths, result, "sim"), flush=True)
        if len(seeds) == 1:
            print("\n".join(result.events), file=sys.stderr)
        if len(results) % TELL_EVERY == 0:
            print(f"{len(results)} of {len(seeds)} runs", file=sys.stderr, flush=True)

    try:
        collect(on_all_cores(DeathWorker, deaths, seeds), add)
    except KeyboardInterrupt:
        print("interrupted; what was played is summed up", file=sys.stderr)
    settled = sorted(result.settled_s for result in results if not result.error) or [0.0]
    return {
        **summary_of(results, perf_counter() - began_s),
        "settled_s": {"median": settled[len(settled) // 2], "p99": settled[len(settled) * 99 // 100]},
        "simulated_s": round(sum(result.simulated_s for result in results)),
    }


def play_network(deaths: DeathsOptions, seeds: Sequence[int], speed: float, keep: Path | None) -> dict[str, Any]:
    """Play one run after the other, since each takes all cores.

    A failed run with late timers is unknown.
    """
    began_s = perf_counter()
    results: list[DeathResult] = []
    late: list[int] = []
    for seed in seeds:
        plan = deaths.plan(seed)
        with tempfile.TemporaryDirectory(prefix="faultline-") as name:
            directory = Path(name)
            result = play_network_seed(plan, directory, speed)
            if not result.good and not result.error and lateness_ms(directory) > timer_limit_ms(_resolved(plan)):
                late.append(seed)
                print(f"seed {seed}: unknown, for its timers were late", flush=True)
                continue
            if not result.good:
                print(text_of(deaths, result, "network"), flush=True)
                if keep is not None:
                    shutil.copytree(directory, keep / str(seed))
            else:
                print(f"seed {seed}: good: {plan.text}", flush=True)
            results.append(result)
    return {**summary_of(results, perf_counter() - began_s), "speed": speed, "late": late}


def _resolved(plan: Plan) -> Resolved:
    return resolved_for(plan.scenario, plan.version)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help=f"by default {RUNS['sim']}, {RUNS['network']} over the network")
    parser.add_argument("--first", type=int, default=1, help="the first seed; others follow")
    parser.add_argument("--world", choices=tuple(RUNS), default="sim")
    parser.add_argument("--orderly", action="store_true", help="stop a broker in an orderly way instead (simulated)")
    parser.add_argument("--scenario", action="append", default=[], help="only this one (repeatable)")
    parser.add_argument("--kafka-version", action="append", default=[], help="only this one (repeatable)")
    parser.add_argument("--metadata", choices=(ZOOKEEPER, KRAFT), help="only scenarios of this mode")
    parser.add_argument("--speed", type=float, default=DEFAULT_SPEED, help="of the clock over the network")
    parser.add_argument("--keep", type=Path, help="keep the directories of network runs that fail here")
    parser.add_argument("--results", type=Path, help="the file that is written; none for less than a whole benchmark")
    given = parser.parse_args(arguments)
    runs = given.runs if given.runs is not None else RUNS[given.world]
    if not 1 <= runs <= RUNS_MAX:
        parser.error(f"--runs {runs}: 1 to {RUNS_MAX}")
    unknown = [name for name in given.scenario if name not in catalogue()]
    if unknown:
        parser.error(f"no scenario {unknown[0]!r}; the catalogue has: {', '.join(catalogue())}")
    strange = [version for version in given.kafka_version if version not in VERSIONS]
    if strange:
        parser.error(f"--kafka-version {strange[0]}: one of {', '.join(VERSIONS)}")
    if given.metadata is not None:
        given.scenario = [
            name for name in given.scenario or catalogue() if scenario_of(name).topology.metadata == given.metadata
        ]
        if not given.scenario:
            parser.error(f"--metadata {given.metadata}: no scenario of these has that mode")
    if not any(versions_of(name, given.kafka_version) for name in given.scenario or catalogue()):
        parser.error(f"no scenario of these is for version {' or '.join(given.kafka_version)}")
    if given.orderly and given.world == "network":
        parser.error("--orderly: in the simulated world only")
    deaths = DeathsOptions(tuple(given.scenario), tuple(given.kafka_version), given.orderly)
    seeds = range(given.first, given.first + runs)
    if given.world == "network":
        summary = play_network(deaths, seeds, given.speed, given.keep)
    else:
        summary = simulate(deaths, seeds)
    print(msgspec.json.format(msgspec.json.encode(summary)).decode())
    name = "kill_anywhere.json" if given.world == "sim" else "kill_anywhere_network.json"
    name = "stop_anywhere.json" if given.orderly else name
    name = name.replace(".json", "_kraft.json") if given.metadata == KRAFT else name
    target = given.results or (RESULTS / name if summary["runs"] >= RUNS[given.world] else None)
    if target is not None:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(msgspec.json.format(msgspec.json.encode(summary)) + b"\n")
    if summary["failed"]:
        return 1
    return 3 if len(summary.get("late", ())) == runs else 0


if __name__ == "__main__":
    sys.exit(ended("verification.kill_anywhere", main))
