"""Default partitioner of the Java client, for records without a partition (semantics 6).

With a key: murmur2 of the key over all partitions, led or not, so that a key keeps its partition. Without: up to
2.3 in turn over the partitions that have a leader; from 2.4 (KIP-480) one of them at random, kept until a new batch
begins.
"""

from collections.abc import Sequence
from typing import Literal

from protocol.chance import Chance

Keyless = Literal["round-robin", "sticky"]

_U32 = 0xFFFFFFFF
_SEED = 0x9747B28C
_M = 0x5BD1E995
_R = 24


def murmur2(data: bytes) -> int:
    """Kafka's 32-bit murmur2 (org.apache.kafka.common.utils.Utils), as Java's signed int."""
    length = len(data)
    h = _SEED ^ length
    whole = length & ~3
    for at in range(0, whole, 4):
        k = int.from_bytes(data[at : at + 4], "little") * _M & _U32
        k = (k ^ (k >> _R)) * _M & _U32
        h = (h * _M & _U32) ^ k
    if whole < length:
        h = (h ^ int.from_bytes(data[whole:], "little")) * _M & _U32
    h = (h ^ (h >> 13)) * _M & _U32
    h ^= h >> 15
    return h - (1 << 32) if h >> 31 else h


def partition_of_key(key: bytes, partitions: int) -> int:
    """The partition of `key` among 0 to `partitions` - 1."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Partitioner:
    """One producer's partitioner.

    `available`: partitions with a leader, in order of their numbers; it may be empty.
    """

    def __init__(self, keyless: Keyless, chance: Chance) -> None:
        self._keyless = keyless
        self._chance = chance
        self._turns: dict[str, int] = {}
        self._kept: dict[str, int] = {}

    def choose(self, topic: str, key: bytes | None, partitions: int, available: Sequence[int]) -> int:
        """Partition of the next record."""
        if key is not None:
            return partition_of_key(key, partitions)
        if self._keyless == "round-robin":
            turn = self._turns.get(topic, -1)
            turn = self._chance.below(1 << 31) if turn < 0 else turn + 1
            self._turns[topic] = turn
            return available[turn % len(available)] if available else turn % partitions
        if topic not in self._kept:
            self._kept[topic] = self._another(-1, partitions, available)
        return self._kept[topic]

    def batch_begins(self, topic: str, partition: int, partitions: int, available: Sequence[int]) -> int:
        """Partition of a record without a key that would begin a batch in `partition`.

        So even the first record goes elsewhere than was first drawn, as in Kafka.
        """
        if self._keyless == "sticky" and self._kept[topic] == partition:
            self._kept[topic] = self._another(partition, partitions, available)
        return self._kept[topic] if self._keyless == "sticky" else partition

    def _another(self, than: int, partitions: int, available: Sequence[int]) -> int:
        if not available:
            return self._chance.below(partitions)
        others = [number for number in available if number != than]
        return others[self._chance.below(len(others))] if others else available[0]
