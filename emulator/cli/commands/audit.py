"""`faultline audit RUN...`: verdicts of finished runs and of snapshots of running clusters."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from audit.commands import audit_command
from audit.input import AuditInputError, UnusableRun, look_for_runs
from audit.java import NoJavaError, require_java
from emulator.cli.command_options import AuditOptions
from emulator.cli.commands.command_errors import reports_errors
from emulator.cli.commands.place_arguments import UnusablePlace, check_places
from emulator.cluster.cluster_registry import registered
from emulator.cluster.control_requests import Refused
from emulator.cluster.event_snapshot import copy_moment
from emulator.exit_codes import UNKNOWN
from emulator.regular_files import reason
from emulator.runs.scratch import scratch


@reports_errors("audit", AuditInputError, NoJavaError, UnusablePlace)
def audit_runs_command(runs: Sequence[str], options: AuditOptions) -> int:
    """Run the audit; returns its exit code, or 3 when a running cluster does not respond."""
    ci_reports, master = options.ci_reports, options.remote or options.master
    check_places(ci_reports.places, options.out)
    found, unusable = look_for_runs(runs)
    if found:
        require_java(master)
    homes: dict[Path, Path] = {}
    given: list[str] = []
    with ExitStack() as stack:
        for run in found:
            cluster = registered(run.path)
            if cluster is None or not cluster.running:
                given.append(str(run.path))
                continue
            copy = stack.enter_context(scratch(run.path)) / run.name
            try:
                moment_ms = copy_moment(cluster, copy)
            except Refused as refused:
                unusable.append(UnusableRun(run.name, f"{run.path}: the cluster does not answer: {refused}", UNKNOWN))
                continue
            except OSError as error:
                why = f"{error.filename or run.path}: cannot be read: {reason(error)}"
                unusable.append(UnusableRun(run.name, why))
                continue
            print(f"{run.name} is running: audited as it was at {moment_ms / 1000:.3f} s", file=sys.stderr)
            homes[copy] = run.path
            given.append(str(copy))
        return audit_command(
            given, master, options.out, options.json, homes, ci_reports, options.check, options.reports,
            options.verbose, unusable, options.cold,
        )  # fmt: skip
