"""New partitions of a topic: their allowed number and their brokers (semantics 4.4).

Source: AdminManager.createPartitions, AdminUtils.addPartitions.
"""

from collections.abc import Mapping, Sequence

from controller.assignment import UnassignableTopic, assign_replicas
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.znodes import ReplicaAssignment


class RefusedGrowth(Exception):
    """Refusal of new partitions; no partition is added. The message is for people."""

    def __init__(self, error: ErrorCode, message: str) -> None:
        super().__init__(message)
        self.error = error


def place_more(
    first: Sequence[BrokerId], count: int, added: int, racks: Mapping[BrokerId, str]
) -> dict[int, list[BrokerId]]:
    """Replicas of `added` partitions beside the existing `count`.

    `first`: the replicas of partition 0; the assignment starts at its preferred leader. `racks`: of all brokers, by
    id; "" where brokers have none. Raises UnassignableTopic.
    """
    brokers = sorted(racks)
    start = max(0, next((place for place, broker in enumerate(brokers) if broker >= first[0]), -1))
    known = racks if any(racks.values()) else None
    return assign_replicas(brokers, added, len(first), None, known, start=start, first_partition=count)


def more_partitions(
    topic: str,
    existing: Mapping[int, ReplicaAssignment],
    wanted: int,
    proposed: Sequence[Sequence[BrokerId]] | None,
    racks: Mapping[BrokerId, str],
) -> dict[int, list[BrokerId]]:
    """Replicas of the new partitions alone, so that the topic has `wanted` in all.

    The replicas are `proposed`, or assigned here. Raises RefusedGrowth.
    """
    if not existing:
        raise RefusedGrowth(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The topic '{topic}' does not exist.")
    count = len(existing)
    if wanted < count:
        why = f"Topic currently has {count} partitions, which is higher than the requested {wanted}."
        raise RefusedGrowth(ErrorCode.INVALID_PARTITIONS, why)
    if wanted == count:
        raise RefusedGrowth(ErrorCode.INVALID_PARTITIONS, f"Topic already has {count} partitions.")
    if 0 not in existing:
        why = f"Unexpected existing replica assignment for topic '{topic}', partition id 0 is missing."
        raise RefusedGrowth(ErrorCode.UNKNOWN_SERVER_ERROR, why)
    first = existing[0].replicas
    if proposed is None:
        try:
            return place_more(first, count, wanted - count, racks)
        except UnassignableTopic as error:
            raise RefusedGrowth(ErrorCode.INVALID_REPLICATION_FACTOR, str(error)) from error
    added = {count + place: list(replicas) for place, replicas in enumerate(proposed)}
    why = _misplaced(added, wanted - count, len(first), racks)
    if why:
        raise RefusedGrowth(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)
    return added


def _misplaced(
    added: Mapping[int, Sequence[BrokerId]], increment: int, factor: int, racks: Mapping[BrokerId, str]
) -> str:
    """Error message of an invalid proposal; "" if it is valid."""
    unknown = sorted({broker for replicas in added.values() for broker in replicas} - racks.keys())
    if unknown:
        return f"Unknown broker(s) in replica assignment: {', '.join(map(str, unknown))}."
    if len(added) != increment:
        return f"Increasing the number of partitions by {increment} but {len(added)} assignments provided."
    for partition, replicas in added.items():
        if not replicas:
            return f"Cannot have replication factor of 0 for partition id {partition}."
        if len(set(replicas)) < len(replicas):
            listed = ", ".join(map(str, replicas))
            return f"Duplicate brokers not allowed in replica assignment: {listed} for partition id {partition}."
    others = [partition for partition, replicas in added.items() if len(replicas) != factor]
    if others:
        return (
            f"Inconsistent replication factor between partitions, partition 0 has {factor} while partitions "
            f"[{', '.join(map(str, others))}] have another one."
        )
    return ""
