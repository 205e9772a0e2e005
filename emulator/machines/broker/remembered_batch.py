"""A batch of an idempotent producer that a replica remembers."""

import msgspec

from protocol.ids import Offset


class RememberedBatch(msgspec.Struct, frozen=True):
    """Sequences, offsets and CRC of a batch."""

    first_sequence: int
    last_sequence: int
    base_offset: Offset
    last_offset: Offset
    digest: int
    max_timestamp_ms: int = -1
