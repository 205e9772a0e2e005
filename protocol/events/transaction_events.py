"""Events of transactions: coordinators, transactional ids, batches and markers."""

from protocol.events.event_base import OfPartition

# fmt: off

class TransactionCoordinatorChanged(OfPartition):
    """This broker's role for a partition of the transactions topic: loading, loaded, resigned.

    `loaded`: it coordinates the transactional ids. `transactional_ids`: number of ids that it holds.
    """
    NAME = "transaction_coordinator_changed"
    change: str
    leader_epoch: int
    transactional_ids: int


class TransactionStateChanged(OfPartition):
    """A coordinator appended a state of a transactional id, and has the result.

    `error` 0: the in-sync replicas have the record, at `base_offset`. With another one the record may be in the log all
    the same. `transaction_partitions`: of the transaction, sorted.
    """
    NAME = "transaction_state_changed"
    transactional_id: str
    producer_id: int
    producer_epoch: int
    transaction_state: str      # Empty, Ongoing, PrepareCommit, PrepareAbort, CompleteCommit, CompleteAbort, Dead
    transaction_partitions: str # "t-0,u-0"
    coordinator_epoch: int
    base_offset: int
    error: int


class TransactionBatchAppended(OfPartition):
    """A transactional batch, or a marker, was appended to a replica.

    `batch_kind`: data, commit or abort. `coordinator_epoch`: of a marker, else -1. `as_leader`: from a producer or
    coordinator; otherwise fetched from the leader.
    """
    NAME = "transaction_batch_appended"
    base_offset: int
    last_offset: int
    producer_id: int
    producer_epoch: int
    first_sequence: int
    batch_kind: str
    coordinator_epoch: int
    as_leader: bool
    digest: int = 0             # CRC of the batch, as in batch_appended
