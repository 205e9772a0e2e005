"""The replicated log as the quorum needs it, and the two rules of divergence.

`QuorumLog` is an interface: the controller knows no broker, and the log of the project is the broker's. Its
implementation is `emulator.machines.node.metadata_log`. All operations are synchronous, so that an order leaves the
node after its data is written.

Source: ReplicatedLog (RaftLog from 4.2), KafkaMetadataLog.
"""

from collections.abc import Sequence
from typing import NamedTuple, Protocol

from protocol.ids import BrokerId, LeaderEpoch, Offset
from protocol.records.types import Values


class EpochEnd(NamedTuple):
    """An epoch and its end in a log."""

    epoch: LeaderEpoch
    end: Offset


class QuorumLog(Protocol):
    """The log of one node. Raises StorageError."""

    @property
    def start(self) -> Offset: ...

    @property
    def end(self) -> Offset: ...

    @property
    def last_epoch(self) -> LeaderEpoch:
        """The epoch of the last record, or the one that began after it; 0 when there is none."""

    def end_of_epoch(self, epoch: LeaderEpoch) -> EpochEnd:
        """The largest epoch up to `epoch` and its end; the log's own end if none is known."""

    def begin_epoch(self, epoch: LeaderEpoch) -> None:
        """Note that `epoch` begins at the log's end."""

    def append_leader_change(
        self,
        epoch: LeaderEpoch,
        leader: BrokerId,
        voters: Sequence[BrokerId],
        granting: Sequence[BrokerId],
        wall_ms: float,
    ) -> None:
        """Append the control record that begins a leader's epoch."""

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
