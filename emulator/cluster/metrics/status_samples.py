"""Samples of a cluster's status. Pure.

Each node reports its own view, as each JVM would: a sum over `node` may count two active controllers. A node that did
not report has no samples of Kafka's, as a scrape of a dead JVM has none.
"""

from collections import Counter
from collections.abc import Iterator, Mapping

from emulator.cluster.cluster_status import ClusterStatus, FaultView, NodeView
from emulator.cluster.metrics import metric_table as m
from emulator.cluster.metrics.metric_table import Sample
from protocol.ids import topic_partition_of
from protocol.messages.status_messages import PartitionStatus, QuorumStatus

Labels = tuple[tuple[str, str], ...]
WHOLE_CUT = "cut"


def samples_of(status: ClusterStatus) -> Iterator[Sample]:
    """All samples, metric by metric within each part."""
    for name, node in status.nodes.items():
        yield from _node_samples(name, node)
    for place, replicas in status.partitions.items():
        yield from _partition_samples(place, replicas, status.nodes)
    yield from _fault_samples(status)
    yield Sample(m.SCENARIO_TIME, (), round(status.at_ms / 1000.0, 6))


def _node_samples(name: str, node: NodeView) -> Iterator[Sample]:
    labels = _of_node(name, node)
    roles = (*labels, ("roles", ",".join(node.roles)))
    yield Sample(m.NODE_UP, roles, int(node.alive))
    yield Sample(m.NODE_PAUSED, labels, int(node.paused))
    yield Sample(m.NODE_ANSWERED, labels, int(node.answered))
    if not node.answered:
        return
    for metric, value in node.metrics.items():
        if metric in m.BEANS:
            own = (*labels, ("clientId", "Replica")) if metric == "MaxLag" else labels
            yield Sample(m.BEANS[metric], own, value)
    if node.quorum is not None:
        yield from _quorum_samples(labels, node.quorum)
    if node.waiting_count or "broker" in node.roles:
        yield Sample(m.REQUESTS_WAITING, labels, node.waiting_count)
    for request, errors in node.errors.items():
        for error, count in errors.items():
            yield Sample(m.ERRORS, (*labels, ("request", request), ("error", error)), count)
    for workload, work in node.workloads.items():
        for outcome in ("acked", "failed", "unknown", "skipped", "read"):
            of_workload = (*labels, ("workload", workload), ("outcome", outcome))
            yield Sample(m.WORKLOAD, of_workload, getattr(work, outcome))


def _of_node(name: str, node: NodeView) -> Labels:
    return (("node", name), ("az", node.az))


def _quorum_samples(labels: Labels, quorum: QuorumStatus) -> Iterator[Sample]:
    values = {
        "current_leader": quorum.leader,
        "current_epoch": quorum.epoch,
        "high_watermark": quorum.high_watermark,
        "log_end_offset": quorum.log_end,
        "number_of_voters": len(quorum.voters),
    }
    for metric in m.raft_metrics("current_state"):
        yield Sample(metric, (*labels, ("current_state", quorum.state)), 1)
    for name, value in values.items():
        for metric in m.raft_metrics(name):
            yield Sample(metric, labels, value)


def _partition_samples(
    place: str, replicas: Mapping[str, PartitionStatus], nodes: Mapping[str, NodeView]
) -> Iterator[Sample]:
    topic_partition = topic_partition_of(place)
    if topic_partition is None:
        return
    of_partition = (("topic", topic_partition[0]), ("partition", str(topic_partition[1])))
    for name, replica in replicas.items():
        labels = (*_of_node(name, nodes[name]), *of_partition)
        leads = replica.is_leader
        yield Sample(m.LOG_START, labels, replica.log_start)
        yield Sample(m.LOG_END, labels, replica.log_end)
        yield Sample(m.UNDER_REPLICATED, labels, int(leads and len(replica.isr) < len(replica.replicas)))
        yield Sample(m.IN_SYNC, labels, len(replica.isr) if leads else 0)
        yield Sample(m.REPLICAS, labels, len(replica.replicas) if leads else 0)
        yield Sample(m.LEADER_EPOCH, labels, replica.leader_epoch)
        yield Sample(m.HIGH_WATERMARK, labels, replica.high_watermark)
    yield Sample(m.LEADERS_BELIEVED, of_partition, sum(replica.is_leader for replica in replicas.values()))


def _fault_samples(status: ClusterStatus) -> Iterator[Sample]:
    in_force = Counter(_kind(fault) for fault in status.faults if fault.is_in_force)
    for kind in sorted({WHOLE_CUT, *map(_kind, status.faults)}):
        yield Sample(m.FAULTS_IN_FORCE, (("kind", kind),), in_force[kind])
    for fault in status.faults:
        labels = (("id", fault.id), ("rule", fault.rule))
        yield Sample(m.FAULT_IN_FORCE, labels, int(fault.is_in_force))
        yield Sample(m.FRAMES_STOPPED, labels, fault.frames_stopped)
    yield Sample(m.LINKS_CUT, (), sum(link.kind == WHOLE_CUT and link.whole for link in status.links))


def _kind(fault: FaultView) -> str:
    """First word of a rule's text, which is its verb."""
    return fault.rule.partition(" ")[0]
