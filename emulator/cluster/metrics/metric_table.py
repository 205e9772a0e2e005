"""Names, types and help of all metrics. Pure.

Kafka's names follow the usual rules of the JMX exporter. `kafka.server:type=ReplicaManager,name=IsrShrinksPerSec`,
whose `Count` is a counter, is `kafka_server_replicamanager_isrshrinks_total`.
"""

from typing import Final, Literal, NamedTuple

METER: Final = "PerSec.Count"
"""End of a meter's name in `NodeStatus.metrics`."""


class Metric(NamedTuple):
    """One metric. `name`: without the `_total` of a counter."""

    name: str
    kind: Literal["gauge", "counter"]
    help: str

    @property
    def sample_name(self) -> str:
        """Name in its samples."""
        return f"{self.name}_total" if self.kind == "counter" else self.name


class Sample(NamedTuple):
    """One figure of a metric."""

    metric: Metric
    labels: tuple[tuple[str, str], ...]
    value: float


def _bean(domain: str, type_: str, name: str, says: str) -> Metric:
    """The metric of an MBean's attribute, by the JMX exporter's rules."""
    meter = name.endswith(METER)
    short = name.removesuffix(METER)
    whole = f"kafka_{domain}_{type_}_{short}".lower()
    return Metric(whole, "counter" if meter else "gauge", f"kafka.{domain}:type={type_},name={name}: {says}")


_REPLICAS: Final = {
    "PartitionCount": "replicas on this broker",
    "LeaderCount": "partitions that it leads, as it believes",
    "UnderReplicatedPartitions": "partitions that it leads with fewer replicas in sync than assigned",
    "UnderMinIsrPartitionCount": "partitions that it leads with fewer replicas in sync than min.insync.replicas",
    "AtMinIsrPartitionCount": "partitions that it leads with exactly min.insync.replicas in sync",
    "OfflineReplicaCount": "replicas in a failed log directory",
    "IsrShrinksPerSec.Count": "confirmed ISR shrinks in this life",
    "IsrExpandsPerSec.Count": "confirmed ISR expansions in this life",
    "FailedIsrUpdatesPerSec.Count": "ISR changes that were refused",
}
_CONTROLLER: Final = {
    "ActiveControllerCount": "1 while this node is the active controller, as it believes",
    "OfflinePartitionsCount": "partitions without a leader, at the active controller",
    "PreferredReplicaImbalanceCount": "partitions whose leader is not the preferred replica",
    "GlobalTopicCount": "topics",
    "GlobalPartitionCount": "partitions",
    "ActiveBrokerCount": "registered brokers that are not fenced",
    "FencedBrokerCount": "registered brokers that are fenced",
}
_SESSION: Final = {
    "ZooKeeperSyncConnectsPerSec.Count": "connections of the ZooKeeper session",
    "ZooKeeperDisconnectsPerSec.Count": "disconnections of the ZooKeeper session",
    "ZooKeeperExpiresPerSec.Count": "expirations of the ZooKeeper session",
}

BEANS: Final[dict[str, Metric]] = {
    **{name: _bean("server", "ReplicaManager", name, says) for name, says in _REPLICAS.items()},
    "OfflineLogDirectoryCount": _bean("log", "LogManager", "OfflineLogDirectoryCount", "failed log directories"),
    "MaxLag": _bean("server", "ReplicaFetcherManager", "MaxLag", "messages that the slowest fetcher is behind"),
    **{name: _bean("controller", "KafkaController", name, says) for name, says in _CONTROLLER.items()},
    "UncleanLeaderElectionsPerSec.Count": _bean(
        "controller", "ControllerStats", "UncleanLeaderElectionsPerSec.Count", "leaders elected from outside the ISR"
    ),
    **{name: _bean("server", "SessionExpireListener", name, says) for name, says in _SESSION.items()},
}
"""{name in `NodeStatus.metrics`: its metric}"""

