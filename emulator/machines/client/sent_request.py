"""Final result of a producer's record."""

from collections.abc import Callable

import msgspec

from protocol.ids import Offset
from protocol.machine import Now
from protocol.outbox import Outbox


class Sent(msgspec.Struct, frozen=True):
    """Final result of a record. `error`: Kafka's code, or the name of the producer's exception.

    `outcome`: ok, failed (certainly not stored) or unknown. `offset` is None where the response had none.
    """

    operation: str
    topic: str
    partition: int
    value: bytes
    error: int | str
    offset: Offset | None
    outcome: str


Done = Callable[[Now, Outbox, Sent], None]
