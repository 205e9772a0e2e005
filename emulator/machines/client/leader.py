"""Who leads a partition, to a client."""

import msgspec

from protocol.ids import BrokerId, LeaderEpoch


class Leader(msgspec.Struct, frozen=True):
    """Who leads a partition, as far as the client knows. `epoch` -1: the broker did not say."""

    broker: BrokerId
    node: str
    epoch: LeaderEpoch
