"""A fault in the protocol of a broker's Kafka listener, for tests of clients.

It is part of a rule (`protocol.link_rules`), so that nodes, events and verdicts treat it as a fault on links. Its
`frames_stopped` are the requests that it hit.
"""

from typing import Final, Literal, get_args

import msgspec

ProtocolFaultAction = Literal["error", "delay", "drop-response", "close", "close-after"]
ACTIONS: Final[tuple[str, ...]] = get_args(ProtocolFaultAction)
PROTOCOL_FAULT: Final = "protocol-fault"
"""Kind of such a rule, and the first word of its text."""

ANSWERABLE: Final = (
    "Produce", "Fetch", "ListOffsets", "OffsetCommit", "OffsetFetch", "FindCoordinator", "JoinGroup", "Heartbeat",
    "LeaveGroup", "SyncGroup", "CreateTopics", "DeleteRecords", "InitProducerId", "OffsetForLeaderEpoch",
    "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit",
)  # fmt: skip
"""Kafka's names of the APIs whose requests can be answered with an error."""
KAFKA_APIS: Final = (
    *ANSWERABLE, "Metadata", "DescribeGroups", "ListGroups", "SaslHandshake", "ApiVersions", "DeleteTopics",
    "WriteTxnMarkers", "DescribeAcls", "CreateAcls", "DeleteAcls", "DescribeConfigs", "AlterConfigs",
    "AlterReplicaLogDirs", "DescribeLogDirs", "CreatePartitions", "DeleteGroups", "ElectLeaders",
    "IncrementalAlterConfigs", "AlterPartitionReassignments", "ListPartitionReassignments", "OffsetDelete",
    "DescribeClientQuotas", "AlterClientQuotas", "DescribeUserScramCredentials", "AlterUserScramCredentials",
    "DescribeCluster", "DescribeProducers", "DescribeTransactions", "ListTransactions",
)  # fmt: skip
"""Kafka's names of the APIs of a listener."""


class ProtocolFault(msgspec.Struct, frozen=True, omit_defaults=True):
    """Requests to hit, and what happens to them. Empty `client_ids` and `nodes` match all.

    `action`: `error` answers with the code `error`, and the request is not applied. `delay` holds the request for
    `delay_ms`. `drop-response` applies it, and the connection is silent from then on. `close` closes the connection
    before the request is applied, `close-after` in place of the response.
    `skip`: requests that pass first. `times`: requests that are hit, 0 for all. Each broker counts its own.
    """

    action: ProtocolFaultAction
    apis: tuple[str, ...]
    client_ids: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    error: int = 0
    delay_ms: float = 0.0
    times: int = 1
    skip: int = 0

    def concerns(self, node: str, api: str, client_id: str) -> bool:
        """Whether it is about requests of this API and client at this broker."""
        return (
            api in self.apis
            and (not self.client_ids or client_id in self.client_ids)
            and (not self.nodes or node in self.nodes)
        )
