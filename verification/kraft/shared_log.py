"""Metadata log of several controllers.

The world decides when it commits, and a failover may lose its tail.
"""

from collections.abc import Sequence

from protocol.ids import LeaderEpoch, Offset
from protocol.records.metadata_codec import decode_metadata_record, encode_metadata_record
from protocol.records.metadata_records import MetadataBatch, MetadataRecord


class SharedLog:
    """`ControllerLog` of the leader of `epoch`, from `lead` on until `leads` is false.

    `resigned`: epochs, in order.
    """

    def __init__(self) -> None:
        self.batches: list[MetadataBatch] = []
        self.committed = 0
        self.epoch = LeaderEpoch(0)
        self.leads = False
        self.resigned: list[LeaderEpoch] = []

    @property
    def end(self) -> Offset:
        return Offset(self.batches[-1].end if self.batches else 0)

    def append(self, epoch: LeaderEpoch, records: Sequence[MetadataRecord]) -> Offset | None:
        if not self.leads or epoch != self.epoch:
            return None
        stored = tuple(decode_metadata_record(encode_metadata_record(record)) for record in records)
        self.batches.append(MetadataBatch(self.end, self.end + len(stored), epoch, stored))
        return Offset(self.end - 1)

    def resign(self, epoch: LeaderEpoch) -> None:
        self.resigned.append(epoch)
        self.leads = self.leads and epoch != self.epoch

    def lead(self) -> None:
        """Begin the next epoch with its control batch."""
        self.epoch = LeaderEpoch(self.epoch + 1)
        self.leads = True
        self.batches.append(MetadataBatch(self.end, self.end + 1, self.epoch, ()))

    def truncate(self) -> None:
        """Forget what is not committed, as after another leader's election."""
        del self.batches[self.committed :]
