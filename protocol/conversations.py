"""Messages accepted on a connection, by its purpose and the node's kind; their responses.

A well-formed frame may be out of place: a Fetch at a session server, a response without a request, a controller's order
on a client's connection. The sender then mistakes the receiver for another node. The connection is closed, and the
machine never receives the message, so no machine has to handle it.
"""

from collections import Counter
from collections.abc import Mapping
from typing import ClassVar, Final, Protocol, runtime_checkable

from protocol.messages import (
    administration,
    configuration,
    consuming,
    ensemble,
    groups,
    leadership,
    membership,
    placement,
    replication,
    session,
    workload,
)
from protocol.messages.base import DIRECTIONS, REQUEST, RESPONSE, Message
from protocol.messages.replication import ProduceRequest
from protocol.purposes import CLIENT, CONTROLLER, ENSEMBLE, FETCHER, OBSERVE, SESSION, TO_CONTROLLER

Kinds = frozenset[type[Message]]
Heard = Mapping[str, Kinds]
"""{purpose: messages accepted on connections that others opened for it}; default: none."""

TO_A_CONTROLLER: Final[Kinds] = frozenset({leadership.AlterIsrRequest, leadership.ControlledShutdownRequest})

HEARD_BY_BROKER: Final[Heard] = {
    FETCHER: Kinds(
        {replication.FetchRequest, replication.OffsetForLeaderEpochRequest, replication.ListOffsetsRequest}
    ),
    CONTROLLER: Kinds(
        {leadership.LeaderAndIsrRequest, leadership.StopReplicaRequest, leadership.UpdateMetadataRequest}
    ),
    TO_CONTROLLER: TO_A_CONTROLLER,
    CLIENT: Kinds(
        {
            leadership.MetadataRequest,
            replication.ProduceRequest,
            replication.FetchRequest,
            replication.ListOffsetsRequest,
            replication.OffsetForLeaderEpochRequest,
            replication.InitProducerIdRequest,
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
    OBSERVE: Kinds({leadership.ObserveMetadataRequest}),
}
HEARD_BY_CONTROLLER: Final[Heard] = {TO_CONTROLLER: TO_A_CONTROLLER}
HEARD_BY_SESSION_SERVER: Final[Heard] = {
    SESSION: Kinds(
        {
            session.ConnectRequest,
            session.SessionRequest,
            session.PingRequest,
            session.CloseSessionRequest,
            session.SetWatchesRequest,
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
    OBSERVE: Kinds({session.ObserveRequest}),
}
HEARD_BY_CLIENT: Final[Heard] = {
    CLIENT: Kinds(
        {
            workload.ClientProduceRequest,
            workload.ClientFetchRequest,
            workload.ClientMetadataRequest,
            workload.StartWorkloadRequest,
            workload.StopWorkloadRequest,
            workload.WorkloadReportsRequest,
            consuming.ClientConsumeRequest,
            consuming.ClientCommitRequest,
            consuming.ClientCommittedRequest,
        }
    )
}
HEARD_BY_PLAYER: Final[Heard] = {}
"""The player accepts no connections."""

TOLD_UNASKED: Final[Heard] = {
    SESSION: Kinds({session.WatchFired}),
    OBSERVE: Kinds({session.Observed, leadership.MetadataObserved}),
    CLIENT: Kinds({workload.ClientAttempt}),
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
class Hears(Protocol):
    """A machine that declares the messages it accepts; other machines accept all."""

    HEARD: ClassVar[Heard]


class OutOfPlace(Exception):
    """A message that does not belong on this connection."""


class Conversation:
    """Outstanding requests of one end of a connection. `opened`: this end opened it."""

    __slots__ = ("_accepted", "_outstanding", "_purpose")

    def __init__(self, accepted: Heard, purpose: str, *, opened: bool) -> None:
        self._purpose = purpose
        self._accepted = (TOLD_UNASKED if opened else accepted).get(purpose, frozenset())
        self._outstanding: Counter[tuple[int, int]] = Counter()
        """{(API key, correlation id): requests without a response}."""

    def say(self, message: Message, correlation_id: int) -> None:
        """Record a message that this end sends."""
        if message.DIRECTION == REQUEST and not (type(message) is ProduceRequest and message.acks == 0):
            self._outstanding[message.API_KEY, correlation_id] += 1

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
