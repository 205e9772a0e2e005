"""Events: what every process writes, one JSON line each. The schema that Spark reads is derived from here.

A line is the envelope and the event's own fields, flat:

    {"format":1, "run":..., "node":"broker-0", "incarnation":1, "seq":17, "cause":"client-0.1#3/5",
     "mono_ms":..., "wall_ms":..., "at_ms":..., "level":"replica", "event":"log_truncated", "topic":"t",
     "partition":0, "to":2, ...}

`seq` grows by one per node and incarnation. `at_ms` is scenario time, from the cluster's launch. `cause` is the input
that led to it: `CONNECTION/N` for the N-th frame received on a connection, `timer:NAME`, `start`, `command`, ... A
connection is named by its opener: `NODE.INCARNATION#ID`; the N-th frame sent on it in one direction is the N-th
received, which gives the edges by which checks order events of different nodes. Clocks only place them on a picture.

Levels: `client` (operations), `replica` (roles, logs, elections, sessions, faults), `wire` (every frame).
A field name has one type everywhere (asserted below), so that all events share one flat table. Fields that came later
have a default, which stands for a run that does not have them yet.
"""

from typing import Any, ClassVar, Literal, get_args

import msgspec

EVENT_FORMAT = 1

Level = Literal["client", "replica", "wire"]
LEVELS: tuple[str, ...] = get_args(Level)


class Event(msgspec.Struct, omit_defaults=False):
    """Base of all events."""

    NAME: ClassVar[str] = ""
    LEVEL: ClassVar[Level] = "replica"


EVENTS: dict[str, type[Event]] = {}


def _event(cls: type[Any]) -> type[Any]:
    assert cls.NAME and cls.NAME not in EVENTS, cls
    EVENTS[cls.NAME] = cls
    return cls


# fmt: off
# --- client level: operations, invoked / ok / failed / unknown -----------------------------------------------------

class _Client(Event):
    LEVEL = "client"


class OperationInvoked(_Client):
    """A client is about to do something. Written before the request leaves. `kind`: produce, fetch, metadata,
    commit (of an offset)."""
    NAME = "operation_invoked"
    operation: str              # unique in the run: NODE.INCARNATION:N
    kind: str
    topic: str
    partition: int              # -1: the partitioner will say; the end names it
    acks: int
    value: str                  # of a produce: the record's value; of a commit: the group; "" otherwise
    broker: int                 # asked directly; -1: whoever the metadata names
    offset: int                 # of a fetch; the committed one; -1 otherwise


class AttemptSent(_Client):
    """One try of an operation. `digest`: CRC of the batch as sent (the same that replicas record)."""
    NAME = "attempt_sent"
    operation: str
    attempt: int
    broker: int
    digest: int


class AttemptEnded(_Client):
    """`error` as Kafka's code, or -2 when the connection was refused, lost or timed out (`reason` says which)."""
    NAME = "attempt_ended"
    operation: str
    attempt: int
    error: int
    offset: int
    reason: str


class OperationEnded(_Client):
    """`outcome`: ok (acknowledged), failed (definitely not done), unknown. `offset`: of the record; of a fetch the
    next."""
    NAME = "operation_ended"
    operation: str
    kind: str
    outcome: str
    error: int
    topic: str
    partition: int
    offset: int
    leader_epoch: int
    digest: int
    acks: int


class RecordsRead(_Client):
    """A consumer was given records: offsets `[base_offset, last_offset]`, their batch's digest and epoch, and the HW
    it came with."""
    NAME = "records_read"
    operation: str
    topic: str
    partition: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    high_watermark: int
    broker: int


# --- replica level: processes ---------------------------------------------------------------------------------------

class NodeStarted(Event):
    """A life of a process begins; its versions are what it was told to play."""
    NAME = "node_started"
    roles: str                  # "broker,controller", "session", "client"
    az: str
    kafka_version: str
    protocol_version: str


class NodeStopped(Event):
    """Last event of an orderly end. `code` 0: asked for; otherwise it died by itself and `reason` says why."""
    NAME = "node_stopped"
    code: int
    reason: str


