"""Order in which Java's hash maps list brokers: that of their fencing from 4.0 on.

BrokerHeartbeatTracker keeps sessions in a ConcurrentHashMap, ClusterControlManager brokers in a TimelineHashMap. So the
order of expiries depends on ids and epochs, not on the times of contact. Recorded: brokers 2, 1 and 0 with the epochs
71, 54 and 30 expired together, and were fenced in this order.
"""

from collections.abc import Iterable
from typing import Final

from protocol.ids import BrokerId

BUCKETS_MIN: Final = 16
"""First size of a ConcurrentHashMap; it doubles when three quarters are used."""
SLOTS_MIN: Final = 2
FIBONACCI: Final = 0x9E3779B97F4A7C15
WORD: Final = (1 << 64) - 1
INT: Final = (1 << 32) - 1


def session_bucket(broker: BrokerId, epoch: int, sessions: int) -> int:
    """Bucket of a session among so many.

    Source: BrokerIdAndEpoch (a record), ConcurrentHashMap.spread.
    """
    hashed = (31 * broker + ((epoch ^ (epoch >> 32)) & INT)) & INT
    return (hashed ^ (hashed >> 16)) & (_power_of_two(sessions, BUCKETS_MIN) - 1)


def registration_order(brokers: Iterable[BrokerId]) -> list[BrokerId]:
    """Brokers in the order of a TimelineHashMap.

    Of one slot the last comes first.

    Source: BaseHashTable.findSlot, CurrentIterator.
    """
    listed = list(brokers)
    bits = _power_of_two(len(listed), SLOTS_MIN).bit_length() - 1

    def slot(place: int) -> tuple[int, int]:
        return ((listed[place] * FIBONACCI) & WORD) >> (64 - bits), -place

    return [listed[place] for place in sorted(range(len(listed)), key=slot)]


def _power_of_two(entries: int, least: int) -> int:
    size = least
    while entries > size * 3 // 4:
        size *= 2
    return size
