"""Records of a claim: the features of a new cluster, and the settings that must exist.

Source: ActivationRecordsGenerator, BootstrapMetadata, ConfigurationControlManager.maybeGenerateElrSafetyRecords.
"""

from controller.kraft.cluster_view import ClusterView
from controller.kraft.controller_settings import MIN_ISR
from controller.kraft.feature_levels import ELR_RECORDS, ELR_VERSION, METADATA_VERSION
from controller.kraft.metadata_image import ALL_BROKERS
from protocol.records.metadata_records import BROKER_CONFIG, ConfigRecord, FeatureLevelRecord, MetadataRecord


def activation_records(view: ClusterView, *, empty: bool) -> list[MetadataRecord]:
    """The records of a claim. `empty`: the log has no records yet."""
    gates, settings = view.gates, view.settings
    records: list[MetadataRecord] = []
    elr_enabled = view.elr_enabled
    if empty:
        level = settings.metadata_version or gates.metadata_version
        records.append(FeatureLevelRecord(METADATA_VERSION, level))
        given = settings.eligible_leader_replicas_version
        wanted = int(gates.elr_by_default) if given is None else given
        elr_enabled = wanted > 0 and level >= ELR_RECORDS
        if elr_enabled:
            records.append(FeatureLevelRecord(ELR_VERSION, wanted))
    missing = view.image.config(BROKER_CONFIG, ALL_BROKERS, MIN_ISR) is None
    if gates.min_isr_at_cluster_level and elr_enabled and missing:
        records.append(ConfigRecord(BROKER_CONFIG, ALL_BROKERS, MIN_ISR, str(settings.min_insync_replicas)))
    return records