class TimerLateness(Event):
    """How late this process's timers fired, in scenario ms, since the last such event. Network world only. A timer
    that the shell sets every 20 ms of real time is among them, so that every process has some."""
    NAME = "timer_lateness"
    timers: int
    p50_ms: float
    p999_ms: float
    max_ms: float
    buckets: str                # "1:40 119:2": late by at most 1 ms, 119 ms; to be added up (protocol.lateness)


# --- replica level: logs --------------------------------------------------------------------------------------------

class LogLoaded(Event):
    """A replica found on disk. `clean`: the clean-shutdown marker was there. Otherwise `recovered` are the base offsets
    of the segments that were validated, and `corrupted` that of the one that was cut, -1: none."""
    NAME = "log_loaded"
    topic: str
    partition: int
    log_start: int
    log_end: int
    high_watermark: int
    clean: bool
    recovered: str = ""         # "0,42"
    corrupted: int = -1


class BatchAppended(Event):
    """One batch at [base_offset, last_offset]. `as_leader`: from a producer; otherwise fetched from the leader."""
    NAME = "batch_appended"
    topic: str
    partition: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    as_leader: bool


class LogTruncated(Event):
    """Cut to `to` (exclusive end). `log_end`: before. `effective`: something was cut. `reason`: high-watermark,
    epoch, diverging, out-of-range, full."""
    NAME = "log_truncated"
    topic: str
    partition: int
    to: int
    log_end: int
    effective: bool
    high_watermark: int
    reason: str


class LeaderEpochBegan(Event):
    """A replica noted where an epoch begins (leader-epoch-checkpoint). `previous_epoch`, `previous_offset`: of the
    entry before, -1 none; `entries`: how many there were."""
    NAME = "leader_epoch_began"
    topic: str
    partition: int
    leader_epoch: int
    offset: int
    previous_epoch: int
    previous_offset: int
    entries: int


class HighWatermarkMoved(Event):
    """`leading`: this replica leads (and may expose records below it)."""
    NAME = "high_watermark_moved"
    topic: str
    partition: int
    high_watermark: int
    previous: int
    leading: bool
    leader_epoch: int


class LogDirFailed(Event):
    """The log directory is offline; with its only one gone, the broker ends."""
    NAME = "log_dir_failed"
    reason: str


# --- replica level: leadership --------------------------------------------------------------------------------------

class RoleChanged(Event):
    """`role`: leader, follower, offline. `leader`: whom it follows (itself if leader). `adding`, `removing`: of a
    reassignment, as the controller's order had them."""
    NAME = "role_changed"
    topic: str
    partition: int
    role: str
    leader: int
    leader_epoch: int
    previous_epoch: int
    controller_epoch: int
    log_end: int
    high_watermark: int
    isr: str                    # "0,1,2"; "" for a follower
    adding: str = ""
    removing: str = ""


class IsrChangeAsked(Event):
    """A leader wants another ISR. `change`: shrink or expand. `through`: session (direct write) or controller
    (AlterIsr). `high_watermark`, `log_end`: its own; `out_of_sync`: who leaves, with the log end known of each."""
    NAME = "isr_change_asked"
    topic: str
    partition: int
    change: str
    was: str
    now: str
    leader_epoch: int
    zk_version: int
    through: str
    high_watermark: int = -1
    log_end: int = -1
    out_of_sync: str = ""       # "1:5 2:7"


class IsrChangeEnded(Event):
    """`result`: done, bad-version, refused, session-expired."""
    NAME = "isr_change_ended"
    topic: str
    partition: int
    isr: str
    result: str
    zk_version: int


class PartitionBlocked(Event):
    """The partition's lock is held by a call that waits for the session service (semantics 1.6); `blocked` false:
    released. `waiting`: requests, orders and checks that wait for it."""
    NAME = "partition_blocked"
    topic: str
    partition: int
    blocked: bool
    waiting: int


class MetadataChanged(Event):
    """This broker's own metadata answer for a partition, whenever it changes. `live`: "0,1,2"."""
    NAME = "metadata_changed"
    topic: str
    partition: int
    controller: int
    leader: int
    leader_epoch: int
    isr: str
    live: str


