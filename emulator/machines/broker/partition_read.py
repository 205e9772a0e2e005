"""Result of a fetch's read of one partition."""

import msgspec

from protocol.ids import Offset
from protocol.messages.replication_messages import FetchedPartition


class Read(msgspec.Struct, frozen=True):
    """Result of one partition: response, leader's log end at the read (-1: error), time."""

    result: FetchedPartition
    leader_log_end: Offset
    at_ms: float

    @property
    def ends_the_wait(self) -> bool:
        """Whether the response is due at once."""
        return bool(self.result.error) or self.result.diverging_epoch is not None
