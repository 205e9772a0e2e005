"""A partition's leader in a client's view."""

import msgspec

from protocol.ids import BrokerId, LeaderEpoch


class Leader(msgspec.Struct, frozen=True):
    """A partition's leader, as far as the client knows. `epoch` -1: not in the response."""

    broker: BrokerId
    node: str
    epoch: LeaderEpoch
