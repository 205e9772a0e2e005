"""Records for a broker that is fenced, unfenced, stopped or registered again.

Each function reads one state of the cluster, and its records belong into one batch.

Source: ReplicationControlManager.handleBroker*, generateLeaderAndIsrUpdates; kraft-semantics 3.3 and 6.
"""

from collections.abc import Iterable

from controller.kraft.cluster_view import ClusterView
from controller.kraft.metadata_image import PartitionRegistration, TopicImage
from controller.kraft.partition_changes import TargetState, partition_change
from protocol.ids import NO_BROKER, NO_LEADER, BrokerId
from protocol.records.metadata_records import (
    BrokerRegistrationChangeRecord,
    MetadataRecord,
    PartitionChangeRecord,
    UnregisterBrokerRecord,
)

FENCE, UNFENCE = 1, -1
Partition = tuple[TopicImage, int, PartitionRegistration]


def fence_broker(view: ClusterView, broker: BrokerId) -> list[MetadataRecord]:
    """Remove a broker from all ISRs, elect other leaders, then fence it."""
    registration = view.image.brokers[broker]
    records: list[MetadataRecord] = [*leader_and_isr_updates(view, _in_isr(view, broker), remove=broker)]
    return [*records, BrokerRegistrationChangeRecord(broker, registration.epoch, fenced=FENCE)]


def unfence_broker(view: ClusterView, broker: BrokerId) -> list[MetadataRecord]:
    """Unfence a broker, then elect leaders of all partitions without one."""
    leaderless = [one for one in view.image.partitions() if one[2].leader == NO_LEADER]
    epoch = view.image.brokers[broker].epoch
    records: list[MetadataRecord] = [BrokerRegistrationChangeRecord(broker, epoch, fenced=UNFENCE)]
    return [*records, *leader_and_isr_updates(view, leaderless, add=broker)]


def begin_controlled_shutdown(view: ClusterView, broker: BrokerId) -> list[MetadataRecord]:
    """Mark a broker as shutting down, then remove it from all ISRs (KIP-841)."""
    registration = view.image.brokers[broker]
    records: list[MetadataRecord] = []
    if not registration.in_controlled_shutdown:
        records.append(BrokerRegistrationChangeRecord(broker, registration.epoch, in_controlled_shutdown=1))
    return [*records, *leader_and_isr_updates(view, _in_isr(view, broker), remove=broker)]


def leave_partitions(view: ClusterView, broker: BrokerId, *, clean: bool) -> list[PartitionChangeRecord]:
    """Remove a broker's former incarnation from all ISRs.

    With ELR and after an unclean stop also from all ELRs.

    Source: handleBrokerShutdown, handleBrokerUncleanShutdown (4.0 and later).
    """
    if clean or not view.elr_enabled:
        return leader_and_isr_updates(view, _in_isr(view, broker), remove=broker)
    partitions = [*_in_isr(view, broker), *_in_elr(view, broker)]
    return leader_and_isr_updates(view, partitions, unclean=broker)


def unregister_broker(view: ClusterView, broker: BrokerId) -> list[MetadataRecord]:
    """Remove a broker from all ISRs, then its registration."""
    partitions = [*_in_isr(view, broker), *_in_elr(view, broker)]
    records: list[MetadataRecord] = [*leader_and_isr_updates(view, partitions, remove=broker)]
    return [*records, UnregisterBrokerRecord(broker, view.image.brokers[broker].epoch)]


def leader_and_isr_updates(
    view: ClusterView,
    partitions: Iterable[Partition],
    *,
    remove: BrokerId = NO_BROKER,
    add: BrokerId = NO_BROKER,
    unclean: BrokerId = NO_BROKER,
) -> list[PartitionChangeRecord]:
    """Changes of `partitions` when a broker leaves or may lead again.

    `remove`: it leaves. `add`: it may lead. `unclean`: it leaves, for it stopped uncleanly. The view still shows the
    broker's former state.
    """
    leaving = (remove, unclean)

    def acceptable(broker: BrokerId) -> bool:
        return broker not in leaving and (broker == add or view.is_active(broker))

    changes = []
    for topic, number, partition in partitions:
        target = TargetState(
            isr=tuple(one for one in partition.isr if one not in leaving),
            unclean_stops=() if unclean == NO_BROKER else (unclean,),
            election=view.election(topic.topic),
        )
        rules = view.change_rules(topic)
        change = partition_change(topic.topic_id, number, partition, acceptable, rules, target)
        if change is not None:
            changes.append(change)
    return changes


def _in_isr(view: ClusterView, broker: BrokerId) -> list[Partition]:
    return [one for one in view.image.partitions() if broker in one[2].isr]


def _in_elr(view: ClusterView, broker: BrokerId) -> list[Partition]:
    return [one for one in view.image.partitions() if broker in one[2].elr]
