"""A thousand seeds of every scenario of the catalogue: unexpectedly broken promises.

    python -m verification.catalogue_seeds [SEEDS] [SCENARIO...]

Each scenario is played on the newest version that it has, on all cores; every verdict is the oracle's, against what the
scenario expects and what its version and settings promise. What was played is kept in results/catalogue_seeds.json
after each, and a run that was cut short goes on where that ends; with other seeds it begins anew. Exits with 1 if a
seed broke what it should not; seeds that cannot be judged (a step that could not be played) are told by number.
"""

import sys
from collections import Counter
from pathlib import Path
from time import perf_counter

import msgspec

from emulator.exit_codes import BROKEN, BUG, HELD, UNUSABLE
from emulator.judging.campaigns.campaign_runs import CampaignOptions, play_runs
from emulator.judging.campaigns.space import Space
from emulator.runs.scenario_sources import catalogue, find_scenario
from emulator.toplevel_errors import ended
from protocol.versions import rank

RESULTS = Path(__file__).parent / "results" / "catalogue_seeds.json"
SEEDS = 1_000
SHOWN_MAX = 20
"""Seeds that are named, of those that were not as expected."""


class Row(msgspec.Struct, frozen=True):
    """One scenario.

    `broken`: seeds with an unexpected violation, or a bug of faultline; `unknown`: not judged.
    """

    scenario: str
    kafka: str
    broken: list[int]
    unknown: int
    simulated_s: float
    took_s: float
    why: dict[str, int]


class Rows(msgspec.Struct):
    seeds: int
    rows: list[Row]


def measured(scenario: str, seeds: int) -> Row:
    """Play them."""
    version = max(find_scenario(scenario).kafka, key=rank)
    began_s, simulated_s, unknown = perf_counter(), 0.0, 0
    broken: list[int] = []
    why: Counter[str] = Counter()
    space = Space(scenario=scenario, kafka_version=version, seeds=seeds)
    for result in play_runs(CampaignOptions(space, golden=""), range(seeds)):
        simulated_s += result.simulated_s
        if result.code in (BROKEN, BUG):
            broken.append(result.seed)
        elif result.code != HELD:
            unknown += 1
        if result.code != HELD:
            why[(result.error or "; ".join(result.broken))[:200]] += 1
    took_s = round(perf_counter() - began_s, 1)
    return Row(scenario, version, sorted(broken)[:SHOWN_MAX], unknown, round(simulated_s), took_s, dict(why))


def before(seeds: int) -> list[Row]:
    """Rows of an earlier call with the same number of seeds."""
    if not RESULTS.exists():
        return []
    kept = msgspec.json.decode(RESULTS.read_bytes(), type=Rows)
    return kept.rows if kept.seeds == seeds else []


def main(arguments: list[str]) -> int:
    """Play the remaining scenarios, or the named ones."""
    seeds = int(arguments[0]) if arguments else SEEDS
    known = catalogue()
    if unknown := [name for name in arguments[1:] if name not in known]:
        print(f"no scenario {unknown[0]!r}; faultline scenarios lists them", file=sys.stderr)
        return UNUSABLE
    named = arguments[1:]
    rows = {row.scenario: row for row in before(seeds) if row.scenario in known and row.scenario not in named}
    for name in named or [name for name in known if name not in rows]:
        rows[name] = row = measured(name, seeds)
        kept = Rows(seeds, [rows[name] for name in sorted(rows)])
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(kept), indent=1) + b"\n")
        outcome = f"{len(row.broken)} broken {row.broken or ''}, {row.unknown} not judged" if row.why else "as expected"
        print(f"{name:36} {row.kafka:6} {outcome}, {row.took_s} s", flush=True)
        for reason, times in row.why.items():
            print(f"    {times} x {reason}", flush=True)
    played, bad = len(rows), sum(bool(row.broken) for row in rows.values())
    print(f"{played} of {len(known)} scenarios, {seeds} seeds each: {bad} with an unexpected violation")
    return BROKEN if bad else HELD


if __name__ == "__main__":
    sys.exit(ended("verification.catalogue_seeds", lambda: main(sys.argv[1:])))
