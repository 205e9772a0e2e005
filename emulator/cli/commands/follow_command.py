"""`faultline audit --follow [RUN]`: the run to follow, and whether it is still written."""

from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.cli.command_options import AuditOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cluster.cluster_registry import NoCluster, choose, plays, registered


@reports_errors("audit", NoCluster)
def follow_run_command(runs: Sequence[str], options: AuditOptions) -> int:
    """Audit a run while it is written.

    `runs`: one directory or cluster's name; empty: the running cluster.
    """
    from audit.following.command import follow_command

    beside = {
        "--out": options.out, **options.ci_reports.places, "--check": options.check, "--reports": options.reports,
    }  # fmt: skip
    for name in (name for name, given in beside.items() if given):
        raise CommandFailed(f"{name}: not for --follow, which writes no verdict; leave it out")
    if len(runs) > 1:
        raise CommandFailed(f"--follow: takes one run, not {len(runs)}")
    run = _directory(runs[0] if runs else None)
    return follow_command(run, _lives(run.resolve()), master=options.master, json=options.json)


def _directory(given: str | None) -> Path:
    """Directory of a run or of a cluster. Raises NoCluster."""
    if given is not None and Path(given).exists():
        return Path(given)
    return choose(given).directory


def _lives(run: Path) -> Callable[[], bool]:
    """A function that returns whether a cluster or a scenario still writes the run."""

    def lives() -> bool:
        found = registered(run)
        if found is not None:
            return found.running
        return any(one.running and one.directory.resolve() == run for one in plays())

    return lives
