"""`python -m verification.listener_cuts`: fifty random cuts, reports against the audit.

    python -m verification.listener_cuts [--runs 50] [--seed 0] [--out DIRECTORY]

Each run takes some twenty seconds: a cluster with Kafka's protocol, librdkafka's producers (acks=1; acks=all,
idempotent) in the AZ that is cut off with its leader and outside of it, and a consumer in the end. All runs are audited
at once.
Prints figures, and writes verification/results/listener_cuts.json for a full series. Exit code 1 if the two disagree
about a record, or acks=all lost or doubled one. `--out` keeps the runs; without it those with a disagreement are kept.
"""

import argparse
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from audit.audited_run import audit_runs
from audit.commands import spark_of
from audit.input import find_runs
from audit.spark_session import DEFAULT_MASTER
from benchmarks.figure_records import Figure, show, write
from emulator.run_layout import EVENTS_FOLDER, event_paths
from emulator.runs.verdict_file import Verdict
from emulator.toplevel_errors import ended
from verification import RESULTS
from verification.listener_cuts.compare_answers import Compared, compare, produced_in, record_named
from verification.listener_cuts.run_cuts import Witness, plan_of, play

FULL: int = 50
EVIDENCE_MAX: int = 100_000
"""More than the records of a run."""
SHOWN_MAX: int = 20


def events_of(run: Path) -> Iterator[dict[str, Any]]:
    for path in event_paths(run / EVENTS_FOLDER):
        for line in path.read_bytes().splitlines():
            if b'"operation_' in line:
                yield msgspec.json.decode(line)


def audited(runs: list[Path]) -> list[Verdict]:
    size_bytes = sum(one.size_bytes for one in find_runs(runs))
    with spark_of(DEFAULT_MASTER, size_bytes) as (spark, scratch):
        return audit_runs(spark, runs, scratch=str(scratch), evidence_max=EVIDENCE_MAX)


def judged(run: Path, witness: Witness, verdict: Verdict) -> Compared:
    check = verdict.checks["lost-acknowledged"]
    lost = [record_named(one["operation"], one.get("record", 0)) for one in check.evidence]
    compared = compare(witness, produced_in(events_of(run)), lost)
    if check.verdict not in ("held", "violated") or check.count != len(check.evidence):
        compared.disagreements.append(f"the audit says {check.verdict} {check.count}: {check.reason}")
    if not witness.settled:
        compared.broken.append("the cluster did not come to rest")
    return compared


def row_of(witness: Witness, compared: Compared, verdict: Verdict) -> dict[str, Any]:
    plan = msgspec.to_builtins(witness.plan)
    violated = sorted(name for name, check in verdict.checks.items() if check.verdict == "violated")
    return {**plan, **msgspec.to_builtins(compared, str_keys=True), "violated": violated,
            "unknown_because": verdict.unknown_because}  # fmt: skip


def figures_of(compared: list[Compared], verdicts: list[Verdict], runs: int) -> list[Figure]:
    delivered: Counter[int] = Counter()
    lost: Counter[int] = Counter()
    for one in compared:
        delivered.update(one.delivered)
        lost.update(one.lost)
    two_leaders = sum(verdict.checks["dual-leader"].verdict == "violated" for verdict in verdicts)
    with_loss = sum(bool(one.lost) for one in compared)
    return [
        Figure(line="runs with a cut at a random moment", value=len(compared), unit="", target=runs,
               higher_is_better=True),
        Figure(line="of these, with two leaders at once", value=two_leaders, unit="", target=runs / 4,
               higher_is_better=True, bound="a cut that ends before the session expires has one leader"),
        Figure(line="runs with records that were acknowledged (acks=1) and lost", value=with_loss, unit="",
               target=runs / 4, higher_is_better=True),
        Figure(line="records delivered with acks=1, by librdkafka's reports", value=delivered[1], unit="", target=1,
               higher_is_better=True),
        Figure(line="of these, lost, each in the audit's verdict", value=lost[1], unit="", target=1,
               higher_is_better=True),
        Figure(line="records delivered with acks=all, idempotent", value=delivered[-1], unit="", target=1,
               higher_is_better=True),
        Figure(line="of these, reported by librdkafka without an offset", value=sum(one.concluded for one in compared),
               unit="", target=delivered[-1]),
        Figure(line="records with acks=all lost", value=lost[-1], unit="", target=0),
        Figure(line="promises broken with acks=all, idempotent", value=sum(len(one.broken) for one in compared),
               unit="", target=0),
        Figure(line="records about which reports and audit disagree",
               value=sum(len(one.disagreements) for one in compared), unit="", target=0),
        Figure(line="records that never had a report", value=sum(one.without_report for one in compared), unit="",
               target=0),
    ]  # fmt: skip


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m verification.listener_cuts", description=__doc__)
    parser.add_argument("--runs", type=int, default=FULL)
    parser.add_argument("--seed", type=int, default=0, help="of the first run; each has the next one")
    parser.add_argument("--out", type=Path, help="keep the runs here")
    options = parser.parse_args(arguments)
    if options.runs < 1:
        parser.error(f"--runs {options.runs}: at least 1")
    with tempfile.TemporaryDirectory(prefix="faultline-") as name:
        place = options.out or Path(name)
        runs, witnesses = [], []
        for seed in range(options.seed, options.seed + options.runs):
            runs.append(place / f"cut-{seed}")
            witnesses.append(play(plan_of(seed), runs[-1]))
            print(f"{seed}: {witnesses[-1].plan}", file=sys.stderr, flush=True)
        verdicts = audited(runs)
        compared = [judged(*one) for one in zip(runs, witnesses, verdicts, strict=True)]
        for run, one in zip(runs, compared, strict=True):
            wrong = one.disagreements + one.broken
            if wrong and options.out is None:
                shutil.copytree(run, Path("runs") / run.name, dirs_exist_ok=True)
            for line in wrong[:SHOWN_MAX]:
                print(f"{run.name}: {line}", file=sys.stderr)
    figures = figures_of(compared, verdicts, options.runs)
    show(figures)
    if options.runs >= FULL:
        rows = [row_of(*one) for one in zip(witnesses, compared, verdicts, strict=True)]
        write("listener_cuts", figures, {"runs": rows}, results=RESULTS)
    return 1 if any(one.disagreements or one.broken for one in compared) else 0


if __name__ == "__main__":
    sys.exit(ended("verification.listener_cuts", lambda: main(sys.argv[1:])))
