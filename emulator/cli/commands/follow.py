"""`faultline audit --follow [RUN]`: which run is meant, and whether somebody still writes it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

from emulator.cluster.registry import NoCluster, choose, plays, registered
from emulator.exit_codes import UNUSABLE


def follow_run_command(runs: Sequence[str], master: str, json: bool, beside: Sequence[str]) -> int:
    """`runs`: one, by directory or by a cluster's name; none: the cluster that runs. `beside`: options that were given
    and are nothing to a follow."""
    from audit.following.command import follow_command

    if beside:
        return _unusable(f"{beside[0]} is not for --follow, which tells what it finds and writes no verdict")
    if len(runs) > 1:
        return _unusable(f"--follow takes one run, and {len(runs)} are given")
    try:
        run = _directory(runs[0] if runs else None)
    except NoCluster as error:
        return _unusable(str(error))
    return follow_command(run, _lives(run.resolve()), master=master, json=json)


def _directory(given: str | None) -> Path:
    """Raises NoCluster."""
    if given is not None and Path(given).exists():
        return Path(given)
    return choose(given).directory


def _lives(run: Path) -> Callable[[], bool]:
    """Whether a cluster lives there, or a scenario is being played there."""

    def lives() -> bool:
        found = registered(run)
        if found is not None:
            return found.running
        return any(one.running and one.directory.resolve() == run for one in plays())

    return lives


def _unusable(why: str) -> int:
    print(f"faultline audit: {why}", file=sys.stderr)
    return UNUSABLE
