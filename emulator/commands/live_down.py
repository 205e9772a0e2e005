"""`faultline down`: idempotent, and a cleaner-up after clusters that were killed."""

import msgspec

from emulator.commands.live_asking import refused
from emulator.exit_codes import HELD
from emulator.live.ending import Ended, end
from emulator.live.registry import Found, NoCluster, choose, clusters, named


def down_command(cluster: str | None, every: bool, json: bool) -> int:
    """Idempotent: where nothing runs, what a killed cluster has left is cleaned up, and that is all."""
    try:
        ended = [end(one) for one in _to_end(cluster, every)]
    except NoCluster as error:
        return refused("down", error)
    if json:
        print(msgspec.json.encode({"ended": ended}).decode())
        return HELD
    for one in ended:
        print(_ended_text(one))
    if not ended:
        print("no cluster runs")
    return HELD


def _to_end(cluster: str | None, every: bool) -> list[Found]:
    if cluster is not None:
        found = named(cluster)
        return found if found else [choose(cluster)]
    known = clusters()
    stale = [one for one in known if not one.running]
    running = [one for one in known if one.running]
    if every or len(running) <= 1:
        return [*stale, *running]
    return [choose(None)]


def _ended_text(ended: Ended) -> str:
    how = {
        "down": f"{ended.name} is down after {ended.seconds:.1f} s",
        "stale": f"{ended.name} had been killed; cleaned up",
        "detached": f"{ended.name} is detached; its containers live on until `docker compose down`",
    }.get(ended.how, f"{ended.name} did not answer and was {ended.how} after {ended.seconds:.1f} s")
    left = f"; {ended.orphans} processes that were left had to be killed" if ended.orphans else ""
    return f"{how}{left}; its run is {ended.directory}"
