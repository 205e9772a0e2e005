"""Messages accepted on a connection, by its purpose and the node's kind; their responses.

A well-formed frame may be out of place: a Fetch at a session server, a response without a request, a controller's order
on a client's connection. The sender then mistakes the receiver for another node. The connection is closed, and the
machine never receives the message, so no machine has to handle it.
"""

from collections.abc import Mapping
from typing import ClassVar, Final, Protocol, runtime_checkable

from protocol.messages import (
    administration,
    configuration,
    consuming,
    ensemble,
    groups,
    kraft_messages,
    leadership_messages,
    membership,
    placement,
    quorum_messages,
    replication_messages,
    session_messages,
    transactions,
    voter_messages,
    workload_messages,
)
from protocol.messages.message_base import DIRECTIONS, REQUEST, RESPONSE, Message
from protocol.messages.replication_messages import ProduceRequest
from protocol.purposes import (
    CLIENT,
    CONTROLLER,
    ENSEMBLE,
    FETCHER,
    NODE_TO_CONTROLLER,
    OBSERVE,
    QUORUM,
    SESSION,
    TO_CONTROLLER,
    TRANSACTION,
)

Kinds = frozenset[type[Message]]
AcceptedMessages = Mapping[str, Kinds]
"""{purpose: messages accepted on connections that others opened for it}; default: none."""

TO_A_CONTROLLER: Final[Kinds] = frozenset({
    leadership_messages.AlterIsrRequest,
    leadership_messages.ControlledShutdownRequest,
})

ACCEPTED_BY_BROKER: Final[AcceptedMessages] = {
    FETCHER: Kinds(
        {
            replication_messages.FetchRequest,
            replication_messages.OffsetForLeaderEpochRequest,
            replication_messages.ListOffsetsRequest,
        }
    ),
    CONTROLLER: Kinds(
        {
            leadership_messages.LeaderAndIsrRequest,
            leadership_messages.StopReplicaRequest,
            leadership_messages.UpdateMetadataRequest,
        }
    ),
    TO_CONTROLLER: TO_A_CONTROLLER,
    TRANSACTION: Kinds({transactions.WriteTxnMarkersRequest, transactions.AddPartitionsToTxnRequest}),
    CLIENT: Kinds(
        {
            leadership_messages.MetadataRequest,
            replication_messages.ProduceRequest,
            replication_messages.FetchRequest,
            replication_messages.ListOffsetsRequest,
            replication_messages.OffsetForLeaderEpochRequest,
            transactions.InitProducerIdRequest,
            transactions.AddPartitionsToTxnRequest,
            transactions.AddOffsetsToTxnRequest,
            transactions.EndTxnRequest,
            transactions.TxnOffsetCommitRequest,
            transactions.DescribeTransactionsRequest,
            transactions.ListTransactionsRequest,
            groups.FindCoordinatorRequest,
            groups.OffsetCommitRequest,
            groups.OffsetFetchRequest,
            membership.JoinGroupRequest,
            membership.SyncGroupRequest,
            membership.HeartbeatRequest,
            membership.LeaveGroupRequest,
            membership.ListGroupsRequest,
            membership.DescribeGroupsRequest,
            membership.DeleteGroupsRequest,
            administration.CreateTopicsRequest,
            administration.DeleteTopicsRequest,
            administration.CreatePartitionsRequest,
            administration.DeleteRecordsRequest,
            configuration.DescribeConfigsRequest,
            configuration.AlterConfigsRequest,
            configuration.IncrementalAlterConfigsRequest,
            placement.ElectLeadersRequest,
            placement.AlterPartitionReassignmentsRequest,
            placement.ListPartitionReassignmentsRequest,
            placement.DescribeLogDirsRequest,
            placement.DescribeClusterRequest,
            placement.AlterReplicaLogDirsRequest,
            placement.DescribeProducersRequest,
            groups.OffsetDeleteRequest,
        }
    ),
    OBSERVE: Kinds({leadership_messages.ObserveMetadataRequest}),
}
ACCEPTED_BY_CONTROLLER: Final[AcceptedMessages] = {TO_CONTROLLER: TO_A_CONTROLLER}
TO_A_VOTER: Final[Kinds] = frozenset({
    quorum_messages.VoteRequest,
    quorum_messages.BeginQuorumEpochRequest,
    quorum_messages.EndQuorumEpochRequest,
    quorum_messages.QuorumFetchRequest,
    quorum_messages.FetchSnapshotRequest,
    voter_messages.AddRaftVoterRequest,
    voter_messages.RemoveRaftVoterRequest,
    voter_messages.UpdateRaftVoterRequest,
    voter_messages.SupportedFeaturesRequest,
})
FORWARDED: Final[Kinds] = frozenset({
    administration.CreateTopicsRequest,
    administration.DeleteTopicsRequest,
    administration.CreatePartitionsRequest,
    configuration.AlterConfigsRequest,
    configuration.IncrementalAlterConfigsRequest,
    placement.ElectLeadersRequest,
    placement.AlterPartitionReassignmentsRequest,
    placement.ListPartitionReassignmentsRequest,
})
"""Clients' requests that a broker of KRaft forwards to the controller unchanged (KIP-590)."""
TO_A_KRAFT_CONTROLLER: Final[Kinds] = FORWARDED | {
    kraft_messages.BrokerRegistrationRequest,
    kraft_messages.BrokerHeartbeatRequest,
    kraft_messages.UnregisterBrokerRequest,
    kraft_messages.DescribeQuorumRequest,
    leadership_messages.AlterIsrRequest,
    transactions.AllocateProducerIdsRequest,
}
OBSERVED_OF_A_QUORUM: Final[Kinds] = frozenset({
    kraft_messages.ObserveQuorumRequest,
    kraft_messages.DescribeQuorumRequest,
    voter_messages.AddRaftVoterRequest,
    voter_messages.RemoveRaftVoterRequest,
})
ACCEPTED_BY_KRAFT_CONTROLLER: Final[AcceptedMessages] = {
    QUORUM: TO_A_VOTER,
    NODE_TO_CONTROLLER: TO_A_KRAFT_CONTROLLER,
    OBSERVE: OBSERVED_OF_A_QUORUM,
}
ACCEPTED_BY_KRAFT_BROKER: Final[AcceptedMessages] = {
    FETCHER: ACCEPTED_BY_BROKER[FETCHER],
    TRANSACTION: ACCEPTED_BY_BROKER[TRANSACTION],
    CLIENT: ACCEPTED_BY_BROKER[CLIENT],
    OBSERVE: ACCEPTED_BY_BROKER[OBSERVE],
}
"""A broker observes the quorum, and no node opens a connection to it for that."""
ACCEPTED_BY_COMBINED_NODE: Final[AcceptedMessages] = {
    **ACCEPTED_BY_KRAFT_BROKER,
    QUORUM: TO_A_VOTER,
    NODE_TO_CONTROLLER: TO_A_KRAFT_CONTROLLER,
    OBSERVE: ACCEPTED_BY_BROKER[OBSERVE] | OBSERVED_OF_A_QUORUM,
}
"""Of a node with both roles (process.roles=broker,controller)."""
ACCEPTED_BY_SESSION_SERVER: Final[AcceptedMessages] = {
    SESSION: Kinds(
        {
            session_messages.ConnectRequest,
            session_messages.SessionRequest,
            session_messages.PingRequest,
            session_messages.CloseSessionRequest,
            session_messages.SetWatchesRequest,
        }
    ),
    ENSEMBLE: Kinds(
        {
            ensemble.Vote,
            ensemble.FollowerInfo,
            ensemble.AckEpoch,
            ensemble.AckNewLeader,
            ensemble.ProposalAck,
            ensemble.LearnerPong,
            ensemble.Forward,
            ensemble.Revalidate,
            ensemble.CatchUp,
        }
    ),
    OBSERVE: Kinds({session_messages.ObserveRequest}),
}
ACCEPTED_BY_CLIENT: Final[AcceptedMessages] = {
    CLIENT: Kinds(
        {
            workload_messages.ClientProduceRequest,
            workload_messages.ClientFetchRequest,
            workload_messages.ClientMetadataRequest,
            workload_messages.StartWorkloadRequest,
            workload_messages.StopWorkloadRequest,
            workload_messages.WorkloadReportsRequest,
            consuming.ClientConsumeRequest,
            consuming.ClientCommitRequest,
            consuming.ClientCommittedRequest,
        }
    )
}
ACCEPTED_BY_PLAYER: Final[AcceptedMessages] = {}
"""The player accepts no connections."""

