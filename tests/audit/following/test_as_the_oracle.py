"""A follow's findings of simulated runs equal the oracle's, which reads the machines' state.

That the audit finds the same is `tests/audit/test_oracle_agrees.py`; here no Spark is needed.
"""

from __future__ import annotations

from collections import Counter

import pytest

from audit.following.event import Event
from audit.following.followed import Followed
from emulator.judging.judged import JudgedRun, play_and_judge
from emulator.packaged import GOLDEN
from emulator.runs.resolve import resolve
from emulator.runs.scenario_sources import find_scenario
from emulator.runs.verdict_file import Verdict
from tests.audit.following.folding import event_of, in_fifths
from verification.agreement import KRAFT_PLAYS

SEEDS = (1, 2)
FOLLOWED = (
    "dual-leader", "dual-controller", "lost-acknowledged",
    "dual-quorum-leader", "quorum-high-watermark", "metadata-divergence",
)  # fmt: skip
RUNS = (
    *(("az-isolated-leader", "2.6"), ("az-isolated-leader-and-controller@2.8", None), ("topic-recreated", "2.1")),
    *(("unclean-election@2.8", None), ("power-loss-before-sync@0.10.2", None), ("workload-az-cut", "2.8")),
    *(("unclean-alternating@1.1", None), ("random-303@1.1", None), ("acks-0-loss", "2.6"), ("leader-crash", "2.8")),
    *(("az-isolated-controller", "2.0"), ("kafka-6082", "2.0"), ("min-insync", "2.6")),
    *(("partitions-move", "2.8"), ("topic-recreated-over-stray", "2.8"), ("kafka-2477", "0.8.2")),
    *(("kip101-case2-compressed", "0.10.2"), ("start-while-isolated", "2.6")),
    *(("kraft-az-isolated-leader@3.9", None), ("kraft-unclean-election@4.4", None)),
    *((str(KRAFT_PLAYS / "kraft-topics.yaml"), version) for version in ("3.9", "4.4")),
    pytest.param("kraft-random-615@4.4", None, marks=pytest.mark.slow),
)


@pytest.mark.parametrize(("scenario", "version"), RUNS)
def test_at_the_end_a_follow_has_found_what_the_oracle_finds(scenario: str, version: str | None) -> None:
    source = str(GOLDEN / scenario / "1.json") if "@" in scenario else scenario
    resolved = resolve(find_scenario(source), version)
    for seed in SEEDS[:1] if "kraft-random" in scenario else SEEDS:
        run = play_and_judge(resolved, seed, run="followed")
        last_ms = round(max(at_ms for *_, at_ms, _ in run.played.world.trace.entries), 3)
        compare(in_fifths(files_of(run)), run.verdict, last_ms)


def files_of(run: JudgedRun) -> list[list[Event]]:
    """Its events by node: the file of an incarnation is read behind that of the one before."""
    trace = run.played.world.trace
    files: dict[str, list[Event]] = {}
    for entry in trace.entries:
        event = event_of(trace.line(entry, "followed", 0.0))
        if event is not None:
            files.setdefault(event.node, []).append(event)
    return [sorted(files[node], key=lambda one: (one.incarnation, one.seq)) for node in sorted(files)]


def compare(followed: Followed, verdict: Verdict, last_ms: float) -> None:
    violated = Counter({check: verdict.checks[check].count for check in FOLLOWED})
    assert +followed.findings.violations == +violated
    assert followed.unavailable_ms(last_ms) == verdict.measures["unavailable_ms"]


@pytest.mark.parametrize(
    ("scenario", "version", "violated"),
    [
        ("az-isolated-leader", "2.6", {"dual-leader", "lost-acknowledged"}),
        ("kafka-6082", "2.0", {"dual-controller"}),
    ],
)
def test_these_runs_have_something_to_find(scenario: str, version: str, violated: set[str]) -> None:
    run = play_and_judge(resolve(find_scenario(scenario), version), 1, run="followed")
    assert set(+in_fifths(files_of(run)).findings.violations) == violated
