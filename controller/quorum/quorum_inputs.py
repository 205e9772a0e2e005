"""Inputs and effects of a quorum's node: facts in, orders out.

The world of the node carries requests over connections. A lost connection is a `RequestFailed`. A response that never
comes is no input: the node's own timer covers it.
"""

import msgspec

from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.messages.quorum_messages import QuorumRequest, QuorumResponse
from protocol.records.types import Values

# --- inputs: facts ----------------------------------------------------------------------------------------------


class QuorumStarted(msgspec.Struct, frozen=True, gc=False):
    """First input; the log and the election's file are loaded."""


class RequestReceived(msgspec.Struct, frozen=True, gc=False):
    """`correlation`: the sender's, for the response."""

    sender: BrokerId
    correlation: int
    request: QuorumRequest


class ResponseReceived(msgspec.Struct, frozen=True, gc=False):
    """The response to a `SendRequest`."""

    sender: BrokerId
    correlation: int
    response: QuorumResponse


class RequestFailed(msgspec.Struct, frozen=True, gc=False):
    """The request found no listener, or its connection was lost."""

    receiver: BrokerId
    correlation: int


class WokenUp(msgspec.Struct, frozen=True, gc=False):
    """The time of the last `WakeUp` has come."""


class AppendRequested(msgspec.Struct, frozen=True, gc=False):
    """The state machine appends records in the epoch of its leadership."""

    epoch: LeaderEpoch
    values: Values


class SnapshotRequested(msgspec.Struct, frozen=True, gc=False):
    """The state machine writes a snapshot of the committed records below `end`.

    `epoch`, `last_timestamp_ms`: of the last of them. `values`: the snapshot's records.
    """

    end: Offset
    epoch: LeaderEpoch
    last_timestamp_ms: int
    values: Values


class ResignRequested(msgspec.Struct, frozen=True, gc=False):
    """The state machine gives up its leadership of `epoch`."""

    epoch: LeaderEpoch


class ShutdownRequested(msgspec.Struct, frozen=True, gc=False):
    """An orderly stop: a leader hands over first, for at most `timeout_ms`."""

    timeout_ms: int


QuorumInput = (
    QuorumStarted
    | RequestReceived
    | ResponseReceived
    | RequestFailed
    | WokenUp
    | AppendRequested
    | SnapshotRequested
    | ResignRequested
    | ShutdownRequested
)

# --- effects: orders --------------------------------------------------------------------------------------------


class SendRequest(msgspec.Struct, frozen=True, gc=False):
    """Send a request; its correlation is unique in this incarnation."""

    receiver: BrokerId
    correlation: int
    request: QuorumRequest


class Respond(msgspec.Struct, frozen=True, gc=False):
    receiver: BrokerId
    correlation: int
    response: QuorumResponse


class WakeUp(msgspec.Struct, frozen=True, gc=False):
    """WokenUp at this monotonic time; replaces the last one."""

    at_ms: float


class Accepted(msgspec.Struct, frozen=True, gc=False):
    """The records of an AppendRequested end at `last_offset`; they are not committed yet."""

    last_offset: Offset


class NotLeader(msgspec.Struct, frozen=True, gc=False):
    """Refusal of an AppendRequested: this node does not lead in its epoch."""

    epoch: LeaderEpoch


class Committed(msgspec.Struct, frozen=True, gc=False):
    """The records of [start, end) are committed; the state machine reads them from the log."""

    start: Offset
    end: Offset


class SnapshotCommitted(msgspec.Struct, frozen=True, gc=False):
    """The state machine loads this snapshot in place of its state.

    The log lacks records below its end, or the machine has just started.
    """

    end: Offset
    epoch: LeaderEpoch


class SnapshotStored(msgspec.Struct, frozen=True, gc=False):
    """A snapshot is whole on disk. `downloaded`: the leader's, otherwise the node's own."""

    end: Offset
    epoch: LeaderEpoch
    downloaded: bool


class LeaderChanged(msgspec.Struct, frozen=True, gc=False):
    """Notice to the state machine; `leader` -1: unknown."""

    leader: BrokerId
    epoch: LeaderEpoch


class ShutdownCompleted(msgspec.Struct, frozen=True, gc=False):
    """The node may end. `timed_out`: without a new leader."""

    timed_out: bool


class QuorumFailed(msgspec.Struct, frozen=True, gc=False):
    """The node cannot go on; its process ends (the raft thread's fault handler)."""

    reason: str


QuorumEffect = (
    SendRequest
    | Respond
    | WakeUp
    | Accepted
    | NotLeader
    | Committed
    | SnapshotCommitted
    | SnapshotStored
    | LeaderChanged
    | ShutdownCompleted
    | QuorumFailed
)
