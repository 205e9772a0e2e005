"""`python -m verification.soak`: an hour of workload, an AZ cut every minute; its figures.

A cluster is started as `faultline up` starts it. In every AZ a producer without idempotence, one with it and a consumer
run while AZs are cut in turn and healed. In the end every record must have ended, every acknowledged one must be in the
log of every replica in sync, no node's memory may have grown, and outside the cuts almost no outcome may be unknown.
Two judges check the records: the audit, with Spark, and a ledger of the clients' outcomes against the logs on disk. All
times are the scenario's.

Writes verification/results/soak.json. Exit code 1 if something is broken, 3 if it cannot be judged.
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from audit.audited_run import audit_runs, write_verdict
from audit.commands import verdict_text
from audit.input import AuditInputError, find_runs
from audit.java import NoJavaError
from audit.report import write_report
from audit.spark_java import SparkNotStarted, tuning_for
from audit.spark_keeper import Launch
from audit.warm_spark import own_session
from emulator.cli.commands.live_up import UNUSABLE_INPUT
from emulator.cluster.launch import NotUp
from emulator.cluster.specification import resolved
from emulator.exit_codes import UNKNOWN, UNUSABLE
from emulator.runs.deployment_options import DRIVERS, ENGINES
from emulator.runs.timeout_limits import timer_limit_ms
from emulator.runs.verdict_file import Verdict
from emulator.toplevel_errors import ended
from emulator.topology import OBSERVER
from emulator.worlds.cluster_file.compose_files import named_topology, read_cluster_file
from verification.soak import soak_verdict
from verification.soak.ledger import compare, event_bytes, lateness_of, read_ledger
from verification.soak.process_memory import SUPERVISOR, trend_of
from verification.soak.soak_output import RESULT_FILE, document, show, write
from verification.soak.soak_plan import SoakOptions
from verification.soak.soak_run import NotDone, Played, Tell, play

INTERRUPTED = 130
WRITTEN_FROM_MINUTES = 5.0
"""Shorter runs are tries: they write no results."""


def audited(run: Path, tell: Tell) -> Verdict:
    """Audit as `faultline audit` does: verdict.json and report.html.

    Raises AuditInputError, SparkNotStarted, NoJavaError.
    """
    tell("auditing with Spark")
    (directory,) = find_runs([run])
    with tempfile.TemporaryDirectory(prefix="faultline-audit-") as name:
        scratch = Path(name) / "scratch"
        scratch.mkdir()
        launch = Launch(tuning=tuning_for(directory.size_bytes), idle_s=0.0, at_once=True)
        with own_session(Path(name) / "spark", launch) as spark:
            (verdict,) = audit_runs(spark, [run], scratch=str(scratch))
    write_verdict(verdict, run)
    write_report(run, verdict)
    return verdict


def judged(options: SoakOptions, played: Played, tell: Tell, out: Console) -> int:
    """Prints and writes; the exit code."""
    began = time.monotonic()
    verdict = audited(played.run, tell)
    audit_s = time.monotonic() - began
    tell("comparing what was acknowledged with the logs on disk")
    topology = played.spec.run.topology
    clients = [node.name for node in topology.with_role("client")]
    ledger = read_ledger(played.run, clients, played.cuts, options.margin_s * 1000.0)
    kept = compare(ledger, played.run, played.in_sync, played.idempotent)
    late_ms = lateness_of(played.run, [node.name for node in topology.nodes if node.name != OBSERVER])
    trends = {name: trend_of(samples) for name, samples in played.samples.items()}
    size_bytes = event_bytes(played.run)
    checks = {name: check.verdict for name, check in verdict.checks.items()}
    limit_ms = timer_limit_ms(resolved(read_cluster_file(named_topology(options.topology)), None, {}))
    judgements = soak_verdict.in_doubt(
        [
            soak_verdict.judge_memory({name: it for name, it in trends.items() if name != SUPERVISOR}, played.hours),
            soak_verdict.judge_accounts(played.reported, ledger.counts),
            soak_verdict.judge_kept(kept, checks),
            soak_verdict.judge_unknown(ledger.outside),
            soak_verdict.judge_disk(size_bytes, played.reported.sent, played.hours),
            soak_verdict.judge_cuts(played.cuts, played.planned),
        ],
        max(late_ms.values(), default=0.0),
        limit_ms,
    )
    if played.unsettled:
        judgements.append(soak_verdict.Judgement("settled", "unknown", played.unsettled))
    tell("")
    out.print(verdict_text(verdict), markup=False, highlight=False)
    out.print()
    show(judgements, trends, late_ms, out)
    if options.minutes >= WRITTEN_FROM_MINUTES:
        more = {
            "checks": {name: {"verdict": it.verdict, "count": it.count} for name, it in verdict.checks.items()},
            "kept": {"acknowledged": kept.acknowledged, "missing": kept.missing, "twice": kept.twice},
            "event_bytes": size_bytes,
            "audit_s": round(audit_s, 1),
            "ended": played.ended,
        }
        write(document(options, played, judgements, trends, late_ms, ledger.outside, more))
        out.print(f"\nresults: {RESULT_FILE}; report: {played.run / 'report.html'}", markup=False)
    return soak_verdict.exit_code(judgements)


@contextmanager
def progress() -> Iterator[Tell]:
    """A line on a terminal; nothing in a pipe."""
    screen = Console(stderr=True, highlight=False)
    if not screen.is_terminal:
        yield lambda text: None
        return
    with screen.status("") as status:
        yield status.update


def main(arguments: list[str] | None = None) -> int:
    given = _parsed(arguments)
    if isinstance(given, int):
        return given
    out = Console(width=None if sys.stdout.isatty() else 160, highlight=False)
    with tempfile.TemporaryDirectory(prefix="faultline-soak-") as name, progress() as tell:
        run = given.out or Path(name) / f"soak-{os.getpid()}"
        try:
            return judged(given, play(given, run, tell), tell, out)
        except (NotUp, NotDone, SparkNotStarted, NoJavaError, AuditInputError) as error:
            print(f"soak: {error}", file=sys.stderr)
            return UNKNOWN
        except UNUSABLE_INPUT as error:
            print(f"soak: {error}", file=sys.stderr)
            return UNUSABLE
        except KeyboardInterrupt:
            print("soak: interrupted; the cluster has ended", file=sys.stderr)
            return INTERRUPTED


def _parsed(arguments: list[str] | None) -> SoakOptions | int:
    parser = argparse.ArgumentParser(
        prog="python -m verification.soak", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = SoakOptions()
    parser.add_argument("--minutes", type=float, default=default.minutes)
    parser.add_argument("--rate", type=float, default=default.rate, help="records per second of all producers together")
    parser.add_argument("--cut-every-s", type=float, default=default.cut_every_s)
    parser.add_argument("--cut-for-s", type=float, default=default.cut_for_s)
    parser.add_argument("--speed", type=float, default=default.speed, help="of the clock")
    parser.add_argument("--engine", choices=ENGINES, default=default.engine)
    parser.add_argument("--driver", choices=DRIVERS, default=default.driver)
    parser.add_argument("--topology", default=default.topology)
    parser.add_argument("--out", type=Path, help="the run's directory, which is kept; by default a temporary one")
    options = SoakOptions(**vars(parser.parse_args(arguments)))
    problem = options.problem()
    if problem:
        print(f"soak: {problem}", file=sys.stderr)
        return UNUSABLE
    return options


if __name__ == "__main__":
    sys.exit(ended("verification.soak", main))
