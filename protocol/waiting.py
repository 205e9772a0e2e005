"""Who waits, told to whoever looks at a machine."""

import msgspec


class Waiting(msgspec.Struct, frozen=True):
    """Somebody waits: who, doing what, for what, since when."""

    who: str
    does: str
    waits_for: str
    since_ms: float
