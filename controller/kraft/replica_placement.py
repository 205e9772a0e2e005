"""Placement of new partitions: the client's assignment, or one of the controller's own.

Kafka's placer strides over racks from a random broker and takes fenced brokers last. This one takes the assignment of
`controller.assignment` over the unfenced brokers and fills it up with fenced ones.

Source: ReplicationControlManager.createTopic, validateManualPartitionAssignment, StripedReplicaPlacer.
"""

from collections.abc import Mapping, Sequence

from controller.assignment import UnassignableTopic, assign_replicas
from controller.kraft.cluster_view import ClusterView
from controller.kraft.partition_changes import Replicas
from protocol.chance import Chance
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.records.metadata_records import PartitionRecord


class UnplaceablePartition(ValueError):
    """A partition that cannot be created; the message says why."""

    def __init__(self, error: ErrorCode, why: str) -> None:
        super().__init__(why)
        self.error = error


def place_replicas(
    view: ClusterView,
    usable: Mapping[BrokerId, bool],
    chance: Chance,
    partitions: int,
    replication_factor: int,
    first_partition: int = 0,
) -> dict[int, Replicas]:
    """Replicas of each new partition. `usable`: {broker: fenced}. Raises UnplaceablePartition."""
    live = [broker for broker, fenced in usable.items() if not fenced]
    others = [broker for broker, fenced in usable.items() if fenced]
    if not live:
        raise _unreplicable(replication_factor, "All brokers are currently fenced.")
    if replication_factor > len(usable):
        why = f"The target replication factor of {replication_factor} cannot be reached because only {len(usable)} "
        raise _unreplicable(replication_factor, f"{why}broker(s) are registered.")
    brokers = view.image.brokers
    racks = {broker: brokers[broker].rack for broker in live}
    try:
        placed = assign_replicas(
            live, partitions, min(replication_factor, len(live)), chance, racks if all(racks.values()) else None,
            first_partition=first_partition,
        )  # fmt: skip
    except UnassignableTopic as error:
        raise _unreplicable(replication_factor, str(error)) from error
    missing = max(0, replication_factor - len(live))
    return {partition: (*replicas, *others[:missing]) for partition, replicas in placed.items()}


def check_assignment(view: ClusterView, replicas: Sequence[BrokerId], replication_factor: int | None) -> None:
    """Validate a client's assignment of a partition. Raises UnplaceablePartition."""
    if not replicas:
        raise _invalid("The manual partition assignment includes an empty replica list.")
    for broker in sorted(replicas):
        if broker not in view.image.brokers:
            why = f"The manual partition assignment includes broker {broker}, but no such broker is registered."
            raise _invalid(why)
        if replicas.count(broker) > 1:
            raise _invalid(f"The manual partition assignment includes the broker {broker} more than once.")
    if replication_factor is not None and len(replicas) != replication_factor:
        raise _invalid(
            f"The manual partition assignment includes a partition with {len(replicas)} replica(s), but this is not "
            f"consistent with previous partitions, which have {replication_factor} replica(s)."
        )


def new_partition(
    view: ClusterView, topic_id: str, number: int, replicas: Sequence[BrokerId], *, assigned: bool
) -> PartitionRecord:
    """Record of a new partition: its ISR are the active replicas. `assigned`: by the client.

    Raises UnplaceablePartition if none is active.
    """
    isr = tuple(replica for replica in replicas if view.is_active(replica))
    if isr:
        return PartitionRecord(topic_id, number, tuple(replicas), isr, isr[0])
    if assigned:
        why = f"All brokers specified in the manual partition assignment for partition {number} are fenced or in "
        raise _invalid(f"{why}controlled shutdown.")
    raise _unreplicable(len(replicas), "All brokers are currently fenced or in controlled shutdown.")


def _invalid(why: str) -> UnplaceablePartition:
    return UnplaceablePartition(ErrorCode.INVALID_REPLICA_ASSIGNMENT, why)


def _unreplicable(replication_factor: int, why: str) -> UnplaceablePartition:
    text = f"Unable to replicate the partition {replication_factor} time(s): {why}"
    return UnplaceablePartition(ErrorCode.INVALID_REPLICATION_FACTOR, text)
