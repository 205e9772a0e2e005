"""A hundred thousand fuzzed runs under safe settings: broken promises without a known rule.

    python -m verification.safe_fuzz [RUNS] [--metadata kraft | --transactions] [--lot N]

Hunts of LOT runs (`faultline fuzz`, without shrinking), of the versions of VERSIONS in turn, each with a seed of its
own. Every finished hunt is stored in results/safe_fuzz.json (KRaft: safe_fuzz_kraft.json; with transactional clients:
safe_fuzz_transactions.json), and an interrupted call is resumed. Each call plays finds without a rule again, and stores
them apart once they show nothing, or a find with a rule. `faultline fuzz --kafka-version V --metadata M --seed S --runs
N` repeats a hunt of the present table of fault types (`space`). Exits with 1 if a find has no rule (its scenario is
printed), 70 if a run met a bug of faultline.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

import msgspec

from emulator.compiled_modules import use
from emulator.exit_codes import BROKEN, BUG, HELD
from emulator.toplevel_errors import ended

if TYPE_CHECKING:
    from emulator.judging.fuzzing.execute import Broken
    from emulator.judging.fuzzing.fuzz_search import HuntOptions

RESULTS = Path(__file__).parent / "results"
RUNS = 100_000
LOT = 5_000
KRAFT = "kraft"
TRANSACTIONS = "transactions"
FILES = {
    "zookeeper": "safe_fuzz.json", KRAFT: "safe_fuzz_kraft.json", TRANSACTIONS: "safe_fuzz_transactions.json"
}  # fmt: skip
VERSIONS = {
    "zookeeper": ("2.8", "2.6", "2.8", "2.3", "2.8", "2.0.0", "2.8", "1.1", "2.8", "0.10.2"),
    KRAFT: ("4.4", "3.9", "4.1", "3.6", "4.4", "3.7", "4.0", "3.3", "4.4", "3.5"),
    TRANSACTIONS: ("4.4", "2.8", "3.9", "0.11", "4.0", "2.3", "3.6", "1.1", "4.1", "3.5"),
}
FIRST_SEED = 2026


class Unexplained(msgspec.Struct, frozen=True):
    """A find without a rule. `number`: of its first run, `drawn` its scenario; `times`: runs."""

    what: str
    text: str
    number: int
    times: int
    drawn: str


class Row(msgspec.Struct, frozen=True):
    """One hunt.

    `explained`: {promise and rule: number of runs}; `failures`: runs that did not end. `mended`: former finds without a
    rule that are fixed. `space`: version of the table of fault types. `metadata`, `transactions`: as of `HuntOptions`.
    """

    kafka: str
    seed: int
    runs: int
    explained: dict[str, int]
    unexplained: list[Unexplained]
    failures: int
    bugs: dict[str, str]
    simulated_s: float
    took_s: float
    mended: list[Unexplained] = []
    space: int = 1
    metadata: str = ""
    transactions: bool = False


def measured(hunt_spec: HuntOptions, runs: int) -> Row:
    """Hunt."""
    from emulator.judging.fuzzing.fuzz_search import Hunt, hunted
    from emulator.runs.cores import collect

    hunt, began_s = Hunt(), perf_counter()
    collect(hunted(hunt_spec, hunt, runs), lambda _: None)
    took_s = round(perf_counter() - began_s, 1)
    open_ = [find for find in hunt.finds if no_rule_allows(find.broken)]
    return Row(
        kafka=hunt_spec.version,
        seed=hunt_spec.seed,
        runs=hunt.runs,
        explained={find.broken.cause: find.count for find in hunt.finds if find not in open_},
        unexplained=[Unexplained(find.what, find.text, find.number, find.count, find.drawn) for find in open_],
        failures=hunt.failures,
        bugs=hunt.bugs,
        simulated_s=round(hunt.simulated_s),
        took_s=took_s,
        space=hunt_spec.space,
        metadata=hunt_spec.metadata,
        transactions=hunt_spec.transactions,
    )


def before(path: Path) -> list[Row]:
    """Hunts of earlier calls."""
    return msgspec.json.decode(path.read_bytes(), type=list[Row]) if path.exists() else []


def no_rule_allows(broken: Broken) -> bool:
    """Or it is a bug of ours."""
    from emulator.judging.fuzzing.execute import BUG, NO_RULE

    return broken.rule == NO_RULE or broken.what == BUG


def unexplained_still(one: Unexplained) -> bool:
    """Whether its run, played again by the present code, still lacks a rule."""
    from emulator.judging.fuzzing.execute import tried
    from emulator.judging.fuzzing.finding_files import read

    scenario = read(one.drawn, "safe_fuzz")
    assert scenario is not None, one.drawn
    return any(map(no_rule_allows, tried(scenario, one.number).broken))


def looked_at_again(row: Row) -> Row:
    """The row with fixed finds kept apart."""
    open_ = [one for one in row.unexplained if unexplained_still(one)]
    mended = [one for one in row.unexplained if one not in open_]
    return msgspec.structs.replace(row, unexplained=open_, mended=[*row.mended, *mended])


def written(path: Path, rows: list[Row]) -> None:
    """To results/."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(rows), indent=1) + b"\n")


def main(arguments: list[str]) -> int:
    """Play the remaining hunts, with native machines if compiled."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="?", type=int, default=RUNS, help="of all hunts together")
    parser.add_argument("--metadata", choices=("zookeeper", KRAFT), default="zookeeper", help="mode of the clusters")
    parser.add_argument(
        "--transactions", action="store_true", help="clients write in transactions; the mode is each version's own"
    )
    parser.add_argument("--lot", type=int, default=LOT, help="runs of a hunt")
    given = parser.parse_args(arguments)
    use()
    from emulator.judging.fuzzing.fault_generator import SPACE
    from emulator.judging.fuzzing.fuzz_search import HuntOptions

    kind = TRANSACTIONS if given.transactions else given.metadata
    path, versions = RESULTS / FILES[kind], VERSIONS[kind]
    metadata = KRAFT if kind == KRAFT else ""
    rows = [looked_at_again(row) for row in before(path)]
    written(path, rows)
    while (played := sum(row.runs for row in rows)) < given.runs:
        number = len(rows)
        hunt_spec = HuntOptions(
            versions[number % len(versions)],
            FIRST_SEED + number,
            space=SPACE,
            metadata=metadata,
            transactions=given.transactions,
        )
        row = measured(hunt_spec, min(given.lot, given.runs - played))
        rows.append(row)
        written(path, rows)
        finds = ", ".join(f"{one.what} ({one.times} x)" for one in row.unexplained) or "nothing without a rule"
        print(f"{row.kafka:7} seed {row.seed}: {row.runs} runs in {row.took_s} s: {finds}", flush=True)
    for row in rows:
        for one in row.unexplained:
            print(f"\n{row.kafka}, seed {row.seed}, run {one.number}: {one.what}: {one.text}\n{one.drawn}")
    bugs, open_ = sum(len(row.bugs) for row in rows), sum(len(row.unexplained) for row in rows)
    print(f"{played} runs in {len(rows)} hunts: {open_} finds without a rule, {bugs} runs with a bug of ours")
    return BUG if bugs else BROKEN if open_ else HELD


if __name__ == "__main__":
    sys.exit(ended("verification.safe_fuzz", lambda: main(sys.argv[1:])))
