"""A request of every operation over HTTP, and what it becomes."""

from typing import Any, Final, NamedTuple

from emulator.cluster import control_requests as r
from emulator.faults.link_words import parse
from protocol.ids import Offset
from tests.ids import brokers


class Sample(NamedTuple):
    """`ask` None: it is not the cluster that answers."""

    method: str
    target: str
    body: dict[str, Any] | None
    ask: r.ControlRequest | None


IDS: Final = list(brokers(1, 0))
SAMPLES: Final = (
    Sample("GET", "/v1/openapi.json", None, None),
    Sample("GET", "/v1/stream?after=9f3a01c2.7", None, None),
    Sample("POST", "/v1/audit", None, None),
    Sample("GET", "/v1/ready", None, r.Ready()),
    Sample("GET", "/v1/status?wait_s=0.5", None, r.Status()),
    Sample("GET", "/metrics", None, r.Status()),
    Sample("POST", "/v1/down", {}, r.Down()),
    Sample("GET", "/v1/settings", None, r.DescribeSettings()),
    Sample("GET", "/v1/faults", None, r.Status()),
    Sample(
        "POST", "/v1/faults", {"fault": "cut", "places": ["az-0"]}, r.LinkFault(parse(["cut", "az-0"]))
    ),
    Sample("DELETE", "/v1/faults/rule-2", None, r.Heal(["rule-2"])),
    Sample("DELETE", "/v1/faults?place=az-0&place=broker-1&kind=cut", None, r.Heal(["az-0", "broker-1"], "cut")),
    Sample(
        "POST", "/v1/protocol-faults", {"action": "error", "apis": ["Fetch"], "error": "NOT_LEADER_OR_FOLLOWER"},
        r.AddProtocolFault("error", ["Fetch"], error="NOT_LEADER_OR_FOLLOWER"),
    ),
    Sample("GET", "/v1/protocol-faults", None, r.ProtocolFaultStatus()),
    Sample("GET", "/v1/protocol-faults/rule-1?wait_hits=3", None, r.ProtocolFaultStatus("rule-1", 3)),
    Sample("DELETE", "/v1/protocol-faults/rule-1", None, r.RemoveProtocolFault("rule-1")),
    Sample("DELETE", "/v1/protocol-faults", None, r.RemoveProtocolFault()),
    Sample(
        "POST", "/v1/nodes/broker-0/start", {"kafka_version": "2.8", "settings": {"port": None, "log.dirs": "d0"}},
        r.Machine("start", "broker-0", version="2.8", settings={"port": None, "log.dirs": "d0"}),
    ),
    Sample("POST", "/v1/nodes/broker-*/kill", None, r.Machine("kill", "broker-*")),
    Sample("POST", "/v1/nodes/az%2D0/stop", None, r.Machine("stop", "az-0")),
    Sample("POST", "/v1/nodes/broker-0/pause", None, r.Machine("pause", "broker-0")),
    Sample("POST", "/v1/nodes/broker-0/resume", None, r.Machine("resume", "broker-0")),
    Sample("POST", "/v1/nodes/broker-0/power-loss", {"batches_kept": 2}, r.Machine("power-loss", "broker-0", 2)),
    Sample(
        "POST", "/v1/nodes/broker-0/lose-disk", {"directory": "d1"}, r.Machine("lose-disk", "broker-0", directory="d1"),
    ),
    Sample("POST", "/v1/nodes/broker-0/disk-full", None, r.Machine("disk-full", "broker-0")),
    Sample("POST", "/v1/nodes/broker-0/disk-error", None, r.Machine("disk-error", "broker-0")),
    Sample(
        "POST", "/v1/nodes/broker-0/slow-disk", {"operation_ms": 3.5},
        r.Machine("slow-disk", "broker-0", given={"operation_ms": 3.5, "fsync_ms": 0.0}),
    ),
    Sample(
        "POST", "/v1/nodes/broker-0/clock-jump", {"jump_ms": -5000},
        r.Machine("clock-jump", "broker-0", given={"jump_ms": -5000.0}),
    ),
    Sample("GET", "/v1/topics", None, r.DescribeTopic()),
    Sample(
        "POST", "/v1/topics", {"topic": "t", "assignment": [[1, 0]], "settings": {"min.insync.replicas": 2}},
        r.CreateTopic("t", [IDS], settings={"min.insync.replicas": 2}),
    ),
    Sample("GET", "/v1/topics/t", None, r.DescribeTopic("t")),
    Sample("PATCH", "/v1/topics/t", {"remove": ["flush.messages"]}, r.AlterTopic("t", {}, ["flush.messages"])),
    Sample("DELETE", "/v1/topics/t", None, r.DeleteTopic("t")),
    Sample("GET", "/v1/topics/t/offsets", None, r.TopicOffsets("t")),
    Sample("POST", "/v1/topics/t/partitions", {"partitions": 3}, r.AddPartitions("t", 3)),
    Sample(
        "POST", "/v1/topics/t/records", {"values": ["a"], "acks": -1, "az": "az-0"},
        r.Produce("t", ["a"], acks=-1, az="az-0"),
    ),
    Sample(
        "GET", "/v1/topics/t/records?partition=1&offset=5&broker=0&records_max=7", None,
        r.Consume("t", 1, Offset(5), 7, IDS[1]),
    ),
    Sample("POST", "/v1/reassignments", {"partitions": {"t-0": [1, 0]}}, r.Reassign({"t-0": IDS})),
    Sample("POST", "/v1/elections", None, r.ElectPreferred()),
    Sample("POST", "/v1/voters", {"controller": "controller-3"}, r.AddController("controller-3")),
    Sample("DELETE", "/v1/voters/controller-0", None, r.RemoveController("controller-0")),
    Sample("PATCH", "/v1/brokers", {"settings": {"num.io.threads": 9}}, r.AlterBroker(None, {"num.io.threads": 9})),
    Sample(
        "PATCH", "/v1/brokers/leader:t-0", {"remove": ["num.io.threads"]},
        r.AlterBroker("leader:t-0", {}, ["num.io.threads"]),
    ),
    Sample("GET", "/v1/workloads", None, r.WorkloadStatus()),
    Sample("POST", "/v1/workloads", {"name": "load", "topic": "t", "rate": 5}, r.StartWorkload("load", "t", 5.0)),
    Sample("DELETE", "/v1/workloads/load?at_once=true", None, r.StopWorkload("load", at_once=True)),
    Sample("DELETE", "/v1/workloads", None, r.StopWorkload()),
)  # fmt: skip
