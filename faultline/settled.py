"""Quiescence of a cluster, according to its own nodes."""

from collections.abc import Mapping
from typing import Any


def settled(status: Mapping[str, Any]) -> bool:
    """Whether every partition has one leader, followed in sync and with equal logs.

    All living replicas must follow the leader in its leader epoch. `status`: as `faultline status --json` prints it. A
    partition that no living node knows is not settled.
    """
    nodes = status["nodes"]
    return all(
        _one_log({name: view for name, view in views.items() if nodes.get(name, {}).get("alive")})
        for views in status["partitions"].values()
    )


def _one_log(views: Mapping[str, Mapping[str, Any]]) -> bool:
    leaders = [view for view in views.values() if view["is_leader"]]
    if len(leaders) != 1:
        return False
    [leader] = leaders
    alike = ("leader_epoch", "log_end")
    return all([view[key] for key in alike] == [leader[key] for key in alike] for view in views.values()) and {
        int(name.rpartition("-")[2]) for name in views
    } <= set(leader["isr"])
