"""Spark's checks, which read events, agree with the oracle, which reads the simulated state."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from audit.derived_tables import SMALL_MAX_BYTES
from emulator.judging.judged import play_and_judge
from emulator.machines.broker.partition import Partition
from emulator.packaged import GOLDEN
from emulator.run_layout import EVENTS_FOLDER
from emulator.runs.directory import prepare, write_simulated
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.verdict_file import Verdict
from protocol.ids import Offset
from verification.agreement import KRAFT_PLAYS, differences
from verification.pretest_soundness import hidden_parts

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.spark

CATALOGUE = (
    *("az-isolated-leader", "az-isolated-leader-acks-all", "az-isolated-follower", "az-isolated-controller"),
    "link-follower-leader",
)

MORE = (
    *(("reordering", "2.8"), ("truncation-detection", "2.6"), ("topic-recreated", "2.1"), ("workload-az-cut", "2.8")),
    *(("committed-offsets-az-cut", "2.8"), ("group-zombie-commit", "2.8")),
    *(("kafka-2477", "0.8.2"), ("kip101-case2-compressed", "0.10.2"), ("partitions-move", "2.8")),
    *(("start-while-isolated", "2.8"), ("topic-recreated-over-stray", "2.8")),
    *((str(KRAFT_PLAYS / "kraft-topics.yaml"), "3.9"), (str(KRAFT_PLAYS / "kraft-workload.yaml"), "4.4")),
)
"""Scenarios with effects on order, reads, topics' incarnations and groups' offsets.

Also a log that is thrown away, message sets that overlap, a leader that is moved away, a node that ends and starts
behind a cut, a log that outlives its topic (of these five `verification.agreement` found that they differed).
"""

RECORDINGS = (
    "kip101-case1@0.10.2",
    "unclean-alternating@1.1",
    "unclean-election@2.8",
    "power-loss-before-sync@0.10.2",
    "az-isolated-leader-and-controller@2.8",
    "random-111@2.8",
    "random-211@2.6",
    "random-303@1.1",
    "random-403@0.10.2",
    "kraft-az-isolated-leader-and-controller@3.9",
    "kraft-unclean-election@4.4",
    "kraft-random-615@4.4",
)
"""Chosen for their violations.

Divergence, losses with acks=all, several dual-leader windows. The windows have two leaders or two controllers.
"""

FOUND_IN_THE_CATALOGUE = {
    *("lost-acknowledged", "duplicate", "reordered", "read-then-lost", "inconsistent-offsets"),
    *("offset-out-of-range", "committed-offset-regression", "replica-divergence", "dual-leader"),
    *("high-watermark-regression", "committed-truncated", "checkpoint-ahead"),
}
"""`test_mutants_seen` finds the others in mutants: no right machine violates them."""

SABOTAGED = "sabotaged"


def written(folder: Path, scenario: str, version: str | None, seed: int, name: str) -> tuple[Path, Verdict]:
    """A run's directory, and what the oracle says of it."""
    directory = folder / name
    prepare(directory)
    resolved = resolve(find_scenario(scenario), version)
    run = play_and_judge(resolved, seed, run=name)
    write_simulated(directory, resolved, seed, run.played.world, run.observations)
    return directory, run.verdict


def in_memory_together(runs: Sequence[Path]) -> Iterator[list[Path]]:
    """Runs, as many at a time as fit into memory, which takes a tenth of the time of big ones."""
    some: list[Path] = []
    size_bytes = 0
    for run in runs:
        added_bytes = sum(path.stat().st_size for path in (run / EVENTS_FOLDER).iterdir())
        if some and size_bytes + added_bytes > SMALL_MAX_BYTES:
            yield some
            some, size_bytes = [], 0
        some.append(run)
        size_bytes += added_bytes
    yield some


def audited(spark: SparkSession, folder: Path, runs: list[Path]) -> list[Verdict]:
    from audit.audited_run import audit_runs

    scratch = str(folder / "scratch")
    return [verdict for some in in_memory_together(runs) for verdict in audit_runs(spark, some, scratch=scratch)]


class Runs(NamedTuple):
    """Directories, and findings of Spark and of the oracle, of each run."""

    paths: dict[str, Path]
    spark: dict[str, Verdict]
    oracle: dict[str, Verdict]


@pytest.fixture(scope="module")
def output(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder: Path = tmp_path_factory.mktemp("runs")
    runs = [
        written(folder, scenario, version, seed, f"{scenario}@{version}-{seed}")
        for scenario in CATALOGUE
        for version in ("2.6", "2.8")
        for seed in (1, 2)
    ]
    runs += [written(folder, scenario, version, 1, f"{Path(scenario).stem}@{version}") for scenario, version in MORE]
    runs += [written(folder, str(GOLDEN / recording / "1.json"), None, 1, recording) for recording in RECORDINGS]
    runs.append(_high_watermark_falls(folder))
    verdicts = audited(spark, folder, [directory for directory, _ in runs])
    return Runs(
        {directory.name: directory for directory, _ in runs},
        {verdict.run: verdict for verdict in verdicts},
        {directory.name: oracle for directory, oracle in runs},
    )


def _high_watermark_falls(folder: Path) -> tuple[Path, Verdict]:
    """No correct machine lowers it, so one is sabotaged.

    Once, at one broker, when a follower fetches.
    """
    noted = Partition.follower_fetched
    fell: list[Partition] = []

    def broken(partition: Partition, *fetched: Any, **more: Any) -> None:
        if not fell and partition.the_log.high_watermark == 2:
            fell.append(partition)
            partition._moved(Offset(1))
        noted(partition, *fetched, **more)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(Partition, "follower_fetched", broken)
        return written(folder, "az-isolated-follower", "2.8", 1, SABOTAGED)


def test_audit_and_oracle_agree(output: Runs) -> None:
    _, verdicts, oracle = output
    assert list(verdicts) == list(oracle)
    for run, verdict in verdicts.items():
        expected = oracle[run]
        assert differences(verdict, expected) == [], run
        if run != SABOTAGED:
            assert (verdict.valid, verdict.unknown_because) == (expected.valid, expected.unknown_because), run
    right = (expected.checks for run, expected in oracle.items() if run != SABOTAGED)
    violated = {name for checks in right for name, check in checks.items() if check.verdict == "violated"}
    assert violated == FOUND_IN_THE_CATALOGUE


def test_they_agree_on_a_leader_whose_high_watermark_falls(output: Runs) -> None:
    assert [reported[SABOTAGED].checks["high-watermark-regression"].count for reported in output[1:]] == [1, 1]


def test_no_pretest_hides_a_finding(output: Runs) -> None:
    hidden = {name: hidden_parts(path, output.spark[name]) for name, path in output.paths.items()}
    assert {name: parts for name, parts in hidden.items() if parts} == {}