class FetcherChanged(Event):
    """`change`: added, removed, delayed, failed. `source`: broker fetched from. `offset`: next to fetch.
    `leader_epoch`: that the fetcher goes by."""
    NAME = "fetcher_changed"
    topic: str
    partition: int
    change: str
    source: int
    offset: int
    reason: str
    leader_epoch: int = -1


class EpochAnswered(Event):
    """A leader said where a follower's epoch ends: epoch `leader_epoch` at `offset`, each -1 undefined. `own_epoch`:
    the follower's own latest up to it, -1 none. It cuts `to`; not `complete`: and asks again."""
    NAME = "epoch_answered"
    topic: str
    partition: int
    source: int
    leader_epoch: int
    offset: int
    own_epoch: int
    log_end: int
    to: int
    complete: bool


class FetchOffsetReset(Event):
    """A follower's offset was out of its leader's range. `offset`: where the leader's log ends (`reason` latest), or
    begins (start); not-allowed: it ends there, and this broker exits rather than cut. `log_end`: the own, before."""
    NAME = "fetch_offset_reset"
    topic: str
    partition: int
    source: int
    offset: int
    log_end: int
    reason: str


class FetchOutOfRange(Event):
    """A leader was asked by follower `broker` for an offset that it does not have."""
    NAME = "fetch_out_of_range"
    topic: str
    partition: int
    broker: int
    offset: int
    log_start: int
    log_end: int
    correlation: int


class GroupCoordinatorChanged(Event):
    """This broker and a partition of the offsets topic: `change` loading, loaded (it coordinates), resigned.
    `offsets`: how many it holds."""
    NAME = "group_coordinator_changed"
    topic: str
    partition: int
    change: str
    leader_epoch: int
    offsets: int


class LeaderAndIsrIgnored(Event):
    """An order of the controller that changed nothing for this partition, and why. `controller_epoch`: of the order;
    `state_controller_epoch`: of the partition's state in it. An order of an older controller is ignored whole: topic
    "", partition -1, `current_epoch`: the controller epoch known."""
    NAME = "leader_and_isr_ignored"
    topic: str
    partition: int
    leader_epoch: int
    current_epoch: int
    controller_epoch: int
    reason: str
    controller: int = -1
    correlation: int = -1
    leader: int = -1
    replicas: str = ""
    state_controller_epoch: int = -1


# --- replica level: controller
# -----------------------------------------------------------------------------------------

class ControllerChanged(Event):
    """`active` true: this broker is (now) controller, as it believes; false: it resigned. `zk_version`: of
    /controller_epoch."""
    NAME = "controller_changed"
    active: bool
    controller_epoch: int
    reason: str
    zk_version: int = -1


class BrokersSeen(Event):
    """The controller saw brokers come and go; texts such as "0,2"."""
    NAME = "brokers_seen"
    added: str
    removed: str
    bounced: str
    live: str


class BrokersHandled(Event):
    """The controller begins to act on brokers that came (`change` startup) or went (failure)."""
    NAME = "brokers_handled"
    change: str
    brokers: str


class StateDecided(Event):
    """The controller wrote a partition's state. `reason`: created, offline-election, offline-replica,
    preferred-election, isr-change, ... `replica`: that left the ISR (offline-replica)."""
    NAME = "state_decided"
    topic: str
    partition: int
    leader: int
    leader_epoch: int
    isr: str
    controller_epoch: int
    zk_version: int
    reason: str
    replica: int = -1


# --- replica level: session service
# ------------------------------------------------------------------------------------

class SessionChanged(Event):
    """Seen by a client: `state` connected, disconnected, expired, closed. `owner`: whose session."""
    NAME = "session_changed"
    session: int
    state: str
    owner: str
    server: str


class SessionEnded(Event):
    """Seen by the ensemble's leader. `reason`: expired or closed. `owner`: the node whose session it was."""
    NAME = "session_ended"
    session: int
    reason: str
    zxid: int
    owner: str


class ZnodeChanged(Event):
    """Committed at one server (each server writes its own). `change`: created, changed, deleted. `data`: as text."""
    NAME = "znode_changed"
    path: str
    change: str
    version: int
    zxid: int
    data: str


