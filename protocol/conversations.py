"""Conversations: on a connection of each purpose, which messages a node of each kind hears, and which are answers.

A frame may be well-formed and still be out of place: a Fetch at a session server, an answer to what nobody asked, an
order of the controller on a client's connection. Whoever says that does not know whom it talks to. The connection ends,
and the machine never sees the message, so that no machine has to know what it could make of it.
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
"""{purpose: what is heard on connections that others opened for it}; not named: nothing."""

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
"""It asks and is asked by nobody."""

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
"""{purpose: one-way messages that whoever opened the connection hears}; responses only to what it asked."""


@runtime_checkable
class Hears(Protocol):
    """A machine that says what it hears; of others nothing is checked."""

    HEARD: ClassVar[Heard]


class OutOfPlace(Exception):
    """A message that the other end should not have said here."""


class Conversation:
    """What one end of a connection has asked, and may hear. `opened`: this end opened it."""

    __slots__ = ("_asked", "_heard", "_purpose")

    def __init__(self, heard: Heard, purpose: str, *, opened: bool) -> None:
        self._purpose = purpose
        self._heard = (TOLD_UNASKED if opened else heard).get(purpose, frozenset())
        self._asked: Counter[tuple[int, int]] = Counter()
        """{(API key, correlation id): requests without an answer yet}."""

    def say(self, message: Message, correlation_id: int) -> None:
        """This end sends it."""
        if message.DIRECTION == REQUEST and not (type(message) is ProduceRequest and message.acks == 0):
            self._asked[message.API_KEY, correlation_id] += 1

    def hear(self, message: Message, correlation_id: int) -> None:
        """The other end sent it. Raises OutOfPlace."""
        if message.DIRECTION == RESPONSE:
            place = (message.API_KEY, correlation_id)
            asked = self._asked.get(place, 0)
            if asked == 0:
                raise OutOfPlace(f"{message.API_NAME} response {correlation_id}, for which nobody asked")
            if asked == 1:
                del self._asked[place]
            else:
                self._asked[place] = asked - 1
        elif type(message) not in self._heard:
            kind = DIRECTIONS[message.DIRECTION]
            raise OutOfPlace(f"{message.API_NAME} {kind} on a connection for {self._purpose!r}")
