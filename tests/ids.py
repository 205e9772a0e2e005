"""Ids of brokers as tests write them: small numbers."""

from protocol.ids import BrokerId


def brokers(*numbers: int) -> tuple[BrokerId, ...]:
    return tuple(map(BrokerId, numbers))