class EnsembleChanged(Event):
    """A session server's role: looking, following, leading; `serving`: it accepts clients."""
    NAME = "ensemble_changed"
    role: str
    peer_epoch: int
    leader_server: int
    serving: bool


# --- replica level: faults
# ---------------------------------------------------------------------------------------------

class FaultAsked(Event):
    """The injector was asked for a rule, or to heal it. `rule` names it in the run; `what` is its text ("cut az-0",
    "heal cut az-0")."""
    NAME = "fault_asked"
    rule: str
    what: str
    expects_traffic: bool       # a cut of links that carry traffic must stop something


class FaultInForce(Event):
    """At this node, from now on."""
    NAME = "fault_in_force"
    rule: str
    what: str


class FaultHealed(Event):
    """At this node; `frames_stopped`: held or dropped here while it lasted."""
    NAME = "fault_healed"
    rule: str
    what: str
    frames_stopped: int


class FaultTraffic(Event):
    """First traffic over a link that a rule had stopped, after its heal: the proof that it healed."""
    NAME = "fault_traffic"
    rule: str
    peer: str


class MachineFault(Event):
    """Something was done to a node: kill, stop, pause, resume, start, power-loss, lose-unsynced, lose-disk, disk-full.
    `died`: it ended, and nobody had asked for it."""
    NAME = "machine_fault"
    what: str
    target: str


class ScenarioStep(Event):
    """The player began a step; `text` is its line."""
    NAME = "scenario_step"
    step: int
    text: str


# --- wire level -----------------------------------------------------------------------------------------------------

class _Wire(Event):
    LEVEL = "wire"


class ConnectionChanged(_Wire):
    """`change`: opening, opened, accepted, refused, closed, lost. `connection`: NODE.INCARNATION#ID of the opener."""
    NAME = "connection_changed"
    connection: str
    peer: str
    purpose: str
    change: str
    reason: str


class FrameSent(_Wire):
    """`number`: of the frame on this connection in this direction, from 1."""
    NAME = "frame_sent"
    connection: str
    peer: str
    purpose: str
    number: int
    api: str
    api_direction: str
    correlation: int
    size_bytes: int


class FrameReceived(_Wire):
    """A frame of the peer, whole; with `frame_sent` of the same connection and number it is an edge between nodes."""
    NAME = "frame_received"
    connection: str
    peer: str
    purpose: str
    number: int
    api: str
    api_direction: str
    correlation: int
    size_bytes: int


class FrameStopped(_Wire):
    """A rule held or dropped a frame at this end."""
    NAME = "frame_stopped"
    connection: str
    peer: str
    purpose: str
    rule: str
    action: str
    api: str
    size_bytes: int


class FrameRefused(_Wire):
    """Bytes that are no frame: the connection is closed."""
    NAME = "frame_refused"
    connection: str
    peer: str
    reason: str
# fmt: on


def _register_all(base: type[Event]) -> None:
    for cls in base.__subclasses__():
        if cls.NAME:
            _event(cls)
        _register_all(cls)


_register_all(Event)

ENVELOPE: dict[str, type] = {
    "format": int, "run": str, "node": str, "incarnation": int, "seq": int, "cause": str,
    "mono_ms": float, "wall_ms": float, "at_ms": float, "level": str, "event": str,
}  # fmt: skip
"""Fields of every line, in the order in which they are written."""


def field_types() -> dict[str, type]:
    """Every field of every event, with its one type; envelope first. The columns of the audit's table."""
    columns = dict(ENVELOPE)
    for cls in EVENTS.values():
        for name, kind in cls.__annotations__.items():
            assert columns.setdefault(name, kind) is kind, f"{cls.NAME}.{name} is {kind}, elsewhere {columns[name]}"
    return columns


FIELDS: dict[str, type] = field_types()


def ids_text(ids: list[int] | tuple[int, ...]) -> str:
    """`[0, 2, 1]` -> `0,2,1`: how events spell lists of brokers."""
    return ",".join(map(str, ids))
