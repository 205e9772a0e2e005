"""What the direct client is to write."""

import msgspec

from protocol.ids import BrokerId
from protocol.records.compression import Compression


class WriteOrder(msgspec.Struct, frozen=True):
    """What to write and how. Each of `batches` is one batch of values; `timeout_ms` goes to the broker."""

    broker: BrokerId
    topic: str
    partition: int
    batches: tuple[tuple[bytes, ...], ...]
    acks: int
    timeout_ms: int
    socket_timeout_ms: float
    retries: int
    compression: Compression
    magic: int
