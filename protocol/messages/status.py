"""Status: what a node itself thinks, asked over the supervisor's connection. Asking changes nothing.

Two nodes may contradict each other: a broker that is cut off goes on saying that it leads. Whoever asks puts the
answers side by side (`emulator.cluster.status`) and decides nothing.
"""

from typing import Annotated

import msgspec

from protocol.ids import CONTROLLER_EPOCH_UNKNOWN, FIRST_OFFSET
from protocol.messages.base import (
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
    """A replica as its broker sees it. `leader` -1: it knows none.

    `isr`: the leader's own; on a follower, what the controller last told it, which it tells clients. `fetching`: of a
    follower, fetching, truncating, delayed (waits after an error) or stopped (nobody fetches); "" on a leader.
    `waits`: of a leader, session (its lock is held by a write to the session service that has no answer, and everything
    that needs the partition waits) or isr (an ISR change is asked for and not confirmed).
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
"""Told of one node; all are counted."""


class WaitingStatus(msgspec.Struct):
    """Something that waits: `who` a thread (request-handler, controller-event-thread, ...) or a purgatory in which
    the request is parked; what it `does`: of the controller's thread, the event under way; what it `waits_for`.
    `since_ms` of a thread, `deadline_ms` of what is parked: scenario time, -1 unknown. `connection`: of the request, 0:
    of none."""

    who: str
    does: str
    waits_for: str
    since_ms: float = -1.0
    deadline_ms: float = -1.0
    connection: Int64 = 0


class SessionStatus(msgspec.Struct):
    """`state`: connected, disconnected (the session may live on) or expired. `session_id` 0: none was ever opened."""

    state: str
    session_id: Int64 = 0


class EnsembleStatus(msgspec.Struct):
    """A session server: `role` looking, following or leading; `serving` while its leadership term has a quorum.
    `sessions`: alive, as far as it knows."""

    role: str
    serving: bool
    epoch: Annotated[Int32, unit("ensemble epoch")] = 0
    last_zxid: Annotated[Int64, unit("zxid", "newest in its log")] = 0
    sessions: Count = 0


class WorkloadStatus(msgspec.Struct):
    """Counts of one workload since it began; see WorkloadReport."""

    kind: str
    running: bool
    acked: Count = 0
    failed: Count = 0
    unknown: Count = 0
    skipped: Count = 0
    read: Count = 0


class NodeStatus(msgspec.Struct, omit_defaults=True):
    """`controller`: the node that this one takes for the controller, "" none. `controller_epoch`: of its own term while
    it is controller, else the highest that it has had an order of; -1 none.

    `metrics`: numbers under the names of Kafka's MBeans; of a meter, its `Count`. `waiting`: threads first, then what
    is parked, the longest first; `waiting_count`: all of them. `queued`: requests that no handler has taken;
    `pipelined`: those behind one of their own connection. Parts that are absent belong to other roles.
    """

    is_controller: bool = False
    controller_epoch: ControllerEpochField = CONTROLLER_EPOCH_UNKNOWN
    controller: Annotated[str, unit("node name")] = ""
    session: SessionStatus | None = None
    partitions: Annotated[dict[str, PartitionStatus], unit("", "{t-0: its replica here}")] = {}
    metrics: dict[str, Int64] = {}
    ensemble: EnsembleStatus | None = None
    workloads: Annotated[dict[str, WorkloadStatus], unit("", "{workload's name: counts}")] = {}
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
    """`status` null: this node's machine has nothing to say (a test's, the player's)."""

    API_KEY = 1310
    API_NAME = "Status"
    DIRECTION = RESPONSE
    status: NodeStatus | None = None
