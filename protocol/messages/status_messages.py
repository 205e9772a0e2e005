"""A node's own view of its state, over the supervisor's connection. Reading changes nothing.

Two nodes may contradict each other: an isolated broker continues to claim leadership. The reader compares the views
(`emulator.cluster.cluster_status`) and decides nothing.
"""

from typing import Annotated

import msgspec

from protocol.ids import CONTROLLER_EPOCH_UNKNOWN, FIRST_OFFSET
from protocol.messages.message_base import (
    RESPONSE,
    Broker32,
    BrokerField,
    ControllerEpochField,
    Count,
    EpochField,
    Int32,
    Int64,
    Message,
    OffsetField,
    register,
    unit,
)

BrokerIds = Annotated[list[Broker32], unit("broker id")]


class PartitionStatus(msgspec.Struct):
    """A replica in its broker's view. `leader` -1: none known.

    `isr`: the leader's own; on a follower, the controller's last order, which it reports to clients. `fetching`: of a
    follower, fetching, truncating, delayed (waits after an error) or stopped (no fetcher); "" on a leader. `waits`: of
    a leader, session (a write to the session service holds its lock without a response, and everything that needs the
    partition waits) or isr (a requested ISR change is not confirmed).
    """

    is_leader: bool
    leader: BrokerField
    leader_epoch: EpochField
    isr: BrokerIds
    replicas: BrokerIds
    high_watermark: OffsetField
    log_end: OffsetField
    log_start: OffsetField = FIRST_OFFSET
    fetching: str = ""
    waits: str = ""


WAITING_MAX = 32
"""Maximum waiting entries reported of a node; the count includes all."""


class WaitingStatus(msgspec.Struct):
    """Something that waits.

    `who`: a thread (request-handler, controller-event-thread, ...), or a purgatory in which the request is parked.
    `does`: of the controller's thread, the event being handled. `since_ms` of a thread, `deadline_ms` of a parked
    request: scenario time, -1 unknown. `connection`: of the request, 0: none.
    """

    who: str
    does: str
    waits_for: str
    since_ms: float = -1.0
    deadline_ms: float = -1.0
    connection: Int64 = 0


class SessionStatus(msgspec.Struct):
    """A broker's session. `state`: connected, disconnected (it may still live) or expired.

    `session_id` 0: no session was ever opened.
    """

    state: str
    session_id: Int64 = 0


class EnsembleStatus(msgspec.Struct):
    """A session server. `role`: looking, following or leading.

    `serving`: its leadership term has a quorum. `sessions`: number of live ones that it knows.
    """

    role: str
    serving: bool
    epoch: Annotated[Int32, unit("ensemble epoch")] = 0
    last_zxid: Annotated[Int64, unit("zxid", "newest in its log")] = 0
    sessions: Count = 0


class QuorumStatus(msgspec.Struct):
    """A node of the quorum of KRaft.

    `state`: leader, follower, candidate, ...; of a broker observer.

    `leader` -1: unknown. `high_watermark` -1: unknown in this epoch. `voters`: ids. `broker_state`: of a broker, the
    state of its lifecycle by its own view. `fenced`: of the active controller, the brokers that it has fenced.
    """

    state: str
    epoch: EpochField
    leader: BrokerField
    high_watermark: OffsetField
    log_end: OffsetField
    voters: BrokerIds = []
    broker_state: str = ""
    fenced: BrokerIds = []


class WorkloadStatus(msgspec.Struct):
    """Counts of one workload since it began; see WorkloadReport."""

    kind: str
    running: bool
    acked: Count = 0
    failed: Count = 0
    unknown: Count = 0
    skipped: Count = 0
    read: Count = 0


GROUPS_MAX = 32
GROUP_OFFSETS_MAX = 100
"""Maximum groups reported of a node, and committed offsets of each."""


class GroupStatus(msgspec.Struct):
    """A consumer group in its coordinator's view. `state`: Stable, Empty, ..."""

    state: str
    generation: Int32 = 0
    members: Count = 0
    offsets: Annotated[dict[str, OffsetField], unit("", "{t-0: the group's committed offset}")] = {}


class NodeStatus(msgspec.Struct, omit_defaults=True):
    """A node's own view of its state.

    `controller`: the node that this one takes for the controller, "" none. `controller_epoch`: of its own term while it
    is controller, else the highest in an order that it received; -1 none. In KRaft: of the quorum.

    `metrics`: numbers under the names of Kafka's MBeans; of a meter, its `Count`. `errors`: of the responses that the
    process sent, NONE included. `waiting`: threads first, then parked
    requests, the longest wait first; `waiting_count`: the number of all. `queued`: requests that no handler has taken;
    `pipelined`: those behind another of their connection. Absent parts belong to other roles.
    """

    is_controller: bool = False
    controller_epoch: ControllerEpochField = CONTROLLER_EPOCH_UNKNOWN
    controller: Annotated[str, unit("node name")] = ""
    session: SessionStatus | None = None
    partitions: Annotated[dict[str, PartitionStatus], unit("", "{t-0: its replica here}")] = {}
    metrics: dict[str, Int64] = {}
    errors: Annotated[dict[str, dict[str, Count]], unit("responses", "{API: {name of an error: count}}")] = {}
    ensemble: EnsembleStatus | None = None
    quorum: QuorumStatus | None = None
    workloads: Annotated[dict[str, WorkloadStatus], unit("", "{workload's name: counts}")] = {}
    groups: Annotated[dict[str, GroupStatus], unit("", "{group that it coordinates: its state}")] = {}
    waiting: list[WaitingStatus] = []
    waiting_count: Count = 0
    queued: Count = 0
    pipelined: Count = 0


@register
class StatusRequest(Message):
    API_KEY = 1310
    API_NAME = "Status"


@register
class StatusResponse(Message):
    """`status` null: this node's machine has no view (a test's, the player's)."""

    API_KEY = 1310
    API_NAME = "Status"
    DIRECTION = RESPONSE
    status: NodeStatus | None = None