LOG_START: Final = _bean("log", "Log", "LogStartOffset", "first offset of a replica")
LOG_END: Final = _bean("log", "Log", "LogEndOffset", "next offset of a replica")
UNDER_REPLICATED: Final = _bean("cluster", "Partition", "UnderReplicated", "1 at a leader without its full ISR, else 0")
IN_SYNC: Final = _bean("cluster", "Partition", "InSyncReplicasCount", "replicas in sync, at the leader")
REPLICAS: Final = _bean("cluster", "Partition", "ReplicasCount", "assigned replicas, at the leader")
ERRORS: Final = _bean("network", "RequestMetrics", "ErrorsPerSec.Count", "responses by error code, NONE included")

RAFT_PREFIXES: Final = ("kafka_server_raft_metrics", "kafka_server_raftmetrics")
"""`kafka.server:type=raft-metrics`: the exporter's own name, and that of its KRaft rules."""
RAFT: Final = {
    "current_state": "1 with the node's state in the quorum as a label",
    "current_leader": "id of the quorum's leader, -1 unknown",
    "current_epoch": "epoch of the quorum",
    "high_watermark": "high watermark of the metadata log, -1 unknown",
    "log_end_offset": "end of the metadata log",
    "number_of_voters": "voters of the quorum",
}


def raft_metrics(name: str) -> tuple[Metric, ...]:
    """The metrics of one attribute of raft-metrics, under each prefix."""
    return tuple(
        Metric(f"{prefix}_{name}", "gauge", f"kafka.server:type=raft-metrics: {RAFT[name]}") for prefix in RAFT_PREFIXES
    )


NODE_UP: Final = Metric("faultline_node_up", "gauge", "1 while the node's process runs, else 0")
NODE_PAUSED: Final = Metric("faultline_node_paused", "gauge", "1 while the node's process stands still")
NODE_ANSWERED: Final = Metric("faultline_node_answered", "gauge", "1 if the node reported its own view in time")
LEADERS_BELIEVED: Final = Metric(
    "faultline_partition_leaders_believed", "gauge", "brokers that believe to lead the partition"
)
LEADER_EPOCH: Final = Metric("faultline_partition_leader_epoch", "gauge", "leader epoch of a replica")
HIGH_WATERMARK: Final = Metric("faultline_partition_high_watermark", "gauge", "high watermark of a replica")
FAULT_IN_FORCE: Final = Metric("faultline_fault_in_force", "gauge", "1 while a fault on links is in force, else 0")
FAULTS_IN_FORCE: Final = Metric("faultline_faults_in_force", "gauge", "faults on links in force, by kind")
LINKS_CUT: Final = Metric("faultline_links_cut", "gauge", "directions between AZs that are cut as a whole")
FRAMES_STOPPED: Final = Metric("faultline_frames_stopped", "counter", "frames that a fault held, dropped or delayed")
REQUESTS_WAITING: Final = Metric("faultline_requests_waiting", "gauge", "threads and parked requests that wait")
WORKLOAD: Final = Metric("faultline_workload_operations", "counter", "operations of a workload, by outcome")
OPERATIONS: Final = Metric("faultline_operations", "counter", "clients' operations that ended, by kind and outcome")
SCENARIO_TIME: Final = Metric("faultline_scenario_time_seconds", "gauge", "scenario time since the cluster's launch")

METRICS: Final[tuple[Metric, ...]] = (
    *BEANS.values(), LOG_START, LOG_END, UNDER_REPLICATED, IN_SYNC, REPLICAS, ERRORS,
    *(metric for name in RAFT for metric in raft_metrics(name)),
    NODE_UP, NODE_PAUSED, NODE_ANSWERED, LEADERS_BELIEVED, LEADER_EPOCH, HIGH_WATERMARK, FAULT_IN_FORCE,
    FAULTS_IN_FORCE, LINKS_CUT, FRAMES_STOPPED, REQUESTS_WAITING, WORKLOAD, OPERATIONS, SCENARIO_TIME,
)  # fmt: skip
"""In the order of exposition."""
