"""faultline for Python programs and their tests: a cluster that is broken on purpose, and what it lost.

    import faultline

    with faultline.Cluster(kafka_version="2.6") as cluster:
        cluster.create_topic("orders", partitions=3, replicas=3)
        ...  # any Kafka client: bootstrap.servers=cluster.bootstrap_servers("az-0")
        cluster.cut("az-0")
        ...
        cluster.heal()
        cluster.settle()
        verdict = cluster.audit()
        assert not verdict.violated, verdict

Reading order: `errors`, `verdict` (what an audit says), `settled` (has a cluster come to rest?), `asks` (what a cluster
is asked for), `lifetime` (its beginning and end), `cluster` (one that stays while a block runs), `async_cluster` (the
same on trio), `playing` (scenarios: `run`, `simulate`), `auditing`, `pytest_plugin` (its fixtures).
This is the part that programs may rely on; `docs/python.md` tells of it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultline.async_cluster import AsyncCluster
    from faultline.cluster import Cluster
    from faultline.errors import FaultlineError, NotStarted, Refused
    from faultline.playing import run, simulate
    from faultline.verdict import AuditFailed, Finding, Verdict

__all__ = [
    "AsyncCluster",
    "AuditFailed",
    "Cluster",
    "FaultlineError",
    "Finding",
    "NotStarted",
    "Refused",
    "Verdict",
    "run",
    "simulate",
]

_IN = {
    "AsyncCluster": "async_cluster", "Cluster": "cluster", "run": "playing", "simulate": "playing",
    **dict.fromkeys(("FaultlineError", "NotStarted", "Refused"), "errors"),
    **dict.fromkeys(("AuditFailed", "Finding", "Verdict"), "verdict"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """What is asked for is imported then: pytest loads our plugin in every suite of the environment, and most want no
    cluster."""
    if name not in _IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_IN[name]}"), name)