UNSOLICITED: Final[AcceptedMessages] = {
    SESSION: Kinds({session_messages.WatchFired}),
    OBSERVE: Kinds(
        {session_messages.Observed, leadership_messages.MetadataObserved, kraft_messages.QuorumObserved}
    ),
    CLIENT: Kinds({workload_messages.ClientAttempt}),
    ENSEMBLE: Kinds(
        {
            ensemble.Vote,
            ensemble.LeaderInfo,
            ensemble.History,
            ensemble.NewLeader,
            ensemble.UpToDate,
            ensemble.Proposal,
            ensemble.Commit,
            ensemble.LeaderPing,
            ensemble.Revalidated,
            ensemble.CaughtUp,
        }
    ),
}
"""{purpose: one-way messages accepted by a connection's opener}; responses need a request."""


@runtime_checkable
class AcceptsMessages(Protocol):
    """A machine that declares the messages it accepts; other machines accept all."""

    ACCEPTED_MESSAGES: ClassVar[AcceptedMessages]


class OutOfPlace(Exception):
    """A message that does not belong on this connection."""


class Conversation:
    """Outstanding requests of one end of a connection. `opened`: this end opened it."""

    __slots__ = ("_accepted", "_outstanding", "_purpose")

    def __init__(self, accepted: AcceptedMessages, purpose: str, *, opened: bool) -> None:
        self._purpose = purpose
        self._accepted = (UNSOLICITED if opened else accepted).get(purpose, frozenset())
        self._outstanding: dict[tuple[int, int], int] = {}
        """{(API key, correlation id): requests without a response}."""

    def say(self, message: Message, correlation_id: int) -> None:
        """Record a message that this end sends."""
        if message.DIRECTION == REQUEST and not (type(message) is ProduceRequest and message.acks == 0):
            place = (message.API_KEY, correlation_id)
            self._outstanding[place] = self._outstanding.get(place, 0) + 1

    def hear(self, message: Message, correlation_id: int) -> None:
        """Check a message that the other end sent. Raises OutOfPlace."""
        if message.DIRECTION == RESPONSE:
            place = (message.API_KEY, correlation_id)
            outstanding = self._outstanding.get(place, 0)
            if outstanding == 0:
                raise OutOfPlace(f"{message.API_NAME} response {correlation_id} without a request")
            if outstanding == 1:
                del self._outstanding[place]
            else:
                self._outstanding[place] = outstanding - 1
        elif type(message) not in self._accepted:
            kind = DIRECTIONS[message.DIRECTION]
            raise OutOfPlace(f"{message.API_NAME} {kind} on a connection for {self._purpose!r}")
