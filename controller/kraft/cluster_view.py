"""View of the cluster for the controller's decisions: image, gates and settings.

The active controller decides by its own image, with records that are not yet committed. Effective settings of a topic:
its own, this node's dynamic ones, those of all brokers, this node's file.

Source: ReplicationControlManager, ConfigurationControlManager, FeatureControlManager.
"""

from controller.kraft.controller_settings import MIN_ISR, UNCLEAN_ELECTION, ControllerSettings
from controller.kraft.feature_levels import (
    ELR_RECORDS,
    ELR_VERSION,
    METADATA_VERSION,
    SHRINK_KEEPS_EPOCH,
)
from controller.kraft.metadata_image import ALL_BROKERS, MetadataImage, PartitionRegistration, TopicImage
from controller.kraft.partition_changes import ChangeRules, Election, TargetState, partition_change
from protocol.gates import Gates
from protocol.ids import BrokerId
from protocol.numbers import number_in
from protocol.records.metadata_records import BROKER_CONFIG, TOPIC_CONFIG, PartitionChangeRecord


class ClusterView:
    """Image of a controller, with what it needs to decide. `me`: its id."""

    def __init__(
        self, me: BrokerId, image: MetadataImage, gates: Gates, settings: ControllerSettings
    ) -> None:
        self.me = me
        self.image = image
        self.gates = gates
        self.settings = settings

    # --- feature levels ---

    @property
    def metadata_version(self) -> int:
        """Level of `metadata.version`; before the log's first record, of a new cluster."""
        return self.image.features.get(METADATA_VERSION, self.gates.metadata_version)

    @property
    def elr_enabled(self) -> bool:
        """Whether partitions have eligible leader replicas (KIP-966)."""
        return self.metadata_version >= ELR_RECORDS and self.image.features.get(ELR_VERSION, 0) > 0

    # --- brokers ---

    def is_active(self, broker: BrokerId) -> bool:
        """Whether it may lead: registered, unfenced, not in controlled shutdown."""
        known = self.image.brokers.get(broker)
        return known is not None and known.is_active

    def has_leaderships(self, broker: BrokerId) -> bool:
        return any(state.leader == broker for _, _, state in self.image.partitions())

    # --- settings ---

    def topic_setting(self, topic: str, setting: str) -> str | None:
        """The dynamic value in force for a topic; None: the file's holds."""
        layers = ((TOPIC_CONFIG, topic), (BROKER_CONFIG, str(self.me)), (BROKER_CONFIG, ALL_BROKERS))
        for kind, name in layers:
            value = self.image.config(kind, name, setting)
            if value is not None:
                return value
        return None

    def min_isr(self, topic: TopicImage) -> int:
        """Effective minimum of the ISR: at most the replication factor.

        Source: getTopicEffectiveMinIsr.
        """
        value = number_in(self.topic_setting(topic.topic, MIN_ISR) or "")
        wanted = self.settings.min_insync_replicas if value is None else value
        return min(wanted, len(topic.partitions[0].replicas)) if topic.partitions else wanted

    def unclean_elections(self, topic: str) -> bool:
        """Whether a topic's partitions elect unclean leaders by themselves."""
        value = self.topic_setting(topic, UNCLEAN_ELECTION)
        enabled = self.settings.unclean_leader_election_enable if value is None else value.lower() == "true"
        return self.gates.unclean_setting and enabled

    def election(self, topic: str) -> Election:
        return "unclean" if self.unclean_elections(topic) else "online"

    # --- changes ---

    def change_rules(self, topic: TopicImage) -> ChangeRules:
        return ChangeRules(
            elr_enabled=self.elr_enabled,
            min_isr=self.min_isr(topic),
            shrink_raises_epoch=self.metadata_version < SHRINK_KEEPS_EPOCH,
            reassigned_replicas_all_in_isr=self.gates.reassigned_replicas_all_in_isr,
            elects_fenced_last_known_leader=self.gates.elects_fenced_last_known_leader,
        )

    def change(
        self, topic: TopicImage, number: int, partition: PartitionRegistration, target: TargetState
    ) -> PartitionChangeRecord | None:
        """The change of a partition to `target`, if active brokers are the acceptable leaders."""
        return partition_change(topic.topic_id, number, partition, self.is_active, self.change_rules(topic), target)
