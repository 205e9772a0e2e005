"""`faultline audit --follow [RUN]`: the run to follow, and whether it is still written."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.cluster.cluster_registry import NoCluster, choose, plays, registered
from emulator.exit_codes import UNUSABLE


def follow_run_command(runs: Sequence[str], master: str, json: bool, beside: Sequence[str]) -> int:
    """Audit a run while it is written.

    `runs`: one directory or cluster's name; empty: the running cluster. `beside`: options that a live audit does not
    take.
    """
    from audit.following.command import follow_command

    if beside:
        return _unusable(f"{beside[0]}: not for --follow, which writes no verdict; leave it out")
    if len(runs) > 1:
        return _unusable(f"--follow: takes one run, not {len(runs)}")
    try:
        run = _directory(runs[0] if runs else None)
    except NoCluster as error:
        return _unusable(str(error))
    return follow_command(run, _lives(run.resolve()), master=master, json=json)


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


def _unusable(why: str) -> int:
    print(f"faultline audit: {why}", file=sys.stderr)
    return UNUSABLE
