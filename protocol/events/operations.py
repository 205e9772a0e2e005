"""Client level: operations, invoked, then ok, failed or unknown."""

from protocol.events.base import Event

# fmt: off

class _Client(Event):
    LEVEL = "client"


class OperationInvoked(_Client):
    """A client is about to do something. Written before the request leaves. `kind`: produce, fetch, metadata,
    list-offsets, commit (of an offset), committed (which offset a group has committed)."""
    NAME = "operation_invoked"
    operation: str              # unique in the run: NODE.INCARNATION:N
    kind: str
    topic: str
    partition: int              # -1: the partitioner will say; the end names it
    acks: int
    value: str                  # of a produce: the record's value, see `records`; of commit, committed: the group
    broker: int                 # asked directly; -1: whoever the metadata names
    offset: int                 # of a fetch; the committed one; -1 otherwise
    client: str = ""            # client.id of a Kafka client, as a broker's door heard it; "": one of our own
    records: int = 1            # of a produce: that follow one another in one batch; then `value` is a JSON list


class AttemptSent(_Client):
    """One try of an operation. `digest`: CRC of the batch as sent (the same that replicas record). `timeout_ms`: when
    the client itself gives up, at the latest; 0: of a Kafka client, or of the session service, nobody knows."""
    NAME = "attempt_sent"
    operation: str
    attempt: int
    broker: int
    digest: int
    timeout_ms: int = 0


class AttemptEnded(_Client):
    """`error` as Kafka's code, or -2 when the connection was refused, lost or timed out (`reason` says which)."""
    NAME = "attempt_ended"
    operation: str
    attempt: int
    error: int
    offset: int
    reason: str


class OperationEnded(_Client):
    """`outcome`: ok (acknowledged), failed (definitely not done), unknown. `offset`: of the record, of several
    (`records`) of the first; of a fetch the next; of committed what was found, -1 nothing. `broker`: the last that was
    asked, in the last of so many `attempts`. `idempotent`: the producer has an identity, by which brokers know a batch
    that they have."""
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
    broker: int = -1
    attempts: int = 0
    idempotent: bool = False
    records: int = 1


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


class GroupMemberChanged(_Client):
    """A consumer, as a member of its group. `change`: joined (`generation`; `reason` leader: it assigns), assigned
    (these partitions more), revoked (these let go of), lost (these were another's before it knew, KIP-429), refused (it
    is a stranger to its coordinator, `reason` says by which error), failed (it gives up), left. `member`: the id that
    it was given, "" none; `instance`: its group.instance.id. `partitions`: t-0,t-1."""
    NAME = "group_member_changed"
    group: str
    member: str
    instance: str
    generation: int
    change: str
    partitions: str
    reason: str


class PositionLeft(_Client):
    """A consumer, which was about to read on at `offset`, does not: what it reads next, if anything, begins elsewhere.
    `reason`: seek, or the exception of Java's consumer: OffsetOutOfRangeException (the leader has no such offset),
    LogTruncationException (from `diverging_offset` on, -1 unknown, the leader has another history), ...
    `stopped`: it reads no more; otherwise its policy says where it goes on."""
    NAME = "position_left"
    operation: str
    topic: str
    partition: int
    offset: int
    reason: str
    stopped: bool
    diverging_offset: int
# fmt: on
