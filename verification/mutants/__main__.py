"""`python -m verification.mutants [--runs N] [MUTANT...]`: mutants detected by each judge.

The play of each mutant (`verification.mutants.table`) runs with wrong and with right machines. The oracle judges both;
Spark judges the events of all wrong runs as one job. Crash testing plays the mutant with deaths, until a run fails
whose twin with right machines is good. Rows are printed, and written to verification/results/mutants.json. Exit code 1
if a judge misses a mutant, where the table has no reason for it.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from audit.audited_run import audit_runs
from audit.warm_spark import own_session
from emulator.exit_codes import BROKEN, HELD
from emulator.judging.judged import play_and_judge
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.verdict_file import Verdict
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.mutants.crash_hunt import hunted
from verification.mutants.mutant import applied
from verification.mutants.table import MUTANTS

if TYPE_CHECKING:
    from collections.abc import Sequence

RUNS = 2_000
"""Of crash testing, for each mutant, at most."""


class Row(msgspec.Struct, frozen=True):
    """One mutant.

    `oracle`, `spark`: number of violations of its check; `right`: with right machines. `crash`: the first failure, ""
    if none; `runs` that it took; `unseen`: reason why it cannot be detected.
    """

    mutant: str
    wrong: str
    check: str
    play: str
    guard: str
    right: int
    oracle: int
    spark: int
    crash: str
    runs: int
    unseen: str

    @property
    def missed(self) -> list[str]:
        """Judges that miss the mutant."""
        found = {
            "oracle": self.oracle > self.right,
            "spark": self.spark == self.oracle and self.spark > self.right,
            "crash testing": bool(self.crash or self.unseen),
        }
        return [judge for judge, caught in found.items() if not caught]


def played(name: str, folder: Path) -> tuple[int, Verdict, Path]:
    """(violations with right machines, the oracle's verdict, the wrong run's directory).

    Violations of the mutant's check.
    """
    mutant = MUTANTS[name]
    resolved = resolve(find_scenario(mutant.scenario), mutant.version)
    right = play_and_judge(resolved, mutant.seed, run=name).verdict.checks[mutant.check].count
    directory = folder / name
    prepare(directory)
    with applied(mutant):
        run = play_and_judge(resolved, mutant.seed, run=name)
    write_simulated(directory, resolved, mutant.seed, run.played.world, run.observations)
    return right, run.verdict, directory


def by_spark(runs: Sequence[Path], folder: Path) -> list[Verdict]:
    """All of them as one job."""
    with own_session(folder / "spark") as spark:
        return audit_runs(spark, runs, scratch=str(folder / "scratch"))


def judged(names: Sequence[str], runs: int, first: int = 1) -> list[Row]:
    """The table's rows, each printed when it is known."""
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name)
        plays = {mutant: played(mutant, folder) for mutant in names}
        audited = by_spark([directory for _, _, directory in plays.values()], folder)
    rows = []
    for mutant, spark in zip(names, audited, strict=True):
        wrong, (right, oracle, _) = MUTANTS[mutant], plays[mutant]
        hunt = hunted(mutant, range(first, first + runs))
        rows.append(
            Row(
                mutant=mutant,
                wrong=wrong.wrong,
                check=wrong.check,
                play=f"{Path(wrong.scenario).name} on {wrong.version}",
                guard=wrong.guard,
                right=right,
                oracle=oracle.checks[wrong.check].count,
                spark=spark.checks[wrong.check].count,
                crash=hunt["by"] if hunt["found"] else "",
                runs=hunt["runs"],
                unseen=wrong.unseen,
            )
        )
        print(text_of(rows[-1]), flush=True)
    return rows


def text_of(row: Row) -> str:
    """A line for a person."""
    crash = f"in run {row.runs}: {row.crash}" if row.crash else row.unseen or f"not in {row.runs} runs"
    guard = "guard" if row.guard else ""
    return f"{row.mutant:<32} {guard:<6} {row.check:<29} oracle {row.oracle:>3}  spark {row.spark:>3}  {crash}"[:200]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("mutants", nargs="*", help="all if none is given")
    parser.add_argument("--runs", type=int, default=RUNS, help="of crash testing, for each, at most")
    given = parser.parse_args(arguments)
    unknown = [name for name in given.mutants if name not in MUTANTS]
    if unknown:
        parser.error(f"no mutant {unknown[0]!r}; there are: {', '.join(MUTANTS)}")
    if given.runs < 1:
        parser.error(f"--runs {given.runs}: at least 1")
    rows = judged(given.mutants or list(MUTANTS), given.runs)
    if not given.mutants:
        (RESULTS / "mutants.json").write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    missed = {row.mutant: row.missed for row in rows if row.missed}
    for mutant, judges in missed.items():
        print(f"{mutant} is not caught by {' and '.join(judges)}")
    guards = sum(bool(row.guard) for row in rows)
    print(f"{len(rows) - len(missed)} of {len(rows)} mutants caught by all three; {guards} of the table lack a guard")
    return BROKEN if missed else HELD


if __name__ == "__main__":
    sys.exit(ended("verification.mutants", main))
