"""AlterPartition: a leader's change of its ISR, checked and written.

Kraft-semantics 5.2; KIP-497, KIP-841, KIP-903.

Source: ReplicationControlManager.alterPartition, validateAlterPartitionData.
"""

from collections.abc import Sequence
from typing import Final

from controller.kraft.cluster_view import ClusterView
from controller.kraft.metadata_image import PartitionRegistration, TopicImage
from controller.kraft.partition_changes import TargetState
from protocol.errors import ErrorCode
from protocol.ids import BrokerId
from protocol.messages.leadership_messages import AlterIsrRequest, AlterIsrResponse, IsrChange, IsrChanged
from protocol.records.metadata_records import UNCHANGED, MetadataRecord

EPOCH_NOT_CHECKED: Final = -1
"""Broker epoch of an ISR's member that the leader does not know."""


def alter_partition(view: ClusterView, request: AlterIsrRequest) -> tuple[list[MetadataRecord], AlterIsrResponse]:
    """The records of all valid changes, and the response once they are committed."""
    registration = view.image.brokers.get(request.broker)
    if registration is None or registration.epoch != request.broker_epoch:
        return [], AlterIsrResponse(ErrorCode.STALE_BROKER_EPOCH)
    records: list[MetadataRecord] = []
    results = []
    for proposed in request.partitions:
        topic = _topic(view, proposed)
        partition = topic.partitions.get(proposed.partition) if topic is not None else None
        error = _refused(view, request.broker, topic, partition, proposed)
        if error or topic is None or partition is None:
            results.append(IsrChanged(proposed.topic, proposed.partition, error))
            continue
        target = TargetState(
            isr=_ordered(view, partition, proposed.isr), recovering=False, election=view.election(topic.topic)
        )
        change = view.change(topic, proposed.partition, partition, target)
        if change is not None:
            records.append(change)
            partition = partition.merge(change)
            if change.leader not in (UNCHANGED, request.broker):
                # The change completes a reassignment that removes the leader: it is written all the same.
                results.append(IsrChanged(proposed.topic, proposed.partition, ErrorCode.NEW_LEADER_ELECTED))
                continue
        results.append(
            IsrChanged(
                proposed.topic, proposed.partition, ErrorCode.NONE, partition.leader, partition.leader_epoch,
                list(partition.isr), partition.partition_epoch,
            )
        )  # fmt: skip
    return records, AlterIsrResponse(partitions=results)


def _topic(view: ClusterView, proposed: IsrChange) -> TopicImage | None:
    """The topic by its id, or by its name in a request without one."""
    if not proposed.topic_id:
        return view.image.topics.get(proposed.topic)
    name = view.image.topic_names.get(proposed.topic_id)
    return view.image.topics[name] if name is not None else None


def _refused(
    view: ClusterView,
    leader: BrokerId,
    topic: TopicImage | None,
    partition: PartitionRegistration | None,
    proposed: IsrChange,
) -> ErrorCode:
    """The error of a change that is not allowed; NONE: it is."""
    if topic is None:
        return ErrorCode.UNKNOWN_TOPIC_ID if proposed.topic_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if partition is None:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    if proposed.leader_epoch > partition.leader_epoch or proposed.zk_version > partition.partition_epoch:
        return ErrorCode.NOT_CONTROLLER  # a newer controller has told the leader more (KAFKA-14154)
    if proposed.leader_epoch < partition.leader_epoch:
        return ErrorCode.FENCED_LEADER_EPOCH
    if leader != partition.leader:
        return ErrorCode.INVALID_REQUEST
    if proposed.zk_version < partition.partition_epoch:
        return ErrorCode.INVALID_UPDATE_VERSION
    isr = proposed.isr
    if len(set(isr)) < len(isr) or not set(isr) <= set(partition.replicas) or leader not in isr:
        return ErrorCode.INVALID_REQUEST
    epochs = proposed.broker_epochs or [EPOCH_NOT_CHECKED] * len(isr)
    if len(epochs) != len(isr):
        return ErrorCode.INVALID_REQUEST
    if not all(_eligible(view, replica, epoch) for replica, epoch in zip(isr, epochs, strict=True)):
        return ErrorCode.INELIGIBLE_REPLICA
    return ErrorCode.NONE


def _eligible(view: ClusterView, replica: BrokerId, epoch: int) -> bool:
    """Whether a replica may join: active, and still the incarnation that fetched.

    Source: ineligibleReplicasForIsr.
    """
    registration = view.image.brokers.get(replica)
    if registration is None or not registration.is_active:
        return False
    return epoch in (EPOCH_NOT_CHECKED, registration.epoch)


def _ordered(view: ClusterView, partition: PartitionRegistration, isr: Sequence[BrokerId]) -> tuple[BrokerId, ...]:
    """The ISR in the order of the release's sets: by ascending id, or the present members first."""
    if view.gates.sorted_isr:
        return tuple(sorted(isr))
    present = [replica for replica in partition.isr if replica in isr]
    return (*present, *(replica for replica in isr if replica not in present))
