"""Port of the quorum's controller to the metadata log: its node in the quorum."""

from collections.abc import Sequence
from typing import Protocol

from protocol.ids import LeaderEpoch, Offset
from protocol.records.metadata_records import MetadataRecord


class ControllerLog(Protocol):
    """The metadata log, as the active controller appends to it.

    What is committed comes back through `QuorumController.committed`, never from inside these calls.
    """

    @property
    def end(self) -> Offset:
        """The offset of the next record that is appended, records on their way included."""
        ...

    def append(self, epoch: LeaderEpoch, records: Sequence[MetadataRecord]) -> Offset | None:
        """Append a batch in the epoch of this node's leadership.

        Returns the last record's offset; None: this node does not lead.
        """
        ...

    def resign(self, epoch: LeaderEpoch) -> None:
        """Give up the leadership of `epoch`."""
        ...
