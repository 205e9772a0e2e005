"""faultline for Python programs and tests: a cluster with injected faults, and its audit.

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

Reading order: `errors`, `verdict` (an audit's result), `settled` (quiescence of a cluster), `old_keywords` (old names
of arguments), `settings_arguments`, `async_cluster` (a cluster on trio), `sync_cluster` (the same for a `with` block,
through `blocking`), `run_call` (scenarios: `run`, `simulate`), `audit_call`, `pytest_plugin` (its fixtures),
`container` (a cluster in one container, with Testcontainers).
This package is the stable interface for programs; `docs/python.md` documents it.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from faultline.async_cluster import AsyncCluster
    from faultline.errors import FaultlineError, NotStarted, Refused
    from faultline.run_call import run, simulate
    from faultline.sync_cluster import Cluster
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
    "AsyncCluster": "async_cluster", "Cluster": "sync_cluster", "run": "run_call", "simulate": "run_call",
    **dict.fromkeys(("FaultlineError", "NotStarted", "Refused"), "errors"),
    **dict.fromkeys(("AuditFailed", "Finding", "Verdict"), "verdict"),
}  # fmt: skip


def __getattr__(name: str) -> Any:
    """Import a public name on first access.

    Pytest loads our plugin in every suite of the environment, and most suites need no cluster.
    """
    if name not in _IN:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_IN[name]}"), name)
