"""`faultline audit RUN...`: verdicts of finished runs and of snapshots of running clusters."""

import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from audit.commands import audit_command
from audit.input import AuditInputError, find_runs
from emulator.cli.commands.places import UnusablePlace, check_places
from emulator.cluster.moment import copy_moment
from emulator.cluster.registry import registered
from emulator.cluster.requests import Refused
from emulator.exit_codes import UNKNOWN, UNUSABLE
from emulator.judging.for_machines import NOBODY, ForMachines
from emulator.runs.scratch import scratch


def audit_runs_command(
    runs: Sequence[str],
    master: str,
    out: Path | None,
    json: bool,
    for_machines: ForMachines = NOBODY,
    own: Sequence[Path] = (),
    reports: bool | None = None,
    verbose: bool = False,
) -> int:
    """Run the audit; returns its exit code, or 3 when a running cluster does not respond.

    `own`: files of custom checks. `reports`, `verbose`: as `audit_command` has them.
    """
    homes: dict[Path, Path] = {}
    with ExitStack() as stack:
        given: list[str] = []
        try:
            check_places(for_machines.places, out)
            for run in find_runs(runs):
                found = registered(run.path)
                if found is None or not found.running:
                    given.append(str(run.path))
                    continue
                copy = stack.enter_context(scratch(run.path)) / run.name
                moment_ms = copy_moment(found, copy)
                print(f"{run.name} is running: auditing a snapshot of {moment_ms / 1000:.3f} s", file=sys.stderr)
                homes[copy] = run.path
                given.append(str(copy))
        except (AuditInputError, UnusablePlace) as error:
            print(f"faultline audit: {error}", file=sys.stderr)
            return UNUSABLE
        except Refused as refused:
            print(f"faultline audit: {refused}", file=sys.stderr)
            return UNKNOWN
        return audit_command(given, master, out, json, homes, for_machines, own, reports, verbose)
