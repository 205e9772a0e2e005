"""Order of a write by the direct client."""

import msgspec

from protocol.ids import BrokerId
from protocol.records.compression import Compression


class WriteOrder(msgspec.Struct, frozen=True):
    """Values to write, and how. Each of `batches` is one batch; `timeout_ms` goes to the broker."""

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
