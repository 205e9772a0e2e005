"""What a fetch has read of one partition."""

import msgspec

from protocol.ids import Offset
from protocol.messages.replication import FetchedPartition


class Read(msgspec.Struct, frozen=True):
    """Of one partition: what is answered, the leader's log end as of the read (-1 with an error), and its time."""

    result: FetchedPartition
    leader_log_end: Offset
    at_ms: float

    @property
    def ends_the_wait(self) -> bool:
        """Whoever asked has to know of it at once."""
        return bool(self.result.error) or self.result.diverging_epoch is not None
