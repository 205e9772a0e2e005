"""A request that is parked, as it is told."""

import msgspec


class Parked(msgspec.Struct, frozen=True):
    """A request that is parked, for whoever looks."""

    connection: int
    correlation_id: int
    request: str
    deadline_ms: float
    waits_for: str
