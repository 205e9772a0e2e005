"""The audit of one run, called from a program.

A process can have one Spark. If the program uses Spark itself, with its own settings, a separate process makes the
audit: `python -m faultline.audit_call RUN`, whose last line is the result.
"""

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import trio

from audit.audited_run import audit_runs, write_verdict
from audit.commands import spark_of
from audit.input import AuditInputError, find_run
from audit.java import NoJavaError
from audit.report import write_report
from audit.spark_java import SparkNotStarted
from audit.spark_session import DEFAULT_MASTER, SparkFailed, spark_is_taken
from emulator.cluster.cluster_registry import registered
from emulator.cluster.control_requests import Refused as NotNow
from emulator.cluster.event_snapshot import copy_moment
from emulator.exit_codes import INTERRUPTED
from emulator.runs.scratch import scratch
from emulator.runs.verdict_file import Verdict as Audited
from faultline.errors import Refused
from faultline.verdict import Verdict
from protocol.undecodable import UNDECODABLE

LIMIT_S = 1_800.0
"""Time limit of the separate process, in seconds: more than any run takes."""
INTERRUPTED_S = 5.0


class _Result(msgspec.Struct):
    """Result of the separate process: a verdict, or the reason for its absence."""

    verdict: Audited | None = None
    refused: str = ""
    unknown: bool = False


def audited(run: Path) -> Verdict:
    """Audit a run, or a snapshot of a running one. Raises Refused.

    Writes verdict.json and report.html.
    """
    return Verdict(_beside(run) if spark_is_taken() else _here(run), run)


def _here(run: Path) -> Audited:
    try:
        found = registered(run)
        if found is None or not found.running:
            return _judged(run, run)
        with scratch(run) as place:
            copy = place / run.name
            copy_moment(found, copy)
            return _judged(copy, run)
    except (AuditInputError, SparkNotStarted, NoJavaError) as error:
        raise Refused(str(error)) from error
    except (NotNow, SparkFailed) as error:
        raise Refused(str(error), unknown=True) from error


def _judged(run: Path, home: Path) -> Audited:
    directory = find_run(run)
    with spark_of(DEFAULT_MASTER, directory.size_bytes, shared=True) as (spark, place):
        [verdict] = audit_runs(spark, [directory.path], scratch=str(place))
    write_verdict(verdict, home)
    write_report(directory.path, verdict, home)
    return verdict


def _command(run: Path) -> list[str]:
    return [sys.executable, "-m", "faultline.audit_call", str(run)]


def _beside(run: Path) -> Audited:
    return _verdict_of(
        subprocess.run(_command(run), stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
    )


async def audited_beside(run: Path) -> Verdict:
    """Audit in a separate process on trio; a cancellation interrupts it. Raises Refused."""
    ended = await trio.run_process(
        _command(run), stdin=subprocess.DEVNULL, capture_stdout=True, capture_stderr=True, check=False,
        deliver_cancel=_interrupt,
    )  # fmt: skip
    return Verdict(_verdict_of(ended), run)


async def _interrupt(process: trio.Process) -> None:
    """Interrupt the process, so that it removes its files; kill it if that takes too long."""
    process.send_signal(signal.SIGINT)
    await trio.sleep(INTERRUPTED_S)
    process.kill()


def _verdict_of(ended: "subprocess.CompletedProcess[bytes]") -> Audited:
    """Verdict from the separate process's output. Raises Refused."""
    try:
        result = msgspec.json.decode(ended.stdout.splitlines()[-1], type=_Result)
    except (IndexError, *UNDECODABLE) as error:
        lines = ended.stderr.decode(errors="replace").strip().splitlines() or [f"code {ended.returncode}"]
        raise Refused(f"the audit in a separate process failed: {lines[-1]}", unknown=True) from error
    if result.verdict is None:
        raise Refused(result.refused, unknown=result.unknown)
    return result.verdict


def _print_result(run: Path) -> None:
    try:
        result = _Result(_here(run))
    except Refused as refused:
        result = _Result(refused=str(refused), unknown=refused.unknown)
    print(msgspec.json.encode(result).decode(), flush=True)


if __name__ == "__main__":
    try:
        _print_result(Path(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
