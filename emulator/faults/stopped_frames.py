"""Outcome of a frame that does not pass a gate now."""

import msgspec


class Stopped(msgspec.Struct, frozen=True):
    """A frame that does not pass now. `action`: held, dropped, delayed, lost or queued.

    Lost: it comes by a retransmission. Queued: no rule stops it, but it waits in the queue; `rule` is "".
    """

    rule: str
    action: str


QUEUED = Stopped("", "queued")
