"""200 seeds of the first five scenarios at 2.6 and 2.8: equality to Kafka, and variety.

    python -m verification.seeds [SEEDS]

A seed is right when its run is valid and equals a recording, or does so by a race that its scenario names. The seeds
do something when at least 95 in 100 traces differ once times and what comes of the seed alone are left out. Exits with
1 if either fails.
"""

import sys
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec

from emulator.judging.campaigns.campaign_runs import CampaignOptions, play_runs
from emulator.judging.campaigns.space import Space
from emulator.toplevel_errors import ended

RESULTS = Path(__file__).parent / "results" / "seeds.json"
SCENARIOS = (
    "az-isolated-leader",
    "az-isolated-leader-acks-all",
    "link-follower-leader",
    "az-isolated-follower",
    "az-isolated-controller",
)
VERSIONS = ("2.6", "2.8")
SEEDS = 200
DIFFERENT_SHARE = 0.95
BUDGET_SPEED = 2000
"""Times real time, for a cluster of three brokers (design)."""


def measured(scenario: str, version: str, seeds: int) -> dict[str, Any]:
    """One scenario at one version."""
    began_s = perf_counter()
    space = Space(scenario=scenario, kafka_version=version, seeds=seeds)
    results = list(play_runs(CampaignOptions(space), range(seeds)))
    wall_s = perf_counter() - began_s
    simulated_s = sum(result.simulated_s for result in results)
    recordings: dict[str, int] = {}
    for result in results:
        recordings[result.recording or "none"] = recordings.get(result.recording or "none", 0) + 1
    wrong = [result.seed for result in results if result.code or not result.recording]
    return {
        "scenario": scenario,
        "kafka": version,
        "seeds": seeds,
        "recordings": dict(sorted(recordings.items())),
        "by_race": sum(1 for result in results if result.races),
        "wrong": sorted(wrong),
        "different_traces": len({result.trace for result in results}),
        "outcomes": len({result.outcome for result in results}),
        "simulated_s": round(simulated_s, 1),
        "wall_s": round(wall_s, 2),
        "speed": round(simulated_s / wall_s),
        "busy_s": round(sum(result.wall_s for result in results), 2),
    }


def main(arguments: list[str]) -> int:
    seeds = int(arguments[0]) if arguments else SEEDS
    rows = [measured(scenario, version, seeds) for scenario in SCENARIOS for version in VERSIONS]
    for row in rows:
        equal = seeds - len(row["wrong"])
        print(
            f"{row['scenario']:30} {row['kafka']:4} {equal}/{seeds} equal real Kafka ({row['by_race']} by a race), "
            f"{row['different_traces']} traces differ, {row['outcomes']} outcomes, {row['speed']} x real time"
        )
    whole = sum(row["simulated_s"] for row in rows) / sum(row["wall_s"] for row in rows)
    print(f"together {whole:.0f} x real time, processes' start included; budget {BUDGET_SPEED}")
    RESULTS.parent.mkdir(exist_ok=True)
    document = {"budget_speed": BUDGET_SPEED, "speed": round(whole), "rows": rows}
    RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=2) + b"\n")
    good = all(not row["wrong"] and row["different_traces"] >= DIFFERENT_SHARE * seeds for row in rows)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(ended("verification.seeds", lambda: main(sys.argv[1:])))
