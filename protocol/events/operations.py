"""Client level: operations, invoked, then ok, failed or unknown."""

from protocol.events.base import Event

# fmt: off

class _Client(Event):
    LEVEL = "client"


class OperationInvoked(_Client):
    """A client is about to do something. Written before the request leaves. `kind`: produce, fetch, metadata,
    list-offsets, commit (of an offset)."""
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
# fmt: on
