"""Logs: what is appended, truncated, and known to be on enough replicas."""

from protocol.events.base import Event

EPOCHS_TOLD_MAX = 32
"""Entries of a leader epoch cache that `epochs` tells, the newest."""

# fmt: off

class LogLoaded(Event):
    """A replica found on disk. `clean`: the clean-shutdown marker was there. Otherwise `recovered` are the base offsets
    of the segments that were validated, and `corrupted` that of the one that was cut, -1: none. `directory` "": the
    only log directory. `checkpointed`: the high watermark in replication-offset-checkpoint, as it was found, -1: none;
    `epochs`: its leader epoch cache, each epoch and where it begins, the newest 32."""
    NAME = "log_loaded"
    topic: str
    partition: int
    log_start: int
    log_end: int
    high_watermark: int
    clean: bool
    recovered: str = ""         # "0,42"
    corrupted: int = -1
    directory: str = ""
    checkpointed: int = -1
    epochs: str = ""            # "0:0 2:57"


class LogCreated(Event):
    """A new, empty replica; what this broker may have had of the partition before is gone. `directory` "": the only log
    directory."""
    NAME = "log_created"
    topic: str
    partition: int
    directory: str


class LogDeleted(Event):
    """A replica's log was deleted, as the controller ordered. `reason`: topic-deleted (this broker has been told that
    the topic is on its way out) or replica-moved. `log_end`: of what was in it. `directory` "": the only log
    directory."""
    NAME = "log_deleted"
    topic: str
    partition: int
    log_end: int
    reason: str
    directory: str


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


class DuplicateAnswered(Event):
    """A leader appended nothing, for producer `producer_id` had used these sequence numbers in this epoch: it answers
    with the offsets of the batch that has them (KIP-98). `digest`: of the batch as sent; `written_digest`: of the one
    in the log. A retry has the same digest; with another one the producer sent other records under used numbers, and
    takes them for written."""
    NAME = "duplicate_answered"
    topic: str
    partition: int
    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    written_digest: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int


class LogTruncated(Event):
    """Cut to `to` (exclusive end). `log_end`: before. `effective`: something was cut. `reason`: high-watermark,
    epoch, diverging, out-of-range, full. `epochs`: what is left in its leader epoch cache, as in log_loaded."""
    NAME = "log_truncated"
    topic: str
    partition: int
    to: int
    log_end: int
    effective: bool
    high_watermark: int
    reason: str
    epochs: str = ""


class LogStartMoved(Event):
    """A log begins at `log_start` now, before at `previous`: what lies below is deleted, on purpose. `reason`:
    requested (DeleteRecords, at the leader), or leader (a follower was told). `epochs`: its leader epoch cache."""
    NAME = "log_start_moved"
    topic: str
    partition: int
    log_start: int
    previous: int
    reason: str
    leader_epoch: int
    epochs: str = ""


class LeaderEpochBegan(Event):
    """A replica noted where an epoch begins (leader-epoch-checkpoint). `previous_epoch`, `previous_offset`: of the
    entry before, -1 none; `entries`: how many there were; `epochs`: all of them now, as in log_loaded."""
    NAME = "leader_epoch_began"
    topic: str
    partition: int
    leader_epoch: int
    offset: int
    previous_epoch: int
    previous_offset: int
    entries: int
    epochs: str = ""


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
    """A log directory is offline, with the `partitions` in it; `directory` "": the only one of `directories`. `last`:
    the broker ends with it, before 1.0 with its first."""
    NAME = "log_dir_failed"
    reason: str
    directory: str = ""
    directories: str = ""       # "d0,d1"
    partitions: str = ""        # "t-0,t-2"
    last: bool = False
# fmt: on
