"""Messages among session servers: election, discovery, synchronisation, broadcast.

Keys from 1200. All are one-way: in a quorum protocol a reply comes when a quorum permits, not per request. Server
numbers are places in the ensemble's list; a zxid is (epoch << 32 | counter). Names are ZooKeeper's where it has one.
Semantics 5.2, 5.3.

Sequence of a leadership term, on the one connection that a follower opens to its leader:

    FollowerInfo -> / LeaderInfo <- / AckEpoch -> / History, NewLeader <- / AckNewLeader -> / UpToDate <-
    then Proposal <- / ProposalAck -> / Commit <-, LeaderPing <- / LearnerPong ->, Forward ->
"""

from typing import Annotated, Final, Literal

import msgspec
from msgspec import Meta

from protocol.messages.message_base import ONE_WAY, Int32, Int64, Message, Millis, register, unit
from protocol.messages.session_messages import WriteOp

ServerField = Annotated[Int32, unit("server number", "place in the ensemble's list, from 0")]
EPOCH_MAX: Final = 2**29
"""Maximum epoch: a zxid, (epoch << 32 | counter), fits into 64 bits."""
PeerEpochField = Annotated[int, Meta(ge=0, le=EPOCH_MAX), unit("peer epoch", "0: none yet")]
NewEpochField = Annotated[int, Meta(ge=1, le=EPOCH_MAX), unit("peer epoch", "above all that were accepted")]
ZxidField = Annotated[Int64, unit("zxid", "epoch << 32 | counter; 0: nothing yet")]
SessionField = Annotated[Int64, unit("session id", "the zxid that opened it")]
RequestField = Annotated[Int64, unit("request number", "the origin server's, unique over its incarnations")]


class Transaction(msgspec.Struct, omit_defaults=True):
    """One step of the replicated state; all servers apply the same ones in order of zxids.

    `kind`: operations (of `session`), open (a session with `timeout_ms` and `password`, its id is the zxid) or close.
    `origin` and `request` name the server and the call that wait for it. `error`: refused by the leader,
    changes nothing (as ZooKeeper's error transactions, it has a zxid all the same). `owner`: node whose session
    it is. `reason` of a close: expired, closed.
    """

    zxid: ZxidField
    kind: Literal["operations", "open", "close"]
    session: SessionField = 0
    origin: ServerField = -1
    request: RequestField = 0
    ops: list[WriteOp] = []
    multi: bool = False
    error: Int32 = 0
    timeout_ms: Millis = 0
    password: Int64 = 0
    owner: str = ""
    reason: str = ""


@register
class Vote(Message):
    """A server's vote. `state`: looking, following or leading.

    `election_round` counts elections; votes of an older one do not count.
    """

    API_KEY = 1200
    API_NAME = "EnsembleVote"
    DIRECTION = ONE_WAY
    state: Literal["looking", "following", "leading"]
    election_round: Annotated[Int32, unit("count")]
    leader: ServerField
    zxid: ZxidField
    peer_epoch: PeerEpochField


@register
class FollowerInfo(Message):
    """First message on a follower's connection to the elected leader."""

    API_KEY = 1201
    API_NAME = "EnsembleFollowerInfo"
    DIRECTION = ONE_WAY
    accepted_epoch: PeerEpochField


@register
class LeaderInfo(Message):
    """`epoch`: above every epoch that a majority had accepted.

    A follower that accepted a newer one leaves.
    """

    API_KEY = 1202
    API_NAME = "EnsembleLeaderInfo"
    DIRECTION = ONE_WAY
    epoch: NewEpochField


@register
class AckEpoch(Message):
    """The epoch is accepted, on disk. `counts` false: it had been accepted before."""

    API_KEY = 1203
    API_NAME = "EnsembleAckEpoch"
    DIRECTION = ONE_WAY
    current_epoch: PeerEpochField
    last_zxid: ZxidField
    counts: bool = True


@register
class History(Message):
    """Transactions that make the follower's log equal to the leader's.

    `kind`: diff (append), trunc (truncate after `truncate_to`, append) or snap (replace, append).
    """

    API_KEY = 1204
    API_NAME = "EnsembleHistory"
    DIRECTION = ONE_WAY
    kind: Literal["diff", "trunc", "snap"]
    truncate_to: ZxidField = 0
    snapshot: bytes = b""
    transactions: list[Transaction] = []


@register
class NewLeader(Message):
    """End of the history: the follower makes it durable, then adopts `epoch` as its current one."""

    API_KEY = 1205
    API_NAME = "EnsembleNewLeader"
    DIRECTION = ONE_WAY
    epoch: NewEpochField


@register
class AckNewLeader(Message):
    API_KEY = 1206
    API_NAME = "EnsembleAckNewLeader"
    DIRECTION = ONE_WAY
    epoch: NewEpochField
    last_zxid: ZxidField


@register
class UpToDate(Message):
    """The follower may serve clients. `committed`: everything up to this zxid, inclusive."""

    API_KEY = 1207
    API_NAME = "EnsembleUpToDate"
    DIRECTION = ONE_WAY
    committed: ZxidField


@register
class Proposal(Message):
    API_KEY = 1208
    API_NAME = "EnsembleProposal"
    DIRECTION = ONE_WAY
    transaction: Transaction


@register
class ProposalAck(Message):
    """Everything up to `zxid`, inclusive, is on this follower's disk."""

    API_KEY = 1209
    API_NAME = "EnsembleProposalAck"
    DIRECTION = ONE_WAY
    zxid: ZxidField


@register
class Commit(Message):
    """Everything up to `zxid`, inclusive, is on a majority's disks: apply it."""

    API_KEY = 1210
    API_NAME = "EnsembleCommit"
    DIRECTION = ONE_WAY
    zxid: ZxidField


@register
class LeaderPing(Message):
    """Ping of the leader, every tickTime/2."""

    API_KEY = 1211
    API_NAME = "EnsembleLeaderPing"
    DIRECTION = ONE_WAY


@register
class LearnerPong(Message):
    """`touched`: sessions with traffic since the last pong."""

    API_KEY = 1212
    API_NAME = "EnsembleLearnerPong"
    DIRECTION = ONE_WAY
    touched: list[SessionField] = []


@register
class Forward(Message):
    """Request of a follower's client; the leader assigns the `zxid`."""

    API_KEY = 1213
    API_NAME = "EnsembleForward"
    DIRECTION = ONE_WAY
    transaction: Transaction


@register
class Revalidate(Message):
    """Request to move a live `session` to the sending server."""

    API_KEY = 1214
    API_NAME = "EnsembleRevalidate"
    DIRECTION = ONE_WAY
    request: RequestField
    session: SessionField


@register
class Revalidated(Message):
    API_KEY = 1215
    API_NAME = "EnsembleRevalidated"
    DIRECTION = ONE_WAY
    request: RequestField
    valid: bool


@register
class CatchUp(Message):
    """A client's `sync`: CaughtUp follows the commits of everything proposed so far."""

    API_KEY = 1216
    API_NAME = "EnsembleCatchUp"
    DIRECTION = ONE_WAY
    request: RequestField


@register
class CaughtUp(Message):
    API_KEY = 1217
    API_NAME = "EnsembleCaughtUp"
    DIRECTION = ONE_WAY
    request: RequestField
