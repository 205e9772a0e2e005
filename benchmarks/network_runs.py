"""`python -m benchmarks.network_runs [--runs N] [--speed X] [SCENARIO...]`: scenarios with real processes, many times
in a row.

Each run is compared with real Kafka's recordings; the rate of equal runs is printed and written to
benchmarks/results/network_runs.json. Runs whose timers were late say so: they are unknown, not wrong.
"""

import argparse
import shutil
import sys
import tempfile
import time
from collections import Counter
from functools import partial
from pathlib import Path

import msgspec
import trio

from emulator.commands.run import DEFAULT_SPEED, equal_recording
from emulator.runs.directory import write_observations, write_scenario
from emulator.runs.network import play_network
from emulator.runs.resolve import resolve
from emulator.runs.sources import catalogue, find_scenario

RESULTS = Path(__file__).parent / "results" / "network_runs.json"
VERSIONS = ("2.6", "2.8")


def lateness_ms(directory: Path) -> float:
    """The worst p99.9 that any process reported, in scenario ms."""
    worst = 0.0
    for path in (directory / "events").glob("*.jsonl"):
        for line in path.read_bytes().splitlines():
            if b'"timer_lateness"' in line:
                worst = max(worst, msgspec.json.decode(line)["p999_ms"])
    return worst


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("scenarios", nargs="*", help="catalogue ids; all if none is given")
    parser.add_argument("--runs", type=int, default=10, help="per scenario and version")
    parser.add_argument("--speed", type=float, default=DEFAULT_SPEED)
    parser.add_argument("--keep", type=Path, help="keep the directories of runs that differ here")
    given = parser.parse_args()
    table = []
    for scenario_id in given.scenarios or list(catalogue()):
        scenario = find_scenario(scenario_id)
        for version in VERSIONS:
            outcomes: Counter[str] = Counter()
            late: list[float] = []
            began = time.monotonic()
            for run in range(given.runs):
                directory = Path(tempfile.mkdtemp(prefix="faultline-"))
                resolved = resolve(scenario, version)
                write_scenario(directory, resolved)
                playing = partial(play_network, resolved, directory, seed=run, speed=given.speed)
                played = trio.run(playing)
                write_observations(directory, played.observations)
                equals = equal_recording(resolved, played.observations)
                outcomes[equals or "differs"] += 1
                late.append(lateness_ms(directory))
                if not equals and given.keep is not None:
                    shutil.copytree(directory, given.keep / f"{scenario_id}@{version}-{run}")
                shutil.rmtree(directory)
            row = {
                "scenario": scenario_id,
                "kafka": version,
                "runs": given.runs,
                "equal": given.runs - outcomes["differs"],
                "outcomes": dict(outcomes),
                "worst_p999_late_ms": round(max(late), 1),
                "s_per_run": round((time.monotonic() - began) / given.runs, 2),
            }
            table.append(row)
            print(msgspec.json.encode(row).decode(), flush=True)
    equal, total = sum(row["equal"] for row in table), sum(row["runs"] for row in table)
    print(f"{equal} of {total} runs equal a recording ({100 * equal / total:.1f} %)")
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode({"speed": given.speed, "runs": table})) + b"\n")
    return 0 if equal == total else 1


if __name__ == "__main__":
    sys.exit(main())
