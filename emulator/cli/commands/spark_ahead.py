"""Spark for one run: the shared server if it runs, or a Java of the run's own.

A Java of its own starts early, while the cluster works.

A failure of Spark costs only the verdict: the run is kept, and its verdict is *unknown* with the reason.
"""

import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec

from emulator.cli.on_spark import require_spark
from emulator.runs.scratch import scratch
from emulator.runs.verdict_file import Verdict


class Spark:
    """A Spark for the audit of `run`, a directory.

    `problem`: the reason for a missing verdict; "" as long as there is none. `ready_s`: duration of its start.
    """

    def __init__(self, run: Path, scratch: Path) -> None:
        self._run = run
        self._scratch = scratch
        self.ready_s = 0.0
        self.problem = ""

    def get_ready(self) -> None:
        """Open the session."""

    def abandon(self) -> None:
        """Kill Spark: the run has ended without a verdict, and must not wait for a slow start."""

    def hurry(self) -> None:
        """Raise Spark's priority: the cluster has ended, so no timer can be late any more."""

    def close(self) -> None:
        """End Spark and drop its state. Idempotent."""

    def _audited(self) -> Verdict:
        """Raises SparkNotStarted, AuditInputError."""
        raise NotImplementedError

    def judge(self, scenario: str, began: float, played_s: float) -> tuple[dict[str, Any], int]:
        """The verdict as JSON, written to the run's directory with the report, and its exit code."""
        from audit.audited_run import write_verdict
        from audit.report import write_report

        verdict = self._verdict(scenario)
        verdict.measures["played_s"] = played_s
        verdict.measures["spark_ready_s"] = self.ready_s
        verdict.measures["wall_s"] = round(time.monotonic() - began, 3)
        write_verdict(verdict, self._run)
        write_report(self._run)
        return msgspec.to_builtins(verdict), verdict.exit_code

    def _verdict(self, scenario: str) -> Verdict:
        from audit.input import AuditInputError
        from audit.spark_java import SparkNotStarted

        if not self.problem:
            try:
                return self._audited()
            except (SparkNotStarted, AuditInputError) as error:
                self.problem = str(error)
        return Verdict(
            run=self._run.name,
            scenario=scenario,
            world="network",
            valid="unknown",
            expectations=[],
            faults=[],
            checks={},
            measures={},
            unknown_because=[f"Spark did not judge it: {self.problem}; to retry: faultline audit {self._run}"],
        )


class SharedSpark(Spark):
    """The server that all commands of the user share."""

    def _audited(self) -> Verdict:
        from audit.audited_run import audit_runs
        from audit.warm_spark import warm_session

        with warm_session() as session:
            [verdict] = audit_runs(session, [self._run], scratch=str(self._scratch))
            return verdict


class OwnSpark(Spark):
    """A Java of the run's own. Raises SparkMissing."""

    def __init__(self, run: Path, scratch: Path) -> None:
        from audit.spark_session import DEFAULT_MASTER

        super().__init__(run, scratch)
        require_spark(DEFAULT_MASTER)
        self._folder = scratch / "spark"
        self._kept = ExitStack()
        self._session: Any = None
        self._abandoned = False
        self._began = time.monotonic()

    def get_ready(self) -> None:
        """Start Java, while the processor is idle, and open the session.

        A warm-up by other audits would gain half a second, and cost 14 s of CPU (docs/audit-cost.md).
        """
        from audit.spark_java import SparkNotStarted
        from audit.tuning import SMALL
        from audit.warm_spark import OWN, own_session

        try:
            self._session = self._kept.enter_context(own_session(self._folder, OWN, SMALL, background=True))
        except Exception as error:
            if not (self._abandoned or isinstance(error, SparkNotStarted | OSError)):
                raise
            self.problem = str(error)
        self.ready_s = round(time.monotonic() - self._began, 3)

    def abandon(self) -> None:
        from audit.warm_spark import stop

        self._abandoned = True
        stop(self._folder)

    def hurry(self) -> None:
        from audit.warm_spark import to_foreground

        to_foreground(self._folder)

    def _audited(self) -> Verdict:
        from audit.audited_run import audit_runs
        from audit.spark_session import spark_faults

        with spark_faults():
            [verdict] = audit_runs(self._session, [self._run], scratch=str(self._scratch))
            return verdict

    def close(self) -> None:
        self._kept.close()


@contextmanager
def spark_ahead(directory: Path, *, wanted: bool) -> Iterator[Spark | None]:
    """A Spark for the block. None: not wanted. Raises SparkMissing."""
    from audit.warm_spark import is_running

    if not wanted:
        yield None
        return
    with scratch(directory) as own:
        spark = SharedSpark(directory, own) if is_running() else OwnSpark(directory, own)
        try:
            yield spark
        finally:
            spark.close()
