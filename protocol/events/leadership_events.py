"""Events of leadership: roles, in-sync replicas, and followers' requests to their leader."""

from protocol.events.event_base import Event, OfPartition

# fmt: off

class RoleChanged(OfPartition):
    """A replica's role: leader, follower, offline.

    `leader`: the broker that it follows (itself if leader). `adding`, `removing`: replicas of a reassignment, from the
    controller's order. `min_insync_replicas`: this broker's setting for the partition. `zk_version`: of the partition's
    state in the order, -1: no order.
    """
    NAME = "role_changed"
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
    min_insync_replicas: int = -1
    zk_version: int = -1


class IsrChangeRequested(OfPartition):
    """A leader requests another ISR.

    `change`: shrink or expand. `through`: session (direct write) or controller (AlterIsr). `high_watermark`, `log_end`,
    `min_insync_replicas`: the leader's; `out_of_sync`: replicas that leave, each with its known log end.
    """
    NAME = "isr_change_asked"   # as in all formats so far
    change: str
    was: str
    now: str
    leader_epoch: int
    zk_version: int
    through: str
    high_watermark: int = -1
    log_end: int = -1
    out_of_sync: str = ""       # "1:5 2:7"
    min_insync_replicas: int = -1


class IsrChangeEnded(OfPartition):
    """Result of an ISR change: done, bad-version, refused, session-expired.

    `leader_epoch`: the requester's, at the response. `high_watermark`, `min_insync_replicas`: the leader's, before the
    result takes effect.
    """
    NAME = "isr_change_ended"
    isr: str
    result: str
    zk_version: int
    leader_epoch: int = -1
    high_watermark: int = -1
    min_insync_replicas: int = -1


class PartitionBlocked(OfPartition):
    """A call that waits for the session service holds the partition's lock (semantics 1.6).

    `blocked` false: released. `waiting`: requests, orders and checks that wait for the lock.
    """
    NAME = "partition_blocked"
    blocked: bool
    waiting: int


class MetadataChanged(OfPartition):
    """This broker's own metadata of a partition, whenever it changes.

    `live`: "0,1,2". `zk_version`: of the partition's state in the controller's update.
    """
    NAME = "metadata_changed"
    controller: int
    leader: int
    leader_epoch: int
    isr: str
    live: str
    zk_version: int = -1


class FetcherChanged(OfPartition):
    """A fetcher's partition: added, removed, delayed, failed.

    `source`: the broker to fetch from. `offset`: the next to fetch. `leader_epoch`: the fetcher's.
    """
    NAME = "fetcher_changed"
    change: str
    source: int
    offset: int
    reason: str
    leader_epoch: int = -1


class EpochAnswered(OfPartition):
    """A leader returned the end offset of a follower's epoch.

    `leader_epoch`, `offset`: of the response, each -1 undefined. `own_epoch`: the follower's latest epoch up to it, -1
    none. The follower truncates to `to`. `complete` false: it sends another request.
    """
    NAME = "epoch_answered"
    source: int
    leader_epoch: int
    offset: int
    own_epoch: int
    log_end: int
    to: int
    complete: bool


class FetchOffsetReset(OfPartition):
    """A follower's fetch offset was out of its leader's range.

    `offset`: end of the leader's log (`reason` latest), or its start (start). not-allowed: the log ends there, and this
    broker exits rather than truncate. `log_end`: the follower's own, before.
    """
    NAME = "fetch_offset_reset"
    source: int
    offset: int
    log_end: int
    reason: str


class FetchOutOfRange(OfPartition):
    """Follower `broker` requested an offset that the leader does not have."""
    NAME = "fetch_out_of_range"
    broker: int
    offset: int
    log_start: int
    log_end: int
    correlation: int


class TopicConfigured(Event):
    """This broker received a change of a topic's settings, in force for its logs from now on.

    `config`: all of the topic's own settings now, `name=value` separated by blanks ("" none).
    """
    NAME = "topic_configured"
    topic: str
    config: str


class BrokerConfigured(Event):
    """This broker received a change of dynamic broker settings (KIP-226).

    `broker`: itself, or -1 for all brokers. `config`: these settings now, `name=value` separated by blanks ("" none).
    `in_force` false: one of them is invalid, and all stay as they were.
    """
    NAME = "broker_configured"
    broker: int
    config: str
    in_force: bool


class GroupCoordinatorChanged(OfPartition):
    """This broker's role for a partition of the offsets topic: loading, loaded, resigned.

    `loaded`: it coordinates the groups. `offsets`: number of committed offsets that it holds.
    """
    NAME = "group_coordinator_changed"
    change: str
    leader_epoch: int
    offsets: int


class GroupChanged(Event):
    """A group's members at its coordinator.

    `state`: Kafka's name (PreparingRebalance, Stable, ...), Dead when this broker no longer coordinates it. `members`:
    the first of their ids, separated by commas.
    """
    NAME = "group_changed"
    group: str
    state: str
    generation: int
    protocol: str
    members: str


class RequestNotUnderstood(Event):
    """Another broker sent a request of a version that this binary does not know.

    The connection is closed, as Kafka does with unparsable requests. The `peer`'s inter.broker.protocol.version is too
    new.
    """
    NAME = "request_not_understood"
    peer: str
    api: str
    request_version: int


class LeaderAndIsrIgnored(OfPartition):
    """An order of the controller had no effect on this partition, or (half-way) only a part.

    `controller_epoch`: of the order; `state_controller_epoch`: of the partition's state in it. An order of an older
    controller is ignored whole: topic "", partition -1, `current_epoch`: the controller epoch known.
    """
    NAME = "leader_and_isr_ignored"
    leader_epoch: int
    current_epoch: int
    controller_epoch: int
    reason: str
    controller: int = -1
    correlation: int = -1
    leader: int = -1
    replicas: str = ""
    state_controller_epoch: int = -1
# fmt: on
