"""The audit of one run, called from a program.

A process has one Spark. Where the program is at work with its own, with settings of its own, the audit is made by a
process beside it: `python -m faultline.auditing RUN`, whose last line is what came of it.
"""

import signal
import subprocess
import sys
from pathlib import Path

import msgspec
import trio

from audit.commands import DEFAULT_MASTER, spark_of
from audit.input import AuditInputError, find_run
from audit.report import write_report
from audit.run import audit_runs, write_verdict
from audit.session import GatewayError, NoJavaError, SparkFailed, spark_is_taken
from emulator.cluster.moment import copy_moment
from emulator.cluster.registry import registered
from emulator.cluster.requests import Refused as NotNow
from emulator.exit_codes import INTERRUPTED
from emulator.runs.scratch import scratch
from emulator.runs.verdict import Verdict as Audited
from faultline.errors import Refused
from faultline.verdict import Verdict

LIMIT_S = 1_800.0
"""Of the process beside: more than any run takes."""
INTERRUPTED_S = 5.0


class _Told(msgspec.Struct):
    """By the process beside: a verdict, or why there is none."""

    verdict: Audited | None = None
    refused: str = ""
    unknown: bool = False


def audited(run: Path) -> Verdict:
    """One that runs is judged as it is at this moment. Writes verdict.json and report.html. Raises Refused."""
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
    except (AuditInputError, GatewayError, NoJavaError) as error:
        raise Refused(str(error)) from error
    except (NotNow, SparkFailed) as error:
        raise Refused(str(error), unknown=True) from error


def _judged(run: Path, home: Path) -> Audited:
    directory = find_run(run)
    with spark_of(DEFAULT_MASTER, directory.size_bytes) as (spark, place):
        [verdict] = audit_runs(spark, [directory.path], scratch=str(place))
    write_verdict(verdict, home)
    write_report(directory.path, verdict, home)
    return verdict


def _command(run: Path) -> list[str]:
    return [sys.executable, "-m", "faultline.auditing", str(run)]


def _beside(run: Path) -> Audited:
    return _heard(
        subprocess.run(_command(run), stdin=subprocess.DEVNULL, capture_output=True, timeout=LIMIT_S, check=False)
    )


async def audited_beside(run: Path) -> Verdict:
    """The same on trio, by a process in any case: it is interrupted when this is cancelled. Raises Refused."""
    ended = await trio.run_process(
        _command(run), stdin=subprocess.DEVNULL, capture_stdout=True, capture_stderr=True, check=False,
        deliver_cancel=_interrupt,
    )  # fmt: skip
    return Verdict(_heard(ended), run)


async def _interrupt(process: trio.Process) -> None:
    """So that it removes what it has made; killed, if it takes too long for that."""
    process.send_signal(signal.SIGINT)
    await trio.sleep(INTERRUPTED_S)
    process.kill()


def _heard(ended: "subprocess.CompletedProcess[bytes]") -> Audited:
    """What the process beside has told. Raises Refused."""
    try:
        told = msgspec.json.decode(ended.stdout.splitlines()[-1], type=_Told)
    except (IndexError, msgspec.DecodeError) as error:
        said = ended.stderr.decode(errors="replace").strip().splitlines() or [f"code {ended.returncode}"]
        raise Refused(f"the audit in a process of its own failed: {said[-1]}", unknown=True) from error
    if told.verdict is None:
        raise Refused(told.refused, unknown=told.unknown)
    return told.verdict


def _tell(run: Path) -> None:
    try:
        told = _Told(_here(run))
    except Refused as refused:
        told = _Told(refused=str(refused), unknown=refused.unknown)
    print(msgspec.json.encode(told).decode(), flush=True)


if __name__ == "__main__":
    try:
        _tell(Path(sys.argv[1]))
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)
