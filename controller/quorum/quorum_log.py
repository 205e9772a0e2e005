"""The replicated log and its snapshots, as the quorum needs them, and how logs diverge.

`QuorumLog` is an interface: the controller knows no broker, and the log of the project is the broker's. Its
implementation is `emulator.machines.node.metadata_log`. All operations are synchronous, so that an order leaves the
node after its data is written.

Source: ReplicatedLog (RaftLog from 4.2), KafkaMetadataLog.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, Protocol

from protocol.ids import LeaderEpoch, Offset
from protocol.records.quorum_control_records import ControlRecord
from protocol.records.types import Values


class EpochEnd(NamedTuple):
    """An epoch and its end in a log."""

    epoch: LeaderEpoch
    end: Offset


class SnapshotId(NamedTuple):
    """Name of a snapshot: the end of the log that it replaces, the epoch of its last record."""

    end: Offset
    epoch: LeaderEpoch


BOOTSTRAP_SNAPSHOT: Final = SnapshotId(Offset(0), LeaderEpoch(0))
"""The snapshot of a formatted directory: the first voters. It is never replicated."""


class SnapshotStore(Protocol):
    """The snapshots beside a log. Raises StorageError.

    One download is under way at most; it is no snapshot before `finish_download`.
    """

    @property
    def snapshots(self) -> Sequence[SnapshotId]:
        """All whole snapshots, the earliest first."""

    def snapshot_size_bytes(self, snapshot: SnapshotId) -> int:
        """Size of a whole snapshot; -1: it is not there."""

    def snapshot_timestamp_ms(self, snapshot: SnapshotId) -> int:
        """Append time of the last record that the snapshot contains; -1: it is not there."""

    def read_snapshot(self, snapshot: SnapshotId, position: int, size_bytes: int) -> bytes: ...

    def snapshot_control_records(self, snapshot: SnapshotId) -> Sequence[ControlRecord]:
        """Control records of a whole snapshot. Raises ValueError if it is damaged."""

    def store_snapshot(
        self, snapshot: SnapshotId, control: Sequence[ControlRecord], values: Values, wall_ms: float
    ) -> None:
        """Write a whole snapshot: header and `control`, `values`, footer. It is durable on return."""

    def begin_download(self, snapshot: SnapshotId) -> None: ...

    @property
    def download_bytes(self) -> int:
        """Bytes of the download so far."""

    def append_download(self, data: bytes) -> None: ...

    def finish_download(self) -> None:
        """Sync the download; it is a snapshot from now on."""

    def drop_download(self) -> None: ...

    def truncate_to_latest_snapshot(self) -> bool:
        """Begin the log anew at the latest snapshot, if that is beyond the log. Whether it was."""

    def delete_before(self, snapshot: SnapshotId) -> bool:
        """Raise the log's start to a snapshot's end; delete what is below. Whether it rose."""


class QuorumLog(SnapshotStore, Protocol):
    """The log of one node. Raises StorageError."""

    @property
    def start(self) -> Offset: ...

    @property
    def end(self) -> Offset: ...

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The epoch of the last record, or the one that began after it.

        Without a record the epoch of the snapshot at the log's start; 0 when there is none.
        """

    @property
    def size_bytes(self) -> int: ...

    def end_of_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        """The largest epoch up to `epoch` and its end; the log's own end if none is known."""

    def begin_epoch(self, epoch: LeaderEpoch) -> None:
        """Note that `epoch` begins at the log's end."""

    def append_control(self, epoch: LeaderEpoch, records: Sequence[ControlRecord], wall_ms: float) -> None:
        """Append one batch of control records as the leader."""

    def control_records(self, offset: Offset, end: Offset) -> Sequence[tuple[Offset, ControlRecord]]:
        """The control records in [offset, end), of known types. Raises ValueError for a damaged one."""

    def append(self, epoch: LeaderEpoch, values: Values, wall_ms: float) -> None:
        """Append one batch as the leader."""

    def append_from_leader(self, records: bytes) -> None:
        """Append batches as they are. Raises ValueError if they do not continue the log."""

    def read(self, offset: Offset) -> bytes:
        """Batches from `offset` on, as many as one fetch takes."""

    def truncate(self, offset: Offset) -> None: ...

    def flush(self) -> None:
        """Sync all appended records."""

    def note_high_watermark(self, offset: Offset) -> None: ...


def needed_snapshot(
    log: QuorumLog, offset: Offset, epoch: LeaderEpoch, *, empty_needs_snapshot: bool
) -> SnapshotId | None:
    """The snapshot that a replica at `offset` after `epoch` must fetch; None: the log is enough.

    `empty_needs_snapshot`: a replica without records takes a snapshot even if the log has all of them.

    Source: KafkaRaftClient.tryCompleteFetchRequest, ReplicatedLog.validateOffsetAndEpoch.
    """
    snapshots = log.snapshots
    if not snapshots:
        return None
    earliest, latest = snapshots[0], snapshots[-1]
    if offset == 0 and empty_needs_snapshot and latest != BOOTSTRAP_SNAPSHOT:
        return latest
    if log.start == 0 and offset == 0:
        return None
    below = offset < log.start or epoch < earliest.epoch
    return latest if below or (offset == log.start and epoch != earliest.epoch) else None


def divergence(log: QuorumLog, offset: Offset, epoch: LeaderEpoch) -> EpochEnd | None:
    """The end that a fetch at `offset` after `epoch` must truncate to; None: both logs agree.

    Source: ReplicatedLog.validateOffsetAndEpoch.
    """
    if log.start == 0 and offset == 0:
        return None
    known = log.end_of_epoch(epoch)
    return None if known.epoch == epoch and known.end >= offset else known


def truncation_offset(log: QuorumLog, diverging: EpochEnd) -> Offset:
    """The follower's new log end for its leader's divergence.

    Source: ReplicatedLog.truncateToEndOffset.
    """
    if diverging.epoch == 0:
        return min(diverging.end, log.end)
    own = log.end_of_epoch(diverging.epoch)
    return min(own.end, diverging.end) if own.epoch == diverging.epoch else own.end
