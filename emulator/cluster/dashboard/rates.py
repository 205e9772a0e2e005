"""Counts of each AZ's clients: totals of their workloads, or rates since the last look."""

from typing import NamedTuple

from emulator.cluster.cluster_status import ClusterStatus, NodeView

COUNTS = ("acked", "failed", "unknown", "read")


class ClientFigures(NamedTuple):
    """Counts of one AZ. `per_s`: records per second of scenario time since the last look.

    Otherwise: records since the workloads began.
    """

    acked: float
    failed: float
    unknown: float
    read: float
    per_s: bool


def client_figures(status: ClusterStatus, previous: ClusterStatus | None = None) -> dict[str, ClientFigures]:
    """{az: figures}, of AZs whose clients have workloads.

    A client with a new incarnation counts from its start. A client that does not answer counts as nothing.
    """
    elapsed_s = (status.at_ms - previous.at_ms) / 1000.0 if previous is not None else 0.0
    sums: dict[str, list[float]] = {}
    for name, node in status.nodes.items():
        if not node.workloads:
            continue
        before = _counts_before(name, node, previous)
        totals = sums.setdefault(node.az, [0.0] * len(COUNTS))
        for workload, counts in node.workloads.items():
            known = before.workloads.get(workload) if before is not None else None
            for place, count in enumerate(COUNTS):
                totals[place] += getattr(counts, count) - (getattr(known, count) if known is not None else 0)
    per_s = elapsed_s > 0
    divisor = elapsed_s if per_s else 1.0
    return {
        az: ClientFigures(acked / divisor, failed / divisor, unknown / divisor, read / divisor, per_s)
        for az, (acked, failed, unknown, read) in sums.items()
    }


def _counts_before(name: str, node: NodeView, previous: ClusterStatus | None) -> NodeView | None:
    before = previous.nodes.get(name) if previous is not None else None
    return before if before is not None and before.incarnation == node.incarnation else None
