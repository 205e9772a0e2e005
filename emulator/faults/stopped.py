"""What became of a frame that does not pass a gate now."""

import msgspec


class Stopped(msgspec.Struct, frozen=True):
    """A frame that does not pass now. `action`: held, dropped, delayed, lost (comes by a retransmission) or
    queued (no rule stops it, but it stands in line; `rule` is "")."""

    rule: str
    action: str


QUEUED = Stopped("", "queued")
