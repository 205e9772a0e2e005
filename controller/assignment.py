"""Replica assignment of a new topic (AdminUtils.assignReplicasToBrokers, semantics 4.4).

The first replica of partition p is `brokers[(p + start) mod n]`. The others follow at a distance that grows by one
each time p has gone once around. With racks, the order of brokers takes one broker of each rack in turn. A
partition uses a rack twice only when it has used every rack.
"""

from collections.abc import Mapping, Sequence

from protocol.chance import Chance
from protocol.ids import BrokerId


class UnassignableTopic(ValueError):
    """More replicas than brokers, or racks of only some brokers; the message says which."""


def alternate_by_rack(racks: Mapping[BrokerId, str]) -> list[BrokerId]:
    """Brokers in turn of their racks: {0: a, 1: b, 2: b, 3: a} -> [0, 1, 3, 2]."""
    by_rack: dict[str, list[BrokerId]] = {}
    for broker in sorted(racks):
        by_rack.setdefault(racks[broker], []).append(broker)
    columns = [by_rack[rack] for rack in sorted(by_rack)]
    rounds = max((len(column) for column in columns), default=0)
    return [column[turn] for turn in range(rounds) for column in columns if turn < len(column)]


def assign_replicas(
    brokers: Sequence[BrokerId],
    partitions: int,
    replication_factor: int,
    chance: Chance | None,
    racks: Mapping[BrokerId, str] | None = None,
    *,
    start: int = 0,
    shift: int | None = None,
    first_partition: int = 0,
) -> dict[int, list[BrokerId]]:
    """Replicas of each new partition: {partition: replicas, preferred leader first}.

    `chance` draws start and shift, in this order. Without it `start` and `shift` (default: `start`) apply.
    `racks`: of all brokers or of none. `first_partition`: number of the first one, when a topic grows.
    Raises UnassignableTopic.
    """
    if partitions <= 0:
        raise UnassignableTopic(f"{partitions} partitions: at least 1 is needed")
    if replication_factor <= 0:
        raise UnassignableTopic(f"replication factor {replication_factor}: at least 1 is needed")
    if replication_factor > len(brokers):
        raise UnassignableTopic(
            f"replication factor {replication_factor} is larger than the {len(brokers)} available brokers"
        )
    known = {broker: racks[broker] for broker in brokers if racks and racks.get(broker)}
    if known and len(known) < len(brokers):
        missing = [broker for broker in brokers if broker not in known]
        raise UnassignableTopic(f"brokers {missing} have no rack while others do")
    order = alternate_by_rack(known) if known else list(brokers)
    if chance is not None:
        start = chance.below(len(order))
        shift = chance.below(len(order))
    elif shift is None:
        shift = start
    assignment = {}
    for partition in range(first_partition, first_partition + partitions):
        if partition > 0 and partition % len(order) == 0:
            shift += 1
        first = (partition + start) % len(order)
        assignment[partition] = _replicas(order, known, first, shift, replication_factor)
    return assignment


def _replicas(
    order: Sequence[BrokerId], racks: Mapping[BrokerId, str], first: int, shift: int, replication_factor: int
) -> list[BrokerId]:
    """The first broker and `replication_factor` - 1 more, at growing distances from it."""
    replicas = [order[first]]
    all_racks = len(set(racks.values()))
    scaled_shift = shift * all_racks if racks else shift
    step = 0
    while len(replicas) < replication_factor:
        broker = order[(first + 1 + (scaled_shift + step) % (len(order) - 1)) % len(order)]
        step += 1
        if broker in replicas:
            continue
        used_racks = {racks[replica] for replica in replicas} if racks else set()
        if not racks or racks[broker] not in used_racks or len(used_racks) == all_racks:
            replicas.append(broker)
    return replicas
