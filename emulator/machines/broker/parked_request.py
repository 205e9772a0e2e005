"""A parked request, for status reports."""

import msgspec


class Parked(msgspec.Struct, frozen=True):
    """A parked request, for status reports."""

    connection: int
    correlation_id: int
    request: str
    deadline_ms: float
    waits_for: str
