"""Events of logs: appends, truncations, and high watermarks."""

from protocol.events.event_base import Event, OfPartition

EPOCHS_MAX = 32
"""Maximum entries of a leader epoch cache in `epochs`: the newest."""

# fmt: off

class LogLoaded(OfPartition):
    """A replica found on disk.

    `clean`: the clean-shutdown marker was there. Otherwise `recovered` are the base offsets of the validated segments,
    and `corrupted` that of the truncated one, -1: none. `directory` "": the only log directory. `checkpointed`: the
    high watermark in replication-offset-checkpoint, as found, -1: none. `epochs`: its leader epoch cache, each epoch
    and its start offset, the newest 32.
    """
    NAME = "log_loaded"
    log_start: int
    log_end: int
    high_watermark: int
    clean: bool
    recovered: str = ""         # "0,42"
    corrupted: int = -1
    directory: str = ""
    checkpointed: int = -1
    epochs: str = ""            # "0:0 2:57"


class LogCreated(OfPartition):
    """A new, empty replica, which replaces any earlier log of the partition on this broker.

    `directory` "": the only log directory.
    """
    NAME = "log_created"
    directory: str


class LogDeleted(OfPartition):
    """A replica's log was deleted, as the controller ordered.

    `reason`: topic-deleted (the controller had announced the topic's deletion to this broker) or replica-moved.
    `log_end`: of the deleted log. `directory` "": the only log directory.
    """
    NAME = "log_deleted"
    log_end: int
    reason: str
    directory: str


class BatchAppended(OfPartition):
    """One batch at [base_offset, last_offset].

    `as_leader`: from a producer; otherwise fetched from the leader.
    """
    NAME = "batch_appended"
    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    as_leader: bool


class DuplicateAnswered(OfPartition):
    """A leader recognized a duplicate batch and appended nothing (KIP-98).

    Producer `producer_id` had used these sequence numbers in this epoch. The leader returns the offsets of the earlier
    batch. `digest`: of the batch as sent; `written_digest`: of the one in the log. A retry has the same digest. With
    another digest the producer reused numbers for other records, and takes those records for written.
    """
    NAME = "duplicate_answered"
    base_offset: int
    last_offset: int
    leader_epoch: int
    digest: int
    written_digest: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    last_sequence: int


class LogTruncated(OfPartition):
    """A log was truncated to `to` (exclusive end).

    `log_end`: before. `effective`: records were removed. `reason`: high-watermark, epoch, diverging, out-of-range,
    full. `epochs`: the remaining leader epoch cache, as in log_loaded.
    """
    NAME = "log_truncated"
    to: int
    log_end: int
    effective: bool
    high_watermark: int
    reason: str
    epochs: str = ""


class LogStartMoved(OfPartition):
    """A log's start moved from `previous` to `log_start`: records below are deleted on purpose.

    `reason`: requested (DeleteRecords, at the leader), or leader (a follower received it). `epochs`: the leader epoch
    cache.
    """
    NAME = "log_start_moved"
    log_start: int
    previous: int
    reason: str
    leader_epoch: int
    epochs: str = ""


class LeaderEpochBegan(OfPartition):
    """A replica added an epoch's start offset to leader-epoch-checkpoint.

    `previous_epoch`, `previous_offset`: of the entry before, -1 none; `entries`: their number before; `epochs`: all of
    them now, as in log_loaded.
    """
    NAME = "leader_epoch_began"
    leader_epoch: int
    offset: int
    previous_epoch: int
    previous_offset: int
    entries: int
    epochs: str = ""


class HighWatermarkMoved(OfPartition):
    """A replica's high watermark moved. `leading`: it leads, and may expose records below."""
    NAME = "high_watermark_moved"
    high_watermark: int
    previous: int
    leading: bool
    leader_epoch: int


class LogDirFailed(Event):
    """A log directory is offline, with the `partitions` in it.

    `directory` "": the only one of `directories`. `last`: the broker ends with it, before 1.0 with its first.
    """
    NAME = "log_dir_failed"
    reason: str
    directory: str = ""
    directories: str = ""       # "d0,d1"
    partitions: str = ""        # "t-0,t-2"
    last: bool = False
# fmt: on
