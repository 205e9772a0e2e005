"""Events of KRaft: the controllers' quorum, brokers' registrations, the committed metadata."""

from protocol.events.event_base import Event, OfPartition

# fmt: off

class QuorumStateChanged(Event):
    """A node of the quorum has another state, epoch or leader.

    `state`: leader, follower, candidate, prospective, unattached, voted, resigned; of a broker `observer`. `leader`: -1
    unknown. `log_end`, `high_watermark` (-1 unknown): of its metadata log. `highest_watermark`: of its life so far. A
    high watermark that falls is an event, too, and so is a log that is cut below the highest one.
    """
    NAME = "quorum_state_changed"
    state: str
    epoch: int
    leader: int
    log_end: int
    high_watermark: int = -1
    highest_watermark: int = -1


class MetadataCommitted(Event):
    """A batch of the metadata log, [base_offset, offset), is below this node's high watermark.

    Each controller and broker emits each batch, from the log's first on, once in its life. Batches of no-op and control
    records are left out. `epoch`, `digest` (its CRC): of the batch.
    """
    NAME = "metadata_committed"
    epoch: int
    base_offset: int
    offset: int
    digest: int


class MetadataSnapshot(Event):
    """A snapshot of the metadata log at this node.

    `action`: `written` by it, `downloaded` from the leader, or `loaded`.

    `offset`, `epoch`: its end and the epoch of the last record in it, as in its file's name. A node loads the latest
    snapshot at its start, and where its log lacks the next record. It does not read the batches below, then. `digest`:
    CRC of the records of a loaded one, otherwise 0.
    """
    NAME = "metadata_snapshot"
    action: str
    epoch: int
    offset: int
    digest: int = 0


class PartitionStateCommitted(OfPartition):
    """A committed state of a partition: this controller read it in the metadata log at `offset`.

    Each controller emits each of them, once in its life. `recovering`: after an unclean election. `isr`, `elr`,
    `last_known_elr`, `replicas`: "0,1,2".
    """
    NAME = "partition_state_committed"
    leader: int
    leader_epoch: int
    isr: str
    partition_epoch: int
    replicas: str
    offset: int
    epoch: int
    elr: str = ""
    last_known_elr: str = ""
    recovering: bool = False


class BrokerRegistrationCommitted(Event):
    """A committed change of a broker's registration, as this controller has read it at `offset`.

    `change`: registered, fenced, unfenced, in-controlled-shutdown, unregistered. `broker_epoch`: of the registration.
    """
    NAME = "broker_registration_committed"
    broker: int
    change: str
    broker_epoch: int
    offset: int
    epoch: int


class BrokerLifecycleChanged(Event):
    """State of this broker's registration.

    It is starting, recovery, running, shutting-down or not-running. `error`: of a refused registration or heartbeat, 0
    none.
    """
    NAME = "broker_lifecycle_changed"
    state: str
    broker_epoch: int
    error: int = 0
# fmt: on
