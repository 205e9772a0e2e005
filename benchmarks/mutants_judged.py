"""`python -m benchmarks.mutants_judged [--runs N] [MUTANT...]`: detection by each judge.

One table of all mutants (`benchmarks.mutants`, `benchmarks.mutants_seen`), each once, with the check that is named for
it and a play in which that check finds it. Each is played so, wrong and right, and judged by the oracle; the events of
all wrong runs are one job for Spark; and crash testing plays it with deaths, until a run fails whose twin with right
machines is good (`benchmarks.judge_mutants`). Printed, and written to benchmarks/results/mutants_judged.json. Exit code
1 if one of the three lets a mutant live, where the table does not say why it must.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from audit.audited_run import audit_runs
from audit.spark_session import find_java, spark_session, start_gateway
from benchmarks.judge_mutants import hunted
from benchmarks.mutants import MUTANTS, applied
from benchmarks.mutants_seen import SEEN, Seen
from emulator.exit_codes import BROKEN, HELD
from emulator.judging.judged import play_and_judge
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.verdict_file import Verdict
from emulator.toplevel_errors import ended

if TYPE_CHECKING:
    from collections.abc import Sequence

RESULTS = Path(__file__).parent / "results" / "mutants_judged.json"
RUNS = 2_000
"""Of crash testing, for each mutant, at most."""


def _of(name: str, check: str, scenario: str, version: str) -> Seen:
    return Seen(check, MUTANTS[name], scenario, version)


TABLE: dict[str, Seen] = SEEN | {
    name: _of(name, *play)
    for name, play in {
        "high-watermark-by-the-fastest": ("lost-acknowledged", "kafka-6880", "2.6"),
        "high-watermark-without-the-isr": ("lost-acknowledged", "az-isolated-leader-acks-all", "2.6"),
        "taken-for-as-far-as-the-leader": ("committed-truncated", "kafka-6880", "2.6"),
        "counted-when-sent": ("lost-acknowledged", "kafka-7128", "2.1"),
        "joins-behind": ("lost-acknowledged", "kafka-7128", "2.6"),
        "isr-before-it-is-recorded": ("read-then-lost", "az-isolated-leader", "2.8"),
        "elects-any-replica": ("lost-acknowledged", "kafka-7128", "2.6"),
        "cut-to-high-watermark": ("replica-divergence", "kip101-case2", "2.6"),
        "new-leader-cuts": ("lost-acknowledged", "kip101-case1", "2.6"),
        "fences-no-epoch": ("replica-divergence", "kafka-6880", "2.6"),
        "no-epoch-on-election": ("lost-acknowledged", "kafka-7415", "2.6"),
    }.items()
}
"""Each mutant once."""

GUARDS: dict[str, str] = {
    "high-watermark-at-log-end": "LeaderIncHighWatermark: each follower in the ISR has the offset",
    "high-watermark-by-the-fastest": "LeaderIncHighWatermark: each follower, not one",
    "high-watermark-without-the-isr": "LeaderIncHighWatermark: of the ISR, not of those heard of",
    "taken-for-as-far-as-the-leader": "LeaderIncHighWatermark: ReplicaIsFollowing, in this leader epoch",
    "fences-no-epoch": "FencedFollowerFetch: IsFollowerCaughtUpToLeaderEpoch",
    "joins-behind": "LeaderExpandIsr: IsFollowerCaughtUp to the high watermark",
    "isr-written-unversioned": "QuorumUpdateLeaderAndIsr: IsTrueLeader",
    "elects-any-replica": "ControllerElectLeader: the new leader is in the ISR",
    "elected-out-of-sync": "LeaderInIsr, an invariant",
    "cut-to-high-watermark": "BecomeFollowerTruncateKip101: LookupOffsetForEpoch",
    "keeps-its-tail": "BecomeFollowerAndTruncateTo: it cuts before it follows",
    "never-follows": "BecomeFollower: a request of a later leader epoch is obeyed",
}
"""{mutant: the guard of the published TLA+ models of Kafka's replication that it lacks}"""

UNSEEN: dict[str, str] = {}
"""{mutant: why crash testing cannot see it}"""


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
    seen = TABLE[name]
    resolved = resolve(find_scenario(seen.scenario), seen.version)
    right = play_and_judge(resolved, seen.seed, run=name).verdict.checks[seen.check].count
    directory = folder / name
    prepare(directory)
    with applied(seen.mutant):
        run = play_and_judge(resolved, seen.seed, run=name)
    write_simulated(directory, resolved, seen.seed, run.played.world, run.observations)
    return right, run.verdict, directory


def by_spark(runs: Sequence[Path], folder: Path) -> list[Verdict]:
    """All of them as one job."""
    with start_gateway(find_java(os.environ), folder / "spark") as gateway:
        return audit_runs(spark_session(gateway), runs, scratch=str(folder / "scratch"))


def judged(names: Sequence[str], runs: int, first: int = 1) -> list[Row]:
    """The table's rows, each printed when it is known."""
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        folder = Path(name)
        plays = {mutant: played(mutant, folder) for mutant in names}
        audited = by_spark([directory for _, _, directory in plays.values()], folder)
    rows = []
    for mutant, spark in zip(names, audited, strict=True):
        seen, (right, oracle, _) = TABLE[mutant], plays[mutant]
        hunt = hunted(mutant, range(first, first + runs))
        rows.append(
            Row(
                mutant=mutant,
                wrong=seen.mutant.wrong,
                check=seen.check,
                play=f"{Path(seen.scenario).name} on {seen.version}",
                guard=GUARDS.get(mutant, ""),
                right=right,
                oracle=oracle.checks[seen.check].count,
                spark=spark.checks[seen.check].count,
                crash=hunt["by"] if hunt["found"] else "",
                runs=hunt["runs"],
                unseen=UNSEEN.get(mutant, ""),
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
    unknown = [name for name in given.mutants if name not in TABLE]
    if unknown:
        parser.error(f"no mutant {unknown[0]!r}; there are: {', '.join(TABLE)}")
    if given.runs < 1:
        parser.error(f"--runs {given.runs}: at least 1")
    rows = judged(given.mutants or list(TABLE), given.runs)
    if not given.mutants:
        RESULTS.write_bytes(msgspec.json.format(msgspec.json.encode(rows)) + b"\n")
    missed = {row.mutant: row.missed for row in rows if row.missed}
    for mutant, judges in missed.items():
        print(f"{mutant} is not caught by {' and '.join(judges)}")
    print(
        f"{len(rows) - len(missed)} of {len(rows)} mutants caught by all three, {len(GUARDS)} of the table are guards"
    )
    return BROKEN if missed else HELD


if __name__ == "__main__":
    sys.exit(ended("benchmarks.mutants_judged", main))
