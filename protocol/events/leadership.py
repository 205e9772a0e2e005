"""Leadership: roles, in-sync replicas, and what followers ask their leader."""

from protocol.events.base import Event

# fmt: off

class RoleChanged(Event):
    """`role`: leader, follower, offline. `leader`: whom it follows (itself if leader). `adding`, `removing`: of a
    reassignment, as the controller's order had them. `min_insync_replicas`: the setting, as this broker has it for the
    partition."""
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
    min_insync_replicas: int = -1


class IsrChangeAsked(Event):
    """A leader wants another ISR. `change`: shrink or expand. `through`: session (direct write) or controller
    (AlterIsr). `high_watermark`, `log_end`, `min_insync_replicas`: its own; `out_of_sync`: who leaves, with the log
    end known of each."""
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
    min_insync_replicas: int = -1


class IsrChangeEnded(Event):
    """`result`: done, bad-version, refused, session-expired. `leader_epoch`: of whoever had asked, when it was
    answered. `high_watermark`, `min_insync_replicas`: the leader's own, before anything follows from it."""
    NAME = "isr_change_ended"
    topic: str
    partition: int
    isr: str
    result: str
    zk_version: int
    leader_epoch: int = -1
    high_watermark: int = -1
    min_insync_replicas: int = -1


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


class TopicConfigured(Event):
    """This broker has heard of a change of a topic's own settings: what they are now, `name=value` one after the other
    ("" none). They hold for its logs from now on."""
    NAME = "topic_configured"
    topic: str
    config: str


class BrokerConfigured(Event):
    """This broker has heard of a change of settings that brokers are given while they run (KIP-226): those of `broker`,
    itself, or of all (-1) are these now, `name=value` one after the other ("" none). Not `in_force`: one of them cannot
    be, and all stay as they were."""
    NAME = "broker_configured"
    broker: int
    config: str
    in_force: bool


class GroupCoordinatorChanged(Event):
    """This broker and a partition of the offsets topic: `change` loading, loaded (it coordinates), resigned.
    `offsets`: how many it holds."""
    NAME = "group_coordinator_changed"
    topic: str
    partition: int
    change: str
    leader_epoch: int
    offsets: int


class GroupChanged(Event):
    """A group's members at its coordinator: `state` as Kafka calls it (PreparingRebalance, Stable, ...), Dead when this
    broker coordinates it no more. `members`: their ids, with commas, the first of them."""
    NAME = "group_changed"
    group: str
    state: str
    generation: int
    protocol: str
    members: str


class RequestNotUnderstood(Event):
    """A request of another broker, `peer`, is of a version that this binary does not know yet: the connection is
    closed, as Kafka does with what it cannot parse. The other's inter.broker.protocol.version is too new."""
    NAME = "request_not_understood"
    peer: str
    api: str
    request_version: int


class LeaderAndIsrIgnored(Event):
    """An order of the controller that changed nothing for this partition, or (half-way) not all that it should, why.
    `controller_epoch`: of the order; `state_controller_epoch`: of the partition's state in it. An order of an older
    controller is ignored whole: topic "", partition -1, `current_epoch`: the controller epoch known."""
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
# fmt: on
