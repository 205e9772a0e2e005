"""Behaviour of KRaft's controller by release, from 3.3 on.

All other code tests a named feature, never a version. What depends on `metadata.version` or on
`eligible.leader.replicas.version` is decided by their levels in the metadata log, not by the release.
"""

from typing import Final

import msgspec

from controller.quorum.quorum_features import RELEASES
from protocol.versions import UnknownVersion

METADATA_VERSION: Final = "metadata.version"
ELR_VERSION: Final = "eligible.leader.replicas.version"
SHRINK_KEEPS_EPOCH: Final = 12
"""Level of `metadata.version` (3.6-IV0) from which an ISR's shrink keeps the leader epoch (KAFKA-15021)."""
ELR_RECORDS: Final = 23
"""Level of `metadata.version` (4.0-IV1) from which the log can have eligible leader replicas (KIP-966)."""

_NEWEST_LEVELS: Final = {
    "3.3": 7, "3.4": 8, "3.5": 11, "3.6": 14, "3.7": 19, "3.8": 20, "3.9": 21, "4.0": 25, "4.1": 27, "4.2": 29,
    "4.3": 30, "4.4": 33,
}  # fmt: skip
"""{release: the level of `metadata.version` of a new cluster}, MetadataVersion.LATEST_PRODUCTION."""


class ControllerFeatures(msgspec.Struct, frozen=True, kw_only=True):
    """Features of one release. The source of each stands beside its version in `controller_features_of`."""

    metadata_version: int
    """Level of `metadata.version` of a new cluster."""
    elr_by_default: bool
    """A new cluster enables eligible leader replicas (KIP-966)."""
    min_isr_at_cluster_level: bool
    """With ELR, a claim writes `min.insync.replicas` of all brokers, which can no longer be removed."""
    elects_fenced_last_known_leader: bool
    """The last known leader is elected even if it is fenced (KAFKA-19522)."""
    unclean_setting: bool
    """`unclean.leader.election.enable` has an effect (KAFKA-12670)."""
    reassigned_replicas_all_in_isr: bool
    """A reassignment completes when all replicas that remain are in the ISR; before, all added (KAFKA-15665)."""
    sorted_isr: bool
    """An ISR that a leader proposes is stored by ascending id; before, joining replicas come last."""
    same_incarnation_keeps_epoch: bool
    """A registration that is sent again keeps the broker epoch (KAFKA-16952)."""
    new_incarnation_leaves_isrs: bool
    """A new incarnation leaves the ISRs of the one before, after an unclean stop also the ELRs (KAFKA-18106)."""
    sessions_by_epoch: bool
    """A session is a contact time by broker and epoch, fenced or not; before, only unfenced brokers have one."""
    fenced_sessions_at_claim: bool
    """A claim gives a session to fenced brokers, too (KAFKA-19130)."""
    periodic_tasks: bool
    """Tasks run at fixed periods; before, they are scheduled by what they find to do."""
    unclean_election_task: bool
    """Leaderless partitions are looked at for an unclean election from time to time."""


def controller_features_of(version: str) -> ControllerFeatures:
    """Features of a release or patch release. Raises UnknownVersion."""
    release = ".".join(version.split(".")[:2])
    if release not in RELEASES:
        raise UnknownVersion(f"no Kafka version with a quorum: {version!r}; one of: {', '.join(RELEASES)}")

    def since(first: str) -> bool:
        return RELEASES.index(release) >= RELEASES.index(first)

    return ControllerFeatures(
        metadata_version=_NEWEST_LEVELS[release],
        elr_by_default=since("4.1"),  # EligibleLeaderReplicasVersion.ELRV_1
        min_isr_at_cluster_level=since("4.1"),  # ActivationRecordsGenerator, ConfigurationControlManager
        elects_fenced_last_known_leader=release == "4.0",  # PartitionChangeBuilder.canElectLastKnownLeader
        unclean_setting=since("3.9"),  # ConfigurationControlManager.uncleanLeaderElectionEnabledForTopic
        reassigned_replicas_all_in_isr=since("3.8"),  # PartitionReassignmentReplicas.maybeCompleteReassignment
        sorted_isr=since("4.3"),  # Partition.prepareIsrExpand, as recorded
        same_incarnation_keeps_epoch=since("3.9"),  # ClusterControlManager.registerBroker
        new_incarnation_leaves_isrs=since("4.0"),  # ReplicationControlManager.handleBrokerShutdown
        sessions_by_epoch=since("4.0"),  # BrokerHeartbeatTracker
        fenced_sessions_at_claim=release == "4.0",  # ClusterControlManager.activate
        periodic_tasks=since("4.0"),  # PeriodicTaskControlManager
        unclean_election_task=since("3.9"),  # ReplicationControlManager.maybeElectUncleanLeaders
    )
