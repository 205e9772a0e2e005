"""Settled: whether a cluster has come to rest, as its own nodes tell it."""

from collections.abc import Mapping
from typing import Any


def settled(status: Mapping[str, Any]) -> bool:
    """Every partition has one leader, whom all living replicas follow in its leader epoch and in sync, with logs of one
    length. `status`: as `faultline status --json`. A partition of which nobody that lives knows anything is not."""
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
