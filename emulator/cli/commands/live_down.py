"""`faultline down`: stops clusters, cleans up after killed clusters and runs. Idempotent."""

from typing import Annotated

import msgspec
from cyclopts import Parameter

from emulator.cli.cluster_options import CLUSTER, ClusterOptions
from emulator.cli.commands.command_errors import CommandFailed, reports_errors
from emulator.cli.play_options import Flag
from emulator.cluster.cluster_registry import Found, NoCluster, choose, clusters, named, plays
from emulator.cluster.ending import Ended, end
from emulator.exit_codes import HELD
from emulator.runs.engine_choice import UNUSABLE_MACHINES, remove_abandoned
from emulator.runs.scratch import remove_scratch


@reports_errors("down", NoCluster, *UNUSABLE_MACHINES)
def down_command(*, all_: Annotated[Flag, Parameter(name="--all")] = False, options: ClusterOptions = CLUSTER) -> int:
    """Stop clusters. Where none runs, only remove what killed clusters and runs left.

    With `all_` also remove unregistered containers, by label, and network namespaces, by name.

    Parameters
    ----------
    all_
        Stop every cluster below runs/.
    """
    ended: list[Ended] = []
    for one in _to_end(options.cluster, all_):
        ended.append(end(one))
        if not options.json:
            print(_ended_text(ended[-1]))
    swept, left = _swept() if all_ else ([], [])
    if options.json:
        print(msgspec.json.encode({"ended": ended, "removed": swept, "left": left}).decode())
    else:
        for line in swept:
            print(line)
        if not ended and not swept and not left:
            print("no cluster runs")
    if left:
        raise CommandFailed("; ".join(left))
    return HELD


def _to_end(cluster: str | None, every: bool) -> list[Found]:
    if cluster is not None:
        found = named(cluster)
        return found if found else [choose(cluster)]
    known = clusters()
    stale = [one for one in (*known, *plays()) if one.stale]
    running = [one for one in known if one.running]
    if every:
        return [*stale, *running, *(one for one in plays() if one.running)]
    if len(running) > 1:
        return [choose(None)]
    return [*stale, *running]


def _swept() -> tuple[list[str], list[str]]:
    """(removed things, things that could not be removed)."""
    removed, left = remove_abandoned()
    return [*removed, *(f"{path} removed" for path in remove_scratch())], left


def _ended_text(ended: Ended) -> str:
    how = {
        "down": f"{ended.name} is down after {ended.seconds:.1f} s",
        "stale": f"{ended.name} had been killed; cleaned up",
        "detached": f"{ended.name} is detached; its containers live on until `docker compose down`",
        "elsewhere": f"{ended.name} runs in another container or on another machine; stop it there",
        "playing": f"{ended.name} is being played and goes on; Ctrl-C ends it where it was started",
    }.get(ended.how, f"{ended.name} did not answer and was {ended.how} after {ended.seconds:.1f} s")
    left = f"; {ended.orphans} processes that were left had to be killed" if ended.orphans else ""
    return f"{how}{left}; its run is {ended.directory}"
