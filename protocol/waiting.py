"""A thread or request that waits, for status reports."""

import msgspec


class Waiting(msgspec.Struct, frozen=True):
    """A wait: its thread, its task, what it waits for, since when."""

    who: str
    does: str
    waits_for: str
    since_ms: float
