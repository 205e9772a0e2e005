"""AlterPartitionReassignments and ListPartitionReassignments at the active controller (KIP-455).

A reassignment first adds replicas. Later an AlterPartition completes it (`partition_changes`), or it is cancelled.

Source: ReplicationControlManager.alterPartitionReassignment, PartitionReassignmentReplicas,
PartitionReassignmentRevert.
"""

from collections.abc import Sequence

from controller.kraft.cluster_view import ClusterView
from controller.kraft.metadata_image import MetadataImage, PartitionRegistration, TopicImage
from controller.kraft.partition_changes import Replicas, TargetState
from controller.kraft.replica_placement import UnplaceablePartition, check_assignment
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.placement import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    Moving,
    PartitionResult,
    Reassigned,
)
from protocol.records.metadata_records import MetadataRecord, PartitionChangeRecord


def alter_reassignments(
    view: ClusterView, request: AlterPartitionReassignmentsRequest
) -> tuple[list[MetadataRecord], AlterPartitionReassignmentsResponse]:
    """Begin, replace or cancel reassignments; each partition has its own result."""
    records: list[MetadataRecord] = []
    results = []
    for one in request.partitions:
        try:
            change = _altered(view, one)
        except UnplaceablePartition as refused:
            results.append(PartitionResult(one.topic, one.partition, refused.error, str(refused)))
            continue
        results.append(PartitionResult(one.topic, one.partition))
        if change is not None:
            records.append(change)
    return records, AlterPartitionReassignmentsResponse(results)


def _altered(view: ClusterView, wanted: Reassigned) -> PartitionChangeRecord | None:
    topic = view.image.topics.get(wanted.topic)
    if topic is None:
        why = f"Unable to find a topic named {wanted.topic}."
        raise UnplaceablePartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
    partition = topic.partitions.get(wanted.partition)
    if partition is None:
        why = f"Unable to find partition {wanted.topic}:{wanted.partition}."
        raise UnplaceablePartition(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, why)
    if wanted.replicas is None:
        return _cancelled(view, topic, wanted.partition, partition)
    replicas = tuple(BrokerId(broker) for broker in wanted.replicas)
    check_assignment(view, replicas, None)
    return view.change(topic, wanted.partition, partition, reassignment_to(partition, replicas))


def reassignment_to(partition: PartitionRegistration, replicas: Replicas) -> TargetState:
    """Target of a reassignment's beginning: the wanted replicas, then those that will be removed.

    Without replicas to add or remove, those of a reassignment under way stay as they are.
    """
    removing = tuple(sorted({*partition.replicas} - {*replicas}))
    adding = tuple(sorted({*replicas} - {*partition.replicas}))
    return TargetState(replicas=(*replicas, *removing), adding=adding or None, removing=removing or None)


def _cancelled(
    view: ClusterView, topic: TopicImage, number: int, partition: PartitionRegistration
) -> PartitionChangeRecord | None:
    """Back to the original replicas. Without one of them in the ISR this is an unclean election."""
    if not partition.adding and not partition.removing:
        raise UnplaceablePartition(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS, "No partition reassignment is in progress.")
    replicas = tuple(one for one in partition.replicas if one not in partition.adding)
    isr = tuple(one for one in partition.isr if one in replicas)
    if not isr:
        if not view.unclean_elections(topic.topic):
            why = f"Unable to revert partition assignment for {topic.topic}:{number} because it would require an "
            raise UnplaceablePartition(ErrorCode.INVALID_REPLICA_ASSIGNMENT, f"{why}unclean leader election.")
        isr = replicas[:1]
    election = view.election(topic.topic)
    target = TargetState(isr=isr, replicas=replicas, adding=(), removing=(), election=election)
    return view.change(topic, number, partition, target)


def list_reassignments(
    image: MetadataImage, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    """The reassignments under way among the named partitions, or all; a read of committed state."""
    if request.partitions is None:
        named: Sequence[tuple[str, int]] = [(topic.topic, number) for topic, number, _ in image.partitions()]
    else:
        named = [(one.topic, one.partition) for one in request.partitions]
    found = [(topic, number, image.partition(topic, number)) for topic, number in named]
    return ListPartitionReassignmentsResponse(
        [
            Moving(topic, number, list(state.replicas), list(state.adding), list(state.removing))
            for topic, number, state in found
            if state is not None and (state.adding or state.removing)
        ]
    )
