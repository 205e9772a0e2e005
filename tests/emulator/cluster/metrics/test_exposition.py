"""The text of metrics, line by line."""

from emulator.cluster.cluster_status import ClusterStatus, FaultView, LinkView, NodeView
from emulator.cluster.metrics import metric_table as m
from emulator.cluster.metrics.exposition import number, prefers_openmetrics, series_name, text_of
from emulator.cluster.metrics.metric_table import BEANS, METRICS, Sample
from emulator.cluster.metrics.status_samples import samples_of
from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.status_messages import PartitionStatus, QuorumStatus, WorkloadStatus
from tests.ids import brokers


def replica(*, leads: bool, isr: list[int]) -> PartitionStatus:
    return PartitionStatus(
        is_leader=leads, leader=BrokerId(1), leader_epoch=LeaderEpoch(4), isr=list(brokers(*isr)),
        replicas=list(brokers(0, 1, 2)), high_watermark=Offset(5), log_end=Offset(7),
    )  # fmt: skip


def node(name: str, az: str, **fields: object) -> NodeView:
    return NodeView(True, False, True, 1, az, ["broker", "controller"], **fields)  # type: ignore[arg-type]


QUORUM = QuorumStatus(
    "follower", LeaderEpoch(7), BrokerId(1), Offset(40), Offset(41), list(brokers(0, 1, 2))
)  # fmt: skip
STATUS = ClusterStatus(
    at_ms=2_500.0,
    nodes={
        "broker-0": node(
            "broker-0", "az-0", metrics={"UnderReplicatedPartitions": 1, "IsrShrinksPerSec.Count": 3, "MaxLag": 2},
            errors={"Produce": {"NONE": 4, "NOT_LEADER_OR_FOLLOWER": 1}},
            quorum=QUORUM,
        ),
        "broker-1": NodeView(False, False, False, 1, "az-1", ["broker"]),
        "client-0": NodeView(True, False, True, 1, "", ["client"], workloads={"w": WorkloadStatus("produce", True, 9)}),
    },
    partitions={"orders-0": {"broker-0": replica(leads=True, isr=[0])}},
    links=[LinkView("az-0", "az-1", "cut", True), LinkView("az-1", "az-0", "delay", True)],
    faults=[
        FaultView('cut "az-0"', 1.0, 2.0, None, 5, True, None, "rule-1"),
        FaultView("delay az-1 50ms", 1.0, 2.0, 3.0, 0, False, True, "rule-2"),
    ],
)  # fmt: skip


def test_every_figure_of_a_status_is_a_line() -> None:
    lines = set(text_of(samples_of(STATUS), openmetrics=True).splitlines())
    expected = r"""
# TYPE kafka_server_replicamanager_isrshrinks counter
kafka_server_replicamanager_isrshrinks_total{node="broker-0",az="az-0"} 3
kafka_server_replicamanager_underreplicatedpartitions{node="broker-0",az="az-0"} 1
kafka_server_replicafetchermanager_maxlag{node="broker-0",az="az-0",clientId="Replica"} 2
kafka_network_requestmetrics_errors_total{node="broker-0",az="az-0",request="Produce",error="NOT_LEADER_OR_FOLLOWER"} 1
kafka_server_raft_metrics_current_state{node="broker-0",az="az-0",current_state="follower"} 1
kafka_server_raftmetrics_high_watermark{node="broker-0",az="az-0"} 40
kafka_server_raftmetrics_number_of_voters{node="broker-0",az="az-0"} 3
kafka_log_log_logendoffset{node="broker-0",az="az-0",topic="orders",partition="0"} 7
kafka_cluster_partition_underreplicated{node="broker-0",az="az-0",topic="orders",partition="0"} 1
kafka_cluster_partition_insyncreplicascount{node="broker-0",az="az-0",topic="orders",partition="0"} 1
faultline_partition_leaders_believed{topic="orders",partition="0"} 1
faultline_node_up{node="broker-1",az="az-1",roles="broker"} 0
faultline_workload_operations_total{node="client-0",workload="w",outcome="acked"} 9
faultline_links_cut 1
faultline_faults_in_force{kind="cut"} 1
faultline_faults_in_force{kind="delay"} 0
faultline_fault_in_force{id="rule-1",rule="cut \"az-0\""} 1
faultline_frames_stopped_total{id="rule-1",rule="cut \"az-0\""} 5
faultline_scenario_time_seconds 2.5
# EOF
"""
    assert set(expected.strip().splitlines()) <= lines, set(expected.strip().splitlines()) - lines
    silent = [line for line in lines if 'node="broker-1"' in line and line.startswith("kafka_")]
    assert not silent, "a node that does not answer has no figures of Kafka's"


def test_formats_differ_in_counters_and_end() -> None:
    sample = Sample(m.FRAMES_STOPPED, (("rule", 'a\\"b\n'),), 2)
    assert text_of([sample], openmetrics=True) == (
        "# TYPE faultline_frames_stopped counter\n"
        "# HELP faultline_frames_stopped frames that a fault held, dropped or delayed\n"
        'faultline_frames_stopped_total{rule="a\\\\\\"b\\n"} 2\n# EOF\n'
    )
    plain = text_of([sample], openmetrics=False)
    assert plain.startswith("# TYPE faultline_frames_stopped_total counter\n") and "EOF" not in plain
    accept = "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,*/*;q=0.1"
    assert prefers_openmetrics(accept) and not prefers_openmetrics("text/plain, */*") and not prefers_openmetrics("")
    assert [number(value) for value in (3, 2.0, 0.25)] == ["3", "2", "0.25"]
    assert series_name(Sample(m.LINKS_CUT, (("az", ""),), 0)) == "faultline_links_cut"


def test_names_are_unique_and_of_the_table() -> None:
    names = [metric.name for metric in METRICS]
    assert len(names) == len(set(names))
    assert {sample.metric for sample in samples_of(STATUS)} <= set(METRICS)
    assert BEANS["ZooKeeperExpiresPerSec.Count"].sample_name == (
        "kafka_server_sessionexpirelistener_zookeeperexpires_total"
    )
