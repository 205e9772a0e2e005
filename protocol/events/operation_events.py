"""Events of clients' operations: invoked, then ok, failed or unknown."""

from protocol.events.event_base import Event, OfTopic

# fmt: off

class _Client(Event):
    LEVEL = "client"


class _OfTopic(OfTopic):
    LEVEL = "client"


class OperationInvoked(_Client):
    """A client begins an operation. Written before the request leaves.

    `kind`: produce, fetch, metadata, list-offsets, commit (of an offset), committed (reads a group's committed offset),
    send-offset (a commit of an offset as part of a transaction).
    """
    NAME = "operation_invoked"
    operation: str              # unique in the run: NODE.INCARNATION:N
    kind: str
    topic: str
    partition: int              # -1: the partitioner decides; the end names it
    acks: int
    value: str                  # of a produce: the record's value, see `records`; else of offsets: the group
    broker: int                 # the target; -1: the leader according to the metadata
    offset: int                 # of a fetch; the committed one; -1 otherwise
    client: str = ""            # client.id of a Kafka client, from its request; "": one of our own
    records: int = 1            # of a produce: records in its one batch; if several, `value` is a JSON list
    transaction: str = ""       # of a produce, send-offset: see producer_transaction_changed; "": none
    isolation: str = ""         # of a fetch: read_committed; "": read_uncommitted


class AttemptSent(_Client):
    """One attempt of an operation.

    `digest`: CRC of the batch as sent (the same that replicas record). `timeout_ms`: the client's own time limit; 0:
    unknown, of a Kafka client or of the session service.
    """
    NAME = "attempt_sent"
    operation: str
    attempt: int
    broker: int
    digest: int
    timeout_ms: int = 0


class AttemptEnded(_Client):
    """Result of an attempt.

    `error`: Kafka's code, or -2 when the connection was refused, lost or timed out (`reason`).
    """
    NAME = "attempt_ended"
    operation: str
    attempt: int
    error: int
    offset: int
    reason: str


class OperationEnded(_OfTopic):
    """Result of an operation: ok (acknowledged), failed (definitely not done), unknown.

    `offset`: of the first record; of a fetch the next offset; of committed the result, -1 for none. `broker`: of the
    last attempt; `attempts`: their number. `idempotent`: the producer has an id, by which brokers recognize a duplicate
    batch.
    """
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


class RecordsRead(_OfTopic):
    """A consumer received records at offsets `[base_offset, last_offset]`.

    `digest`, `leader_epoch`: of their batch; `high_watermark`, `last_stable_offset`: of the response, the latter -1 at
    read_uncommitted. A consumer drops control records, and at read_committed records of aborted transactions.
    """
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
    last_stable_offset: int = -1


class ProducerTransactionChanged(_Client):
    """A transactional producer, or its transaction, changed.

    `change`: initializing (the application wants an id), initialized (the coordinator gave it: `producer_id`,
    `producer_epoch`); begun, committing, aborting (calls of the application); committed, aborted (the coordinator has
    acknowledged it, or nothing was in the transaction); abortable (an error: only an abort may follow), fatal (an
    error: only close may follow), unknown (the call ended without a response), abandoned (closed without an end).
    `transaction`: names it in operations, unique in the run; "": between transactions. `number`: of this producer's
    transactions, from 1. `reason`: of abortable, fatal and unknown: a code's name, or Java's exception.
    """
    NAME = "producer_transaction_changed"
    transactional_id: str
    transaction: str
    number: int
    change: str
    producer_id: int            # -1: none yet
    producer_epoch: int
    reason: str


class GroupMemberChanged(_Client):
    """A consumer's membership of its group.

    `change`: joined (`generation`; with `reason` leader it assigns partitions), assigned (additional partitions),
    revoked (partitions given up), lost (partitions already assigned to another member, KIP-429), refused (its
    coordinator rejected it; `reason` is the error), failed, left. `member`: its member id, "" for none. `instance`: its
    group.instance.id. `partitions`: t-0,t-1.
    """
    NAME = "group_member_changed"
    group: str
    member: str
    instance: str
    generation: int
    change: str
    partitions: str
    reason: str


class PositionLeft(_Client):
    """A consumer does not continue at `offset`: its next read, if any, begins elsewhere.

    `reason`: seek, or the exception of Java's consumer: OffsetOutOfRangeException (the leader has no such offset),
    LogTruncationException (the leader has another history from `diverging_offset` on, -1: unknown), ... `stopped`: it
    stops reading; otherwise its reset policy decides the next offset.
    """
    NAME = "position_left"
    operation: str
    topic: str
    partition: int
    offset: int
    reason: str
    stopped: bool
    diverging_offset: int
# fmt: on
